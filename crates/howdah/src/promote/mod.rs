//! Promotion: rows that landed as text are read as their columns' types and inserted into a typed table, all in one
//! transaction; those that cannot be are kept in a table of their own.

mod attempt;
mod readers;
mod run;
mod segments;
mod statements;

use std::sync::Arc;
use std::time::Instant;

use serde::Serialize;

use crate::catalog::name::{TableName, display, quote};
use crate::catalog::session::SessionSettings;
use crate::catalog::table::{Column, RelationKind, Table};
use crate::control::runtime::runtime;
use crate::control::stoppable::{cancelled, interruptible};
use crate::control::{Control, Phase};
use crate::error::Error;
use crate::error::ReportedError;
use crate::options::RejectLimit;
use crate::report::Outcome;
use attempt::PromotionRun;
use howdah_connect::{Connection, Target};
use howdah_message::{Respell, Spelling};
use readers::Reader;
use statements::RejectsTable;

/// `pg_input_error_info` judges a literal without raising an error.
const HAS_SOFT_ERRORS: i32 = 160_000;

settings! {
    /// One promotion: from where, to where.
    #[derive(Debug, Clone)]
    PromoteOptions {
        /// The table whose columns are all text.
        landing: one TableName,
        /// The typed table. Its columns have the landing table's names; what that lacks gets its default.
        into: one TableName,
        /// Where rows go that cannot be promoted; default: `<landing>_rejects`, in the landing table's schema.
        rejects_table: maybe TableName,
        /// Rows that break a rule of the table (unique, foreign key, CHECK, NOT NULL) go there too, instead of ending it all.
        rejects_violations: one bool,
        /// The landing table is dropped in the same transaction.
        drops_landing: one bool,
    }
}

impl PromoteOptions {
    /// The rows of `landing` go into `into`, with every default.
    pub fn new(landing: TableName, into: TableName) -> Self {
        PromoteOptions { landing, into, rejects_table: None, rejects_violations: false, drops_landing: false }
    }
}

/// The figures of one promotion. Serialises to the JSON report.
#[derive(Debug, Clone, Default, Serialize)]
#[non_exhaustive]
pub struct PromoteReport {
    /// How it ended.
    pub outcome: Outcome,
    /// Schema-qualified, quoted where needed.
    pub landing: String,
    /// Schema-qualified, quoted where needed.
    pub table: String,
    /// Rows that are new in the table.
    pub rows: u64,
    /// Rows that are kept in the table of rejects.
    pub rows_rejected: u64,
    /// That table, where there are any.
    pub rejects_table: Option<String>,
    /// Wall-clock seconds, connecting included.
    pub elapsed_s: f64,
    /// `rows / elapsed_s`.
    pub rows_per_s: f64,
    /// Seconds per phase.
    pub phases: PromotePhases,
    /// As the server names it.
    pub server_version: String,
    /// Why it failed.
    pub error: Option<ReportedError>,
}

impl PromoteReport {
    /// The report of a promotion that failed with `error`: the one that the error carries, or that of one that did not
    /// begin.
    pub fn of_failure(error: &Error) -> PromoteReport {
        error.promote_report().cloned().unwrap_or_else(|| PromoteReport {
            outcome: Outcome::of(error),
            error: Some(ReportedError::from(&error.clone().or_nothing_changed())),
            ..PromoteReport::default()
        })
    }
}

impl Error {
    /// What a promotion did until it failed. `None`: it did not begin, or another call failed.
    pub fn promote_report(&self) -> Option<&PromoteReport> {
        self.report_of()
    }
}

impl Respell for PromoteReport {
    fn respell(&mut self, spelling: &dyn Spelling) {
        self.error.respell(spelling);
    }
}

/// Seconds per phase.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct PromotePhases {
    /// Connecting, catalog.
    pub plan_s: f64,
    /// Validating, casting and inserting.
    pub promote_s: f64,
    /// The commit.
    pub commit_s: f64,
}

/// What a promotion did.
#[derive(Debug)]
pub(crate) struct Promoted {
    pub(crate) rows: u64,
    pub(crate) rows_rejected: u64,
    pub(crate) promote_s: f64,
    pub(crate) commit_s: f64,
    /// Standbys have it, where they must.
    pub(crate) is_confirmed: bool,
}

/// Reads the rows of a landing table as their types, and inserts them into the typed table. Blocks until it is over; stop it
/// with [`Control::cancel`].
///
/// ```
/// # let database = howdah_testkit::Database::new();
/// # database.sql("CREATE TABLE raw (id text, born text); INSERT INTO raw VALUES ('1', '2001-02-28'), ('2', '2001-02-29')");
/// # database.sql("CREATE TABLE people (id int, born date)");
/// # let target = howdah::Target::new(database.conninfo())?;
/// use howdah::name::TableName;
/// use howdah::{Control, PromoteOptions, promote};
///
/// let options = PromoteOptions::new(TableName::parse("raw")?, TableName::parse("people")?);
/// let report = promote(&options, &target, &Control::new())?;
/// assert_eq!((report.rows, report.rows_rejected), (1, 1));
/// assert_eq!(report.rejects_table.as_deref(), Some("public.raw_rejects"));
/// # Ok::<(), howdah::Error>(())
/// ```
///
/// # Errors
/// What ended it, with what was done until then: [`Error::promote_report`] gives the [`PromoteReport`].
pub fn promote(options: &PromoteOptions, target: &Target, control: &Control) -> Result<PromoteReport, Error> {
    let target = &target.clone().with_fallback_application_name(crate::APPLICATION_NAME);
    let start = Instant::now();
    let mut report = PromoteReport::default();
    control.begin();
    let result = match runtime() {
        Ok(runtime) => {
            let done = runtime.block_on(carry_out(options, target, control, &mut report));
            // A name that no resolver answers for would keep us: threads that look names up cannot be stopped.
            runtime.shutdown_background();
            done
        }
        Err(error) => Err(error),
    };
    report.elapsed_s = start.elapsed().as_secs_f64();
    report.rows_per_s = report.rows as f64 / report.elapsed_s;
    let Err(error) = result else { return Ok(report) };
    let error = error.or_nothing_changed();
    report.outcome = Outcome::of(&error);
    report.error = Some(ReportedError::from(&error));
    Err(error.with_report(report))
}

async fn carry_out(
    options: &PromoteOptions,
    target: &Target,
    control: &Control,
    report: &mut PromoteReport,
) -> Result<(), Error> {
    let planning = Instant::now();
    let connection = tokio::select! {
        connected = target.connect() => Arc::new(connected?),
        () = control.cancelled() => return Err(cancelled()),
    };
    let prepared = async {
        let session = SessionSettings::read(&connection).await?;
        report.server_version.clone_from(&session.version);
        let find = async |name: &TableName| {
            let found = Table::lookup(&connection, name, &session.rules).await?;
            found.ok_or_else(|| Error::no_relation("table", name))
        };
        let (landing, into) = (find(&options.landing).await?, find(&options.into).await?);
        report.landing = landing.display();
        report.table = into.display();
        check(&landing, &into)?;
        let names: Vec<&str> = landing.columns.iter().map(|column| column.name.as_str()).collect();
        let mut promotion = Promotion::new(&connection, &session, &landing, &into, &names).await?;
        let rejects = options.rejects_table.clone().unwrap_or_else(|| rejects_name(&landing));
        promotion.keep_rejects(&rejects, options.rejects_violations);
        promotion.drops_landing = options.drops_landing;
        Ok::<_, Error>(promotion)
    };
    let promotion = interruptible(&connection, control, prepared).await?;
    report.phases.plan_s = planning.elapsed().as_secs_f64();
    let promoted = promotion.run(&connection, &target.pinned_to(&connection), control).await?;
    (report.phases.promote_s, report.phases.commit_s) = (promoted.promote_s, promoted.commit_s);
    (report.rows, report.rows_rejected) = (promoted.rows, promoted.rows_rejected);
    report.rejects_table = promotion.rejects_display(promoted.rows_rejected);
    report.outcome = Outcome::Promoted;
    Ok(())
}

/// The table for rows that cannot be promoted, beside `landing`.
pub(crate) fn rejects_name(landing: &Table) -> TableName {
    TableName { schema: Some(landing.schema.clone()), table: format!("{}_rejects", landing.name) }
}

/// Refuses a landing table that is none, and columns that do not fit, all at once.
fn check(landing: &Table, into: &Table) -> Result<(), Error> {
    if landing.kind != RelationKind::Table {
        return Err(Error::usage(format!("{} is not a plain table", landing.display()))
            .with_hint("copy it into one: CREATE TABLE … AS SELECT …"));
    }
    if landing.oid == into.oid {
        return Err(Error::usage("a table cannot be promoted into itself"));
    }
    let mut problems = Vec::new();
    for column in &landing.columns {
        let name = display(&column.name);
        if column.base_type.0 != tokio_postgres::types::Type::TEXT.oid() {
            problems.push(format!("{name} is {} in the landing table, not text", column.type_name));
        }
        match into.columns.iter().find(|found| found.name == column.name) {
            None => problems.push(format!("{} has no column {name}", into.display())),
            Some(found) if found.generated => problems.push(format!("{name} is a generated column")),
            Some(_) => {}
        }
    }
    if problems.is_empty() {
        return Ok(());
    }
    let names: Vec<String> = into.columns.iter().map(|column| display(&column.name)).collect();
    Err(Error::usage(format!("{} does not fit: {}", landing.display(), problems.join("; ")))
        .with_detail(format!("columns of {}: {}", into.display(), names.join(", ")))
        .with_hint(
            "rename, alter or drop the landing table's columns, or promote a CREATE TABLE … AS SELECT of it",
        ))
}

/// A promotion that was decided on.
#[derive(Debug, Clone)]
pub(crate) struct Promotion {
    /// Quoted and qualified.
    landing: String,
    landing_columns: Vec<String>,
    /// Quoted and qualified.
    into: String,
    readers: Vec<Reader>,
    /// Where refused rows go; `None`: the first of them ends the promotion.
    rejects: Option<RejectsTable>,
    rejects_violations: bool,
    /// More refused rows end the promotion; with how many records were rejected before, and read.
    reject_limit: Option<(RejectLimit, u64, u64)>,
    drops_landing: bool,
    /// The statement that limits waiting for locks in its transaction.
    lock_floor: Option<String>,
    has_soft_errors: bool,
}

impl Promotion {
    /// The promotion of the columns `names` of `landing`, which may yet have to be made. It ends at the first row that the
    /// server refuses, and keeps the landing table.
    ///
    /// # Errors
    /// The server's errors.
    pub(crate) async fn new(
        connection: &Connection,
        session: &SessionSettings,
        landing: &Table,
        into: &Table,
        names: &[&str],
    ) -> Result<Promotion, Error> {
        let column = |name: &&str| into.columns.iter().find(|column| column.name == **name);
        let columns: Vec<&Column> = names.iter().filter_map(column).collect();
        Ok(Promotion {
            landing: landing.sql(),
            landing_columns: names.iter().map(|name| (*name).to_owned()).collect(),
            into: into.sql(),
            readers: Reader::of(connection, &columns).await?,
            rejects: None,
            rejects_violations: false,
            reject_limit: None,
            drops_landing: false,
            lock_floor: None,
            has_soft_errors: session.version_num >= HAS_SOFT_ERRORS,
        })
    }

    /// Refused rows go to a table; those that break a rule of the target too, where that is asked for.
    pub(crate) fn keep_rejects(&mut self, table: &TableName, violations: bool) {
        let parts = table.schema.iter().chain([&table.table]);
        let shown: Vec<String> = parts.map(|part| display(part)).collect();
        let sql = match &table.schema {
            Some(schema) => format!("{}.{}", quote(schema), quote(&table.table)),
            None => quote(&table.table),
        };
        self.rejects = Some(RejectsTable::new(sql, shown.join("."), &self.landing_columns));
        self.rejects_violations = violations;
    }

    /// Refused rows beyond `limit` end the promotion; `refused` of the records `read` were refused before.
    pub(crate) fn limit_rejects(&mut self, limit: RejectLimit, refused: u64, read: u64) {
        self.reject_limit = Some((limit, refused, read));
    }

    /// The transaction begins with this statement, which limits how long it waits for a lock.
    pub(crate) fn limit_waits(&mut self, floor: Option<String>) {
        self.lock_floor = floor;
    }

    /// The landing table goes with the commit.
    pub(crate) fn drop_landing(&mut self) {
        self.drops_landing = true;
    }

    /// The table with the refused rows, where there are any.
    pub(crate) fn rejects_display(&self, rejected: u64) -> Option<String> {
        self.rejects.as_ref().filter(|_| rejected > 0).map(|rejects| rejects.display.clone())
    }

    /// Carries it out and commits, or leaves nothing behind.
    ///
    /// # Errors
    /// The first refusal that ends it; anything else that the server says; somebody said stop.
    pub(crate) async fn run(
        &self,
        connection: &Arc<Connection>,
        target: &Target,
        control: &Control,
    ) -> Result<Promoted, Error> {
        control.enter(Phase::Promoting);
        let run = PromotionRun { promotion: self, connection, control };
        let promoted = run.promote(target).await.map_err(|error| error.told(connection.last_words()));
        if promoted.is_err() {
            let rollback = connection.client().batch_execute("ROLLBACK");
            let _ = control.clean_up(rollback).await;
        }
        promoted
    }
}
