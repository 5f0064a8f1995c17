//! Measures howdah's promises: the scenarios `promises`, with a howdah, a server and psql that can be chosen, `keyed`, and whether
//! `howdah doctor` is right.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program tells its user how it goes")]

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Parser, Subcommand};
use howdah::Control;
use howdah_bench::cell::Cell;
use howdah_bench::command::Programs;
use howdah_bench::error::Error;
use howdah_bench::record::Record;
use howdah_bench::runner::{self, Event};
use howdah_bench::scenario::Scenario;
use howdah_bench::scenarios::{self, Scale};
use howdah_bench::{doctor, environment, keyed, machine, report, worker};

const SCENARIO: &str = "promises";

/// Measure howdah load: wall time, CPU, memory; interleaved rounds against the floor and against psql
#[derive(Parser)]
#[command(version, args_conflicts_with_subcommands = true)]
struct Arguments {
    #[command(subcommand)]
    role: Option<Role>,
    #[command(flatten)]
    options: Measurement,
}

#[derive(Subcommand)]
enum Role {
    /// Do the work of one run (called by bench-load itself)
    #[command(hide = true)]
    Worker,
}

/// What to measure, with what, and where results go.
#[derive(clap::Args)]
struct Measurement {
    /// The howdah to measure; default: the one beside this program
    #[arg(long, value_name = "PATH")]
    howdah: Option<PathBuf>,
    /// A server to measure on; default: one of our own with PostgreSQL's default settings
    #[arg(short = 'd', long = "dbname", value_name = "CONNINFO")]
    conninfo: Option<String>,
    /// The directory of psql; default: the server's own, or the search path when a server is given
    #[arg(long, value_name = "DIR")]
    bin_dir: Option<PathBuf>,
    /// The postmaster's process, when it runs on this machine: its CPU time is measured
    #[arg(long, value_name = "PID", requires = "conninfo")]
    server_pid: Option<u32>,
    /// Rounds after the warm-up
    #[arg(long, value_name = "N", default_value_t = 7)]
    rounds: u32,
    /// Measure only this; may be given several times. keyed is all of tables with keys but the grids, and doctor whether
    /// the doctor is right (doctor:NAME is one state of it, doctor:healthy, doctor:grid): hours of both;
    /// without --only neither is measured
    #[arg(long, value_name = "WHAT", value_parser = PossibleValuesParser::new(choices()))]
    only: Vec<String>,
    /// Another howdah, which loads into tables with keys beside the one that is measured
    #[arg(long, value_name = "PATH")]
    beside: Option<PathBuf>,
    /// Go on where an earlier measurement with the same output was stopped
    #[arg(long)]
    resume: bool,
    /// Little data and two rounds: shows that everything runs, the figures mean nothing
    #[arg(long)]
    quick: bool,
    /// doctor: the size of a load; where checkpoints or caches are the point it is seven times as large
    #[arg(long, value_name = "MB", default_value_t = 300, value_parser = clap::value_parser!(u64).range(1..))]
    megabytes: u64,
    /// doctor: how long the doctor measures
    #[arg(long, value_name = "S", default_value_t = 60)]
    seconds: u64,
    /// Connections of howdah and of the floor
    #[arg(long, value_name = "N", default_value_t = 2)]
    jobs: u32,
    /// Where generated inputs are kept between runs
    #[arg(long, value_name = "DIR")]
    scratch: Option<PathBuf>,
    /// Where raw runs and the report go
    #[arg(long, value_name = "DIR", default_value = "bench-load-results")]
    output: PathBuf,
    /// Seed of the data and of the order of contenders
    #[arg(long, value_name = "N", default_value_t = 42)]
    seed: u64,
}

/// The sections of the scenario that is measured as cells.
fn sections() -> Vec<&'static str> {
    scenarios::find(SCENARIO).map_or_else(Vec::new, names)
}

fn names(scenario: &Scenario) -> Vec<&'static str> {
    scenario.sections.iter().map(|section| section.name).collect()
}

fn choices() -> Vec<PossibleValue> {
    let named =
        [sections(), vec![keyed::NAME], names(&keyed::SCENARIO), keyed::GRIDS.to_vec(), vec![doctor::NAME]];
    // For as long as the program runs, as clap wants it.
    let parts = doctor::parts().into_iter().map(|part| PossibleValue::new(&*part.leak()).hide(true));
    named.concat().into_iter().map(PossibleValue::new).chain(parts).collect()
}

#[expect(clippy::disallowed_methods, reason = "the order comes from the runner that started us")]
fn main() -> ExitCode {
    let arguments = Arguments::parse();
    if let Some(Role::Worker) = arguments.role {
        return worker::main(&std::env::var(worker::VARIABLE).unwrap_or_default()).into();
    }
    match measure(&arguments.options) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("bench-load: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Measures, writes the report into the output directory and tells how it goes. False when a run came to nothing.
fn measure(options: &Measurement) -> Result<bool, Error> {
    let is_wanted = |scenario: &Scenario| {
        options.only.iter().any(|name| *name == scenario.name || names(scenario).contains(&name.as_str()))
    };
    let is_grid = |name: &String| keyed::GRIDS.contains(&name.as_str());
    let tables_with_keys = is_wanted(&keyed::SCENARIO) || options.only.iter().any(is_grid);
    let promises = promises()?;
    let of_doctor = options.only.iter().filter(|name| is_of_doctor(name)).count();
    for (is_asked, what, others) in [
        (
            tables_with_keys,
            "tables with keys are measured by themselves",
            is_wanted(promises) || of_doctor > 0,
        ),
        (of_doctor > 0, "the doctor is measured by itself", of_doctor < options.only.len()),
    ] {
        if is_asked && (options.conninfo.is_some() || others) {
            let how = "and on a server of our own: without -d and other sections";
            return Err(Error::Usage(format!("{what} {how}")));
        }
    }
    let (howdah, programs) = programs(options)?;
    let version = machine::version(howdah.as_ref());
    let facts = environment::describe(options.conninfo.as_deref(), &version)?;
    println!("{facts}");
    if of_doctor > 0 {
        return is_doctor_right(options, &howdah, &format!("{}\n{facts}", how(options)));
    }

    let (scenario, records) = if tables_with_keys {
        (keyed::SCENARIO, keyed::measure(&keyed_options(options, &howdah), &Control::new(), &mut tell)?)
    } else {
        (*promises, load_cells(options, programs, promises)?)
    };

    let environment = format!("{}\n{facts}", how(options));
    report::write(&options.output, &records, &[scenario], &environment)?;
    if let Some(promises) = report::promises(&records, &[scenario]) {
        println!("\n{promises}");
    }
    if let Some(verdict) = keyed::verdict(&records) {
        println!("\n{verdict}");
    }
    println!("raw runs, summary.md and report.html are in {}", options.output.display());
    Ok(are_all_right(&records))
}

/// Tells of runs that came to nothing. False if there are any.
fn are_all_right(records: &[Record]) -> bool {
    let failed: Vec<&Record> = records.iter().filter(|record| !record.outcome.counts()).collect();
    for record in &failed {
        let reason = record.reason.as_deref().unwrap_or("no reason was recorded");
        eprintln!("bench-load: {}, {}: {reason}", record.section, record.series);
    }
    failed.is_empty()
}

fn is_of_doctor(name: &str) -> bool {
    name.split(':').next() == Some(doctor::NAME)
}

/// Holds what the doctor says against real loads, and tells how it goes. False when a run came to nothing.
fn is_doctor_right(options: &Measurement, howdah: &Path, environment: &str) -> Result<bool, Error> {
    let all = options.only.iter().any(|name| name == doctor::NAME);
    let settings = doctor::DoctorOptions {
        output: options.output.clone(),
        howdah: howdah.to_owned(),
        only: if all { Vec::new() } else { options.only.clone() },
        rounds: rounds(options),
        megabytes: options.megabytes,
        seconds: options.seconds,
        quick: options.quick,
        seed: options.seed,
        resume: options.resume,
    };
    let (truths, records) = doctor::measure(&settings, environment, &Control::new(), &mut tell)?;
    if let Some(summary) = truths.summary() {
        println!("\n{summary}");
    }
    println!("raw runs, doctor.md and doctor.jsonl are in {}", options.output.display());
    Ok(are_all_right(&records))
}

fn promises() -> Result<&'static Scenario, Error> {
    scenarios::find(SCENARIO).ok_or_else(|| Error::Usage(format!("there is no scenario {SCENARIO}")))
}

fn load_cells(options: &Measurement, programs: Programs, scenario: &Scenario) -> Result<Vec<Record>, Error> {
    let scale = Scale { quick: options.quick, rows: None, cores: options.jobs };
    let mut cells = scenarios::cells(scenario, &scale);
    cells.retain(|cell: &Cell| options.only.is_empty() || options.only.iter().any(|it| it == cell.section));
    let settings = runner::Options {
        output: options.output.clone(),
        scratch: options.scratch.clone().unwrap_or_else(|| std::env::temp_dir().join("howdah-bench")),
        repeat: rounds(options),
        warm_up: true,
        quick: options.quick,
        max_seconds: f64::from(u32::MAX),
        conninfo: options.conninfo.clone(),
        server_pid: options.server_pid,
        seed: options.seed,
        resume: options.resume,
        programs,
    };
    runner::run(&cells, &settings, &Control::new(), &mut tell)
}

fn rounds(options: &Measurement) -> u32 {
    if options.quick { 2 } else { options.rounds }
}

fn keyed_options(options: &Measurement, howdah: &Path) -> keyed::KeyedOptions {
    let all = options.only.iter().any(|name| name == keyed::NAME);
    keyed::KeyedOptions {
        output: options.output.clone(),
        howdah: howdah.to_owned(),
        beside: options.beside.clone(),
        only: if all { Vec::new() } else { options.only.clone() },
        rounds: rounds(options),
        quick: options.quick,
        seed: options.seed,
        resume: options.resume,
    }
}

fn programs(options: &Measurement) -> Result<(PathBuf, Programs), Error> {
    let myself = std::env::current_exe().map_err(Error::io("could not find this program"))?;
    let howdah = options.howdah.clone().unwrap_or_else(|| myself.with_file_name("howdah"));
    if !howdah.is_file() {
        let howdah = howdah.display();
        return Err(Error::Usage(format!(
            "there is no howdah to measure at {howdah}; build it or use --howdah"
        )));
    }
    let worker = vec![myself.into_os_string(), OsString::from("worker")];
    let programs =
        Programs { howdah: vec![howdah.clone().into_os_string()], worker, bin_dir: options.bin_dir.clone() };
    Ok((howdah, programs))
}

/// What to type for the same measurement; without the connection, which may hold a password.
fn how(options: &Measurement) -> String {
    let Measurement { rounds, jobs, seed, only, .. } = options;
    let mut line = format!("`bench-load --rounds {rounds} --jobs {jobs} --seed {seed}");
    only.iter().for_each(|name| line += &format!(" --only {name}"));
    if only.iter().any(|name| is_of_doctor(name)) {
        line += &format!(" --megabytes {} --seconds {}", options.megabytes, options.seconds);
    }
    line += if options.quick { " --quick" } else { "" };
    line += if options.conninfo.is_some() { " -d …`\n" } else { "`\n" };
    if options.quick {
        line += "\n**A quick run: it shows that everything works, its figures mean nothing.**\n";
    }
    line
}

fn tell(event: Event) {
    match event {
        Event::Making(dataset, rows) => println!("making {rows} rows of {}", dataset.name()),
        Event::Ran { record, done, of, .. } => {
            let evidence = &record.evidence;
            let or_unknown =
                |value: Option<f64>| value.map_or_else(|| "?".to_owned(), |value| format!("{value:.2}"));
            let peak = evidence.peak_rss_bytes.map(|bytes| bytes as f64 / 1_048_576.0);
            println!(
                "[{done}/{of}] {:<9} round {:>2}  {:<36} {:>8.3} s   CPU: client {:>6}, server {:>6}   peak {:>7} MiB",
                record.section,
                record.repetition,
                record.series,
                record.seconds,
                or_unknown(evidence.client_cpu_s),
                or_unknown(evidence.server_cpu_s),
                or_unknown(peak),
            );
        }
    }
}
