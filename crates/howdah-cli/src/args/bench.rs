//! What was typed after `howdah bench`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};

const EXAMPLES: &str = "\
Each run gets a new PostgreSQL of howdah's own, unless -d names a server. What arrives is verified, value by value.

Examples:
  howdah bench list
  howdah bench run five-paths --quick           minutes; then open howdah-bench/report.html
  howdah bench run five-paths scale -o results  all of two scenarios
  howdah bench compare before after             exit code 1 when something became slower";

/// Measure every way of writing to PostgreSQL, and see why one wins.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, arg_required_else_help = true)]
pub(crate) struct Bench {
    #[command(subcommand)]
    pub(crate) action: BenchAction,
}

#[derive(Debug, Subcommand)]
pub(crate) enum BenchAction {
    /// List the scenarios
    List,
    /// List what is compared in each of them
    Methods {
        /// Only in this scenario
        #[arg(value_name = "NAME")]
        scenario: Option<String>,
    },
    /// Run scenarios and write the report
    Run(BenchRun),
    /// Write the report of a directory of results again
    Report {
        /// The directory
        #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
        directory: PathBuf,
    },
    /// Say what changed beyond noise between two directories of results
    Compare {
        /// The results before
        #[arg(value_name = "BEFORE", value_hint = ValueHint::DirPath)]
        before: PathBuf,
        /// The results after
        #[arg(value_name = "AFTER", value_hint = ValueHint::DirPath)]
        after: PathBuf,
    },
    /// Remove the generated files
    Clean,
    #[command(hide = true)]
    Worker,
}

#[derive(Debug, Args)]
pub(crate) struct BenchRun {
    /// Scenarios; howdah bench list shows them
    #[arg(required = true, value_name = "NAME")]
    pub(crate) scenarios: Vec<String>,

    /// Few rows and one run of each: minutes instead of hours
    #[arg(long)]
    pub(crate) quick: bool,

    /// Rows, where the scenario does not vary them [default: the scenario's]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) rows: Option<u64>,

    /// Runs of each method, after a warm-up [default: 3, quick: 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) repeat: Option<u32>,

    /// Only sections of this name; repeatable; add more later with --resume [default: all]
    #[arg(long, value_name = "NAME")]
    pub(crate) section: Vec<String>,

    /// Only methods whose name contains this; repeatable [default: all]
    #[arg(long, value_name = "TEXT")]
    pub(crate) method: Vec<String>,

    /// Cut slower runs short: they load the first rows, and are marked [default: 60, quick: 3]
    #[arg(long, value_name = "S", value_parser = seconds)]
    pub(crate) max_seconds: Option<f64>,

    /// Measure this server, in tables howdah_bench… that are dropped [default: new servers]
    #[arg(long = "dbname", short = 'd', value_name = "CONNINFO")]
    pub(crate) dbname: Option<String>,

    /// Measure one of howdah's own servers, by its name [default: new servers]
    #[arg(long, value_name = "NAME", conflicts_with = "dbname")]
    pub(crate) server: Option<String>,

    /// Where results go
    #[arg(long, short = 'o', value_name = "DIR", default_value = "howdah-bench", value_hint = ValueHint::DirPath)]
    pub(crate) output: PathBuf,

    /// Keep the runs that are there already, and do the others
    #[arg(long)]
    pub(crate) resume: bool,
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(seconds) if (0.01..=86_400.0).contains(&seconds) => Ok(seconds),
        _ => Err("a number of seconds, 0.01 to 86400".to_owned()),
    }
}
