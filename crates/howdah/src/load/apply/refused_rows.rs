//! Staged rows of which the server refused some: they are applied in segments, each under a savepoint, until every row that it
//! does not want is known and all others are in. What the input had there is read again.

use std::sync::Arc;

use howdah_connect::Connection;
use howdah_source::{Dialect, Input, MorselSource, WorkerState};
use tokio_postgres::error::SqlState;
use tokio_postgres::types::{ToSql, Type};

use super::Applied;
use crate::control::stoppable::stoppable;
use crate::encode::chunk::Ordinal;
use crate::encode::reject::Reject;
use crate::error::{Error, ErrorKind};
use crate::load::{Load, Setup};
use crate::publish::staged::{KeyRange, Round, Staging};
use crate::read::queue;
use crate::rejects::Rejects;
use crate::send::bisect::Bisection;
use crate::send::row_error::is_about_a_row;
use crate::send::savepoint::Savepoint;

/// Refused rows that wait for their records: reading the input again takes time, remembering takes memory.
const REFUSED_AT_ONCE: usize = 50_000;

/// A refused row.
pub(super) type RefusedRow = (Ordinal, Error);

/// Why the record is not told.
pub(super) const NO_SECOND_LOOK: &str = "only the table itself could see that, and a stream cannot be read again to find the record: save it to a file first";

/// What a deferred constraint thinks of the rows is known at once.
pub(super) const IMMEDIATE: &str = "SET CONSTRAINTS ALL IMMEDIATE";

/// Whether some foreign key named `$1` refers to the table that has it.
const OF_ITS_OWN_TABLE: &str = "
    select coalesce(pg_catalog.bool_or(
               coalesce(pg_catalog.pg_partition_root(confrelid), confrelid)
             = coalesce(pg_catalog.pg_partition_root(conrelid), conrelid)), true)
      from pg_catalog.pg_constraint where contype = 'f' and conname = $1";

fn is_orphan(error: &tokio_postgres::Error) -> bool {
    error.code() == Some(&SqlState::FOREIGN_KEY_VIOLATION)
}

impl Load<'_> {
    /// Applies all `staged` rows.
    ///
    /// # Errors
    /// The server refuses a row, which is named with its place in the input where that can be read again.
    pub(super) async fn apply_strictly(
        &self,
        connection: &Connection,
        staging: &Staging,
        decision: &Setup,
    ) -> Result<Applied, Error> {
        self.run_all(connection, &[Savepoint::ROWS.set()]).await?;
        let all = staging.apply_sql(&KeyRange::default());
        let error = match self.run_apply(connection, staging, &all).await? {
            // What is deferred is checked now, while there is somebody to tell.
            Ok(applied) => {
                let checking = connection.client().batch_execute(IMMEDIATE);
                match stoppable(connection, self.control, checking).await? {
                    Ok(()) => {
                        self.run_all(connection, &[Savepoint::ROWS.release()]).await?;
                        return Ok(applied);
                    }
                    Err(error) => error,
                }
            }
            Err(error) => error,
        };
        if !is_about_a_row(&error) {
            return Err(error.into());
        }
        if !self.inputs.iter().all(Input::is_rewindable) {
            return Err(Error::from(error).with_hint(NO_SECOND_LOOK));
        }
        self.run_all(
            connection,
            &[Savepoint::ROWS.roll_back(), IMMEDIATE.to_owned(), Savepoint::ROWS.renew()],
        )
        .await?;
        let round = Round::first(staging);
        let total = self.lay_out(connection, staging, &round).await?;
        let Some((at, refusal)) = self.first_refused(connection, staging, &round, total).await? else {
            return Err(error.into());
        };
        let refused = self.refuse(connection, &round, at, refusal).await?;
        let morsels = self.supply_again(&decision.plan).await?;
        let dialect = decision.plan.reading.dialect.clone();
        let work = move || records(&morsels, vec![refused], &dialect);
        let found = queue::off_thread(self.control, work).await??;
        Err(found.into_iter().next().map_or_else(|| error.into(), |reject| reject.error))
    }

    /// The first of `rows` rows that the server refuses whatever comes behind it, when it refused all of them together.
    pub(super) async fn first_refused(
        &self,
        connection: &Connection,
        staging: &Staging,
        round: &Round<'_>,
        rows: usize,
    ) -> Result<Option<(usize, tokio_postgres::Error)>, Error> {
        let mut orphans = Vec::new();
        let mut search = Bisection::of_refused(rows);
        while let Some(rows) = search.segment() {
            let found = match self.try_rows(connection, staging, &round.apply_sql(rows)).await? {
                Ok(_) => search.accepted(),
                Err(error) => search.refused(None, error),
            };
            if let Some((at, error)) = found {
                let may_find_a_parent = is_orphan(&error)
                    && orphans.len() < REFUSED_AT_ONCE
                    && (!orphans.is_empty() || self.is_of_its_own_table(connection, &error).await?);
                if !may_find_a_parent {
                    return Ok(Some((at, error)));
                }
                orphans.push((at, error));
            }
        }
        let (orphans, _) = self.try_orphans(connection, staging, round, orphans).await?;
        Ok(orphans.into_iter().min_by_key(|(at, _)| *at))
    }

    /// Whether rows of the input can be parents: the foreign key refers to the table that has it.
    async fn is_of_its_own_table(
        &self,
        connection: &Connection,
        refusal: &tokio_postgres::Error,
    ) -> Result<bool, Error> {
        let constraint = refusal.as_db_error().and_then(|db| db.constraint()).unwrap_or_default();
        let parameters: [(&(dyn ToSql + Sync), Type); 1] = [(&constraint, Type::TEXT)];
        let asking = connection.client().query_typed(OF_ITS_OWN_TABLE, &parameters);
        Ok(self.stoppable(connection, asking).await?.first().is_none_or(|row| row.get(0)))
    }

    /// Lays out the rows of `round`, on top of the open savepoint; how many there are.
    ///
    /// # Errors
    /// The statement fails without a row too: that is no row's fault.
    pub(super) async fn lay_out(
        &self,
        connection: &Connection,
        staging: &Staging,
        round: &Round<'_>,
    ) -> Result<usize, Error> {
        self.run_all(connection, &round.create_sql()).await?;
        self.run_all(connection, &[Savepoint::ROWS.renew()]).await?;
        self.try_rows(connection, staging, &round.apply_sql(0..0)).await??;
        let [total] = self.counts(connection, &round.count_sql()).await?;
        usize::try_from(total)
            .map_err(|_| Error::new(ErrorKind::Internal, "there are more staged rows than numbers"))
    }

    /// Tries rows again that lacked a parent, as long as that helps: those that still do, and what the others did.
    async fn try_orphans(
        &self,
        connection: &Connection,
        staging: &Staging,
        round: &Round<'_>,
        mut orphans: Vec<(usize, tokio_postgres::Error)>,
    ) -> Result<(Vec<(usize, tokio_postgres::Error)>, Applied), Error> {
        let mut applied = Applied::default();
        let mut before = usize::MAX;
        while orphans.len() < before {
            before = orphans.len();
            // In turn from either end: a chain of rows is in order from one of them.
            for (at, _) in std::mem::take(&mut orphans).into_iter().rev() {
                match self.try_rows(connection, staging, &round.apply_sql(at..at + 1)).await? {
                    Ok(one) => applied.add(&one),
                    Err(error) => orphans.push((at, error)),
                }
            }
        }
        Ok((orphans, applied))
    }

    /// Applies all `staged` rows but those that the server refuses, which are kept apart.
    pub(super) async fn apply_tolerantly(
        &self,
        connection: &Connection,
        staging: &Staging,
        decision: &Setup,
        rejects: &Arc<Rejects>,
    ) -> Result<Applied, Error> {
        // A deferred constraint would speak up when nobody can tell any more which row it means.
        self.run_all(connection, &[IMMEDIATE.to_owned(), Savepoint::ROWS.set()]).await?;
        let all = staging.apply_sql(&KeyRange::default());
        let error = match self.try_rows(connection, staging, &all).await? {
            Ok(applied) => return Ok(applied),
            Err(error) => error,
        };
        if !self.inputs.iter().all(Input::is_rewindable) {
            return Err(Error::from(error).with_hint(NO_SECOND_LOOK));
        }
        let mut applied = Applied::default();
        let mut round = Round::first(staging);
        loop {
            let total = self.lay_out(connection, staging, &round).await?;
            let refused =
                self.settle(connection, staging, &round, total, &mut applied, decision, rejects).await?;
            self.run_all(connection, &[round.forget_refused_sql()]).await?;
            match round.next().filter(|_| refused > 0) {
                Some(next) => round = next,
                None => break,
            }
        }
        self.run_all(connection, &[round.drop_sql(), Savepoint::ROWS.release()]).await?;
        Ok(applied)
    }

    /// Goes through the rows of one round in order; how many the server refused. What refers to a row that is not there is
    /// tried again in the end: it may be there by then.
    #[expect(clippy::too_many_arguments, reason = "the state of one loop")]
    async fn settle(
        &self,
        connection: &Connection,
        staging: &Staging,
        round: &Round<'_>,
        total: usize,
        applied: &mut Applied,
        decision: &Setup,
        rejects: &Arc<Rejects>,
    ) -> Result<u64, Error> {
        let mut refused = Vec::new();
        let mut orphans = Vec::new();
        let mut count = 0;
        let mut search = Bisection::new(total);
        while let Some(rows) = search.segment() {
            let found = match self.try_rows(connection, staging, &round.apply_sql(rows)).await? {
                Ok(some) => {
                    applied.add(&some);
                    search.accepted()
                }
                // An INSERT ... SELECT never names its row.
                Err(error) => search.refused(None, error),
            };
            if let Some((at, error)) = found {
                if is_orphan(&error) && orphans.len() < REFUSED_AT_ONCE {
                    orphans.push((at, error));
                } else {
                    refused.push(self.refuse(connection, round, at, error).await?);
                    count += 1;
                }
            }
            let is_much = refused.len() >= REFUSED_AT_ONCE || refused.len() as u64 > rejects.room();
            if is_much {
                self.keep(std::mem::take(&mut refused), decision, rejects).await?;
            }
        }
        let (orphans, adopted) = self.try_orphans(connection, staging, round, orphans).await?;
        applied.add(&adopted);
        for (at, error) in orphans {
            refused.push(self.refuse(connection, round, at, error).await?);
            count += 1;
        }
        self.keep(refused, decision, rejects).await?;
        Ok(count)
    }

    /// Takes row `at` out of the staged ones.
    pub(super) async fn refuse(
        &self,
        connection: &Connection,
        round: &Round<'_>,
        at: usize,
        error: tokio_postgres::Error,
    ) -> Result<RefusedRow, Error> {
        let [place] = self.counts(connection, &round.refuse_sql(at)).await?;
        self.run_all(connection, &[Savepoint::ROWS.renew()]).await?;
        Ok((Ordinal(place), error.into()))
    }

    /// Runs `sql` on top of the open savepoint; the inner error is the refusal of a row. Afterwards the savepoint is open again.
    pub(super) async fn try_rows(
        &self,
        connection: &Connection,
        staging: &Staging,
        sql: &str,
    ) -> Result<Result<Applied, tokio_postgres::Error>, Error> {
        match self.run_apply(connection, staging, sql).await? {
            Ok(applied) => {
                self.run_all(connection, &[Savepoint::ROWS.renew()]).await?;
                Ok(Ok(applied))
            }
            Err(error) if is_about_a_row(&error) => {
                self.run_all(connection, &[Savepoint::ROWS.roll_back()]).await?;
                Ok(Err(error))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Keeps the records of refused rows.
    async fn keep(
        &self,
        mut refused: Vec<RefusedRow>,
        decision: &Setup,
        rejects: &Arc<Rejects>,
    ) -> Result<(), Error> {
        if refused.is_empty() {
            return Ok(());
        }
        refused.sort_by_key(|(place, _)| *place);
        let morsels = self.supply_again(&decision.plan).await?;
        let (dialect, rejects) = (decision.plan.reading.dialect.clone(), rejects.clone());
        let work = move || rejects.add(&records(&morsels, refused, &dialect)?);
        queue::off_thread(self.control, work).await?
    }
}

/// The records that became the refused rows, which are in order.
pub(super) fn records(
    morsels: &MorselSource,
    refused: Vec<RefusedRow>,
    dialect: &Dialect,
) -> Result<Vec<Reject>, Error> {
    let changed = || Error::new(ErrorKind::Source, "the input changed while it was loaded");
    let mut rejects = Vec::with_capacity(refused.len());
    let mut refused = refused.into_iter().peekable();
    let mut state = WorkerState::default();
    while refused.peek().is_some() {
        let morsel = morsels.next(&mut state)?.ok_or_else(changed)?;
        let ordinal = morsel.ordinal();
        while let Some((place, error)) = refused.next_if(|(place, _)| place.morsel() == ordinal) {
            let raw = morsel.raw(place.start(), dialect).ok_or_else(changed)?;
            let error = error.at(morsel.locate(place.start())).of_kind(ErrorKind::Data);
            rejects.push(Reject { error, raw });
        }
        state.reuse(morsel);
    }
    Ok(rejects)
}
