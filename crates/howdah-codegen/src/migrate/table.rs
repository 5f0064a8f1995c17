//! The table in which a database remembers its migrations, and SQG's, whose rows are taken over once.
//!
//! Generated runners read and write the same table, by the same [SQL](crate::bookkeeping).

use tokio_postgres::types::{ToSql, Type};

use super::compare::Recorded;
use super::session::{Session, SessionError};
use crate::bookkeeping::{ADOPT, CREATE, FIND, FORMAT, HISTORY, HISTORY_OF_SQG, MAKING, NEWEST, RECORD};
use crate::describe;
use crate::project::migration::MigrationStep;

/// The table, as one project sees it.
pub(super) struct MigrationsTable {
    /// Quoted, with its schema: a step may change the search path.
    relation: String,
    exists: bool,
    /// SQG's, as the session names it.
    sqg: Option<String>,
    project: String,
}

type Parameters<'a> = &'a [(&'a (dyn ToSql + Sync), Type)];

impl MigrationsTable {
    pub(super) async fn find(session: &Session<'_>, project: &str) -> Result<Self, SessionError> {
        let rows = session.run(session.client().query_typed(FIND, &[])).await?;
        let row = rows.first().ok_or_else(|| unexpected("the server gave no answer"))?;
        let (there, new): (Option<String>, Option<String>) = (row.try_get(0)?, row.try_get(1)?);
        let exists = there.is_some();
        let schema = there.or(new).ok_or_else(|| {
            unexpected(
                "there is no schema to make the table howdah_migrations in: the search path names none",
            )
        })?;
        let relation = format!("{schema}.howdah_migrations");
        Ok(Self { relation, exists, sqg: row.try_get(2)?, project: project.to_owned() })
    }

    /// Makes the table if it is not there, and takes SQG's rows over if the project has none; says how many.
    pub(super) async fn prepare(
        &mut self,
        session: &Session<'_>,
        steps: &[MigrationStep],
    ) -> Result<u64, SessionError> {
        if !self.exists {
            session.run(session.client().query_typed(MAKING, &[])).await?;
            let sql = self.of(CREATE);
            session.run(session.client().batch_execute(&sql)).await?;
            self.exists = true;
        }
        if self.sqg.is_none() || !self.rows(session).await?.is_empty() {
            return Ok(0);
        }
        let known = known(steps);
        self.execute(session, ADOPT, &self.steps(&known)).await
    }

    /// What is remembered of the project; where nothing is, what will be taken over.
    pub(super) async fn history(
        &self,
        session: &Session<'_>,
        steps: &[MigrationStep],
    ) -> Result<Vec<Recorded>, SessionError> {
        let rows = if self.exists { self.rows(session).await? } else { Vec::new() };
        if self.sqg.is_none() || !rows.is_empty() {
            return Ok(rows);
        }
        let known = known(steps);
        self.read(session, HISTORY_OF_SQG, &self.steps(&known)).await
    }

    async fn rows(&self, session: &Session<'_>) -> Result<Vec<Recorded>, SessionError> {
        let rows = session.run(session.client().query_typed(&self.of(NEWEST), &[])).await?;
        let format: i32 = rows.first().map_or(Ok(0), |row| row.try_get(0))?;
        if format > FORMAT {
            return Err(unexpected(format!(
                "the table {} has format {format}, and this program knows {FORMAT}: use a newer one",
                self.relation
            )));
        }
        self.read(session, HISTORY, &[(&self.project, Type::TEXT)]).await
    }

    /// Remembers a step: begun, or done in a time.
    pub(super) async fn record(
        &self,
        session: &Session<'_>,
        (index, step): (usize, &MigrationStep),
        done: Option<i64>,
    ) -> Result<(), SessionError> {
        let state = if done.is_some() { "done" } else { "started" };
        let values: Parameters<'_> = &[
            (&self.project, Type::TEXT),
            (&step.migration.id, Type::TEXT),
            (&position(index), Type::INT4),
            (&step.migration.checksum, Type::TEXT),
            (&state, Type::TEXT),
            (&done, Type::INT8),
        ];
        self.execute(session, RECORD, values).await.map(drop)
    }

    /// Takes the database's word that a step is there as the files have it.
    pub(super) async fn accept(
        &self,
        session: &Session<'_>,
        (index, step): (usize, &MigrationStep),
    ) -> Result<(), SessionError> {
        let sql = format!(
            "insert into {{relation}} (project, id, position, checksum, state, applied_at, applied_by, format)
             values ($1, $2, $3, $4, 'done', pg_catalog.clock_timestamp(), session_user, {FORMAT})
             on conflict (project, id) do update set position = excluded.position, checksum = excluded.checksum,
                state = 'done', format = excluded.format"
        );
        let values: Parameters<'_> = &[
            (&self.project, Type::TEXT),
            (&step.migration.id, Type::TEXT),
            (&position(index), Type::INT4),
            (&step.migration.checksum, Type::TEXT),
        ];
        self.execute(session, &sql, values).await.map(drop)
    }

    /// Forgets that a step was begun; 0 if it was not.
    pub(super) async fn forget(
        &self,
        session: &Session<'_>,
        step: &MigrationStep,
    ) -> Result<u64, SessionError> {
        let sql = "delete from {relation} where project = $1 and id = $2 and state = 'started'";
        self.execute(session, sql, &[(&self.project, Type::TEXT), (&step.migration.id, Type::TEXT)]).await
    }

    async fn execute(
        &self,
        session: &Session<'_>,
        sql: &str,
        values: Parameters<'_>,
    ) -> Result<u64, SessionError> {
        session.run(session.client().execute_typed(&self.of(sql), values)).await
    }

    async fn read(
        &self,
        session: &Session<'_>,
        sql: &str,
        values: Parameters<'_>,
    ) -> Result<Vec<Recorded>, SessionError> {
        let rows = session.run(session.client().query_typed(&self.of(sql), values)).await?;
        let recorded = rows.iter().map(|row| {
            Ok(Recorded {
                id: row.try_get(0)?,
                position: row.try_get(1)?,
                checksum: row.try_get(2)?,
                done: row.try_get(3)?,
                applied_at: row.try_get(4)?,
                applied_by: row.try_get(5)?,
                duration_ms: row.try_get(6)?,
            })
        });
        Ok(recorded.collect::<Result<Vec<_>, tokio_postgres::Error>>()?)
    }

    /// The parameters of what is asked about SQG's rows.
    fn steps<'a>(&'a self, known: &'a (Vec<&str>, Vec<&str>)) -> [(&'a (dyn ToSql + Sync), Type); 3] {
        [(&known.0, Type::TEXT_ARRAY), (&known.1, Type::TEXT_ARRAY), (&self.project, Type::TEXT)]
    }

    /// SQL about these tables.
    fn of(&self, sql: &str) -> String {
        let sqg = self.sqg.as_deref().unwrap_or_default();
        // Either name may have the other's place in it.
        let parts = sql.split("{relation}").map(|part| part.replace("{sqg}", sqg));
        parts.collect::<Vec<_>>().join(&self.relation)
    }
}

/// Names and checksums of the steps, in order.
fn known(steps: &[MigrationStep]) -> (Vec<&str>, Vec<&str>) {
    steps.iter().map(|step| (step.id(), step.migration.checksum.as_str())).unzip()
}

/// A step's number, from 1.
fn position(index: usize) -> i32 {
    i32::try_from(index).unwrap_or(i32::MAX).saturating_add(1)
}

fn unexpected(message: impl Into<String>) -> SessionError {
    SessionError::Server(describe::Error::unexpected(message))
}
