//! What a writer's two sides share, the program's and the senders': made once, when it connects.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use howdah_connect::{Connection, Target};
use tokio::runtime::Handle;
use tokio::sync::Notify;
use tokio_postgres::types::Type;

use super::ack::Group;
use super::adaptive::{Controller, Decision, Limits};
use super::durability::{self, Notices};
use super::lanes::Lanes;
use super::ledger::{Ledger, Participant};
use super::options::{Delivery, OnConflict, WriterOptions};
use super::queue::Queue;
use super::session::Session;
use super::statements::Statements;
use super::statistics::Recorder;
use super::uncertain_parts::UncertainParts;
use super::unreported::UnreportedFailures;
use crate::catalog::name::TableName;
use crate::catalog::session::SessionSettings;
use crate::catalog::table::Table;
use crate::error::Error;
use crate::rows::RowShape;

/// What the program's side and the senders share.
pub(super) struct Shared {
    pub(super) queue: Queue,
    pub(super) options: WriterOptions,
    pub(super) target: Target,
    pub(super) shape: RowShape,
    pub(super) statements: Arc<Statements>,
    pub(super) ledger: Option<Ledger>,
    /// Where rows of a key have an order.
    pub(super) doubts: Option<UncertainParts>,
    /// Who keeps something in step with the rows.
    pub(super) companion: Option<Arc<dyn Participant>>,
    pub(super) lanes: Lanes,
    pub(super) notices: Notices,
    pub(super) recorder: Recorder,
    pub(super) unreported: Arc<UnreportedFailures>,
    /// Schema-qualified, for SQL.
    pub(super) relation: String,
    pub(super) relation_name: Arc<str>,
    /// The columns and their types, as they were when the rows' encoding was chosen.
    pub(super) fingerprint: String,
    pub(super) has_row_security: bool,
    pub(super) version_num: i32,
    /// Ends the dispatcher at once.
    pub(super) stop: Notify,
    /// Rows that were not settled when it was ended so; nobody was told of them yet.
    pub(super) left: AtomicUsize,
    /// Resolves when it has ended.
    pub(super) ended: Arc<Group>,
    /// Where it runs.
    pub(super) handle: Handle,
}

/// Everything that is known before the first row.
pub(super) async fn prepare(
    target: &Target,
    table: &str,
    options: WriterOptions,
    companion: Option<Arc<dyn Participant>>,
    handle: Handle,
) -> Result<(Arc<Shared>, Session), Error> {
    options.check()?;
    let name = TableName::parse(table)?;
    let target = &target.clone().with_fallback_application_name(crate::APPLICATION_NAME);
    let connection = target.connect().await?;
    // All connections go where the first went, until a failure: then any host of the target will do.
    let session = SessionSettings::read(&connection).await?;
    let table = Table::lookup(&connection, &name, &session.rules).await?.ok_or_else(|| {
        Error::no_relation("relation", &name).with_hint("a writer does not make tables: CREATE TABLE first")
    })?;
    let as_text = options.needs_statements();
    let shape = RowShape::of(&table, &session.rules, options.columns.as_deref(), as_text)?;
    let ledger = match options.delivery {
        Delivery::ExactlyOnce if !options.discard => Some(Ledger::open(&connection, &table.schema).await?),
        _ => None,
    };
    let statements = Arc::new(Statements::new(&connection, &table, &shape, &options, ledger.as_ref()).await?);
    let relation = table.sql();
    let fingerprint = fingerprint(&connection, &relation, &shape).await?;
    let relation_name: Arc<str> = table.name.clone().into();
    let is_ordered = options.on_conflict == Some(OnConflict::Update);
    let lanes = match is_ordered {
        true => Lanes::by_key(&connection, &table, &shape, &statements.key, options.connections).await?,
        false => Lanes::one(),
    };
    let notices = durability::notices(&connection, &table, options.on_conflict).await?;
    let first = Session::new(connection, statements.clone(), relation_name.clone());
    let decision = match options.is_adaptive() {
        true => Controller::new(&Limits::of(&options)).decision(),
        false => Decision {
            batch_rows: options.max_rows,
            connections: options.connections,
            queue_rows: options.queue_rows,
        },
    };
    let recorder = Recorder::default();
    recorder.decided(decision);
    let unreported = Arc::new(UnreportedFailures::default());
    let shared = Shared {
        queue: Queue::new(&options, decision, lanes.count(), is_ordered, unreported.clone()),
        target: target.clone(),
        shape,
        statements,
        doubts: (is_ordered && ledger.is_some()).then(UncertainParts::default),
        ledger,
        companion,
        lanes,
        notices,
        recorder,
        unreported,
        relation,
        relation_name,
        fingerprint,
        has_row_security: table.row_security,
        version_num: session.version_num,
        stop: Notify::new(),
        left: AtomicUsize::new(0),
        ended: Arc::default(),
        handle,
        options,
    };
    Ok((Arc::new(shared), first))
}

impl Shared {
    /// Counts the rows that will not be written, before `stop`. Of several who count, the first sees all of them.
    pub(super) fn give_up_the_rest(&self) {
        self.left.fetch_max(self.queue.load().unsettled.rows, Ordering::Relaxed);
    }

    /// That the table is still the one that rows are encoded for.
    ///
    /// # Errors
    /// It is gone, or its columns are others.
    pub(super) async fn check_unchanged(&self, connection: &Connection) -> Result<(), Error> {
        let now = fingerprint(connection, &self.relation, &self.shape).await?;
        if now == self.fingerprint {
            return Ok(());
        }
        if now.is_empty() {
            return Err(Error::no_relation("relation", &self.relation));
        }
        Err(Error::usage(format!(
            "the columns of {} are not those that the writer was made for",
            self.relation
        ))
        .with_hint("somebody altered the table: make a new writer"))
    }
}

/// The columns of rows with their types, as the catalog has them now.
async fn fingerprint(connection: &Connection, relation: &str, shape: &RowShape) -> Result<String, Error> {
    let names: Vec<&str> = shape.columns().iter().map(|column| column.name.as_str()).collect();
    let sql = "select coalesce(pg_catalog.string_agg(pg_catalog.concat_ws(' ', attname, atttypid, atttypmod), ',' order by attname), '')
                 from pg_catalog.pg_attribute
                where attrelid = pg_catalog.to_regclass($1) and attname = any($2) and not attisdropped";
    let rows =
        connection.client().query_typed(sql, &[(&relation, Type::TEXT), (&names, Type::TEXT_ARRAY)]).await?;
    Ok(rows.first().map_or_else(String::new, |row| row.get(0)))
}
