//! `howdah load`: run a job and tell what came of it.

use howdah::Control;
use howdah::report::Report;
use howdah::source::Input;
use howdah::{Error, ErrorKind};

use crate::args::{Load, ReportArg};
use crate::connection::Server;
use crate::exit;
use crate::job;
use crate::password_argument;
use crate::progress::Progress;
use crate::render::{self, Console};
use crate::signals::SignalWatch;
use crate::{figures, phases, plan};

/// Loads, reports, and returns the exit code.
pub(crate) fn run(args: &Load) -> u8 {
    if let Some(conninfo) = &args.connection.dbname {
        password_argument::take_out(conninfo);
    }
    let console = Console::new(args.output.quiet);
    let control = Control::new();
    let signals = SignalWatch::start(&control).ok();
    let mut server = None;
    let (report, error) = match attempt(args, console, &control, &mut server) {
        Ok(report) => (report, None),
        Err(error) => {
            let mut report = Report::of_failure(&error);
            if report.table.is_empty() {
                report.table = args.target.table.clone().unwrap_or_default();
            }
            (report, Some(error))
        }
    };
    tell(args, console, &report, error.as_ref(), server.as_ref());
    match &error {
        // The rows are in: whoever reads "failed" must not load them again.
        None if !args.target.dry_run && Console::has_lost_output() => exit::PARTLY_COMMITTED,
        Some(error) => exit::code(error, signals.and_then(|signals| signals.received())),
        None if report.rows_rejected > 0 => exit::SOME_REJECTED,
        None => exit::DONE,
    }
}

/// `server` is filled as soon as it is known, so that a failure can name it too.
fn attempt(
    args: &Load,
    console: Console,
    control: &Control,
    server: &mut Option<Server>,
) -> Result<Report, Error> {
    let options = job::load_options(args)?;
    // A server is not looked for, let alone made, for a file that is not there.
    Input::resolve(&options.input.paths, &howdah::source::Progress::new())
        .map_err(|error| spaced_header(args, Error::from(error)))?;
    let chosen = server.insert(Server::choose(&args.connection, console)?);
    if args.connection.password {
        chosen.ask_password()?;
    }
    loop {
        let progress = Progress::start(control, console).ok().flatten();
        let done = howdah::load(&options, &chosen.target, control);
        if let Some(progress) = progress {
            progress.finish();
        }
        match &done {
            Err(error) if error.kind() == ErrorKind::PasswordRequired && chosen.may_ask(&args.connection) => {
                chosen.ask_password()?;
            }
            _ => return done,
        }
    }
}

/// Explains the `error` of a missing file that was to be the value of `--header`.
fn spaced_header(args: &Load, error: Error) -> Error {
    let words = ["auto", "true", "false", "yes", "no", "on", "off", "1", "0"];
    let when = words.into_iter().find(|when| {
        let path = std::path::Path::new(when);
        args.inputs.iter().any(|input| input == path) && !path.exists()
    });
    match when.filter(|_| args.input.header.as_deref() == Some("true")) {
        Some(when) => {
            error.with_hint(format!("--header takes its value behind an equals sign: --header={when}"))
        }
        None => error,
    }
}

fn tell(args: &Load, console: Console, report: &Report, error: Option<&Error>, server: Option<&Server>) {
    let text = args.output.report == ReportArg::Text && !console.is_quiet();
    if let Some(plan) = &report.plan {
        let plan = plan::text(plan, report);
        if args.target.dry_run && text && error.is_none() {
            console.result(plan.trim_end());
        } else if args.output.verbose {
            console.say(plan.trim_end());
        }
    }
    if args.output.report == ReportArg::Json {
        console.result(&render::json(report));
    }
    if let Some(text) = render::rejects(report) {
        console.labelled("rejects", &text);
    }
    match error {
        Some(error) => console.error(error),
        None if args.target.dry_run => console.say(&render::judged(report)),
        None => {
            if args.output.verbose {
                console.say(phases::text(report).trim_end());
            }
            if text {
                console.result(&render::result(report));
            }
            let look =
                server.map(|server| server.look_at(&report.table, &args.connection)).unwrap_or_default();
            console.say(&render::summary(report, &figures::visible(&look)));
        }
    }
}
