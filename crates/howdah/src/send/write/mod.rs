//! The write paths: how the rows of a part reach the table over one connection.

pub(crate) mod array;
pub(crate) mod copy;
pub(crate) mod fields;
mod statements;

use parking_lot::Mutex;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::OnceCell;
use tokio_postgres::Statement;

use crate::catalog::table::Table;
use crate::error::Error;
use crate::options::{Format, Inference, LoadOptions, Mode, OnError, OnNul, WritePath};
use crate::plan::Plan;
use crate::plan::mapping::Mapping;
use crate::plan::row_form::RowForm;
use crate::send::context::LoadContext;
use crate::send::rate_limit::RateLimit;
use crate::send::row_commits::RowCommits;
use copy::Copy;
use howdah_connect::Connection;
use howdah_message::{Mention, Message, setting};
use howdah_source::{Dialect, Eol};
use statements::{ArrayElement, StatementSink};

/// `interval[]`: a modifier of its elements decides how their literals are read, which only COPY tells the server.
const INTERVAL_ARRAY: u32 = 1187;

/// What to do where the input cannot be passed on.
fn others_can() -> Message {
    message![setting::WRITE_PATH.word("copy-binary"), " (the default) and copy-text can"]
}

/// Starts and runs the statements of one connection, with those that were prepared on it.
pub(crate) struct StatementRunner {
    connection: Arc<Connection>,
    plan: Arc<Plan>,
    /// Quoted and qualified.
    relation: String,
    /// Prepared statements, by how many rows they take and in which form.
    prepared: Mutex<HashMap<(usize, RowForm), Statement>>,
    /// What the arrays of `unnest` are made of, once that was looked up.
    elements: OnceCell<Vec<ArrayElement>>,
    /// The account of rows that commit one by one.
    commits: Option<Arc<RowCommits>>,
    /// How fast rows may be sent, by all connections together.
    rate: Option<Arc<RateLimit>>,
}

/// The server refused a part, or the connection broke.
#[derive(Debug)]
pub(crate) struct PartFailure {
    pub(crate) error: tokio_postgres::Error,
    /// The rows of the refused statement, numbered in the part. `None` for COPY, whose errors name the row.
    pub(crate) rows: Option<Range<usize>>,
    /// How many rows of the part the server counted before. Where rows commit one by one, these are in the table.
    pub(crate) counted: u64,
}

impl From<tokio_postgres::Error> for PartFailure {
    fn from(error: tokio_postgres::Error) -> Self {
        PartFailure { error, rows: None, counted: 0 }
    }
}

/// Where the rows of one part go.
pub(crate) enum Sink {
    /// One COPY statement, no faster than the rate.
    Copy(Copy, Option<Arc<RateLimit>>),
    /// INSERT statements.
    Statements(StatementSink),
}

impl Sink {
    /// Sends whole rows.
    ///
    /// # Errors
    /// The connection broke; what the server thinks of rows is known at [`Sink::finish`].
    #[inline]
    pub(crate) async fn feed(&mut self, rows: Bytes) -> Result<(), tokio_postgres::Error> {
        match self {
            Sink::Copy(copy, None) => copy.feed(rows).await,
            Sink::Copy(copy, Some(rate)) => {
                for rows in rate.slices(rows) {
                    rate.admit(rows.len()).await;
                    copy.feed(rows).await?;
                }
                Ok(())
            }
            Sink::Statements(statements) => {
                statements.feed(&rows).await;
                Ok(())
            }
        }
    }

    /// Ends the part; how many rows the server counted.
    ///
    /// # Errors
    /// The server refused a row, or the connection broke.
    pub(crate) async fn finish(self) -> Result<u64, PartFailure> {
        match self {
            Sink::Copy(copy, _) => Ok(copy.finish().await?),
            Sink::Statements(statements) => statements.finish().await,
        }
    }
}

impl StatementRunner {
    /// Uses an open connection; nothing is sent yet.
    pub(crate) fn new(connection: Arc<Connection>, context: &LoadContext) -> Self {
        StatementRunner {
            connection,
            plan: context.plan.clone(),
            relation: context.relation.clone(),
            prepared: Mutex::default(),
            elements: OnceCell::new(),
            commits: context.commits.clone(),
            rate: context.rate.clone(),
        }
    }

    pub(crate) fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Starts the statement, or statements, of a part.
    ///
    /// # Errors
    /// The server's: it lacks the relation, or the role the right.
    pub(crate) async fn start(self: &Arc<Self>, form: RowForm) -> Result<Sink, tokio_postgres::Error> {
        if !self.plan.sending.write_path.is_copy() {
            return Ok(Sink::Statements(StatementSink::new(self.clone(), form)));
        }
        let sql = || self.plan.copy_sql(&self.relation, form);
        let statement = self.prepared(0, form, sql).await?;
        let copy = Copy::start(&self.connection, &statement, form).await?;
        Ok(Sink::Copy(copy, self.rate.clone()))
    }

    /// The statement for `rows` rows in `form`, prepared when it is first used.
    async fn prepared(
        &self,
        rows: usize,
        form: RowForm,
        sql: impl FnOnce() -> String,
    ) -> Result<Statement, tokio_postgres::Error> {
        let known = || self.prepared.lock();
        let found = known().get(&(rows, form)).cloned();
        if let Some(statement) = found {
            return Ok(statement);
        }
        let statement = self.connection.client().prepare(&sql()).await?;
        known().insert((rows, form), statement.clone());
        Ok(statement)
    }
}

/// The statement that a plan shows.
pub(crate) fn planned_sql(plan: &Plan, relation: &str) -> String {
    match plan.sending.write_path {
        // No line end is part of the statement.
        WritePath::CopyCsv => plan.copy_sql(relation, RowForm::Csv(Eol::Nl)),
        path if path.is_copy() => plan.copy_sql(relation, plan.sending.form),
        WritePath::Unnest => {
            let arrays = 1..=plan.columns.len() + usize::from(plan.sending.ordinal.is_some());
            let arrays: Vec<String> = arrays.map(|n| format!("unnest(${n})")).collect();
            format!("{} SELECT {}", statements::insert_into(plan, relation), arrays.join(", "))
        }
        _ => statements::values_sql(plan, relation, 1, plan.sending.form),
    }
}

/// Refuses options that a write path cannot keep.
///
/// # Errors
/// A usage error that names the option.
pub(crate) fn check(options: &LoadOptions) -> Result<(), Error> {
    if options.columns.infer == Inference::Mostly && options.tolerance.on_error == OnError::Stop {
        return Err(Error::usage(message![
            setting::INFER.word("mostly"),
            " needs ",
            setting::ON_ERROR.word("ignore"),
            ": it rejects the records whose values do not fit"
        ]));
    }
    let path = options.writing.write_path;
    let refused = |what: Mention| {
        Err(Error::usage(message![what, " does not go with ", setting::WRITE_PATH.word(path.name())]))
    };
    if options.writing.rows_per_statement == Some(0) {
        return Err(Error::usage(message![setting::ROWS_PER_STATEMENT, " must be at least 1"]));
    }
    if options.writing.rows_per_statement.is_some() && !path.has_rows_per_statement() {
        return refused(setting::ROWS_PER_STATEMENT.into());
    }
    if path == WritePath::Landing {
        return check_landing(options);
    }
    if options.writing.landing_table.is_some() || options.writing.keep_landing {
        let option =
            if options.writing.keep_landing { setting::KEEP_LANDING } else { setting::LANDING_TABLE };
        return refused(option.into())
            .map_err(|error| error.with_hint(message!["it is for ", setting::WRITE_PATH.word("landing")]));
    }
    if path == WritePath::CopyCsv {
        return check_copy_csv(options);
    }
    if path.is_copy() {
        return Ok(());
    }
    if path.commits_rows() {
        if !matches!(options.target.mode, Mode::Append | Mode::CreateAppend | Mode::Create) {
            return refused(setting::MODE.word(options.target.mode.name())).map_err(|error| {
                error.with_hint("it needs one transaction, and here every row has its own")
            });
        }
        for (option, texts) in
            [(setting::BEFORE, &options.target.before), (setting::AFTER, &options.target.after)]
        {
            if !texts.is_empty() {
                return refused(option.into()).map_err(|error| {
                    error.with_hint("it is part of the load's transaction, and here every row has its own")
                });
            }
        }
    }
    if options.writing.freeze {
        return refused(setting::FREEZE.into());
    }
    if options.input.dialect.default.is_some() && path != WritePath::Values {
        return refused(setting::DEFAULT.into())
            .map_err(|error| error.with_hint("copy-text, copy-binary and values know DEFAULT"));
    }
    Ok(())
}

/// What needs the values' types on the way, or one transaction around it all.
fn check_landing(options: &LoadOptions) -> Result<(), Error> {
    let refused: [(bool, Mention, Message); 11] = [
        (
            !matches!(options.target.mode, Mode::Append | Mode::CreateAppend),
            setting::MODE.word(options.target.mode.name()),
            "landing adds to a table".into(),
        ),
        (
            options.target.dry_run,
            setting::DRY_RUN.into(),
            message!["with ", setting::WRITE_PATH.word("copy-text"), " it judges every value"],
        ),
        (options.writing.freeze, setting::FREEZE.into(), "the table exists, and may hold rows".into()),
        (
            options.input.dialect.default.is_some(),
            setting::DEFAULT.into(),
            "copy-text, copy-binary and values know DEFAULT".into(),
        ),
        (options.input.decimal_comma, setting::DECIMAL.word(","), "copy-text and copy-binary know it".into()),
        (
            options.input.thousands.is_some(),
            setting::THOUSANDS.into(),
            "copy-text and copy-binary know it".into(),
        ),
        (
            !options.input.booleans.is_empty(),
            setting::BOOLEANS.into(),
            "copy-text and copy-binary know it".into(),
        ),
        (
            options.input.date_format.is_some(),
            setting::DATE_FORMAT.into(),
            "copy-text and copy-binary know it".into(),
        ),
        (
            options.columns.infer != Inference::All,
            setting::INFER.word(options.columns.infer.name()),
            "landing infers no types".into(),
        ),
        (
            !options.target.before.is_empty(),
            setting::BEFORE.into(),
            "landing and promoting are two transactions".into(),
        ),
        (
            !options.target.after.is_empty(),
            setting::AFTER.into(),
            "landing and promoting are two transactions".into(),
        ),
    ];
    match refused.into_iter().find(|(is_asked, ..)| *is_asked) {
        Some((_, option, why)) => {
            Err(Error::usage(message![option, " does not go with ", setting::WRITE_PATH.word("landing")])
                .with_hint(why))
        }
        None => Ok(()),
    }
}

/// What needs a look at every value, where the input's bytes travel as they are.
fn check_copy_csv(options: &LoadOptions) -> Result<(), Error> {
    let refused: [(bool, Message); 9] = [
        (options.input.format == Some(Format::Text), setting::FORMAT.word("text").into()),
        (matches!(options.input.format, Some(Format::Json | Format::Ndjson)), "JSON".into()),
        (options.input.decimal_comma, setting::DECIMAL.word(",").into()),
        (options.input.thousands.is_some(), setting::THOUSANDS.into()),
        (!options.input.booleans.is_empty(), setting::BOOLEANS.into()),
        (options.input.date_format.is_some(), setting::DATE_FORMAT.into()),
        (options.tolerance.on_error == OnError::Ignore, setting::ON_ERROR.word("ignore").into()),
        (options.tolerance.on_nul == OnNul::Strip, setting::ON_NUL.word("strip").into()),
        (options.columns.file_column.is_some(), setting::FILE_COLUMN.into()),
    ];
    match refused.into_iter().find(|(is_asked, _)| *is_asked) {
        Some((_, option)) => {
            Err(Error::usage(message![option, " does not go with ", setting::WRITE_PATH.word("copy-csv")])
                .with_hint(others_can()))
        }
        None => Ok(()),
    }
}

/// Refuses inputs whose bytes are not COPY's as they are: a record must have the loaded columns and no others.
///
/// # Errors
/// A usage error that says why.
pub(crate) fn check_passed_on(
    dialect: &Dialect,
    mapping: &Mapping,
    is_staged: bool,
    is_observed: bool,
) -> Result<(), Error> {
    let in_order = mapping.pairs.iter().enumerate().all(|(at, pair)| pair.field == at);
    let why = if is_staged {
        "rows are staged with their places in the input, which the input does not have"
    } else if is_observed {
        "the types of a stream are found while its values are read"
    } else if dialect.delimiter.byte().is_none() {
        "COPY's delimiter is one byte"
    } else if mapping.pairs.len() != mapping.fields || !in_order {
        "COPY cannot skip a field of the input"
    } else if !mapping.layouts.is_empty() {
        "the columns of the files differ"
    } else {
        return Ok(());
    };
    Err(Error::usage(message![setting::WRITE_PATH.word("copy-csv"), " cannot pass this input on"])
        .with_detail(why)
        .with_hint(others_can()))
}

/// Refuses columns that only COPY can fill.
///
/// # Errors
/// A usage error that names the column.
pub(crate) fn check_columns(options: &LoadOptions, mapping: &Mapping, table: &Table) -> Result<(), Error> {
    let loaded = |name: &String| mapping.pairs.iter().any(|pair| pair.target == *name);
    let mut columns = table.columns.iter();
    let odd = columns.find(|column| {
        column.base_type.0 == INTERVAL_ARRAY && column.base_type.1 != -1 && loaded(&column.name)
    });
    match odd {
        Some(column)
            if !options.writing.write_path.is_copy() || options.writing.write_path == WritePath::Landing =>
        {
            let (name, type_name) = (&column.name, &column.type_name);
            Err(Error::usage(message![
                setting::WRITE_PATH.word(options.writing.write_path.name()),
                " cannot fill {name:?} ({type_name})"
            ])
            .with_detail(
                "the type's modifier decides how its literals are read, which an INSERT does not tell",
            )
            .with_hint(message![setting::WRITE_PATH.word("copy-binary"), " or copy-text can"]))
        }
        _ => Ok(()),
    }
}
