//! A second look at the input after a load that failed: the server refused a row, but only at the end of a statement, of the
//! rows, or of an index, where it does not say which row that was. All rows are staged and tried in a transaction that is
//! rolled back.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use howdah_connect::{Connection, Target};
use howdah_message::setting;
use howdah_source::Input;
use tokio_postgres::types::{ToSql, Type};

use super::refused_rows::{IMMEDIATE, NO_SECOND_LOOK, RefusedRow, records};
use super::self_references::SelfReferences;
use crate::catalog::load_id::LoadId;
use crate::catalog::name::quote;
use crate::catalog::table::RelationKind;
use crate::control::Phase;
use crate::control::stoppable::cancelled;
use crate::error::{Error, HiddenNames};
use crate::load::{Load, Setup};
use crate::plan::ColumnTypes;
use crate::publish::staged::{Round, Staging};
use crate::publish::strategy::PublishStrategy;
use crate::read::queue::{self, InputQueue};
use crate::resolve::Resolver;
use crate::send::context::LoadContext;
use crate::send::deadlock::MutualWaits;
use crate::send::pool::WorkerPool;
use crate::send::row_error::is_about_a_row;
use crate::send::savepoint::Savepoint;
use crate::send::sort::SortRule;

/// A row that others lock is not worth waiting for: the load has failed.
const SHORT_WAIT: &str = "SET LOCAL lock_timeout = '2s'";

/// The column of constraint or index `$2` of table `$1`, where that has but one.
const SINGLE_COLUMN: &str = "
    select a.attname::text
      from (select conkey from pg_catalog.pg_constraint where conrelid = to_regclass($1) and conname = $2
            union all
            select array[indkey[0]] from pg_catalog.pg_index join pg_catalog.pg_class i on i.oid = indexrelid
             where indrelid = to_regclass($1) and i.relname = $2 and indnkeyatts = 1) as k(columns)
      join pg_catalog.pg_attribute a on a.attrelid = to_regclass($1) and a.attnum = k.columns[1]
     where pg_catalog.cardinality(k.columns) = 1";

/// What a second look found.
struct Found {
    /// The first record that the server refuses.
    error: Error,
    /// Parents that come later in the input were not called missing.
    sees_later_parents: bool,
}

impl Load<'_> {
    /// The `error` of a load that was rolled back, with the record that it is about where it names none and that can be found.
    /// Where rows were not judged in the order of the input it names one of those that are wrong, and perhaps not the first:
    /// it `is_out_of_order`. Of what is built after the rows, another constraint may have failed than the first wrong record breaks:
    /// then the error is about that record.
    pub(in crate::load) async fn look_again(
        &self,
        target: &Target,
        decision: &Setup,
        is_out_of_order: bool,
        error: Error,
    ) -> Error {
        let refusal = std::error::Error::source(&error).and_then(|cause| cause.downcast_ref());
        let is_unnamed = error.location().is_none()
            && refusal.is_some_and(is_about_a_row)
            && !error.begins_with(setting::BEFORE);
        let phase = self.control.snapshot().phase;
        // Later on it is the user's own SQL that fails.
        let is_of_rows = matches!(phase, Phase::Loading | Phase::Indexing);
        let is_staged = matches!(decision.strategy, PublishStrategy::Staged(_));
        if !(is_unnamed || is_out_of_order)
            || !is_of_rows
            || is_staged
            || decision.rejects.is_some()
            || decision.landing.is_some()
        {
            return error;
        }
        let ignore = message![
            setting::ON_ERROR.word("ignore"),
            " finds the record, keeps it in a file and loads the others"
        ];
        if !self.inputs.iter().all(Input::is_rewindable) {
            return if is_out_of_order {
                error
            } else if decision.plan.types == ColumnTypes::Observed {
                error.with_hint(NO_SECOND_LOOK)
            } else {
                error.with_hint(message![
                    "only the table itself could see that, and a stream cannot be read again to find the record; ",
                    ignore
                ])
            };
        }
        if !self.options.target.before.is_empty() {
            return error.with_hint(message![
                "the record is not looked for, because ",
                setting::BEFORE,
                " would run twice; ",
                ignore
            ]);
        }
        // What is staged has no place for DEFAULT, and a foreign server may keep what is rolled back here.
        if decision.plan.reading.dialect.default.is_some() || decision.table.kind == RelationKind::Foreign {
            return error;
        }
        self.control.enter(Phase::Judging);
        self.control.begin();
        match self.find_refused(target, decision, &error).await {
            // A parent in a later record may be missing for the one, and there for the other.
            Ok(Some(Found { error: found, sees_later_parents }))
                if decision.table.hazards.refers_to_itself
                    && !(sees_later_parents && phase == Phase::Indexing)
                    && found.sqlstate() == Some("23503")
                    && found.detail() != error.detail() =>
            {
                error
            }
            // What is built after the rows is built one after the other: the first that fails need not be of the first record.
            Ok(Some(Found { error: found, .. }))
                if is_same(&found, &error)
                    || is_out_of_order && is_conflict(&found)
                    || phase == Phase::Indexing && is_of_a_constraint(&found) =>
            {
                let (committed, visible) = (error.committed(), error.visible().unwrap_or_default());
                let found = found.with_visible(committed, visible);
                match error.hint() {
                    Some(hint) => found.with_hint(hint),
                    None => found,
                }
            }
            // The load's own failure is the one to report.
            _ => error,
        }
    }

    /// The first row of the input that the server refuses after a load of it failed with `error`, on a connection of its own.
    async fn find_refused(
        &self,
        target: &Target,
        decision: &Setup,
        error: &Error,
    ) -> Result<Option<Found>, Error> {
        let connection = tokio::select! {
            connected = target.connect() => Arc::new(connected?),
            () = self.control.cancelled() => return Err(cancelled()),
        };
        let found = self.try_staged(&connection, target, decision, error).await;
        let ended = async {
            if found.is_err() {
                let _ = connection.cancel().await;
            }
            let _ = connection.client().batch_execute("ROLLBACK").await;
        };
        let _ = self.control.clean_up(ended).await;
        connection.abort();
        found
    }

    async fn try_staged(
        &self,
        connection: &Arc<Connection>,
        target: &Target,
        decision: &Setup,
        error: &Error,
    ) -> Result<Option<Found>, Error> {
        let table = &decision.table;
        let (relation, makes) = decision.strategy.judges(table);
        let names: Vec<&str> = decision.plan.columns.iter().map(|column| column.name.as_str()).collect();
        let placing = Staging::to_judge(connection, table, LoadId::new(), &names, relation.clone());
        let staging = self.interruptible(connection, placing).await?;
        let first = ["BEGIN ISOLATION LEVEL READ COMMITTED".to_owned(), SHORT_WAIT.to_owned()];
        self.run_all(connection, &first).await?;
        if let Some(triggers) = &decision.triggers {
            self.take_triggers(connection, triggers).await?;
        }
        self.add_columns(connection, decision).await?;
        self.run_all(connection, &[makes, vec![staging.create_sql()]].concat()).await?;
        let is_locked = matches!(decision.strategy, PublishStrategy::Rebuild(_));
        // Triggers may give a row another parent than its record has.
        let own = match table.hazards.refers_to_itself && !table.has_row_triggers {
            true => self.self_references(connection, &relation, &names, is_locked).await?,
            false => SelfReferences::default(),
        };

        let plan = Arc::new(decision.plan.staged(staging.ordinal())?);
        let (relation_name, relation) = staging.relation();
        let context = Arc::new(LoadContext {
            plan: plan.clone(),
            relation,
            relation_name,
            hidden_names: HiddenNames::default(),
            control: self.control.clone(),
            waits: MutualWaits::new(),
            refused_in_sorted: AtomicBool::new(false),
            resolver: Resolver::start(target.clone(), decision.server_version_num),
            dense: Arc::new(AtomicBool::new(false)),
            rejects: None,
            isolates_rows: false,
            rate: None,
            sort: SortRule::default(),
            commits: None,
        });
        let input = InputQueue::new(self.supply_again(&plan).await?);
        let connecting = WorkerPool::connect(connection, target, 1);
        let mut workers = self.interruptible(connection, connecting).await?;
        let sent = self.send(connection, &input, &context, &mut workers).await;
        input.stop();
        workers.shutdown();
        sent?;

        let when = [IMMEDIATE.to_owned()].into_iter().chain(own.put_off());
        self.run_all(connection, &when.chain([Savepoint::ROWS.set()]).collect::<Vec<_>>()).await?;
        let round = Round::first(&staging);
        let total = self.lay_out(connection, &staging, &round).await?;
        // Below the one that settled rows leave behind.
        self.run_all(connection, &[Savepoint::BOTTOM.set(), Savepoint::ROWS.set()]).await?;
        let (refused, sees_later_parents) =
            self.first_wrong(connection, &staging, &round, total, &own, error).await?;
        let Some((at, refusal)) = refused else { return Ok(None) };
        let column = self.single_column(connection, &refusal).await?;
        let mut refused = vec![self.refuse(connection, &round, at, refusal).await?];
        // Of two rows that cannot both be there, either may be the wrong one.
        if is_conflict(&refused[0].1) {
            refused.extend(self.first_alike(connection, &staging, &round, at).await?);
            refused.reverse();
        }
        let morsels = self.supply_again(&plan).await?;
        let dialect = plan.reading.dialect.clone();
        let mut found =
            queue::off_thread(self.control, move || records(&morsels, refused, &dialect)).await??.into_iter();
        let Some(mut error) = found.next_back().map(|reject| reject.error) else { return Ok(None) };
        if let Some(column) = column {
            error = error.in_column(column);
        }
        if let Some(other) = found.next().and_then(|reject| reject.error.location().cloned()) {
            let said = error.detail().map(|detail| format!("{detail} ")).unwrap_or_default();
            error = error.with_detail(format!("{said}The first such record is {other}."));
        }
        let error = decision.strategy.hidden_names(table).reveal(error);
        Ok(Some(Found { error, sees_later_parents }))
    }

    /// The first row before row `at` with which that cannot be there; `None` where it cannot be there at all.
    async fn first_alike(
        &self,
        connection: &Connection,
        staging: &Staging,
        round: &Round<'_>,
        at: usize,
    ) -> Result<Option<RefusedRow>, Error> {
        self.run_all(connection, &[Savepoint::BOTTOM.roll_back(), Savepoint::ROWS.set()]).await?;
        if self.try_rows(connection, staging, &round.apply_sql(at..at + 1)).await?.is_err() {
            return Ok(None);
        }
        match self.first_refused(connection, staging, round, at).await? {
            Some((other, refusal)) => self.refuse(connection, round, other, refusal).await.map(Some),
            None => Ok(None),
        }
    }

    /// The column that the constraint of a `refusal` is about, if it is about a single one.
    async fn single_column(
        &self,
        connection: &Connection,
        refusal: &tokio_postgres::Error,
    ) -> Result<Option<String>, Error> {
        let Some(db) = refusal.as_db_error() else { return Ok(None) };
        let (Some(schema), Some(table), Some(constraint)) = (db.schema(), db.table(), db.constraint()) else {
            return Ok(None);
        };
        let relation = format!("{}.{}", quote(schema), quote(table));
        let parameters: [(&(dyn ToSql + Sync), Type); 2] =
            [(&relation, Type::TEXT), (&constraint, Type::TEXT)];
        let asking = connection.client().query_typed(SINGLE_COLUMN, &parameters);
        Ok(self.stoppable(connection, asking).await?.first().map(|row| row.get(0)))
    }
}

/// Whether a row cannot be there beside another.
fn is_conflict(error: &Error) -> bool {
    matches!(error.sqlstate(), Some("23505" | "23P01"))
}

/// Whether a row breaks what the table says of its rows.
fn is_of_a_constraint(error: &Error) -> bool {
    error.sqlstate().is_some_and(|code| code.starts_with("23"))
}

/// Whether the load failed for what was `found`: nothing else may be told of it. What triggers say of a row judges it by what
/// else is there, so that must be the same.
fn is_same(found: &Error, error: &Error) -> bool {
    let is_said_by_a_trigger = found.sqlstate().is_some_and(|code| code.starts_with("P0"));
    found.sqlstate() == error.sqlstate()
        && found.constraint() == error.constraint()
        && (!is_said_by_a_trigger || found.message() == error.message())
}
