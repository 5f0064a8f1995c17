//! `howdah stream`: write what comes, show how it goes, and tell what came of it.

use howdah::report::Outcome;
use howdah::stream::{StreamOptions, StreamReport, StreamWatch, stream};
use howdah::{Error, ErrorKind};

use crate::args::{ReportArg, Stream};
use crate::connection::Server;
use crate::exit;
use crate::figures;
use crate::meter::StreamMeter;
use crate::metrics::MetricsFile;
use crate::password_argument;
use crate::progress::Progress;
use crate::render::{self, Console};
use crate::signals::SignalWatch;
use crate::streaming;

/// Streams, reports, and returns the exit code.
pub(crate) fn run(args: &Stream) -> u8 {
    if let Some(conninfo) = &args.connection.dbname {
        password_argument::take_out(conninfo);
    }
    let console = Console::new(args.output.quiet);
    let watch = StreamWatch::new();
    let signals = SignalWatch::start(watch.control()).ok();
    let mut server = None;
    let (report, error) = match attempt(args, console, &watch, &mut server) {
        Ok(report) => (report, None),
        Err(error) => (StreamReport::of_failure(&error), Some(error)),
    };
    tell(args, console, &report, error.as_ref(), server.as_ref());
    let signal = signals.and_then(|signals| signals.received());
    match &error {
        Some(error) => exit::code(error, signal),
        // Rows are in: whoever reads "failed" must not write them again.
        None if report.rows > 0 && Console::has_lost_output() => exit::PARTLY_COMMITTED,
        None if report.outcome == Outcome::Stopped => signal.map_or(exit::INTERRUPTED, exit::of_signal),
        None if report.rows_rejected > 0 => exit::SOME_REJECTED,
        None => exit::DONE,
    }
}

/// `server` is filled as soon as it is known, so that a failure can name it too.
fn attempt(
    args: &Stream,
    console: Console,
    watch: &StreamWatch,
    server: &mut Option<Server>,
) -> Result<StreamReport, Error> {
    let options = streaming::options(args)?;
    let chosen = server.insert(Server::choose(&args.connection, console)?);
    if args.connection.password {
        chosen.ask_password()?;
    }
    loop {
        let done = watched(args, &options, console, watch, chosen);
        match &done {
            Err(error) if error.kind() == ErrorKind::PasswordRequired && chosen.may_ask(&args.connection) => {
                chosen.ask_password()?;
            }
            _ => return done,
        }
    }
}

fn watched(
    args: &Stream,
    options: &StreamOptions,
    console: Console,
    watch: &StreamWatch,
    server: &Server,
) -> Result<StreamReport, Error> {
    let metrics =
        args.metrics.as_deref().map(|path| MetricsFile::start(path, watch, &args.table)).transpose()?;
    let (mut meter, figures) = (StreamMeter::new(std::time::Instant::now()), watch.clone());
    let view = move |now| meter.view(&figures.progress(), now);
    let progress =
        Progress::watch(watch.control(), console, |_| "writing what was read", view).ok().flatten();
    let done = stream(options, &server.target, watch);
    if let Some(progress) = progress {
        progress.finish();
    }
    if let Some(metrics) = metrics {
        metrics.finish()?;
    }
    done
}

fn tell(
    args: &Stream,
    console: Console,
    report: &StreamReport,
    error: Option<&Error>,
    server: Option<&Server>,
) {
    if args.output.verbose
        && let Some(plan) = &report.plan
    {
        console.say(&render::stream_plan(plan));
    }
    if args.output.report == ReportArg::Json {
        console.result(&render::json(report));
    }
    let path = report.rejects_path.as_deref().unwrap_or_default();
    if let Some(text) = render::rejected(report.rows_rejected, path, report.error.is_some()) {
        console.labelled("rejects", &text);
    }
    match error {
        Some(error) => console.error(error),
        None => {
            if args.output.report == ReportArg::Text && !console.is_quiet() {
                console.result(&format!("COPY {}", report.rows));
            }
            let look =
                server.map(|server| server.look_at(&report.table, &args.connection)).unwrap_or_default();
            console.say(&render::streamed(report, &figures::visible(&look)));
        }
    }
}
