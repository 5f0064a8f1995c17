//! `howdah doctor`: looks at a server, or at a saved report, and says what it found.

mod applying;
mod explain;
mod markdown;
mod script;
mod text;

use std::ffi::OsStr;
use std::sync::Arc;
use std::time::{Instant, SystemTime};

use howdah::control::Phase;
use howdah::message::{Respell, is_hidden};
use howdah::name::TableName;
use howdah::report::ReportedError;
use howdah::{Control, Error, ErrorKind};
use howdah_doctor::{
    Action, Ask, Attempt, Facts, InputEstimate, InputLook, Limits, Report, Saved, Trials, Wanted, WatchFacts,
};
use parking_lot::Mutex;
use serde::Serialize;

use crate::args::{Doctor, FindingsArg};
use crate::connection::Server;
use crate::exit;
use crate::figures::counted;
use crate::meter::View;
use crate::password_argument;
use crate::program;
use crate::progress::Progress;
use crate::render::Console;
use crate::signals::SignalWatch;
use crate::spelling::Terminal;
use crate::units;

use script::ScriptFile;

/// Does what was asked, and returns the exit code.
pub(crate) fn run(args: &Doctor) -> u8 {
    if let Some(conninfo) = &args.connection.dbname {
        password_argument::take_out(conninfo);
    }
    let console = Console::new(args.quiet);
    if args.list {
        console.result(&explain::list());
        return exit::DONE;
    }
    let control = Control::new();
    // A file that never ends, such as a pipe, is left by the signal itself.
    let signals = args.facts.is_none().then(|| SignalWatch::start(&control).ok()).flatten();
    let done = match &args.explain {
        Some(id) => explain::explain(id),
        None => reported(args, console, &control),
    };
    match done {
        Ok(text) => {
            console.result(&text);
            exit::DONE
        }
        Err(error) => {
            if args.report == FindingsArg::Json && args.explain.is_none() {
                console.result(&failure(&error));
            }
            console.error(&error);
            exit::code(&error, signals.and_then(|signals| signals.received()))
        }
    }
}

/// The report as it is shown; the script of its remedies is written, if that is wanted.
fn reported(args: &Doctor, console: Console, control: &Control) -> Result<String, Error> {
    let file = args.sql.as_deref().map(ScriptFile::create).transpose()?;
    let report = report(args, console, control)?;
    if let Some(file) = file {
        console.say(&file.write(&report.script(SystemTime::now(), &Terminal))?);
    }
    Ok(shown(args, &report))
}

/// The report on what is looked at, beside an earlier one if that is named.
fn report(args: &Doctor, console: Console, control: &Control) -> Result<Report, Error> {
    // It is read first: nobody is to measure for nothing.
    let before = args.baseline.as_deref().map(Saved::open).transpose()?;
    let report = looked(args, console, control)?;
    match before {
        Some(before) => report.compared_with(&before),
        None => Ok(report),
    }
}

/// The report on a server, or on what was saved of one.
fn looked(args: &Doctor, console: Console, control: &Control) -> Result<Report, Error> {
    let typed = Ask {
        rows: args
            .rows
            .as_deref()
            .map(|text| units::count("--rows", text))
            .transpose()?
            .map(|rows| rows as u64),
        bytes: args
            .size
            .as_deref()
            .map(|text| units::bytes("--size", text))
            .transpose()?
            .map(|size| size as u64),
        input: None,
    };
    if let Some(path) = &args.facts {
        let saved = Saved::open(path)?;
        let ask = if typed == Ask::default() { saved.ask } else { typed };
        return Ok(Report::new(saved.facts, ask, saved.trials));
    }
    let limits = limits(args)?;
    let watching = Watching::wanted(args)?;
    let table = args.table.as_deref().map(TableName::parse).transpose()?;
    let mut server = Server::choose(&args.connection, console)?;
    let mut applying = applying::begin(args, &mut server, console)?;
    if args.connection.password {
        server.ask_password()?;
    }
    loop {
        match Facts::look(&server.target, table.as_ref(), control) {
            Err(error) if error.kind() == ErrorKind::PasswordRequired && server.may_ask(&args.connection) => {
                server.ask_password()?;
            }
            done => {
                let mut facts = done?;
                if let Some(watching) = watching {
                    facts.watched = Some(watching.watch(&server, console, control)?);
                }
                let input = args.input.as_ref().zip(table.as_ref());
                let input = input.map(|(path, table)| rows_of(path, table, &server, console, control));
                let ask = Ask { input: input.transpose()?.flatten(), ..typed };
                if let Some(applying) = applying.take() {
                    let applied =
                        applying.apply(&mut server, &facts, &ask, limits.as_ref(), console, control)?;
                    let watched = facts.watched;
                    // What is found now is of the server as it is now.
                    let facts = Facts { watched, ..Facts::look(&server.target, table.as_ref(), control)? };
                    return Ok(Report::new(facts, ask, None).with_applied(applied));
                }
                let attempt = match args.tries.as_slice() {
                    [] => None,
                    ids => Some(Attempt::new(ids, &facts, &ask)?),
                };
                let measured = limits.map(|limits| {
                    let wanted = Wanted { ask: &ask, attempt: attempt.as_ref(), limits };
                    measured(&server, &facts, wanted, console, control)
                });
                let trials = measured.transpose()?;
                return Ok(Report::new(facts, ask, trials));
            }
        }
    }
}

/// How many rows the input has, if that can be told; else why not is said.
fn rows_of(
    path: &OsStr,
    table: &TableName,
    server: &Server,
    console: Console,
    control: &Control,
) -> Result<Option<InputEstimate>, Error> {
    let name = path.to_string_lossy();
    let why = match InputEstimate::look(path, table, &server.target, control)? {
        InputLook::Known(input) => return Ok(Some(input)),
        InputLook::Unknown => "cannot be told without reading it: --rows says it".to_owned(),
        InputLook::Refused(error) => {
            format!("is not known: a dry run of the load failed: {}", error.respelled(&Terminal))
        }
    };
    console.say(&format!("how many rows {name} has {why}"));
    Ok(None)
}

/// How much measuring may cost, if anything is to be measured.
fn limits(args: &Doctor) -> Result<Option<Limits>, Error> {
    let seconds = units::count("--seconds", &args.seconds)? as f64;
    let bytes = units::bytes("--bytes", &args.bytes)? as f64;
    let (allow_busy, allow_event_triggers) = (args.allow_busy, args.allow_event_triggers);
    let is_wanted = args.measure || !args.tries.is_empty() || !args.apply.is_empty();
    Ok(is_wanted.then_some(Limits { seconds, bytes, allow_busy, allow_event_triggers }))
}

/// How long is watched, and what.
#[derive(Clone, Copy)]
struct Watching {
    seconds: f64,
    programs: bool,
}

impl Watching {
    /// How long programs are watched where nobody says it.
    const SECONDS: f64 = 10.0;

    fn wanted(args: &Doctor) -> Result<Option<Watching>, Error> {
        let seconds = args.watch.as_deref().map(|text| units::count("--watch", text)).transpose()?;
        let seconds = seconds.map(|seconds| seconds as f64).or(args.app.then_some(Watching::SECONDS));
        Ok(seconds.map(|seconds| Watching { seconds, programs: args.app }))
    }

    /// Watches, and says how long.
    fn watch(self, server: &Server, console: Console, control: &Control) -> Result<WatchFacts, Error> {
        let Watching { seconds, programs } = self;
        console.say(&format!("watching for {seconds:.0} s"));
        let doing = move |spent: f64| format!("{spent:.0} of {seconds:.0} s");
        let shown = Shown { phase: "watching", seconds, ending: |_| "ending" };
        let watch = if programs { WatchFacts::watch_programs } else { WatchFacts::watch };
        shown.while_in(console, control, doing, || watch(&server.target, seconds, control))
    }
}

/// Work that lasts about so long, as progress shows it.
#[derive(Clone, Copy)]
struct Shown {
    phase: &'static str,
    seconds: f64,
    /// What is done once somebody said stop.
    ending: fn(Phase) -> &'static str,
}

impl Shown {
    /// Does `work`, beside which a line says what it is `doing`, from the seconds that it took so far.
    fn while_in<T>(
        self,
        console: Console,
        control: &Control,
        doing: impl Fn(f64) -> String + Send + 'static,
        work: impl FnOnce() -> T,
    ) -> T {
        let began = Instant::now();
        let view = move |now: Instant| {
            let spent = now.duration_since(began).as_secs_f64();
            View::of_work(self.phase, spent / self.seconds, doing(spent))
        };
        let progress = Progress::watch(control, console, self.ending, view).ok().flatten();
        let done = work();
        if let Some(progress) = progress {
            progress.finish();
        }
        done
    }
}

/// Measures, and says what it does.
fn measured(
    server: &Server,
    facts: &Facts,
    wanted: Wanted<'_>,
    console: Console,
    control: &Control,
) -> Result<Trials, Error> {
    console.say(&format!(
        "measuring for about {:.0} s, on scratch copies that are rolled back",
        wanted.limits.seconds
    ));
    let doing = Arc::new(Mutex::new(String::new()));
    let told = Arc::clone(&doing);
    let shown = Shown { phase: "measuring", seconds: wanted.limits.seconds, ending: |_| "rolling back" };
    shown.while_in(
        console,
        control,
        move |_| told.lock().clone(),
        || {
            let mut tell = |what: &str| what.clone_into(&mut doing.lock());
            howdah_doctor::measure(&server.target, facts, wanted, control, &mut tell)
        },
    )
}

/// The report in the form that was asked for.
fn shown(args: &Doctor, report: &Report) -> String {
    let applied = applying::told(args, report);
    match args.report {
        FindingsArg::Json => json(&report.respelled(&Terminal)),
        FindingsArg::Markdown => markdown::of(report, applied),
        FindingsArg::Text if args.quiet => text::brief(report, applied),
        FindingsArg::Text => text::of(report, applied, args.verbose),
    }
}

/// As one line in which every character is visible: names come from catalogs.
fn json(report: &impl Serialize) -> String {
    let text = serde_json::to_string(report).unwrap_or_default();
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        // They stand in strings only.
        if is_hidden(c) {
            out.extend(c.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")));
        } else {
            out.push(c);
        }
    }
    out
}

/// What a program gets that waits for a report.
pub(crate) fn failure(error: &Error) -> String {
    #[derive(Serialize)]
    struct Failure {
        report_format: u32,
        report: &'static str,
        outcome: &'static str,
        error: ReportedError,
    }
    let error = error.clone().or_nothing_changed().respelled(&Terminal);
    json(&Failure {
        report_format: howdah_doctor::FORMAT,
        report: "doctor",
        outcome: "failed",
        error: ReportedError::from(&error),
    })
}

/// A remedy as it is typed, a line each.
fn typed(action: &Action) -> Vec<String> {
    let howdah = program::name();
    match action {
        Action::Sql(statements) => statements.clone(),
        Action::Load(say) => vec![format!("{howdah} load … {}", say.spelled(&Terminal))],
        Action::Session(setting, value) => vec![format!("PGOPTIONS='-c {setting}={value}' {howdah} load …")],
        Action::Elsewhere(text) => vec![text.clone()],
    }
}

/// What was looked at, in a line.
fn place(report: &Report) -> String {
    let session = &report.facts.session;
    let service = session.service.map(|service| format!(" ({})", service.name())).unwrap_or_default();
    let mut line = format!(
        "PostgreSQL {}{service}, database {}, role {}",
        session.version,
        howdah::name::display(&session.database),
        howdah::name::display(&session.role)
    );
    if let Some(table) = &report.facts.table {
        let of = [&table.schema, &table.name].map(|name| howdah::name::display(name)).join(".");
        let rows = match table.rows {
            Some(rows) => format!("about {}", counted(crate::figures::whole(rows), "row", "rows")),
            None => "rows never counted".to_owned(),
        };
        line.push_str(&format!("; table {of}: {rows}, {}", howdah_doctor::bytes(table.bytes_now())));
        if let Some(indexes) = table.indexes.seen() {
            line.push_str(&format!(", {}", counted(indexes.len() as u64, "index", "indexes")));
        }
    }
    line
}

/// What was measured and makes no difference, in a line, with how much the machine wavers.
fn no_difference(report: &Report) -> String {
    let found = &report.diagnosis.no_difference;
    let mut parts: Vec<String> =
        found.iter().map(|found| format!("{} {}", found.what, found.cost.percent())).collect();
    let noise = report.trials.as_ref().and_then(|trials| trials.table.as_ref()?.noise());
    parts.extend(noise.map(|noise| format!("two runs of the same are {:.0} % apart", noise * 100.0)));
    parts.join(" · ")
}

/// How much was found, in a line.
fn tally(report: &Report) -> String {
    let diagnosis = &report.diagnosis;
    let measured = match &report.trials {
        Some(trials) => format!("Measured for {}.", howdah_doctor::duration(trials.seconds)),
        None if report.applied.is_empty() => "Nothing was measured.".to_owned(),
        None => "Measured with and without what was applied.".to_owned(),
    };
    format!(
        "{}, {} not seen, {} fine. {measured}",
        counted(diagnosis.findings.len() as u64, "finding", "findings"),
        counted(diagnosis.not_seen.len() as u64, "thing", "things"),
        diagnosis.fine.len(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_character_of_a_report_is_invisible() {
        let report = json(&["a\u{7f}\u{9b}\u{202e}\u{e0001}\n\"ü"]);
        assert_eq!(report, r#"["a\u007f\u009b\u202e\udb40\udc01\n\"ü"]"#);
        assert_eq!(
            serde_json::from_str::<Vec<String>>(&report).unwrap(),
            ["a\u{7f}\u{9b}\u{202e}\u{e0001}\n\"ü"]
        );
    }
}
