//! `howdah promote`: landed text into a typed table, and what came of it.

use howdah::name::TableName;
use howdah::{Control, Error, ErrorKind, PromoteOptions, PromoteReport};

use crate::args::{Promote, ReportArg};
use crate::connection::Server;
use crate::exit;
use crate::figures;
use crate::password_argument;
use crate::render::{self, Console};
use crate::signals::SignalWatch;

/// Promotes, reports, and returns the exit code.
pub(crate) fn run(args: &Promote) -> u8 {
    if let Some(conninfo) = &args.connection.dbname {
        password_argument::take_out(conninfo);
    }
    let console = Console::new(args.quiet);
    let control = Control::new();
    let signals = SignalWatch::start(&control).ok();
    let mut server = None;
    let (report, error) = match attempt(args, console, &control, &mut server) {
        Ok(report) => (report, None),
        Err(error) => (PromoteReport::of_failure(&error), Some(error)),
    };
    if args.report == ReportArg::Json {
        console.result(&render::json(&report));
    }
    if let Some(text) = render::promote_rejects(&report) {
        console.labelled("rejects", &text);
    }
    match &error {
        Some(error) => {
            console.error(error);
            exit::code(error, signals.and_then(|signals| signals.received()))
        }
        None => {
            if args.report == ReportArg::Text && !console.is_quiet() {
                console.result(&format!("PROMOTE {}", report.rows));
            }
            let look =
                server.map(|server| server.look_at(&report.table, &args.connection)).unwrap_or_default();
            console.say(&render::promoted(&report, &figures::visible(&look)));
            if report.rows_rejected > 0 { exit::SOME_REJECTED } else { exit::DONE }
        }
    }
}

fn attempt(
    args: &Promote,
    console: Console,
    control: &Control,
    server: &mut Option<Server>,
) -> Result<PromoteReport, Error> {
    let mut options = PromoteOptions::new(TableName::parse(&args.landing)?, TableName::parse(&args.into)?)
        .rejects_violations(args.reject_violations)
        .drops_landing(args.drop_landing);
    options.rejects_table = args.rejects_table.as_deref().map(TableName::parse).transpose()?;
    let chosen = server.insert(Server::choose(&args.connection, console)?);
    if args.connection.password {
        chosen.ask_password()?;
    }
    loop {
        let done = howdah::promote(&options, &chosen.target, control);
        match &done {
            Err(error) if error.kind() == ErrorKind::PasswordRequired && chosen.may_ask(&args.connection) => {
                chosen.ask_password()?;
            }
            _ => return done,
        }
    }
}
