//! The options of `howdah promote`.

use clap::Args;

use super::load::{Connection, ReportArg};

const PROMOTE_EXAMPLES: &str = "\
The landing table has columns of text, with names of the typed table's columns. Everything is one
transaction. Rows that do not fit go to a table of their own, with column, SQLSTATE and reason.

Examples:
  howdah load raw.csv --table t --write-path landing    lands and promotes in one go
  howdah promote raw --into t -d shop
  howdah promote raw --into t --rejects-table bad --drop-landing

Exit codes: 0 done, 1 failed and nothing changed, 2 usage or connection, 3 promoted with some rows
rejected, 130 or 143 interrupted.";

/// Convert a landing table's text to the types of another table, and insert it there.
#[derive(Debug, Args)]
#[command(after_help = PROMOTE_EXAMPLES)]
pub(crate) struct Promote {
    /// [SCHEMA.]TABLE with the text
    #[arg(value_name = "LANDING")]
    pub(crate) landing: String,

    /// [SCHEMA.]TABLE with the types
    #[arg(long, value_name = "TABLE")]
    pub(crate) into: String,

    /// The table for rows that do not fit [default: LANDING_rejects]
    #[arg(long, value_name = "TABLE")]
    pub(crate) rejects_table: Option<String>,

    /// Rows that break a constraint go there too [default: they end the promotion]
    #[arg(long)]
    pub(crate) reject_violations: bool,

    /// Drop the landing table in the same transaction [default: it stays]
    #[arg(long)]
    pub(crate) drop_landing: bool,

    #[command(flatten)]
    pub(crate) connection: Connection,

    /// The report at the end, also of a failure: text or json
    #[arg(
        long,
        value_name = "FORM",
        default_value = "text",
        hide_possible_values = true,
        help_heading = "Output (data and JSON on stdout, messages on stderr)"
    )]
    pub(crate) report: ReportArg,

    /// Only errors and the JSON report [default: a summary too]
    #[arg(long, short = 'q', help_heading = "Output (data and JSON on stdout, messages on stderr)")]
    pub(crate) quiet: bool,
}
