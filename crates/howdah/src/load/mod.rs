//! The load: preview, plan, carry, commit. Reads as the order of events.

mod apply;
mod carry;
mod decide;
mod dry_run;
mod input;
mod landed;
mod preview;
mod share;
mod wanted_name;

use std::sync::Arc;
use std::time::Instant;

use decide::landing::Landing;
use howdah_connect::{Connection, Target};
use howdah_message::{Message, setting};
use howdah_source::{Dialect, Input, MorselSource};
use preview::Preview;
use wanted_name::WantedName;

use crate::catalog::load_id::LoadId;
use crate::catalog::name::TableName;
use crate::catalog::session::SessionSettings;
use crate::catalog::table::Table;
use crate::control::Control;
use crate::control::liveness::server_lost;
use crate::control::lock_watch::{LockWatch, within};
use crate::control::runtime::runtime;
use crate::control::stoppable::cancelled;
use crate::error::{Error, ReportedError};
use crate::options::{Format, LoadOptions};
use crate::plan::Plan;
use crate::plan::header_decision::HeaderDecision;
use crate::plan::jobs::Jobs;
use crate::plan::mapping::{self, Mapping};
use crate::plan::spelling;
use crate::publish::added_columns::AddedColumns;
use crate::publish::strategy::PublishStrategy;
use crate::publish::triggers::{Trigger, TriggerScope};
use crate::rejects::Rejects;
use crate::report::usage::Usage;
use crate::report::{CommitUnit, Outcome, Report, advice};
use crate::send::row_commits::RowCommits;
use crate::send::sort::SortRule;
use crate::send::write;

/// Carries the inputs that `options` name into a table of `target`. Blocks until the load is over; stop it with
/// [`Control::cancel`].
///
/// ```
/// # let database = howdah_testkit::Database::new();
/// # database.sql("CREATE TABLE people (id int PRIMARY KEY, name text); INSERT INTO people VALUES (1, 'Ann')");
/// # let file = database.file("people.csv", "id,name\n1,Anna\n2,Ben\n");
/// # let target = howdah::Target::new(database.conninfo())?;
/// use howdah::options::Mode;
/// use howdah::{Control, LoadOptions, load};
///
/// let report = load(&LoadOptions::new(file).mode(Mode::Upsert), &target, &Control::new())?;
/// assert_eq!((report.rows_inserted, report.rows_updated), (1, 1));
/// # assert_eq!(database.sql("TABLE people ORDER BY id"), "1|Anna\n2|Ben");
/// # Ok::<(), howdah::Error>(())
/// ```
///
/// # Errors
/// What ended the load, with what was done until then: [`Error::load_report`] gives the [`Report`], and [`Error::committed`] says
/// whether rows are in the table.
pub fn load(options: &LoadOptions, target: &Target, control: &Control) -> Result<Report, Error> {
    run(|| Ok(Input::resolve(&options.input.paths, control.progress())?), options, target, control)
}

/// Like [`load()`], but carries `inputs`, which need not be files.
///
/// ```
/// # let database = howdah_testkit::Database::new();
/// # let target = howdah::Target::new(database.conninfo())?;
/// use howdah::name::TableName;
/// use howdah::source::Input;
/// use howdah::{Control, LoadOptions, load_inputs};
///
/// let text = Input::memory("made by hand", b"id,name\n1,Ann\n".as_slice().into());
/// let options = LoadOptions::default().table(TableName::parse("people")?);
/// assert_eq!(load_inputs(vec![text], &options, &target, &Control::new())?.rows, 1);
/// # Ok::<(), howdah::Error>(())
/// ```
///
/// # Errors
/// As of [`load()`].
pub fn load_inputs(
    inputs: Vec<Input>,
    options: &LoadOptions,
    target: &Target,
    control: &Control,
) -> Result<Report, Error> {
    run(|| Ok(inputs), options, target, control)
}

fn run(
    inputs: impl FnOnce() -> Result<Vec<Input>, Error>,
    options: &LoadOptions,
    target: &Target,
    control: &Control,
) -> Result<Report, Error> {
    let target = &target.clone().with_fallback_application_name(crate::APPLICATION_NAME);
    let start = Instant::now();
    let before = Usage::now();
    control.begin();
    let id = LoadId::new();
    let mut report = Report {
        load_id: id.to_string(),
        mode: options.target.mode,
        commit: Some(if options.writing.write_path.commits_rows() {
            CommitUnit::Row
        } else {
            CommitUnit::All
        }),
        table: options.target.table.as_ref().map(TableName::display).unwrap_or_default(),
        ..Report::default()
    };
    let mut resolved = options.clone();
    let result = match runtime() {
        Ok(runtime) => {
            let said = options;
            inputs().and_then(|inputs| input::resolve(inputs, options)).and_then(|(inputs, options)| {
                resolved = options;
                let load = Load {
                    inputs,
                    options: &resolved,
                    target,
                    control,
                    id,
                    locks: None,
                    report: &mut report,
                    is_format_said: said.input.format.is_some(),
                    because: Vec::new(),
                    rebuild_gain: None,
                    header: None,
                };
                let done = runtime.block_on(load.run_watched());
                // A name that no resolver answers for would keep us: threads that look names up cannot be stopped.
                runtime.shutdown_background();
                done
            })
        }
        Err(error) => Err(error),
    };
    let snapshot = control.snapshot();
    let usage = Usage::now();
    report.rows_read = snapshot.rows_read;
    report.bytes_read = snapshot.bytes_read;
    report.elapsed_s = start.elapsed().as_secs_f64();
    report.rows_per_s = report.rows as f64 / report.elapsed_s;
    report.client_cpu_s = usage.cpu_s - before.cpu_s;
    report.peak_rss_bytes = usage.peak_rss_bytes;
    let Err(error) = result else { return Ok(report) };
    let error = advice::advise(error, &resolved, target.user(), &report.table);
    if !options.writing.write_path.commits_rows() && !options.target.share {
        report.rows = 0;
        (report.rows_inserted, report.rows_updated, report.rows_deleted) = (0, 0, 0);
        (report.rows_skipped, report.rows_duplicate, report.rows_dropped) = (0, 0, 0);
        report.rows_per_s = 0.0;
    }
    report.outcome = Outcome::of(&error);
    report.error = Some(ReportedError::from(&error));
    Err(error.with_report(report))
}

struct Load<'a> {
    inputs: Vec<Input>,
    options: &'a LoadOptions,
    target: &'a Target,
    control: &'a Control,
    id: LoadId,
    /// Watches its sessions, once there is one.
    locks: Option<LockWatch>,
    report: &'a mut Report,
    /// The user says the format.
    is_format_said: bool,
    /// Why columns of a new table are text, by their names.
    because: Vec<(String, Message)>,
    /// How many times as fast the load would be that builds indexes again, where that was weighed.
    rebuild_gain: Option<f64>,
    /// Whether record 1 was taken for a header, once that was found out.
    header: Option<HeaderDecision>,
}

/// What was found out about the server and the input before anything is decided.
#[derive(Clone, Copy)]
struct Circumstances<'a> {
    connection: &'a Arc<Connection>,
    session: &'a SessionSettings,
    /// The table as the caller names it.
    name: &'a TableName,
    inputs: &'a [Input],
    dialect: &'a Arc<Dialect>,
    mapping: &'a Mapping,
    /// The table's own triggers that do not fire for the rows.
    triggers: Option<&'a DisabledTriggers>,
    /// The columns that the table gets.
    added: Option<&'a AddedColumns>,
    /// Of all inputs, or about so many; `None`: nobody knows.
    bytes: Option<u64>,
}

/// Triggers of the table that do not fire for the rows.
#[derive(Clone)]
struct DisabledTriggers {
    scope: TriggerScope,
    /// Those that there were when this was planned.
    planned: Vec<Trigger>,
}

/// A table that is out of the write-ahead log while the rows come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OffTheLog {
    /// The load makes it so.
    New,
    /// It leaves the log first, in the load's transaction.
    Existing,
}

/// What was decided before the first row moves.
struct Setup {
    plan: Arc<Plan>,
    table: Table,
    strategy: PublishStrategy,
    jobs: Jobs,
    creates: bool,
    server_version_num: i32,
    server_is_utf8: bool,
    rejects: Option<Arc<Rejects>>,
    /// Where rows land as text first: `table` is then the landing table.
    landing: Option<Landing>,
    /// In which order the rows of a part are sent.
    sort: SortRule,
    /// What does not fire for the rows.
    triggers: Option<DisabledTriggers>,
    /// What is not logged before the rows are there.
    off_the_log: Option<OffTheLog>,
    /// The columns that the table gets.
    added: Option<AddedColumns>,
    /// Where every row commits by itself.
    commits: Option<Arc<RowCommits>>,
}

impl Setup {
    /// What adds columns to the table itself: one that takes its place has them when it is made.
    fn adding_sql(&self) -> Option<String> {
        let added = self.added.as_ref().filter(|_| self.strategy.replacement().is_none());
        added.map(|added| added.sql(&self.table.sql()))
    }
}

impl Load<'_> {
    /// Runs; where a wait for a lock was ended, the error says so.
    async fn run_watched(mut self) -> Result<(), Error> {
        let done = self.run().await;
        let skipped = self.options.input.skip_lines;
        let done = done.map_err(|error| match &self.header {
            Some(decision) => decision.explain(error, skipped),
            None => error,
        });
        match &self.locks {
            Some(locks) => done.map_err(|error| locks.explain(error)),
            None => done,
        }
    }

    async fn run(&mut self) -> Result<(), Error> {
        let planning = Instant::now();
        let options = self.options;
        write::check(options)?;
        spelling::of(options)?;
        share::check::check(options, &self.inputs)?;
        let inputs = self.inputs.clone();
        let usual =
            Arc::new(Dialect::resolve(options.input.format.unwrap_or(Format::Csv), &options.input.dialect)?);
        let name = WantedName::of(options, &inputs)?;
        // The name that was asked for, until it is known which table that is.
        self.report.table = name.usual().display();
        let control = self.control;
        let connection = tokio::select! {
            connected = self.target.connect() => Arc::new(connected?),
            () = control.cancelled() => return Err(cancelled()),
        };
        let limit = options.writing.lock_timeout;
        let locks = LockWatch::start(&self.target.pinned_to(&connection), control, limit);
        locks.add([self.interruptible(&connection, async { Ok(connection.pid().await?) }).await?]);
        self.locks = Some(locks);
        let done = self.run_over(&connection, planning, &inputs, &usual, &name).await;
        done.map_err(|error| error.told(connection.last_words()))
    }

    /// Runs over a connection that is open.
    async fn run_over(
        &mut self,
        connection: &Arc<Connection>,
        planning: Instant,
        inputs: &[Input],
        usual: &Arc<Dialect>,
        name: &WantedName,
    ) -> Result<(), Error> {
        let control = self.control;
        let (morsels, decision) = tokio::select! {
            prepared = self.prepare(planning, connection, inputs, usual, name) => prepared?,
            lost = server_lost(connection, control) => return Err(lost.nothing_changed()),
            () = control.cancelled() => {
                // A backend that waits for a lock does not notice that its client is gone: it must be told.
                let _ = control.clean_up(connection.cancel()).await;
                return Err(cancelled().nothing_changed());
            }
        };
        if self.options.target.dry_run {
            return self.dry_run(connection, morsels, &decision).await;
        }
        if self.options.target.share {
            return self.carry_shared(connection, morsels, decision).await;
        }
        match decision.commits.clone() {
            Some(commits) => self.carry_row_by_row(connection.clone(), morsels, decision, &commits).await,
            None => {
                self.carry(connection, morsels, &decision).await?;
                let table = match &decision.landing {
                    Some(landing) => {
                        self.promote_landed(connection, &decision, landing).await?;
                        &landing.into
                    }
                    None => &decision.table,
                };
                self.analyze(connection, table).await
            }
        }
    }

    /// Looks at the server and the input, and decides; changes nothing.
    async fn prepare(
        &mut self,
        planning: Instant,
        connection: &Arc<Connection>,
        inputs: &[Input],
        usual: &Arc<Dialect>,
        name: &WantedName,
    ) -> Result<(MorselSource, Setup), Error> {
        let options = self.options;
        let name = name.find(connection).await?;
        let session = SessionSettings::read(connection).await?;
        self.report.server_version.clone_from(&session.version);
        if usual.default.is_some() && session.version_num < 160_000 {
            return Err(Error::usage(message![
                setting::DEFAULT,
                " needs PostgreSQL 16 or later; the server is ",
                &session.version
            ]));
        }
        let floor = self.locks.as_ref().and_then(LockWatch::floor);
        let floor = floor.as_deref();
        let (mut existing, triggers) =
            within(floor, connection, self.existing(connection, name, &session)).await?;

        let sizes: Option<u64> = inputs.iter().map(Input::size).sum();
        if let Some(total) = sizes {
            self.control.set_bytes_total(total);
        }
        let preview = match options.input.format.unwrap_or_default() {
            Format::Parquet | Format::Arrow => self.preview_batches(inputs).await?,
            Format::Binary => self.look_at_tuples(inputs, existing.as_ref()).await?,
            _ => self.preview(self.cutter(inputs, usual, false), usual, existing.as_ref()).await?,
        };
        let Preview { mut morsels, dialect, summary, head, layouts, bytes } = preview;
        let mapping = match &existing {
            Some(table) => mapping::for_existing(&head, layouts, table, options)?,
            None => mapping::for_new(&head, layouts, options)?,
        };
        mapping.notices().for_each(|notice| self.control.notice(notice));
        self.report.phases.plan_s = planning.elapsed().as_secs_f64() - self.report.phases.infer_s;
        self.header = Some(mapping.decision.clone());
        let (dialect, mapping) = (&dialect, &mapping);
        let session = &session;
        let bytes = sizes.or(bytes);
        let found = Circumstances {
            connection,
            session,
            name,
            inputs,
            dialect,
            mapping,
            triggers: triggers.as_ref(),
            added: None,
            bytes,
        };
        // The whole input may be read for it.
        let added = self.evolve(existing.as_mut(), found, &morsels).await?;
        let found = Circumstances { added: added.as_ref(), ..found };
        // For a new table the whole input is read, and no lock is waited for.
        let floor = floor.filter(|_| existing.is_some());
        let decision = within(floor, connection, self.decide(existing, found, &mut morsels)).await?;
        self.describe(session, &decision, mapping, summary);
        let reading = &decision.plan.reading;
        let morsels = morsels
            .confining_stray_quotes(reading.widths())
            .limited(options.input.limit, mapping.header.is_some())
            .dropping_empty_lines(reading.has_several_fields());
        Ok((morsels, decision))
    }
}
