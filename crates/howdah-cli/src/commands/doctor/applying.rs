//! `--apply`: settings of a server of howdah's own are tried, and what is done is said.

use std::sync::Arc;

use howdah::{Control, Error};
use howdah_doctor::{Applied, ApplyStep, Ask, Change, Facts, Limits, Report, SpeedFigure};
use howdah_server::DEFAULT_NAME;
use parking_lot::Mutex;

use super::Shown;
use crate::args::Doctor;
use crate::connection::Server;
use crate::figures::visible;
use crate::render::Console;
use crate::server_owner::{ServerOwner, not_owned, undo};

/// What is to be applied, on a server that nobody else tries settings on.
pub(super) struct Applying {
    ids: Vec<String>,
    owner: ServerOwner,
}

/// Begins: nothing is looked at before what one who was killed left is put back. `None`: nothing is to be applied.
pub(super) fn begin(args: &Doctor, server: &mut Server, console: Console) -> Result<Option<Applying>, Error> {
    if args.apply.is_empty() {
        return Ok(None);
    }
    let own = server.own().ok_or_else(|| {
        not_owned()
            .with_hint("--server NAME is one; for others, --sql writes the remedies as a script to review")
    })?;
    let owner = ServerOwner::of(Some(own))?;
    let left = howdah_doctor::put_back_left(&owner, &server.target)?;
    if !left.is_empty() {
        let names = visible(&left.join(", "));
        console
            .labelled("note", &format!("{names}: put back as it was, since an earlier --apply was killed"));
    }
    Ok(Some(Applying { ids: args.apply.clone(), owner }))
}

impl Applying {
    /// Applies, and says what it does; the undo is said before anything is set.
    pub(super) fn apply(
        self,
        server: &mut Server,
        facts: &Facts,
        ask: &Ask,
        limits: Option<&Limits>,
        console: Console,
        control: &Control,
    ) -> Result<Vec<Applied>, Error> {
        let limits = limits.copied().unwrap_or_default();
        let changes = Change::named(&self.ids, facts, ask)?;
        console.say(&format!(
            "measuring for about {:.0} s, with and without in turns; what is not worth it is put back",
            limits.seconds
        ));
        if changes.iter().any(|change| change.is_restart) {
            console.say("the server is started again several times");
        }
        let doing = Arc::new(Mutex::new(String::new()));
        let told = Arc::clone(&doing);
        let shown = Shown { phase: "applying", seconds: limits.seconds, ending: |_| "putting back" };
        let owner = &self.owner;
        let done = shown.while_in(
            console,
            control,
            move |_| told.lock().clone(),
            || {
                let mut tell = |step: ApplyStep<'_>| match step {
                    ApplyStep::Doing(what) => what.clone_into(&mut doing.lock()),
                    ApplyStep::Setting { change, undo } => {
                        let undo = visible(&owner.undo(undo, change.is_restart));
                        console.say(&format!("should this be killed in the middle: {undo}"));
                    }
                };
                howdah_doctor::apply(owner, &server.target, facts, &changes, &limits, control, &mut tell)
            },
        );
        let applied = done?;
        if changes.iter().any(|change| change.is_restart) {
            // It may answer elsewhere now.
            server.find_again()?;
        }
        Ok(applied)
    }
}

/// What became of each, a paragraph of lines.
pub(super) fn told<'r>(args: &Doctor, report: &'r Report) -> impl Iterator<Item = Vec<String>> + 'r {
    let name = args.connection.server.clone().unwrap_or_else(|| DEFAULT_NAME.to_owned());
    report.applied.iter().map(move |applied| {
        let mut lines = vec![format!("applied: {}", applied.said())];
        lines.extend(applied.figures.iter().map(SpeedFigure::said));
        let left_out = applied.not_measured.iter();
        lines.extend(left_out.map(|left_out| format!("not measured: {}: {}", left_out.what, left_out.why)));
        if applied.is_kept {
            lines.push(format!("undo: {}", undo(&name, &applied.undo, applied.is_restart)));
        }
        lines
    })
}
