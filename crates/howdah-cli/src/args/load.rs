//! The options of `howdah load`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};
use howdah::options::{ColumnCompression, ColumnNames, Format, Inference, OnError, OnNul};

const LOAD_EXAMPLES: &str = "\
With no connection given, howdah starts and uses a server of its own (howdah server --help).

Examples:
  howdah load people.csv                            into the table people, made when missing
  howdah load 'logs/*.csv.gz' --table hits -d shop  several compressed files into a database
  curl -s URL | howdah load - --table t             from a pipe
  howdah load old.tsv --null '\\N' --mode replace    exchange the table's rows in one swap
  howdah load events.ndjson.gz                      an object a line, keys to columns
  howdah load people.csv --dry-run                  show types, mapping and SQL; change nothing
  howdah load people.csv --on-error ignore          load the rest, keep bad records
  howdah load people.1f2e.rejects.jsonl             load that file again, corrected

Exit codes: 0 done, 1 failed and nothing changed, 2 usage or connection, 3 loaded with some
records rejected, 4 too many of them and nothing loaded, 5 partly committed, 130 or 143 interrupted.";

/// Over the options that say how records are read.
pub(crate) const INPUT_HEADING: &str = "Input (COPY's names and meanings)";

/// Load CSV, TSV, COPY text and JSON (plain or compressed: gzip, zstd, xz, bzip2), Parquet and Arrow files into a table.
#[derive(Debug, Args)]
#[command(after_help = LOAD_EXAMPLES)]
pub(crate) struct Load {
    /// Files, URLs (s3://, https://, …), glob patterns, or - for standard input
    #[arg(required = true, value_name = "INPUT", value_hint = ValueHint::FilePath)]
    pub(crate) inputs: Vec<OsString>,

    #[command(flatten)]
    pub(crate) target: LoadTarget,
    #[command(flatten)]
    pub(crate) connection: Connection,
    /// csv, tsv, text, binary, ndjson, json, parquet, arrow [default: by name, content]
    #[arg(long, value_name = "FORMAT", hide_possible_values = true, help_heading = INPUT_HEADING, value_parser = word!(Format))]
    pub(crate) format: Option<Format>,
    #[command(flatten)]
    pub(crate) input: Input,
    #[command(flatten)]
    pub(crate) file_input: FileInput,
    #[command(flatten)]
    pub(crate) columns: Columns,
    #[command(flatten)]
    pub(crate) file_columns: FileColumns,
    #[command(flatten)]
    pub(crate) tolerance: Tolerance,
    #[command(flatten)]
    pub(crate) losses: Losses,
    #[command(flatten)]
    pub(crate) writing: Writing,
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Target")]
pub(crate) struct LoadTarget {
    /// [SCHEMA.]TABLE, lower-cased unless quoted as in SQL [default: the first file's name]
    #[arg(long, value_name = "TABLE")]
    pub(crate) table: Option<String>,

    /// Whether the table is made, added to, replaced or matched by a key (docs/modes.md)
    #[arg(long, value_name = "MODE", default_value = "create_append")]
    pub(crate) mode: ModeArg,

    /// Key of a new or replaced table, or that rows are matched by: a,b [default: the table's]
    #[arg(long, value_name = "LIST")]
    pub(crate) key: Option<String>,

    /// Make a new table's schema too [default: it must be there]
    #[arg(long)]
    pub(crate) create_schema: bool,

    /// Add the input's columns that an existing table lacks (docs/modes.md) [default: an error]
    #[arg(long)]
    pub(crate) evolve: bool,

    /// New tables are UNLOGGED: faster, emptied by a crash; then-logged: any table, until its rows are there [default: logged]
    #[arg(long, value_name = "then-logged", num_args = 0..=1, require_equals = true, default_missing_value = "yes",
        default_value = "no", hide_default_value = true, hide_possible_values = true)]
    pub(crate) unlogged: UnloggedArg,

    /// Show the plan and check every record, but change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Connection (as for psql; PG* variables and .pgpass are read)")]
pub(crate) struct Connection {
    /// Database name, URI, or key=value string [default: howdah's own server]
    #[arg(long = "dbname", short = 'd', value_name = "CONNINFO")]
    pub(crate) dbname: Option<String>,

    /// Host name or socket directory [default: PGHOST]
    #[arg(long, short = 'h', value_name = "HOST")]
    pub(crate) host: Option<String>,

    /// Port [default: PGPORT, else 5432]
    #[arg(long, short = 'p', value_name = "PORT")]
    pub(crate) port: Option<String>,

    /// User name [default: PGUSER, else yours]
    #[arg(long = "username", short = 'U', value_name = "USER")]
    pub(crate) username: Option<String>,

    /// One of howdah's own servers, by its name [default: none]
    #[arg(long, value_name = "NAME", conflicts_with_all = ["dbname", "host", "port", "username"])]
    pub(crate) server: Option<String>,

    /// Never ask for a password [default: ask when the server wants one]
    #[arg(long, short = 'w', conflicts_with = "password")]
    pub(crate) no_password: bool,

    /// Ask for a password before connecting
    #[arg(long, short = 'W')]
    pub(crate) password: bool,
}

#[derive(Debug, Args)]
#[command(next_help_heading = INPUT_HEADING)]
pub(crate) struct Input {
    /// What stands between fields, as ; or ||; \t: a tab, \x01: byte 1 [default: guessed; tsv, text: tab]
    #[arg(long, value_name = "BYTES", allow_hyphen_values = true)]
    pub(crate) delimiter: Option<String>,

    /// What stands for NULL [default: guessed, else an empty field; text: \N]
    #[arg(long, value_name = "STRING", allow_hyphen_values = true)]
    pub(crate) null: Option<String>,

    /// The decimal point of numeric columns: . or , [default: .]
    #[arg(long, value_name = "CHAR")]
    pub(crate) decimal: Option<String>,

    /// What separates thousands in numbers: , . ' or space [default: nothing]
    #[arg(long, value_name = "CHAR")]
    pub(crate) thousands: Option<String>,

    /// Words for true and false: ja,nein; repeatable [default: as PostgreSQL]
    #[arg(long, value_name = "TRUE,FALSE")]
    pub(crate) booleans: Vec<String>,

    /// How dates are written: %d.%m.%Y %H:%M [default: as PostgreSQL]
    #[arg(long, value_name = "FMT")]
    pub(crate) date_format: Option<String>,

    /// Whether record 1 has the columns' names: auto, true, false; alone: true [default: auto]
    #[arg(long, value_name = "WHEN", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub(crate) header: Option<String>,

    /// The quote of csv and tsv [default: guessed, else "]
    #[arg(long, value_name = "BYTE", allow_hyphen_values = true)]
    pub(crate) quote: Option<String>,

    /// What escapes a quote inside quotes [default: guessed, else the quote]
    #[arg(long, value_name = "BYTE", allow_hyphen_values = true)]
    pub(crate) escape: Option<String>,

    /// Columns where a quoted NULL marker is NULL: a,b or * [default: none]
    #[arg(long, value_name = "LIST")]
    pub(crate) force_null: Option<String>,

    /// Columns in which an unquoted NULL marker is text, not NULL: a,b or * [default: none]
    #[arg(long, value_name = "LIST")]
    pub(crate) force_not_null: Option<String>,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Columns (matched by the header's names, else by position)")]
pub(crate) struct Columns {
    /// The column of each field, in order; JSON: keys to load [default: by name, else order]
    #[arg(long, value_name = "LIST")]
    pub(crate) columns: Option<String>,

    /// Load field SRC, in JSON also a path as a.b, into column DST; repeatable [default: by name]
    #[arg(long, value_name = "SRC=DST")]
    pub(crate) map: Vec<String>,

    /// Fields, by their names or numbers, that are not loaded: a,b [default: none]
    #[arg(long, value_name = "LIST")]
    pub(crate) skip_columns: Vec<String>,
}

// What is only to be asked of files, and of a load as a whole.
#[derive(Debug, Args)]
#[command(next_help_heading = INPUT_HEADING)]
pub(crate) struct FileInput {
    /// UTF8, LATIN1, WIN1252, SJIS, UTF-16LE … [default: by BOM, or guessed]
    #[arg(long, value_name = "NAME")]
    pub(crate) encoding: Option<String>,

    /// What stands for DEFAULT; needs PostgreSQL 16 [default: nothing]
    #[arg(long, value_name = "STRING", allow_hyphen_values = true)]
    pub(crate) default: Option<String>,

    /// Lines to drop at every file's start, before the header [default: 0]
    #[arg(long, value_name = "N")]
    pub(crate) skip_lines: Option<u64>,

    /// Load at most this many records [default: all]
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<u64>,
}

// What is only to be said of new tables and of many files.
#[derive(Debug, Args)]
#[command(next_help_heading = "Columns (matched by the header's names, else by position)")]
pub(crate) struct FileColumns {
    /// Types of a new or replaced table's columns: a=int,b=numeric(10,2) [default: found]
    #[arg(long, value_name = "COL=TYPE")]
    pub(crate) types: Vec<String>,

    /// How many values must fit a type that is found: all, or mostly (99 %) [default: all]
    #[arg(long, value_name = "HOW", default_value = "all", hide_default_value = true, hide_possible_values = true, value_parser = word!(Inference))]
    pub(crate) infer: Inference,

    /// Names of a new table and its columns: keep (the file's and the header's) or snake (snake_case)
    #[arg(long, value_name = "HOW", default_value = "keep", hide_possible_values = true, value_parser = word!(ColumnNames))]
    pub(crate) names: ColumnNames,

    /// Compression of a new table's wide values: auto, lz4, pglz, default [default: auto]
    #[arg(long, value_name = "METHOD", default_value = "auto", hide_default_value = true, hide_possible_values = true, value_parser = word!(ColumnCompression))]
    pub(crate) column_compression: ColumnCompression,

    /// A text column that gets the name of each row's file [default: none]
    #[arg(long, value_name = "NAME")]
    pub(crate) file_column: Option<String>,

    /// Directories like year=2026 in a file's path become columns [default: off]
    #[arg(long)]
    pub(crate) hive: bool,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Bad records")]
pub(crate) struct Tolerance {
    /// stop at a bad record, or ignore: reject it and go on
    #[arg(long, value_name = "WHAT", default_value = "stop", hide_possible_values = true, value_parser = word!(OnError))]
    pub(crate) on_error: OnError,

    /// Most records that may be rejected, or a percentage [default: no limit]
    #[arg(long, value_name = "N|P%")]
    pub(crate) reject_limit: Option<String>,

    /// Where rejected records go [default: TABLE.LOAD_ID.rejects.jsonl in this folder]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) rejects: Option<PathBuf>,

    /// What to do with NUL characters, which text cannot hold: error, strip
    #[arg(long, value_name = "WHAT", default_value = "error", hide_possible_values = true, value_parser = word!(OnNul))]
    pub(crate) on_nul: OnNul,
}

// What is only to be allowed to a load.
#[derive(Debug, Args)]
#[command(next_help_heading = "Bad records")]
pub(crate) struct Losses {
    /// Overwrite the file of --rejects if it is not empty [default: an error]
    #[arg(long, requires = "rejects")]
    pub(crate) overwrite_rejects: bool,

    /// What may be rounded: nanoseconds, decimals, floats [default: nothing]
    #[arg(long, value_name = "WHAT", value_delimiter = ',', hide_possible_values = true)]
    pub(crate) allow: Vec<AllowArg>,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Writing")]
pub(crate) struct Writing {
    /// Connections that write at once [default: by cores, input and indexes]
    #[arg(long, short = 'j', value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) jobs: Option<u16>,

    /// Sort each 16 MiB of rows by an index: auto, none, or its name [default: auto]
    #[arg(long, value_name = "ORDER", default_value = "auto", hide_default_value = true)]
    pub(crate) sort: String,

    /// Whether a table's indexes are kept, or dropped and built again (docs/keyed-tables.md)
    #[arg(long, value_name = "HOW", default_value = "keep")]
    pub(crate) indexes: IndexesArg,

    /// The table's own triggers do not fire for these rows (docs/keyed-tables.md) [default: off]
    #[arg(long)]
    pub(crate) disable_triggers: bool,

    /// How rows are sent: copy-binary, copy-text, … (docs/write-paths.md)
    #[arg(long, value_name = "PATH", default_value = "copy-binary", hide_possible_values = true)]
    pub(crate) write_path: WritePathArg,

    /// --write-path landing: the table of text [default: TABLE_landing]
    #[arg(long, value_name = "TABLE")]
    pub(crate) landing_table: Option<String>,

    /// --write-path landing: keep that table afterwards [default: drop it]
    #[arg(long)]
    pub(crate) keep_landing: bool,

    /// Rows in one INSERT [default: by the write path]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) rows_per_statement: Option<u32>,

    /// COPY FREEZE: only into a table that this load makes or empties; one job [default: off]
    #[arg(long)]
    pub(crate) freeze: bool,

    /// Most bytes a second to the server, as 20MB [default: no limit]
    #[arg(long, value_name = "BYTES")]
    pub(crate) max_rate: Option<String>,

    /// End a wait for a lock after this time, as 30s [default: wait]
    #[arg(long, value_name = "TIME")]
    pub(crate) lock_timeout: Option<String>,

    /// What all processes that share this load call it; with --share [default: none]
    #[arg(long, value_name = "ID", requires = "share")]
    pub(crate) load_id: Option<String>,

    /// Share the load with processes of the same --load-id (docs/many-machines.md) [default: off]
    #[arg(long, requires = "load_id")]
    pub(crate) share: bool,

    /// SQL to run before the first row, in its transaction; repeatable [default: none]
    #[arg(long, value_name = "SQL")]
    pub(crate) before: Vec<String>,

    /// SQL to run after the last row, in its transaction; repeatable [default: none]
    #[arg(long, value_name = "SQL")]
    pub(crate) after: Vec<String>,

    /// ANALYZE the table after the commit [default: off]
    #[arg(long, overrides_with = "no_analyze")]
    pub(crate) analyze: bool,

    /// Leave ANALYZE to autovacuum [default: on]
    #[arg(long, overrides_with = "analyze")]
    no_analyze: bool,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Output (data and JSON on stdout, messages on stderr)")]
pub(crate) struct Output {
    /// The report at the end, also of a failure: text or json
    #[arg(long, value_name = "FORM", default_value = "text", hide_possible_values = true)]
    pub(crate) report: ReportArg,

    /// Only errors and the JSON report [default: progress and a summary]
    #[arg(long, short = 'q')]
    pub(crate) quiet: bool,

    /// Also the plan (header, mapping, statements) and where time went [default: off]
    #[arg(long, short = 'v', conflicts_with = "quiet")]
    pub(crate) verbose: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum AllowArg {
    /// What a timestamp has below a microsecond is cut off
    Nanoseconds,
    /// Decimals are rounded to what a numeric column keeps
    Decimals,
    /// Floats are rounded to integers and to real
    Floats,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub(crate) enum ModeArg {
    /// Add to it; it must exist
    Append,
    /// Make it; it must not exist
    Create,
    /// Exchange its rows for the input's in one swap
    Replace,
    /// Add to it when it exists, make it when it does not
    CreateAppend,
    /// Empty it and load, in one transaction
    Truncate,
    /// Insert rows, or update those whose key is there
    Upsert,
    /// Insert rows, skip those whose key is there
    Ignore,
    /// Update rows whose key is there, skip the others
    Update,
    /// Delete the rows whose keys are in the input
    Delete,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum WritePathArg {
    /// Encoded here; what the codecs are not sure of travels as text
    CopyBinary,
    /// As text; the server parses every value
    CopyText,
    /// The input's CSV passed on; the server takes it apart
    CopyCsv,
    /// One row a statement, none prepared, each committed by itself
    InsertAutocommit,
    /// One row a statement, none prepared
    Insert,
    /// One row a statement, prepared once
    InsertPrepared,
    /// The same, sent without waiting
    InsertPipelined,
    /// Statements of 128, 64, … 1 rows, sent without waiting
    InsertRewritten,
    /// Many rows a statement, as literals
    Values,
    /// Many rows a statement, as parameters, prepared
    ValuesPrepared,
    /// Many rows a statement, one array a column
    Unnest,
    /// As text into a landing table, from there into the table
    Landing,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum IndexesArg {
    /// Rows go into them as they come
    Keep,
    /// Dropped, and built again after the rows: nobody else can read
    Rebuild,
    /// Built again where that should take half the time, else kept
    Auto,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum UnloggedArg {
    /// As the table is, a new one logged
    No,
    /// A new table is emptied by a crash
    Yes,
    /// Logged once its rows are there
    ThenLogged,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReportArg {
    Text,
    Json,
}
