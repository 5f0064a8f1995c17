//! What a caller asks of a load, in groups. Every field has the default that its doc line names.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use crate::catalog::name::TableName;

mod column_compression;
mod indexes;
pub(crate) mod json;
mod mode;
mod reject_limit;
mod sort;
mod unlogged;
mod write_path;

pub use howdah_encode::arrow::Allowed;

pub use column_compression::ColumnCompression;
pub use howdah_source::{DateFormat, Delimiter, DialectOptions, Encoding, Format, Thousands};
pub use indexes::Indexes;
pub use mode::Mode;
pub use reject_limit::RejectLimit;
pub use sort::Sort;
pub use unlogged::Unlogged;
pub use write_path::WritePath;

groups! {
    /// What is loaded, into which table, and how. Every setting has a method of its name, whatever its group:
    ///
    /// ```
    /// use howdah::LoadOptions;
    /// use howdah::name::TableName;
    /// use howdah::options::{Mode, OnError};
    ///
    /// let options = LoadOptions::new("events-*.csv.gz")
    ///     .table(TableName::parse("public.events")?)
    ///     .mode(Mode::Upsert)
    ///     .key(["id"])
    ///     .on_error(OnError::Ignore);
    /// assert_eq!(options.target.key, ["id"]);
    /// # Ok::<(), howdah::Error>(())
    /// ```
    LoadOptions {
        /// What is read, and how it is written there.
        input: InputOptions {
            /// Paths, URLs, glob patterns, or `-` for standard input. At least one.
            paths: many OsString,
            /// The input's format; default: by the file name's ending, else CSV.
            format: maybe Format,
            /// What the input's text is written in; default: what a byte order mark says, else UTF-8.
            encoding: maybe Encoding,
            /// How records are written; default: found out from the input.
            dialect: one DialectOptions,
            /// Numbers of `numeric`, `real` and `double precision` columns have a decimal comma; default: a point.
            decimal_comma: one bool,
            /// What stands between the thousands of numbers in integer, `numeric`, `real` and `double precision` columns;
            /// default: nothing.
            thousands: maybe Thousands,
            /// `(true, false)` pairs: words that mean so in `boolean` columns, in any case, beside those that PostgreSQL
            /// reads. Default: none.
            booleans: pairs String,
            /// How values of `date`, `timestamp` and `timestamptz` columns are written; default: as PostgreSQL reads
            /// them.
            date_format: maybe DateFormat,
            /// Physical lines to drop at the start of every input, before the header; default: none.
            skip_lines: one u64,
            /// Load at most so many data records in all; default: all.
            limit: maybe u64,
            /// What values may lose on their way from Parquet and Arrow; default: nothing.
            allow_loss: one Allowed,
            /// `key=value` directories on the way to a file are columns of its rows; default: no.
            hive_partitions: one bool,
        },
        /// Which field fills which column, and what a new table's columns are.
        columns: ColumnOptions {
            /// Whether record 1 names the columns; default [`HeaderOption::Auto`].
            header: one HeaderOption,
            /// COPY's positional column list: the n-th field of every record goes into the n-th column named here. In
            /// JSON: the keys to load; others are passed over. Default: all, by the header's names.
            column_list: maybe_many String,
            /// `(source column, target column)` pairs for header names that differ from the table's.
            map: pairs String,
            /// Source columns (header names, or the numbers of fields; keys of JSON) that are not loaded.
            skip_columns: many String,
            /// `(column, type)` pairs: a new table's columns get these types instead of those found; an existing table
            /// must have them.
            types: pairs String,
            /// `(field, type)` pairs: what the caller knows of the input's fields, by their names in the header, or
            /// `field N`. A new table's columns get these where `types` says nothing; an existing table keeps its own.
            known_types: pairs String,
            /// In JSON: which names of `map` are paths, where the caller knows it; those in quotes are in any case. Default:
            /// those that are no keys.
            known_paths: maybe_many String,
            /// How many values of a new table's column must fit the type that it gets where `types` says nothing; default
            /// [`Inference::All`].
            infer: one Inference,
            /// A column of text that gets the name of the file each row comes from; default: none.
            file_column: maybe_into String,
            /// What columns of a new table are called; default [`ColumnNames::Keep`].
            column_names: one ColumnNames,
            /// Target columns in which the NULL string means NULL in quotes too; `*` for all.
            force_null: many String,
            /// Target columns in which the NULL string means itself without quotes; `*` for all.
            force_not_null: many String,
        },
        /// The table, and what is done to it.
        target: TargetOptions {
            /// The target; default: the stem of the first input's file name.
            table: maybe TableName,
            /// What happens to a table that is there already; default [`Mode::CreateAppend`].
            mode: one Mode,
            /// Columns of a new table's primary key, none by default; in the modes that match rows, the columns to match
            /// them by, by default the primary key or the only unique index.
            key: many String,
            /// The new table's schema is made too, when there is none; default: no.
            create_schema: one bool,
            /// Columns of the input that a table which is there lacks are added to it, in the load's transaction: at the end,
            /// nullable, with the types of a new table's columns. Its role must own the table. Default: no.
            evolve: one bool,
            /// Whether the table's rows go into the write-ahead log; default [`Unlogged::No`], they do.
            unlogged: one Unlogged,
            /// How the server compresses wide values of a new table; default [`ColumnCompression::Auto`].
            column_compression: one ColumnCompression,
            /// SQL that is run in the load's transaction before the first row.
            before: many String,
            /// SQL that is run in the load's transaction after the last row.
            after: many String,
            /// ANALYZE the table after the commit; default: no.
            analyze: one bool,
            /// What all processes that [`share`](Self::share) a load call it.
            load_id: maybe_into String,
            /// Other processes that load the same inputs under the same [`load_id`](Self::load_id) take a part each: every
            /// part is loaded once, by whoever takes it, and committed by itself. Default: no.
            share: one bool,
            /// Make and show the plan, check every record, change nothing; default: no.
            dry_run: one bool,
        },
        /// How rows travel.
        writing: WritingOptions {
            /// Connections that write; default: chosen from cores, input size and the target's indexes.
            jobs: maybe usize,
            /// The write path; default [`WritePath::CopyBinary`].
            write_path: one WritePath,
            /// The order in which the rows of a part (16 MiB of input) are sent; default [`Sort::Auto`].
            sort: one Sort,
            /// What becomes of a table's indexes and foreign keys while rows are added to it; default [`Indexes::Keep`].
            indexes: one Indexes,
            /// The table's own triggers do not fire for the rows: they are disabled and enabled again in the load's
            /// transaction. Foreign keys are checked all the same. Default: no.
            disable_triggers: one bool,
            /// Rows in one statement where the write path leaves that open; default: 1,000, or 5,000 for
            /// [`WritePath::Unnest`], or 128 for [`WritePath::InsertRewritten`].
            rows_per_statement: maybe usize,
            /// Where rows land with [`WritePath::Landing`]; default: `<table>_landing`, beside the table.
            landing_table: maybe TableName,
            /// The landing table stays after its rows were promoted; default: no.
            keep_landing: one bool,
            /// COPY … FREEZE; needs a table made or truncated by this load, and one connection. Default: no.
            freeze: one bool,
            /// The most bytes a second that are sent, all connections together; default: as many as the server takes. What
            /// the server does by itself (building indexes, applying staged rows, promoting) is not slowed down.
            max_rate: maybe u64,
            /// How long one statement may wait for a lock that another session holds; default: as long as it takes. Who
            /// holds it is said after 2 s.
            lock_timeout: maybe Duration,
        },
        /// What becomes of records that cannot be rows.
        tolerance: ToleranceOptions {
            /// What happens when a record cannot be a row; default [`OnError::Stop`].
            on_error: one OnError,
            /// The most records that may be refused under [`OnError::Ignore`]; default: any number.
            reject_limit: maybe RejectLimit,
            /// Where rejected records go; default: `<table>.<load id>.rejects.jsonl` in the working directory.
            rejects: maybe_into PathBuf,
            /// A file that [`rejects`](Self::rejects) names and that holds something is emptied, through a link too;
            /// default: it is left alone and the load does not begin.
            overwrite_rejects: one bool,
            /// What happens to NUL characters, which PostgreSQL cannot store; default [`OnNul::Error`].
            on_nul: one OnNul,
        },
    }
}

impl LoadOptions {
    /// A load of one path, URL or glob pattern, with every default.
    pub fn new(path: impl Into<OsString>) -> Self {
        LoadOptions::default().paths([path])
    }
}

words! {
    /// What happens when a record cannot be a row.
    #[derive(Default)]
    OnError {
        /// The load ends, and nothing is changed.
        #[default]
        Stop = "stop",
        /// The record is kept in the reject file, the others are loaded.
        Ignore = "ignore",
    }

    /// What happens to NUL characters.
    #[derive(Default)]
    OnNul {
        /// The record is rejected.
        #[default]
        Error = "error",
        /// They are dropped, and the record is read as if they had not been there.
        Strip = "strip",
    }

    /// What becomes of a header's names.
    #[derive(Default)]
    ColumnNames {
        /// They are the columns' names.
        #[default]
        Keep = "keep",
        /// In lower case, words joined by `_`; those of an existing table match in this form too. A new table that gets
        /// the first input's name gets it in this form.
        Snake = "snake",
    }

    /// How many values of a column must fit the type that is found for it.
    #[derive(Default)]
    Inference {
        /// Every one: a single other value makes the column text.
        #[default]
        All = "all",
        /// 99 % or more of those that are not NULL; the records of the others are rejected. Needs [`OnError::Ignore`].
        Mostly = "mostly",
    }

    /// Whether record 1 is a header.
    #[derive(Default)]
    HeaderOption {
        /// Found out from the table or the data, and said.
        #[default]
        Auto = "auto",
        /// Record 1 names the columns.
        Yes = "true",
        /// Record 1 is data.
        No = "false",
    }
}
