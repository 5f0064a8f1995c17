//! What a caller asks of a load. Every field has the default that its doc line names.

use std::path::PathBuf;

use crate::catalog::name::TableName;
pub use crate::source::{DateFormat, DialectOptions, Encoding, Format};
pub use howdah_encode::arrow::Allowed;

/// One load: where from, where to, how.
#[derive(Debug, Clone, Default)]
pub struct LoadOptions {
    /// Paths, glob patterns, or `-` for standard input. At least one.
    pub inputs: Vec<String>,
    /// The target; default: the stem of the first input's file name.
    pub table: Option<TableName>,
    /// The input's format; default: by the file name's ending, else CSV.
    pub format: Option<Format>,
    /// Numbers of `numeric`, `real` and `double precision` columns have a decimal comma; default: a point.
    pub decimal_comma: bool,
    /// How values of `date`, `timestamp` and `timestamptz` columns are written; default: as PostgreSQL reads them.
    pub date_format: Option<DateFormat>,
    /// What the inputs' text is written in; default: what a byte order mark says, else UTF-8.
    pub encoding: Option<Encoding>,
    /// How records are written.
    pub dialect: DialectOptions,
    /// Target columns in which the NULL string means NULL in quotes too; `*` for all.
    pub force_null: Vec<String>,
    /// Target columns in which the NULL string means itself without quotes; `*` for all.
    pub force_not_null: Vec<String>,
    /// Whether record 1 names the columns; default [`HeaderOption::Auto`].
    pub header: HeaderOption,
    /// COPY's positional column list: the n-th field of every record goes into the n-th column named here. In JSON: the keys to
    /// load; others are passed over.
    pub columns: Option<Vec<String>>,
    /// `(source column, target column)` pairs for header names that differ from the table's.
    pub map: Vec<(String, String)>,
    /// Source columns (header names, keys of JSON) that are not loaded.
    pub skip_columns: Vec<String>,
    /// `(column, type)` pairs: a new table's columns get these types instead of those found; an existing table must have
    /// them.
    pub types: Vec<(String, String)>,
    /// `(field, type)` pairs: what the caller knows of the input's fields, by their names in the header, or `field N`. A
    /// new table's columns get these where `types` says nothing; an existing table keeps its own.
    pub presumed: Vec<(String, String)>,
    /// A column of text that gets the name of the file each row comes from.
    pub file_column: Option<String>,
    /// What columns of a new table are called; default [`Names::Keep`].
    pub names: Names,
    /// Physical lines to drop at the start of every input, before the header.
    pub skip_lines: u64,
    /// Load at most so many data records in all.
    pub limit: Option<u64>,
    /// What happens to a table that is there already; default [`Mode::CreateAppend`].
    pub mode: Mode,
    /// Columns of a new table's primary key, none by default; in the modes that match rows, the columns to match them by,
    /// by default the primary key or the only unique index.
    pub key: Vec<String>,
    /// The new table's schema is made too, when there is none.
    pub create_schema: bool,
    /// SQL that is run in the load's transaction before the first row.
    pub before: Vec<String>,
    /// SQL that is run in the load's transaction after the last row.
    pub after: Vec<String>,
    /// Connections that write; default: chosen from cores, input size and the target's indexes.
    pub jobs: Option<usize>,
    /// The write path; default [`WritePath::CopyBinary`].
    pub write_path: WritePath,
    /// Rows in one statement where the write path leaves that open; default: 1,000, or 5,000 for [`WritePath::Unnest`], or
    /// 128 for [`WritePath::InsertRewritten`].
    pub rows_per_statement: Option<usize>,
    /// Where rows land with [`WritePath::Landing`]; default: `<table>_landing`, beside the table.
    pub landing_table: Option<TableName>,
    /// It stays after they were promoted.
    pub keep_landing: bool,
    /// New tables, a landing table among them, are UNLOGGED: fast, emptied by a crash of the server.
    pub unlogged: bool,
    /// COPY … FREEZE; needs a table made or truncated by this load, and one connection.
    pub freeze: bool,
    /// ANALYZE the table after the commit.
    pub analyze: bool,
    /// What values may lose on their way from Parquet and Arrow; default: nothing.
    pub allow: Allowed,
    /// `key=value` directories on the way to a file are columns of its rows.
    pub hive: bool,
    /// What happens when a record cannot be a row; default [`OnError::Stop`].
    pub on_error: OnError,
    /// The most records that may be refused under [`OnError::Ignore`]; default: any number.
    pub reject_limit: Option<RejectLimit>,
    /// Where refused records go; default: `<table>.<load id>.rejects.jsonl` in the working directory.
    pub rejects: Option<PathBuf>,
    /// What happens to NUL characters, which PostgreSQL cannot store; default [`OnNul::Error`].
    pub on_nul: OnNul,
    /// Make and show the plan, judge every record, change nothing.
    pub dry_run: bool,
}

/// What happens when a record cannot be a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnError {
    /// The load ends, and nothing is changed.
    #[default]
    Stop,
    /// The record is kept in the reject file, the others are loaded.
    Ignore,
}

/// The most records that may be refused.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum RejectLimit {
    /// So many.
    Rows(u64),
    /// So many in a hundred of those read, judged at the end.
    Percent(f64),
}

impl RejectLimit {
    /// A number of records, or a share of them with a per cent sign; `None`: neither.
    pub fn parse(text: &str) -> Option<RejectLimit> {
        match text.strip_suffix('%') {
            Some(percent) => {
                let share = percent.trim().parse().ok().filter(|share| (0.0..=100.0).contains(share));
                share.map(RejectLimit::Percent)
            }
            None => text.parse().ok().map(RejectLimit::Rows),
        }
    }

    /// Whether `refused` of the records `read` are too many.
    pub(crate) fn is_passed(self, refused: u64, read: u64) -> bool {
        match self {
            RejectLimit::Rows(most) => refused > most,
            RejectLimit::Percent(most) => refused as f64 * 100.0 > most * read as f64,
        }
    }
}

impl std::fmt::Display for RejectLimit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            RejectLimit::Rows(rows) => write!(f, "{rows}"),
            RejectLimit::Percent(percent) => write!(f, "{percent}%"),
        }
    }
}

/// What happens to NUL characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnNul {
    /// The record is refused.
    #[default]
    Error,
    /// They are dropped, and the record is read as if they had not been there.
    Strip,
}

/// What becomes of a header's names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Names {
    /// They are the columns' names.
    #[default]
    Keep,
    /// In lower case, words joined by `_`; those of an existing table match in this form too.
    Snake,
}

/// Whether record 1 is a header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum HeaderOption {
    /// Found out from the table or the data, and said.
    #[default]
    Auto,
    /// Record 1 names the columns.
    Yes,
    /// Record 1 is data.
    No,
}

/// What happens to a table that is there already (ADBC's words).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// The table must exist; rows are added.
    Append,
    /// The table must not exist.
    Create,
    /// Added to when it exists, made when it does not.
    #[default]
    CreateAppend,
    /// The table's rows are exchanged for the input's in one swap.
    Replace,
    /// TRUNCATE and load in one transaction.
    Truncate,
    /// Rows whose key is there replace what they bring of that row, the others are inserted.
    Upsert,
    /// Rows whose key is there are skipped, the others are inserted: of several with one key the last.
    Ignore,
    /// Rows whose key is there replace what they bring of that row, the others are skipped.
    Update,
    /// The rows whose keys are in the input are deleted.
    Delete,
}

impl Mode {
    /// Every mode.
    pub const ALL: [Mode; 9] = [
        Mode::Append,
        Mode::Create,
        Mode::CreateAppend,
        Mode::Replace,
        Mode::Truncate,
        Mode::Upsert,
        Mode::Ignore,
        Mode::Update,
        Mode::Delete,
    ];

    /// The mode of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Mode::ALL.into_iter().find(|mode| mode.name() == name)
    }

    /// As `--mode` spells it.
    pub fn name(self) -> &'static str {
        match self {
            Mode::Append => "append",
            Mode::Create => "create",
            Mode::CreateAppend => "create_append",
            Mode::Replace => "replace",
            Mode::Truncate => "truncate",
            Mode::Upsert => "upsert",
            Mode::Ignore => "ignore",
            Mode::Update => "update",
            Mode::Delete => "delete",
        }
    }

    /// Whether rows of the input are matched with rows of a table that must be there.
    pub fn matches_rows(self) -> bool {
        matches!(self, Mode::Upsert | Mode::Ignore | Mode::Update | Mode::Delete)
    }

    /// Whether rows of the input can become new rows of the table.
    pub(crate) fn inserts(self) -> bool {
        !matches!(self, Mode::Update | Mode::Delete)
    }
}

impl std::fmt::Display for Mode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// The ways rows travel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum WritePath {
    /// Encoded by us to PostgreSQL's binary format; what our codecs are not sure of travels as text.
    #[default]
    CopyBinary,
    /// COPY's text format; the server parses every value.
    CopyText,
    /// The input's CSV passed on to COPY; the server takes it apart and parses every value.
    CopyCsv,
    /// INSERT of one row, parsed and planned anew for each, and committed by itself.
    InsertAutocommit,
    /// INSERT of one row, parsed and planned anew for each.
    Insert,
    /// INSERT of one row, prepared once.
    InsertPrepared,
    /// The same, sent without waiting for answers.
    InsertPipelined,
    /// INSERTs of 128, 64, … 1 rows, sent without waiting, as a batch that JDBC rewrites.
    InsertRewritten,
    /// INSERT of many rows as literals.
    Values,
    /// INSERT of many rows as parameters, prepared.
    ValuesPrepared,
    /// INSERT of many rows out of one array a column, prepared.
    Unnest,
    /// Everything as text into a landing table by COPY, from which it is promoted into the target.
    Landing,
}

/// A statement has at most so many parameters.
const MOST_PARAMETERS: usize = 65_535;

/// The largest statement of a batch that JDBC rewrites.
const MOST_REWRITTEN: usize = 128;

impl WritePath {
    /// Every write path, the default first.
    pub const ALL: [WritePath; 12] = [
        WritePath::CopyBinary,
        WritePath::CopyText,
        WritePath::CopyCsv,
        WritePath::InsertAutocommit,
        WritePath::Insert,
        WritePath::InsertPrepared,
        WritePath::InsertPipelined,
        WritePath::InsertRewritten,
        WritePath::Values,
        WritePath::ValuesPrepared,
        WritePath::Unnest,
        WritePath::Landing,
    ];

    /// The write path of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        WritePath::ALL.into_iter().find(|path| path.name() == name)
    }

    /// As `--write-path` spells it.
    pub fn name(self) -> &'static str {
        match self {
            WritePath::CopyBinary => "copy-binary",
            WritePath::CopyText => "copy-text",
            WritePath::CopyCsv => "copy-csv",
            WritePath::InsertAutocommit => "insert-autocommit",
            WritePath::Insert => "insert",
            WritePath::InsertPrepared => "insert-prepared",
            WritePath::InsertPipelined => "insert-pipelined",
            WritePath::InsertRewritten => "insert-rewritten",
            WritePath::Values => "values",
            WritePath::ValuesPrepared => "values-prepared",
            WritePath::Unnest => "unnest",
            WritePath::Landing => "landing",
        }
    }

    /// Whether rows travel in COPY.
    pub fn is_copy(self) -> bool {
        use WritePath::{CopyBinary, CopyCsv, CopyText, Landing};
        matches!(self, CopyBinary | CopyText | CopyCsv | Landing)
    }

    /// Whether every row is committed by itself, instead of all together.
    pub fn commits_rows(self) -> bool {
        self == WritePath::InsertAutocommit
    }

    /// Whether values travel as parameters.
    pub(crate) fn binds(self) -> bool {
        !self.is_copy() && self != WritePath::Values
    }

    /// Whether the rows of a statement are a choice.
    pub(crate) fn has_rows_per_statement(self) -> bool {
        use WritePath::{InsertRewritten, Unnest, Values, ValuesPrepared};
        matches!(self, InsertRewritten | Values | ValuesPrepared | Unnest)
    }

    /// Rows in one statement for rows of `columns` columns, when `asked` for so many.
    pub(crate) fn rows_per_statement(self, asked: Option<usize>, columns: usize) -> usize {
        let most = MOST_PARAMETERS / columns.max(1);
        match self {
            WritePath::CopyBinary | WritePath::CopyText | WritePath::CopyCsv | WritePath::Landing => {
                usize::MAX
            }
            WritePath::InsertAutocommit
            | WritePath::Insert
            | WritePath::InsertPrepared
            | WritePath::InsertPipelined => 1,
            WritePath::InsertRewritten => {
                let most = asked.unwrap_or(MOST_REWRITTEN).min(most).max(1);
                1 << most.ilog2()
            }
            WritePath::Values => asked.unwrap_or(1000),
            WritePath::ValuesPrepared => asked.unwrap_or(1000).min(most),
            WritePath::Unnest => asked.unwrap_or(5000),
        }
    }
}
