//! The options of `howdah stream`.

use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};
use howdah::options::Format;

use super::load::{Columns, Connection, INPUT_HEADING, Input, Output, Tolerance};

const STREAM_EXAMPLES: &str = "\
Reads standard input until it ends, or a file that grows. Every record is committed within
milliseconds; many at a time when many come.

Examples:
  journalctl -f -o json | howdah stream --table journal --columns MESSAGE,PRIORITY
  howdah stream --table hits --follow hits.csv --state hits.state
  howdah stream --table hits --follow hits.csv --state-table howdah_places
  howdah stream --table hits --follow hits.ndjson --on-conflict ignore --state hits.state
  some-program | howdah stream --table t --on-error ignore --rejects bad.jsonl

A signal stops the reading; what was read is written, then it ends. The same signal again ends at
once. Exit codes: 0 the input has ended and all is written, 1 failed and nothing changed, 2 usage
or connection, 3 all written with some records rejected, 4 too many of them, 5 failed and rows are
written, 130 or 143 stopped by a signal with everything written that was read.";

/// Write CSV, TSV, COPY text or NDJSON into a table as it comes: from a pipe, or a file that grows.
#[derive(Debug, Args)]
#[command(after_help = STREAM_EXAMPLES)]
pub(crate) struct Stream {
    /// [SCHEMA.]TABLE, lower-cased unless quoted as in SQL; it must exist [default: none]
    #[arg(long, value_name = "TABLE", help_heading = "Target")]
    pub(crate) table: String,

    /// Rows whose key is in the table already: ignore or update [default: an error]
    #[arg(long, value_name = "WHAT", hide_possible_values = true, help_heading = "Target")]
    pub(crate) on_conflict: Option<OnConflictArg>,

    /// The columns of that key: a,b [default: the primary key, else the only unique index]
    #[arg(long, value_name = "LIST", requires = "on_conflict", help_heading = "Target")]
    pub(crate) conflict_key: Option<String>,

    #[command(flatten)]
    pub(crate) connection: Connection,

    /// Read FILE as it grows, as tail -F does [default: standard input]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = INPUT_HEADING)]
    pub(crate) follow: Option<PathBuf>,

    /// Remember in this file how far the input is written, and go on from there [default: none]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = INPUT_HEADING)]
    pub(crate) state: Option<PathBuf>,

    /// Remember it in this table of the database instead: no row comes twice [default: none]
    #[arg(long, value_name = "NAME", conflicts_with_all = ["state", "at_least_once"], help_heading = INPUT_HEADING)]
    pub(crate) state_table: Option<String>,

    /// csv, tsv, text, ndjson [default: by name, or ndjson after {, else csv]
    #[arg(long, value_name = "FORMAT", hide_possible_values = true, help_heading = INPUT_HEADING, value_parser = word!(Format))]
    pub(crate) format: Option<Format>,
    #[command(flatten)]
    pub(crate) input: Input,
    #[command(flatten)]
    pub(crate) columns: Columns,
    #[command(flatten)]
    pub(crate) tolerance: Tolerance,
    #[command(flatten)]
    pub(crate) writing: StreamWriting,

    /// Write metrics for Prometheus to this file every 5 s [default: none]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Output (data and JSON on stdout, messages on stderr)")]
    pub(crate) metrics: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) output: Output,

    #[command(flatten)]
    pub(crate) of_loads: OfLoads,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Writing (docs/stream.md)")]
pub(crate) struct StreamWriting {
    /// Most rows of a transaction [default: 5000]
    #[arg(long, value_name = "N")]
    pub(crate) max_rows: Option<String>,

    /// Most bytes of a transaction: 512kB, 4MiB [default: 4MiB]
    #[arg(long, value_name = "SIZE")]
    pub(crate) max_bytes: Option<String>,

    /// Longest time that a row waits for others to go with it: 5ms, 1s [default: 5ms]
    #[arg(long, value_name = "TIME")]
    pub(crate) max_age: Option<String>,

    /// Most connections that write [default: 2]
    #[arg(long, value_name = "N")]
    pub(crate) connections: Option<String>,

    /// Most rows that wait for their commit [default: 100000]
    #[arg(long, value_name = "N")]
    pub(crate) queue_rows: Option<String>,

    /// Most bytes that wait for their commit [default: 64MiB]
    #[arg(long, value_name = "SIZE")]
    pub(crate) queue_bytes: Option<String>,

    /// Adapt so that 99 % of the rows are committed within this time [default: none]
    #[arg(long, value_name = "TIME")]
    pub(crate) latency_target: Option<String>,

    /// No ledger: after a lost connection rows may come twice [default: off]
    #[arg(long)]
    pub(crate) at_least_once: bool,

    /// How long to try while the server is away: 30s, 5min [default: 5min]
    #[arg(long, value_name = "TIME")]
    pub(crate) retry_for: Option<String>,
}

// Options of a load that a stream cannot keep, taken so that the refusal can say why.
#[derive(Debug, Args)]
pub(crate) struct OfLoads {
    #[arg(long, hide = true)]
    pub(crate) encoding: Option<String>,
    #[arg(long, hide = true, allow_hyphen_values = true)]
    pub(crate) default: Option<String>,
    #[arg(long, hide = true)]
    pub(crate) mode: Option<String>,
    #[arg(long, short = 'j', hide = true)]
    pub(crate) jobs: Option<String>,
    #[arg(long, hide = true)]
    pub(crate) skip_lines: Option<String>,
    #[arg(long, hide = true)]
    pub(crate) types: Option<String>,
    #[arg(long, hide = true)]
    pub(crate) write_path: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OnConflictArg {
    Ignore,
    Update,
}
