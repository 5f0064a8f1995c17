//! `bench-load`: is a load as fast, as small and as prompt as promised? Interleaved rounds against the floor and psql.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::PathBuf;

use crate::database::Database;
use crate::dataset::Dataset;
use crate::error::Error;
use crate::machine;
use crate::scratch::Scratch;

mod contender;
mod endurance;
mod formats;
mod inference;
mod memory;
mod run;
mod scale;
mod section;
mod server;
mod small;
mod throughput;
mod tolerance;

use contender::Programs;
use run::Bench;
use scale::Scale;
use section::Section;

/// What can be measured by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Measurement {
    /// Wall and CPU time of loading readings.
    Readings,
    /// Wall and CPU time of loading GitHub events.
    Events,
    /// What it costs to be ready for bad records, and to meet some.
    Tolerance,
    /// What finding the types of a new table costs.
    Inference,
    /// Parquet against the floor, NDJSON against CSV.
    Formats,
    /// Peak memory by size and compression of the input, and with one very long field.
    Memory,
    /// How long a thousand rows take.
    Small,
    /// Whether a stream's memory is flat over ten minutes.
    Endurance,
}

impl Measurement {
    const ALL: [Measurement; 8] = [
        Measurement::Readings,
        Measurement::Events,
        Measurement::Tolerance,
        Measurement::Inference,
        Measurement::Formats,
        Measurement::Memory,
        Measurement::Small,
        Measurement::Endurance,
    ];
}

/// What to measure, with what, and where results go.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// The howdah to measure; default: the one beside this program
    #[arg(long, value_name = "PATH")]
    pub howdah: Option<PathBuf>,
    /// A server to measure on; default: one of our own with PostgreSQL's default settings
    #[arg(short = 'd', long = "dbname", value_name = "CONNINFO")]
    pub conninfo: Option<String>,
    /// The directory of psql; default: the server's own, or the search path when a server is given
    #[arg(long, value_name = "DIR")]
    pub bin_dir: Option<PathBuf>,
    /// The postmaster's process, when it runs on this machine: its CPU time is measured
    #[arg(long, value_name = "PID", requires = "conninfo")]
    pub server_pid: Option<u32>,
    /// Rounds after the warm-up
    #[arg(long, value_name = "N", default_value_t = 7)]
    pub rounds: usize,
    /// Measure only this; may be given several times
    #[arg(long, value_enum, value_name = "WHAT")]
    pub only: Vec<Measurement>,
    /// Little data and two rounds: shows that everything runs, the figures mean nothing
    #[arg(long)]
    pub quick: bool,
    /// Connections of howdah and of the floor
    #[arg(long, value_name = "N", default_value_t = 2)]
    pub jobs: u32,
    /// Where generated inputs are kept between runs
    #[arg(long, value_name = "DIR")]
    pub scratch: Option<PathBuf>,
    /// Where raw runs and the summary go
    #[arg(long, value_name = "DIR", default_value = "bench-load-results")]
    pub output: PathBuf,
    /// Seed of the data and of the order of contenders
    #[arg(long, value_name = "N", default_value_t = 42)]
    pub seed: u64,
}

/// Measures, writes `raw.jsonl` and `summary.md` into the output directory, and tells `say` how it goes and what came
/// out.
///
/// # Errors
/// A program or the server failed, or what arrived in a table is not what was sent.
pub fn measure(options: &Options, say: &mut dyn Write) -> Result<(), Error> {
    let scale = Scale::new(options.quick, options.rounds);
    let directory = options.scratch.clone().unwrap_or_else(|| std::env::temp_dir().join("howdah-bench"));
    let scratch = Scratch::new(&directory, options.seed)?;
    let output = |name: &str| options.output.join(name);
    fs::create_dir_all(&options.output)
        .map_err(Error::io(format!("could not make {}", options.output.display())))?;
    let raw = File::create(output("raw.jsonl")).map_err(Error::io("could not make raw.jsonl"))?;

    let server = server::choose(options)?;
    let database = Database::connect(&server.conninfo)?;
    let programs = Programs::find(options, &server, scratch.waste())?;
    let facts = machine::facts(&database, &machine::version(&programs.howdah))?;
    tell(say, &format!("{facts}\n"))?;

    let mut bench = Bench {
        scale,
        scratch,
        database,
        programs,
        server_pid: server.pid,
        seed: options.seed,
        checkpoints: true,
        raw: BufWriter::new(raw),
        say,
    };
    let mut sections = Vec::new();
    for measurement in Measurement::ALL {
        if !options.only.is_empty() && !options.only.contains(&measurement) {
            continue;
        }
        let section = match measurement {
            Measurement::Readings => throughput::measure(&mut bench, Dataset::Readings)?,
            Measurement::Events => throughput::measure(&mut bench, Dataset::GithubEvents)?,
            Measurement::Tolerance => tolerance::measure(&mut bench)?,
            Measurement::Inference => inference::measure(&mut bench)?,
            Measurement::Formats => formats::measure(&mut bench)?,
            Measurement::Memory => memory::measure(&mut bench)?,
            Measurement::Small => small::measure(&mut bench)?,
            Measurement::Endurance => endurance::measure(&mut bench)?,
        };
        tell(bench.say, &format!("\n{}\n", section.markdown()))?;
        sections.push(section);
    }
    bench.raw.flush().map_err(Error::io("could not write raw.jsonl"))?;
    let summary = summary(options, &bench, &facts, &sections);
    tell(bench.say, &format!("{}\n", section::targets(&sections)))?;
    fs::write(output("summary.md"), summary).map_err(Error::io("could not write summary.md"))?;
    tell(bench.say, &format!("raw runs and summary.md are in {}\n", options.output.display()))
}

fn summary(options: &Options, bench: &Bench, facts: &str, sections: &[Section]) -> String {
    let mut text = String::from("# bench-load\n\n");
    text += &format!("`{}`\n\n", command_line(options));
    if options.quick {
        text += "**A quick run: it shows that everything works, its figures mean nothing.**\n\n";
    }
    if !bench.checkpoints {
        text += "The server does not let this user run CHECKPOINT, so none separates the runs.\n\n";
    }
    text += facts;
    text += "\nContenders take turns in every round, in an order shuffled anew. Figures are medians over the rounds \
             (least to greatest); ratios are taken within a round. Before every run, outside the clock, the table is \
             dropped and made again and a CHECKPOINT is run; after it the rows are counted. \"Other CPU\" is what the \
             machine spent during a run on neither the client nor the server: a quiet machine has next to none.\n\n";
    text += &section::targets(sections);
    for section in sections {
        text += "\n";
        text += &section.markdown();
    }
    text
}

/// What to type for the same measurement; without the connection, which may hold a password.
fn command_line(options: &Options) -> String {
    let Options { rounds, jobs, seed, .. } = options;
    let mut line = format!("bench-load --rounds {rounds} --jobs {jobs} --seed {seed}");
    for name in options.only.iter().filter_map(clap::ValueEnum::to_possible_value) {
        line += &format!(" --only {}", name.get_name());
    }
    line += if options.quick { " --quick" } else { "" };
    line += if options.conninfo.is_some() { " -d …" } else { "" };
    line
}

fn tell(say: &mut dyn Write, text: &str) -> Result<(), Error> {
    say.write_all(text.as_bytes()).and_then(|()| say.flush()).map_err(Error::io("could not write the output"))
}
