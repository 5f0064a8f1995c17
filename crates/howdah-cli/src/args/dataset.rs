//! What was typed after `howdah dataset`.

use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};

const EXAMPLES: &str = "\
Examples:
  howdah dataset list
  howdah dataset github-events --rows 100000 -o events.csv
  howdah dataset readings | howdah load - --table readings
  howdah dataset tasks --format sql | psql             the table with its keys, for a binary file
  howdah dataset tasks --format binary -o tasks.bin
  howdah dataset gh-archive 2025-01-01-*.json.gz -o events.csv";

/// Make test data: equal rows for an equal seed, on every machine.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, arg_required_else_help = true)]
pub(crate) struct Dataset {
    /// The data set's name, list to see all, or gh-archive to convert files
    #[arg(value_name = "NAME|list|gh-archive")]
    pub(crate) name: String,

    /// gh-archive: hourly files of GH Archive, to become rows of github-events
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) files: Vec<PathBuf>,

    /// Rows to make, or at most to convert [default: 1000000, or all]
    #[arg(long, value_name = "N")]
    pub(crate) rows: Option<u64>,

    /// Seed of the random numbers: another seed, other rows
    #[arg(long, value_name = "S", default_value_t = 1)]
    pub(crate) seed: u64,

    /// readings: add a JSON column that describes the truck
    #[arg(long)]
    pub(crate) with_tags: bool,

    /// NULL, quotes, newlines, unicode, empty and long values in the same columns
    #[arg(long)]
    pub(crate) hostile: bool,

    /// csv, ndjson, parquet, binary (COPY's), or sql: the table, its keys, a checksum
    #[arg(long, value_name = "FORMAT", default_value = "csv", hide_possible_values = true)]
    pub(crate) format: DatasetFormatArg,

    /// Where to write; - is standard output [default: -, unless that is a terminal]
    #[arg(long, short = 'o', value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DatasetFormatArg {
    Csv,
    Ndjson,
    Parquet,
    Binary,
    Sql,
}
