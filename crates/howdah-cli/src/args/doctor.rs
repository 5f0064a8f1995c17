//! The options of `howdah doctor`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{ArgGroup, Args, ValueEnum, ValueHint};

use super::load::Connection;

const MEASURING: &str = "Measuring (nothing that is measured stays)";

const EXAMPLES: &str = "\
It looks, for less than a second, and changes nothing; any role may do that. What the role may not
see is listed, with the GRANT that shows it, and is never taken for fine.

With --measure it also says which share of a load's time a finding costs here. Rows of the table
are led into scratch copies of it, whole and less one index, foreign key, trigger … at a time, in
turns. Each copy is made in a transaction that is rolled back, so nothing stays. Several connections
fill a table together that is committed empty, and that the server drops when the session ends.

Examples:
  howdah doctor -d shop --table events
  howdah doctor -d shop --table events --rows 40_000_000
  howdah doctor -d shop --watch=30                what holds up those who write now
  howdah doctor -d shop --app                     what the programs that write could do better
  howdah doctor -d shop --app --table events --measure           and how many rows a batch should have
  howdah doctor -d shop --table events --measure
  howdah doctor events.csv -d shop --table events --measure      how long that load will take
  howdah doctor -d shop --table events --report markdown > ticket.md
  howdah doctor -d shop --report json > looked.json
  howdah doctor --facts looked.json               the same findings, without a server
  howdah doctor -d shop --table events --try index.unused,fk.cost            would it help?
  howdah doctor -d shop --table events --measure --baseline before.json      did it help?
  howdah doctor -d shop --table events --sql remedies.sql        the remedies as a script
  howdah doctor --server trial --table events --apply commit.delay      set it; it stays if it helps
  howdah doctor --explain index.duplicate

With --apply, and on howdah's own servers only, settings that findings name are set, and measured with
and without in turns. What is not worth it is put back, and so is everything after Ctrl-C.

A report has names and figures in it, and with --app statements without their literals, but no
password and no value: it can be shown to others.

Exit codes: 0 looked, whatever was found, 1 failed, 2 usage or connection, 130 or 143 interrupted.";

/// Find what will fail, hurt or slow down loads into a server, and what to do about it.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, group = ArgGroup::new("measuring").args(["measure", "tries", "apply"]).multiple(true))]
pub(crate) struct Doctor {
    /// The file that is to come: its rows are counted, or told from its size and its first records [default: none]
    #[arg(value_name = "INPUT", value_hint = ValueHint::FilePath, requires = "table", conflicts_with_all = ["facts", "list", "explain"])]
    pub(crate) input: Option<OsString>,

    /// [SCHEMA.]TABLE into which rows are to come [default: the server alone is looked at]
    #[arg(long, value_name = "TABLE")]
    pub(crate) table: Option<String>,

    /// How many rows are to come [default: those of INPUT, else a tenth of the table]
    #[arg(long, value_name = "N", conflicts_with = "size")]
    pub(crate) rows: Option<String>,

    /// How much is to come, as 20GB [default: a tenth of the table, else 1GiB]
    #[arg(long, value_name = "BYTES")]
    pub(crate) size: Option<String>,

    /// Watch for so long, 10 s, what sessions that write wait for, and how much they do [default: look once]
    #[arg(long, value_name = "SECONDS", num_args = 0..=1, require_equals = true, default_missing_value = "10",
        conflicts_with_all = ["facts", "list", "explain"])]
    pub(crate) watch: Option<String>,

    /// Watch also which statements programs send to the database, and how many rows each brings (pg_stat_statements) [default: off]
    #[arg(long, conflicts_with_all = ["facts", "list", "explain"])]
    pub(crate) app: bool,

    /// Measure what each index, key, trigger … of the table costs, on copies of it [default: look only]
    #[arg(long, conflicts_with_all = ["facts", "list", "explain"], help_heading = MEASURING)]
    pub(crate) measure: bool,

    /// Measure also what these findings come to together, as index.gin,fk.cost: copies lack what they are about [default: none]
    #[arg(long = "try", value_name = "LIST", value_delimiter = ',', requires = "table", conflicts_with_all = ["facts", "list", "explain"],
        help_heading = MEASURING)]
    pub(crate) tries: Vec<String>,

    /// Of one of howdah's own servers: set what these findings say, as commit.delay, measure with and without, and keep what is worth
    /// it [default: nothing is set]
    #[arg(long, value_name = "LIST", value_delimiter = ',', conflicts_with_all = ["facts", "list", "explain", "measure", "tries", "dbname",
        "host", "port", "username"], help_heading = MEASURING)]
    pub(crate) apply: Vec<String>,

    /// About how long it measures, in seconds
    #[arg(long, value_name = "S", default_value = "60", requires = "measuring", help_heading = MEASURING)]
    pub(crate) seconds: String,

    /// How much it writes to the server's log, by scratch copies
    #[arg(long, value_name = "BYTES", default_value = "512MiB", requires = "measuring", help_heading = MEASURING)]
    pub(crate) bytes: String,

    /// Measure beside others who are at work, and slow them down [default: refuse]
    #[arg(long, requires = "measuring", help_heading = MEASURING)]
    pub(crate) allow_busy: bool,

    /// Measure although event triggers fire when copies are made [default: refuse]
    #[arg(long, requires = "measuring", help_heading = MEASURING)]
    pub(crate) allow_event_triggers: bool,

    /// Judge a JSON report that was saved, without a server [default: look at the server]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with_all = ["table", "dbname", "host", "port",
        "username", "server", "password"])]
    pub(crate) facts: Option<PathBuf>,

    /// Compare with an earlier JSON report: what is gone, what is new, and how much faster it is if both measured [default: none]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with_all = ["list", "explain"])]
    pub(crate) baseline: Option<PathBuf>,

    /// Also write the remedies that are SQL as a script to review, with the way back; nothing of it is run [default: none]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with_all = ["facts", "list", "explain"])]
    pub(crate) sql: Option<PathBuf>,

    /// List what is looked for
    #[arg(long, conflicts_with_all = ["facts", "table", "explain"])]
    pub(crate) list: bool,

    /// Explain one finding: what is looked at, why, what can be done [default: none]
    #[arg(long, value_name = "ID", conflicts_with_all = ["facts", "table"])]
    pub(crate) explain: Option<String>,

    #[command(flatten)]
    pub(crate) connection: Connection,

    /// The report: text, json or markdown
    #[arg(
        long,
        value_name = "FORM",
        default_value = "text",
        hide_possible_values = true,
        help_heading = "Output (the report on stdout, messages on stderr)"
    )]
    pub(crate) report: FindingsArg,

    /// Of a text report a line a finding; no messages [default: all that there is to a finding]
    #[arg(long, short = 'q', help_heading = "Output (the report on stdout, messages on stderr)")]
    pub(crate) quiet: bool,

    /// Also what was looked at and is fine [default: off]
    #[arg(
        long,
        short = 'v',
        conflicts_with = "quiet",
        help_heading = "Output (the report on stdout, messages on stderr)"
    )]
    pub(crate) verbose: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FindingsArg {
    Text,
    Json,
    Markdown,
}
