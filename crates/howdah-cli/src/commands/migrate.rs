//! `howdah migrate`: how the steps of a project stand in a database, and applying them.

mod report;

use howdah::{Control, Error, ErrorKind};
use howdah_codegen::check::check;
use howdah_codegen::config::{Config, Direct};
use howdah_codegen::diagnostic::{Code, Diagnostic, Diagnostics, Severity};
use howdah_codegen::migrate::{
    Allowed, Event, FrontEnd, History, MigrateError, MigrationStep, Outcome, Report, Settings,
};

use super::codegen::project::{Refused, configured, usage};
use crate::args::{Common, Connection, HistoryFiles, Migrate, MigrateAction, MigrateApply, ReportArg};
use crate::connection::Server;
use crate::exit;
use crate::figures::{counted, seconds, visible};
use crate::password_argument;
use crate::render::Console;
use crate::signals::SignalWatch;
use crate::units;

/// Does what was asked, and returns the exit code.
pub(crate) fn run(args: &Migrate) -> u8 {
    let (files, common) = match &args.action {
        MigrateAction::Apply(args) => (&args.files, &args.common),
        MigrateAction::Status(args) => (&args.files, &args.common),
    };
    let connection = common.server.connection();
    if let Some(conninfo) = &connection.dbname {
        password_argument::take_out(conninfo);
    }
    let console = Console::new(common.quiet);
    let control = Control::new();
    let signals = SignalWatch::start(&control).ok();
    let settings = match settings(args) {
        Ok(settings) => settings,
        Err(error) => return report::unusable(&error, common.report, console),
    };
    let history = match history(files) {
        Ok(history) => history,
        Err(refused) => return report::refused(&refused, common.report, console),
    };
    let applies = matches!(args.action, MigrateAction::Apply(_));
    let watcher = Watcher { history: &history, control: &control, console };
    let done = connected(&connection, console, |server| {
        if applies {
            history.apply(&server.target, &settings, &watcher)
        } else {
            history.status(&server.target, &settings, &watcher)
        }
    });
    let (report, failure) = match done {
        Ok(done) => done,
        Err(error) => return report::unusable(&error, common.report, console),
    };
    let (diagnostics, code) =
        judged(&history, &report, failure, signals.and_then(|signals| signals.received()));
    report::tell(&history, &report, &diagnostics, common, console);
    code
}

fn settings(args: &Migrate) -> Result<Settings, Error> {
    let newer = |common: &Common| common.allow_newer;
    Ok(match &args.action {
        MigrateAction::Status(args) => {
            let allowed = Allowed { newer: newer(&args.common), ..Allowed::default() };
            Settings { allowed, ..Settings::default() }
        }
        MigrateAction::Apply(args) => {
            let MigrateApply { dry_run, lock_timeout, accept, retry, common, .. } = &**args;
            let timeout = lock_timeout.as_deref();
            Settings {
                dry_run: *dry_run,
                lock_timeout: timeout.map(|text| units::time("--lock-timeout", text)).transpose()?,
                allowed: Allowed { accept: accept.clone(), retry: retry.clone(), newer: newer(common) },
            }
        }
    })
}

/// Reads the steps that were named.
fn history(files: &HistoryFiles) -> Result<History, Refused> {
    let config = if files.file.is_empty() {
        configured(files.place.as_deref())?
    } else {
        // No language has a part in it.
        let generator = "python/postgres".to_owned();
        Config::direct(Direct { generator, files: files.file.clone(), ..Direct::default() }).map_err(usage)?
    };
    let checked = check(&config).map_err(Refused::of)?;
    let project = files.project.clone().unwrap_or_else(|| config.name.clone());
    History::of(&checked, project).map_err(Refused::of)
}

type Done = (Report, Option<MigrateError>);

/// Does `work` on the server that was named, with a password that is asked for if there has to be one.
fn connected(typed: &Connection, console: Console, work: impl Fn(&Server) -> Done) -> Result<Done, Error> {
    let mut server = Server::choose(typed, console)?;
    if typed.password {
        server.ask_password()?;
    }
    loop {
        let (report, failure) = work(&server);
        let Some(MigrateError::Connect(error)) = failure else { return Ok((report, failure)) };
        let error = Error::from(error);
        if error.kind() != ErrorKind::PasswordRequired || !server.may_ask(typed) {
            return Err(error);
        }
        server.ask_password()?;
    }
}

/// What to say of a run, and the exit code.
fn judged(
    history: &History,
    report: &Report,
    failure: Option<MigrateError>,
    signal: Option<u8>,
) -> (Diagnostics, u8) {
    let (told, code) = match failure {
        None if report.outcome == Outcome::Pending => (Vec::new(), exit::FAILED),
        None => (Vec::new(), exit::DONE),
        Some(MigrateError::Usage(told)) => (told, exit::USAGE),
        Some(MigrateError::Unknown(told)) => (told, exit::PARTLY_COMMITTED),
        Some(MigrateError::Drift(told) | MigrateError::Refused(told)) => (told, exit::FAILED),
        Some(MigrateError::Stopped(told)) => (told, signal.map_or(exit::INTERRUPTED, exit::of_signal)),
        Some(MigrateError::Connect(error)) => (vec![unplaced(&Error::from(error))], exit::USAGE),
    };
    (history.diagnostics(told), code)
}

/// An error that is about no place of the files.
fn unplaced(error: &Error) -> Diagnostic {
    Diagnostic {
        severity: Severity::Error,
        code: Code::DatabaseError,
        message: error.message().to_owned(),
        suggestion: error.hint().map(str::to_owned),
        place: None,
        block: None,
        sqlstate: error.sqlstate().map(str::to_owned),
    }
}

/// Says what happens, and hears Ctrl-C.
struct Watcher<'w> {
    history: &'w History,
    control: &'w Control,
    console: Console,
}

impl Watcher<'_> {
    /// A step as people find it.
    fn named(&self, step: &MigrationStep) -> String {
        let alone = if step.migration.no_transaction { ", without a transaction" } else { "" };
        visible(&format!("{} ({}{alone})", step.id(), self.history.place(step)))
    }
}

impl FrontEnd for Watcher<'_> {
    fn is_stopped(&self) -> bool {
        self.control.is_cancelled()
    }

    fn notify(&self, event: Event<'_>) {
        let console = self.console;
        let in_time = |time: std::time::Duration| seconds(time.as_secs_f64());
        match event {
            Event::Adopted(rows) => console.labelled(
                "note",
                &format!("{} of SQG's table _sqg_migrations taken over", counted(rows, "row", "rows")),
            ),
            Event::Accepted(step) => console.say(&format!("accepted {}", self.named(step))),
            Event::Pending(steps) => {
                for step in steps {
                    console.say(&format!("pending {}", self.named(step)));
                }
            }
            Event::Applied(step, time) => {
                console.say(&format!("applied {} in {}", visible(step.id()), in_time(time)));
            }
            Event::Tried(step, time) => {
                console.say(&format!("tried {} in {}", visible(step.id()), in_time(time)));
            }
            Event::Skipped(step) => console.say(&format!("not tried {}", self.named(step))),
            Event::Waiting(text) => console.labelled("note", text),
            _ => {}
        }
    }
}

/// Whether a report is wanted for programs.
fn is_json(report: ReportArg) -> bool {
    report == ReportArg::Json
}
