//! `howdah bench`: run scenarios, tell how they go, and write what came of them.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use howdah::{Control, Error, ErrorKind};
use howdah_bench::cell::Cell;
use howdah_bench::command::Programs;
use howdah_bench::raw;
use howdah_bench::record::{Outcome, Record};
use howdah_bench::runner::{self, Event, Options};
use howdah_bench::scenario::Scenario;
use howdah_bench::scenarios::{self, Scale};
use howdah_bench::{environment, report, worker};

use crate::args::{Bench, BenchAction, BenchRun};
use crate::figures::{count, counted, rate, remaining, visible};
use crate::own_server::existing;
use crate::render::Console;
use crate::signals::SignalWatch;
use crate::{exit, password_argument, program};

/// Runs the action; 1 when a run stored something wrong, or a comparison found a regression.
pub(crate) fn run(args: &Bench) -> u8 {
    let console = Console::new(false);
    let done = match &args.action {
        BenchAction::List => {
            console.result(&list());
            Ok(exit::DONE)
        }
        BenchAction::Methods { scenario } => methods(scenario.as_deref(), console),
        BenchAction::Run(args) => measure(args, console),
        BenchAction::Report { directory } => report_again(directory, console),
        BenchAction::Compare { before, after } => compare(before, after, console),
        BenchAction::Clean => clean(console),
        BenchAction::Worker => return worker(),
    };
    done.unwrap_or_else(|error| {
        console.error(&error);
        exit::code(&error, None)
    })
}

fn list() -> String {
    let width = scenarios::ALL.iter().map(|scenario| scenario.name.len()).max().unwrap_or(0);
    let line = |scenario: &Scenario| {
        let study = scenario.study.map_or_else(String::new, |study| format!(" (study {study})"));
        format!("{:width$}  {}{study}\n{:width$}    {}", scenario.name, scenario.title, "", scenario.question)
    };
    scenarios::ALL.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn methods(name: Option<&str>, console: Console) -> Result<u8, Error> {
    let chosen = match name {
        Some(name) => vec![*scenario(name)?],
        None => scenarios::ALL.to_vec(),
    };
    let scale = Scale { quick: false, rows: None, cores: cores() };
    let mut lines = Vec::new();
    for scenario in &chosen {
        for section in scenario.sections {
            lines.push(format!("{}, {} (--section {})", scenario.name, section.title, section.name));
            let mut seen = BTreeSet::new();
            for cell in scenarios::cells(scenario, &scale) {
                if cell.section == section.name && seen.insert(cell.series.clone()) {
                    lines.push(format!("  {:<44}  {}", cell.series, cell.command()));
                }
            }
        }
    }
    console.result(&lines.join("\n"));
    Ok(exit::DONE)
}

fn scenario(name: &str) -> Result<&'static Scenario, Error> {
    scenarios::find(name).ok_or_else(|| {
        let names: Vec<&str> = scenarios::ALL.iter().map(|scenario| scenario.name).collect();
        Error::usage(format!("there is no scenario {name:?}"))
            .with_hint(format!("one of: {}", names.join(", ")))
    })
}

fn measure(args: &BenchRun, console: Console) -> Result<u8, Error> {
    if let Some(conninfo) = &args.dbname {
        password_argument::take_out(conninfo);
    }
    let own = args.server.as_deref().map(existing).transpose()?;
    let chosen: Vec<&Scenario> =
        args.scenarios.iter().map(|name| scenario(name)).collect::<Result<_, _>>()?;
    let scale = Scale { quick: args.quick, rows: args.rows, cores: cores() };
    let sections = || chosen.iter().flat_map(|scenario| scenario.sections).map(|section| section.name);
    if let Some(unknown) = args.section.iter().find(|name| sections().all(|section| section != **name)) {
        return Err(Error::usage(format!("there is no section {unknown:?}"))
            .with_hint(format!("one of: {}", sections().collect::<Vec<_>>().join(", "))));
    }
    let wanted = |cell: &Cell| {
        (args.section.is_empty() || args.section.iter().any(|name| name == cell.section))
            && (args.method.is_empty() || args.method.iter().any(|text| cell.series.contains(text.as_str())))
    };
    let cells: Vec<Cell> =
        chosen.iter().flat_map(|scenario| scenarios::cells(scenario, &scale)).filter(wanted).collect();
    if cells.is_empty() {
        return Err(Error::usage("no method has such a name")
            .with_hint(format!("{} bench methods lists them", program::name())));
    }
    let options = Options {
        output: args.output.clone(),
        scratch: scratch(),
        repeat: args.repeat.unwrap_or(if args.quick { 1 } else { 3 }),
        warm_up: !args.quick,
        quick: args.quick,
        max_seconds: args.max_seconds.unwrap_or(if args.quick { 3.0 } else { 60.0 }),
        conninfo: own.as_ref().map(howdah_server::Server::conninfo).or_else(|| args.dbname.clone()),
        server_pid: own.as_ref().map(howdah_server::Server::pid),
        seed: runner::SEED,
        resume: args.resume,
        programs: programs()?,
    };
    if !options.resume && options.output.join(raw::FILE).exists() {
        return Err(Error::usage(format!("{} holds results already", options.output.display()))
            .with_hint("add --resume to go on with them, or -o DIR to keep both"));
    }
    let environment = environment(&options)?;
    let control = Control::new();
    let signals = SignalWatch::start(&control).ok();
    let mut skipped = BTreeSet::new();
    let mut tell = |event: Event| tell(console, &event, &mut skipped);
    let records = match runner::run(&cells, &options, &control, &mut tell) {
        Err(howdah_bench::error::Error::Stopped) => {
            let directory = visible(&options.output.display().to_string());
            console.say(&format!(
                "stopped; --resume -o {directory} goes on, bench report {directory} shows what is there"
            ));
            let signal = signals.and_then(|signals| signals.received());
            return Ok(signal.map_or(exit::INTERRUPTED, exit::of_signal));
        }
        other => other.map_err(failed)?,
    };
    report::write(&options.output, &records, scenarios::ALL, &environment).map_err(failed)?;
    for line in unwelcome(&records) {
        console.labelled("warning", &line);
    }
    let report = options.output.join("report.html");
    console.say(&format!("report: {}", visible(&report.display().to_string())));
    Ok(if runner::has_wrong(&records) { exit::FAILED } else { exit::DONE })
}

fn report_again(directory: &Path, console: Console) -> Result<u8, Error> {
    let records = results(directory)?;
    let path = directory.join("environment.md");
    let environment = std::fs::read_to_string(&path)
        .map_err(|error| Error::new(ErrorKind::Source, format!("cannot read {}: {error}", path.display())))?;
    report::write(directory, &records, scenarios::ALL, &environment).map_err(failed)?;
    console.say(&format!("report: {}", visible(&directory.join("report.html").display().to_string())));
    Ok(exit::DONE)
}

fn compare(before: &Path, after: &Path, console: Console) -> Result<u8, Error> {
    let [a, b] = [results(before)?, results(after)?];
    let comparison = howdah_bench::compare::compare(&a, &b);
    console.result(comparison.markdown().trim_end());
    Ok(if comparison.has_regression() { exit::FAILED } else { exit::DONE })
}

fn results(directory: &Path) -> Result<Vec<Record>, Error> {
    let records = raw::read(&directory.join(raw::FILE)).map_err(failed)?;
    if records.is_empty() {
        return Err(Error::usage(format!("{} holds no results", directory.display())));
    }
    Ok(records)
}

fn clean(console: Console) -> Result<u8, Error> {
    let scratch = scratch();
    match std::fs::remove_dir_all(&scratch) {
        Ok(()) => console.say(&format!("removed {}", visible(&scratch.display().to_string()))),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => console.say("nothing to remove"),
        Err(error) => {
            let what = format!("cannot remove {}: {error}", scratch.display());
            return Err(Error::new(ErrorKind::Source, what));
        }
    }
    Ok(exit::DONE)
}

/// Describes the machine before anything is measured; a resumed run keeps the description that is there.
fn environment(options: &Options) -> Result<String, Error> {
    let path = options.output.join("environment.md");
    if options.resume
        && let Ok(text) = std::fs::read_to_string(&path)
    {
        return Ok(text);
    }
    let text = environment::describe(options.conninfo.as_deref(), environment::PROGRAM).map_err(failed)?;
    let failed = |error| Error::new(ErrorKind::Source, format!("cannot write {}: {error}", path.display()));
    std::fs::create_dir_all(&options.output).and_then(|()| std::fs::write(&path, &text)).map_err(failed)?;
    Ok(text)
}

/// What somebody must not overlook.
fn unwelcome(records: &[Record]) -> Vec<String> {
    let counts = |outcome| {
        records.iter().filter(|record| record.outcome == outcome && record.repetition > 0).count() as u64
    };
    let line = |outcome, one: &str, many: &str| match counts(outcome) {
        0 => None,
        n => Some(counted(n, one, many)),
    };
    [
        line(Outcome::Wrong, "run stored something wrong", "runs stored something wrong"),
        line(Outcome::Failed, "run failed", "runs failed"),
    ]
    .into_iter()
    .flatten()
    .chain(skipped(records))
    .collect()
}

/// How many runs could not take place, by the reason.
fn skipped(records: &[Record]) -> Vec<String> {
    let mut reasons: BTreeMap<&str, u64> = BTreeMap::new();
    let is_skipped = |record: &&Record| record.outcome == Outcome::Skipped && record.repetition > 0;
    for record in records.iter().filter(is_skipped) {
        *reasons.entry(record.reason.as_deref().unwrap_or("nobody knows why")).or_default() += 1;
    }
    let line = |(reason, runs): (&str, u64)| {
        let runs = counted(runs, "run could not take place here", "runs could not take place here");
        visible(&format!("{runs}: {reason}"))
    };
    reasons.into_iter().map(line).collect()
}

/// `skipped` are the reasons for which runs did not take place: each is said once, and at the end how often.
fn tell(console: Console, event: &Event, skipped: &mut BTreeSet<String>) {
    match event {
        Event::Ran { record, .. }
            if record.outcome == Outcome::Skipped
                && !skipped.insert(record.reason.clone().unwrap_or_default()) => {}
        Event::Making(dataset, rows) => {
            console.say(&format!("making {} rows of {}", count(*rows), dataset.name()));
        }
        Event::Ran { record, done, of, left } => {
            let x = record.x.map_or_else(String::new, |x| format!(" at {x}"));
            let turn = match record.repetition {
                0 => "warm-up".to_owned(),
                n => format!("run {n}"),
            };
            let result = match (record.rows_per_s(), &record.reason) {
                (Some(rows), None) => format!("{} rows/s", rate(rows)),
                (Some(rows), Some(reason)) => format!("{} rows/s ({reason})", rate(rows)),
                (None, reason) => reason.clone().unwrap_or_default(),
            };
            let left =
                if *done < *of { format!(", {} left", remaining(left.as_secs_f64())) } else { String::new() };
            console.say(&visible(&format!(
                "[{done}/{of}{left}] {}, {}, {}{x}, {turn}: {result}",
                record.scenario, record.section, record.series
            )));
        }
    }
}

/// Does the work of one run; the words go to the runner.
#[expect(clippy::disallowed_methods, reason = "the order comes from the runner that started us")]
fn worker() -> u8 {
    worker::main(&std::env::var(worker::VARIABLE).unwrap_or_default())
}

/// The words that run this program. In a Python process the executable is an interpreter outside of the environment that
/// holds howdah: the word by which it was called is the environment's.
fn myself() -> Result<Vec<OsString>, Error> {
    let failed = |error| Error::new(ErrorKind::Source, format!("cannot find this program: {error}"));
    let program = std::env::current_exe().map_err(failed)?;
    let is_python = program.file_name().is_some_and(|name| name.to_string_lossy().starts_with("python"));
    let mut words = vec![program.into_os_string()];
    if is_python {
        let typed = std::fs::read("/proc/self/cmdline").unwrap_or_default();
        let called = typed.split(|byte| *byte == 0).next().unwrap_or_default();
        if !called.is_empty() {
            words = vec![OsString::from_vec(called.to_vec())];
        }
        words.extend(["-m".into(), "howdah".into()]);
    }
    Ok(words)
}

fn programs() -> Result<Programs, Error> {
    let howdah = myself()?;
    let worker = [&howdah[..], &["bench".into(), "worker".into()]].concat();
    Ok(Programs { howdah, worker, bin_dir: None })
}

/// Where a server under another account can read too.
fn scratch() -> PathBuf {
    std::env::temp_dir().join("howdah-bench-files")
}

fn cores() -> u32 {
    std::thread::available_parallelism().map_or(1, |cores| u32::try_from(cores.get()).unwrap_or(1))
}

fn failed(error: howdah_bench::error::Error) -> Error {
    let kind = match error {
        howdah_bench::error::Error::Usage(_) => ErrorKind::Usage,
        _ => ErrorKind::Source,
    };
    Error::new(kind, error.to_string())
}
