//! A stream: records that come without an end, written through a [`Writer`] as they come. Reads as the order of
//! events: look at the server, wait for the first record, decide how to read, then carry until the input ends or somebody says
//! stop.
//!
//! One thread reads and encodes, the writer's thread sends, and a third (`settle`) takes the acknowledgements in the order of
//! the input and keeps the place before which everything is settled.

mod arrival;
mod carry;
mod current;
mod follow;
mod growth;
mod intake;
mod notes;
mod origin;
mod place;
mod positions;
mod reading;
mod report;
mod rotated;
mod row;
mod settle;
mod state_table;
mod trace;
mod waiting;
mod watch;

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

pub use report::{LatencyFigures, StreamPlan, StreamReport, WriterFigures};
pub use watch::{StreamProgress, StreamWatch};

use carry::Carrier;
use howdah_connect::Target;
use howdah_message::{Action, setting};
use intake::{First, Intake, source_name};
use origin::Source;
use place::StateFile;
use reading::InputPlan;
use settle::{Bookkeeping, FlowControl, Settled, Settler, StateStore};
use state_table::{SharedTable, StateTable};
use trace::FileMark;

use crate::catalog::load_id::LoadId;
use crate::catalog::name::TableName;
use crate::catalog::session::SessionSettings;
use crate::catalog::table::Table;
use crate::control::Phase;
use crate::control::runtime::runtime;
use crate::control::stoppable::cancelled;
use crate::error::ReportedError;
use crate::error::{Committed, Error, ErrorKind};
use crate::options::{LoadOptions, OnError};
use crate::rejects::{Existing, Rejects, default_path, is_an_input, provenance};
use crate::report::advice;
use crate::report::usage::Usage;
use crate::report::{CopyFormat, Outcome, PlannedColumn};
use crate::writer::{Delivery, OnFull, Writer, WriterOptions};

/// How long the reading side waits for room at the writer before it looks at what becomes of its files meanwhile.
const PATIENCE: Duration = Duration::from_millis(100);

/// How long rows that were read may take to be written once somebody said stop.
const DRAIN: Duration = Duration::from_secs(30);

settings! {
    /// What a caller asks of a stream.
    #[derive(Debug, Clone, Default)]
    StreamOptions {
        /// The table, how records are read, which columns they fill, and what becomes of bad ones; what is only about loads
        /// is not looked at.
        reading: one LoadOptions,
        /// The growing file to read; `None`: standard input.
        follow: maybe_into PathBuf,
        /// Where the place is kept up to which everything is settled, and from which the next stream goes on.
        state: maybe_into PathBuf,
        /// The same in a table of the database, made where it is missing: in the transactions of the rows, so that none is written
        /// twice. Without a schema it is in that of the table.
        state_table: maybe TableName,
        /// How rows are written. The columns are the input's.
        writer: one WriterOptions,
    }
}

impl StreamOptions {
    /// Standard input goes into `table`, with every default.
    pub fn new(table: TableName) -> Self {
        StreamOptions::default().reading(LoadOptions::default().table(table))
    }
}

/// Carries records into a table until the input ends or [`StreamWatch`]'s control says stop. Blocks.
///
/// ```
/// # let database = howdah_testkit::Database::new();
/// # database.sql("CREATE TABLE hits (at timestamptz, path text)");
/// # let log = database.file("hits.ndjson", "{\"at\": \"2026-01-01 12:00Z\", \"path\": \"/\"}\n");
/// # let state = database.path("hits.state");
/// # let target = howdah::Target::new(database.conninfo())?;
/// use howdah::name::TableName;
/// use howdah::stream::{StreamOptions, StreamWatch, stream};
///
/// // Reads a growing file until it is told to stop; the next stream goes on from the place kept in `state`.
/// let options = StreamOptions::new(TableName::parse("hits")?).follow(log).state(state);
/// let watch = StreamWatch::new();
/// let report = std::thread::scope(|threads| {
///     let streaming = threads.spawn(|| stream(&options, &target, &watch));
///     while watch.progress().rows < 1 && !streaming.is_finished() {
///         std::thread::yield_now();
///     }
///     watch.control().cancel();
///     streaming.join().expect("it does not panic")
/// })?;
/// assert_eq!(report.rows, 1);
/// # Ok::<(), howdah::Error>(())
/// ```
///
/// # Errors
/// What ended it, with what was done until then: [`Error::stream_report`](crate::Error::stream_report) gives the [`StreamReport`].
pub fn stream(options: &StreamOptions, target: &Target, watch: &StreamWatch) -> Result<StreamReport, Error> {
    let target = &target.clone().with_fallback_application_name(crate::APPLICATION_NAME);
    let (start, before) = (Instant::now(), Usage::now());
    let id = LoadId::new();
    let mut report = StreamReport { load_id: id.to_string(), ..StreamReport::default() };
    let mut stream = Stream { options, target, watch, id, report: &mut report };
    let result = stream.run();
    let (snapshot, usage) = (watch.control().snapshot(), Usage::now());
    report.rows_read = snapshot.rows_read;
    report.bytes_read = snapshot.bytes_read;
    report.elapsed_s = start.elapsed().as_secs_f64();
    report.rows_per_s = report.rows as f64 / report.elapsed_s;
    report.client_cpu_s = usage.cpu_s - before.cpu_s;
    report.peak_rss_bytes = usage.peak_rss_bytes;
    let Err(error) = result else { return Ok(report) };
    let error = advice::advise(error, &options.reading, target.user(), &report.table);
    let is_partly = error.kind() == ErrorKind::PartlyCommitted;
    report.outcome = if is_partly { Outcome::PartlyCommitted } else { Outcome::Failed };
    report.error = Some(ReportedError::from(&error));
    Err(error.with_report(report))
}

struct Stream<'a> {
    options: &'a StreamOptions,
    target: &'a Target,
    watch: &'a StreamWatch,
    id: LoadId,
    report: &'a mut StreamReport,
}

/// Why the reading ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    /// The input has no more.
    Input,
    /// Somebody said stop.
    Stopped,
    /// The settling side met a failure.
    Failed,
}

impl Stream<'_> {
    fn run(&mut self) -> Result<(), Error> {
        let reading = &self.options.reading;
        let (file, control) = (self.options.follow.as_deref(), self.watch.control());
        let name = reading
            .target
            .table
            .clone()
            .ok_or_else(|| Error::usage("a stream needs the name of its table"))?;
        let mut intake = Intake::open(file, reading, control)?;
        let (session, table) = self.look(&name)?;
        self.report.table = table.display();
        self.report.server_version.clone_from(&session.version);
        self.report.durability = Some(session.durability(table.is_logged));
        let state = self.state(&mut intake, &table)?;
        let Some(First { format, usual, is_end }) = intake.first(file, reading, control)? else {
            self.report.outcome = if control.is_cancelled() { Outcome::Stopped } else { Outcome::Loaded };
            return Ok(());
        };
        let options = reading.clone().format(format);
        let found = InputPlan::find_out(&mut intake.cutter, &usual, &table, &session, &options, is_end)?;
        self.tell(&found, &table);
        intake.go_on(&found.plan.reading, self.watch.control())?;
        self.report.start_offset = intake.start.offset;
        let rejects = self.rejects(&found, &table, &options, intake.start.file.as_ref())?;
        let mut kept = Bookkeeping { rejects, state };
        if let (Some(table), Some(mark), false) = (kept.table(), &intake.start.file, intake.is_resumed) {
            intake.start.base = table.enter(mark, 0)?;
        }
        // Here a directory that cannot be written to is a mistake, later it would be an accident.
        kept.save(&intake.start)?;
        let columns = found.plan.columns.iter().map(|column| column.name.clone());
        let writing = self
            .options
            .writer
            .clone()
            .columns(columns)
            // So that files are kept up with while the server is away.
            .on_full(OnFull::WaitFor(PATIENCE));
        let companion = kept.table().map(SharedTable::companion);
        let writer = Writer::connect_with(self.target, &name.to_string(), writing, companion)?;
        for notice in writer.notices() {
            self.watch.control().notice(notice.clone());
        }
        let writer = Arc::new(writer);
        self.watch.set_writer(&writer);
        self.carry(intake, found, writer, kept)
    }

    /// Looks at the server and the table.
    fn look(&self, name: &TableName) -> Result<(SessionSettings, Table), Error> {
        let runtime = runtime()?;
        let control = self.watch.control();
        runtime.block_on(async {
            let look = async {
                let connection = self.target.connect().await?;
                let session = SessionSettings::read(&connection).await?;
                let found = Table::lookup(&connection, name, &session.rules).await?;
                Ok((session, found.ok_or_else(|| reading::no_table(&name.to_string()))?))
            };
            tokio::select! {
                found = look => found,
                () = control.cancelled() => Err(cancelled().nothing_changed()),
            }
        })
    }

    /// Where the place is kept. The intake begins there.
    fn state(&self, intake: &mut Intake, table: &Table) -> Result<Option<StateStore>, Error> {
        let (setting, file) = match (&self.options.state, &self.options.state_table) {
            (None, None) => return Ok(None),
            (Some(_), Some(_)) => {
                return Err(Error::usage(message![
                    setting::STATE,
                    " and ",
                    setting::STATE_TABLE,
                    " are two places: a stream keeps one"
                ]));
            }
            (Some(_), None) => (setting::STATE, self.options.follow.as_deref()),
            (None, Some(_)) => (setting::STATE_TABLE, self.options.follow.as_deref()),
        };
        if matches!(intake.source, Source::Stdin(_)) && intake.source.mark().is_none() {
            return Err(Error::usage(message![
                setting,
                " keeps a place in a file, and standard input is none"
            ])
            .with_hint(message![
                setting::FOLLOW.placeholder("FILE"),
                ", or ",
                Action::StreamInput("FILE")
            ]));
        }
        let (control, name) = (self.watch.control(), source_name(file));
        if let Some(path) = &self.options.state {
            let state = StateFile::open(path, &name, &table.display())?;
            if let Some(saved) = state.last() {
                intake.take_up(saved, 0, control)?;
            }
            return Ok(Some(StateStore::File(Box::new(state))));
        }
        let Some(relation) = &self.options.state_table else { return Ok(None) };
        if self.options.writer.delivery == Delivery::AtLeastOnce {
            return Err(Error::usage(message![
                setting::STATE_TABLE,
                " is for rows that come once: it does not go with delivery at least once"
            ]));
        }
        // Where it is started from says nothing about which file it is.
        let name = file
            .and_then(|path| std::path::absolute(path).ok())
            .map_or(name, |path| source_name(Some(&path)));
        let names = (&*table.schema, &*table.display());
        let state = StateTable::open(self.target, relation, &name, names, control)?;
        if let Some(saved) = state.last() {
            intake.take_up(saved, state.base(), control)?;
        }
        Ok(Some(StateStore::Table(SharedTable::new(state))))
    }

    /// Puts into the report how records are read, and says what was guessed.
    fn tell(&mut self, found: &InputPlan, table: &Table) {
        let control = self.watch.control();
        if !found.summary.guessed.is_empty() {
            control.notice(message!["format: ", found.summary.message()]);
        }
        found.mapping.notices().for_each(|notice| control.notice(notice));
        let columns = found.plan.columns.iter().map(|column| PlannedColumn {
            source: column.source.clone(),
            target: column.name.clone(),
            r#type: column.type_name.clone(),
            form: CopyFormat::Binary,
            because: None,
        });
        let columns: Vec<PlannedColumn> = columns.collect();
        if found.mapping.keys.is_some() && self.options.reading.columns.column_list.is_none() {
            let is_filled = |name: &str| columns.iter().any(|column| column.target == name);
            let left = table.columns.iter().filter(|column| !column.generated && !is_filled(&column.name));
            let left: Vec<&str> = left.map(|column| &*column.name).collect();
            if !left.is_empty() {
                control.notice(message![
                    "the first record has no key for ",
                    left.join(", "),
                    ": always the default (",
                    setting::COLUMNS.list(&["a", "b", "…"]),
                    " names the keys to load)"
                ]);
            }
        }
        self.report.plan = Some(StreamPlan {
            dialect: found.summary.clone(),
            header: found.mapping.decision.to_string(),
            columns,
        });
    }

    fn rejects(
        &self,
        found: &InputPlan,
        table: &Table,
        options: &LoadOptions,
        input: Option<&FileMark>,
    ) -> Result<Option<Arc<Rejects>>, Error> {
        if options.tolerance.on_error == OnError::Stop {
            return Ok(None);
        }
        let path = options
            .tolerance
            .rejects
            .clone()
            .unwrap_or_else(|| default_path(&table.name, &self.id.to_string()));
        // What it adds would be read, and refused again, without an end.
        let there = path.metadata().ok().map(|metadata| (metadata.dev(), metadata.ino()));
        if there.is_some() && input.map(FileMark::identity) == there {
            return Err(is_an_input(&path));
        }
        let fields: Vec<Option<usize>> = (0..found.mapping.fields).map(Some).collect();
        let provenance = provenance(table, &found.mapping, &fields, &found.dialect, options, false);
        let asked = options.tolerance.rejects.is_some();
        // What a stream that went on before has refused stays.
        let (limit, others) = (options.tolerance.reject_limit, BTreeMap::new());
        Rejects::new(&path, asked, Existing::AddedTo, limit, provenance, others)
            .map(|rejects| Some(Arc::new(rejects)))
    }

    #[expect(clippy::disallowed_methods, reason = "this module starts threads: see ARCHITECTURE")]
    fn carry(
        &mut self,
        intake: Intake,
        found: InputPlan,
        writer: Arc<Writer>,
        kept: Bookkeeping,
    ) -> Result<(), Error> {
        self.watch.control().enter(Phase::Loading);
        let (send, batches) = channel();
        let between = Arc::new(FlowControl::new(intake.waiting.interruption()));
        let rejects = kept.rejects.clone();
        let table = kept.table().cloned();
        let settler = Settler::new(kept, self.watch.clone(), between.clone(), intake.start.clone());
        let settling = std::thread::Builder::new()
            .name("settle".into())
            .spawn(move || settler.run(&batches))
            .map_err(|error| Error::cannot_start("a thread", error))?;
        let mut carrier =
            Carrier::new(intake, found, writer.clone(), self.watch.clone(), (send, between), table.clone());
        let carried = carrier.run(self.options.reading.tolerance.on_error);
        drop(carrier);
        self.watch.control().enter(Phase::Committing);
        let patience = match carried {
            Ok(Ended::Input) => self.options.writer.retry_for.saturating_add(DRAIN),
            _ => DRAIN,
        };
        let closed = writer.close_blocking(patience);
        let settled = settling
            .join()
            .map_err(|_| Error::new(ErrorKind::Internal, "the thread that settles records has failed"))?;
        self.report.writer = Some(WriterFigures::from(&writer.statistics()));
        self.report.rows = settled.rows;
        self.report.offset = settled.place.offset;
        let mut rejected = Ok(());
        if let Some(rejects) = &rejects {
            rejected = rejects.finish(settled.rows + rejects.count());
            self.report.rows_rejected = rejects.count();
            self.report.rejects_path = rejects.path().map(|path| path.display().to_string());
        }
        // What ended it first; the writer's word is about the rows behind that.
        let first = settled.failure.clone().map_or(Ok(()), Err);
        let explained = |error| match &table {
            Some(table) => table.explained(error),
            None => error,
        };
        match (first.and(carried), closed, rejected) {
            (Ok(ended), Ok(_), Ok(())) => {
                self.report.outcome =
                    if ended == Ended::Stopped { Outcome::Stopped } else { Outcome::Loaded };
                Ok(())
            }
            (Err(error), ..) | (_, Err(error), _) | (_, _, Err(error)) => {
                let (reading, role) = (&self.options.reading, self.target.user());
                Err(with_account(
                    advice::advise(explained(error), reading, role, &self.report.table),
                    &settled,
                ))
            }
        }
    }
}

/// The failure of a stream, which leaves in the table what was committed before.
fn with_account(error: Error, settled: &Settled) -> Error {
    if settled.rows == 0 {
        return error;
    }
    let count = |rows: u64| if rows == 1 { "1 row".to_owned() } else { format!("{rows} rows") };
    let mut visible = format!("{} committed", count(settled.rows));
    if settled.behind > 0 {
        visible.push_str(&format!(", {} of them behind this record", settled.behind));
    }
    visible.push_str(&format!("; all records before byte {} are settled", settled.place.offset));
    let kind = match error.kind() {
        ErrorKind::TooManyRejects => ErrorKind::TooManyRejects,
        _ => ErrorKind::PartlyCommitted,
    };
    error.of_kind(kind).with_visible(Committed::Partly, visible)
}
