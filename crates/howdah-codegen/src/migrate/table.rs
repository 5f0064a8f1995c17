//! The table in which a database remembers its migrations, and SQG's, whose rows are taken over once.
//!
//! Generated runners read and write the same table: what is changed here changes in all of them, and [`FORMAT`] with it.

use tokio_postgres::types::{ToSql, Type};

use super::compare::Recorded;
use super::session::{Fault, Session};
use crate::describe;
use crate::project::migration::Step;

/// The number of the table's format, in each row.
pub const FORMAT: i32 = 1;

/// Where the tables are: ours, or where it is to be, and SQG's.
const FIND: &str = "
select (select n.nspname::text from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
        where c.oid = pg_catalog.to_regclass('howdah_migrations')),
       pg_catalog.current_schema()::text,
       pg_catalog.to_regclass('_sqg_migrations')::text";

/// Two projects may make the table at the same time.
const MAKING: &str =
    "select pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtextextended('howdah migrations', 0)) is null";

const COLUMNS: &str = "id, position, checksum, state = 'done',
    pg_catalog.to_char(applied_at at time zone 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"'), applied_by, duration_ms";

/// The table, as one project sees it.
pub(super) struct Table {
    /// Quoted, with its schema: a step may change the search path.
    relation: String,
    exists: bool,
    /// SQG's, as the session names it.
    sqg: Option<String>,
    project: String,
}

type Parameters<'a> = &'a [(&'a (dyn ToSql + Sync), Type)];

impl Table {
    pub(super) async fn find(session: &Session<'_>, project: &str) -> Result<Self, Fault> {
        let rows = session.run(session.client().query_typed(FIND, &[])).await?;
        let row = rows.first().ok_or_else(|| unexpected("the server gave no answer"))?;
        let (there, new): (Option<String>, Option<String>) = (row.try_get(0)?, row.try_get(1)?);
        let exists = there.is_some();
        let schema = there.or(new).ok_or_else(|| {
            unexpected(
                "there is no schema to make the table howdah_migrations in: the search path names none",
            )
        })?;
        let relation = format!("{}.howdah_migrations", quoted(&schema));
        Ok(Self { relation, exists, sqg: row.try_get(2)?, project: project.to_owned() })
    }

    /// Makes the table if it is not there, and takes SQG's rows over if the project has none; says how many.
    pub(super) async fn prepare(&mut self, session: &Session<'_>, steps: &[Step]) -> Result<u64, Fault> {
        if !self.exists {
            session.run(session.client().query_typed(MAKING, &[])).await?;
            let sql = format!(
                "create table if not exists {} (
                    project text not null,
                    id text not null,
                    position int4 not null,
                    checksum text not null,
                    state text not null check (state in ('started', 'done')),
                    applied_at timestamptz not null,
                    applied_by text not null,
                    duration_ms int8,
                    format int4 not null,
                    primary key (project, id))",
                self.relation
            );
            session.run(session.client().batch_execute(&sql)).await?;
            self.exists = true;
        }
        let Some(from) = self.adopted() else { return Ok(0) };
        if !self.rows(session).await?.is_empty() {
            return Ok(0);
        }
        let sql = format!(
            "insert into {} (project, id, position, checksum, state, applied_at, applied_by, duration_ms, format)
             select $1, q.id, q.position, q.checksum, q.state, q.applied_at, q.applied_by, q.duration_ms, {FORMAT}
             from ({from}) as q",
            self.relation
        );
        let (ids, checksums) = known(steps);
        self.execute(session, &sql, &[(&ids, Type::TEXT_ARRAY), (&checksums, Type::TEXT_ARRAY)]).await
    }

    /// What is remembered of the project; where nothing is, what will be taken over.
    pub(super) async fn history(
        &self,
        session: &Session<'_>,
        steps: &[Step],
    ) -> Result<Vec<Recorded>, Fault> {
        let rows = if self.exists { self.rows(session).await? } else { Vec::new() };
        match self.adopted() {
            Some(from) if rows.is_empty() => {
                let sql = format!("select {COLUMNS} from ({from}) as q order by position");
                let (ids, checksums) = known(steps);
                self.read(session, &sql, &[(&ids, Type::TEXT_ARRAY), (&checksums, Type::TEXT_ARRAY)]).await
            }
            _ => Ok(rows),
        }
    }

    async fn rows(&self, session: &Session<'_>) -> Result<Vec<Recorded>, Fault> {
        let newest = format!("select coalesce(max(format), 0) from {}", self.relation);
        let rows = session.run(session.client().query_typed(&newest, &[])).await?;
        let format: i32 = rows.first().map_or(Ok(0), |row| row.try_get(0))?;
        if format > FORMAT {
            return Err(unexpected(format!(
                "the table {} has format {format}, and this program knows {FORMAT}: use a newer one",
                self.relation
            )));
        }
        let sql = format!("select {COLUMNS} from {} where project = $1 order by position, id", self.relation);
        self.read(session, &sql, &[]).await
    }

    /// SQG's rows of the project in our columns, with the checksums of today's steps; `$1` is the project, `$2` and `$3` are
    /// the steps.
    fn adopted(&self) -> Option<String> {
        let sqg = self.sqg.as_ref()?;
        Some(format!(
            "select m.migration_id as id,
                coalesce(s.position, pg_catalog.cardinality($2)
                    + row_number() over (partition by s.position is null order by m.applied_at, m.migration_id))::int4
                    as position,
                coalesce(s.checksum, '') as checksum, 'done' as state, m.applied_at::timestamptz as applied_at,
                'sqg' as applied_by, null::int8 as duration_ms
             from {sqg} m left join unnest($2, $3) with ordinality as s(id, checksum, position)
                on s.id = m.migration_id
             where m.project = $1"
        ))
    }

    /// Remembers a step: begun, or done in a time.
    pub(super) async fn record(
        &self,
        session: &Session<'_>,
        (index, step): (usize, &Step),
        done: Option<i64>,
    ) -> Result<(), Fault> {
        let sql = format!(
            "insert into {} (project, id, position, checksum, state, applied_at, applied_by, duration_ms, format)
             values ($1, $2, $3, $4, $5, pg_catalog.clock_timestamp(), session_user, $6, {FORMAT})
             on conflict (project, id) do update set position = excluded.position, checksum = excluded.checksum,
                state = excluded.state, applied_at = excluded.applied_at, applied_by = excluded.applied_by,
                duration_ms = excluded.duration_ms, format = excluded.format",
            self.relation
        );
        let state = if done.is_some() { "done" } else { "started" };
        let values: Parameters<'_> = &[
            (&step.migration.id, Type::TEXT),
            (&position(index), Type::INT4),
            (&step.migration.checksum, Type::TEXT),
            (&state, Type::TEXT),
            (&done, Type::INT8),
        ];
        self.execute(session, &sql, values).await.map(drop)
    }

    /// Takes the database's word that a step is there as the files have it.
    pub(super) async fn accept(
        &self,
        session: &Session<'_>,
        (index, step): (usize, &Step),
    ) -> Result<(), Fault> {
        let sql = format!(
            "insert into {} (project, id, position, checksum, state, applied_at, applied_by, format)
             values ($1, $2, $3, $4, 'done', pg_catalog.clock_timestamp(), session_user, {FORMAT})
             on conflict (project, id) do update set position = excluded.position, checksum = excluded.checksum,
                state = 'done', format = excluded.format",
            self.relation
        );
        let values: Parameters<'_> = &[
            (&step.migration.id, Type::TEXT),
            (&position(index), Type::INT4),
            (&step.migration.checksum, Type::TEXT),
        ];
        self.execute(session, &sql, values).await.map(drop)
    }

    /// Forgets that a step was begun; 0 if it was not.
    pub(super) async fn forget(&self, session: &Session<'_>, step: &Step) -> Result<u64, Fault> {
        let sql =
            format!("delete from {} where project = $1 and id = $2 and state = 'started'", self.relation);
        self.execute(session, &sql, &[(&step.migration.id, Type::TEXT)]).await
    }

    async fn execute(&self, session: &Session<'_>, sql: &str, more: Parameters<'_>) -> Result<u64, Fault> {
        session.run(session.client().execute_typed(sql, &self.with_project(more))).await
    }

    async fn read(
        &self,
        session: &Session<'_>,
        sql: &str,
        more: Parameters<'_>,
    ) -> Result<Vec<Recorded>, Fault> {
        let rows = session.run(session.client().query_typed(sql, &self.with_project(more))).await?;
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

    fn with_project<'a>(&'a self, more: Parameters<'a>) -> Vec<(&'a (dyn ToSql + Sync), Type)> {
        let mut all: Vec<(&(dyn ToSql + Sync), Type)> = vec![(&self.project, Type::TEXT)];
        all.extend(more.iter().cloned());
        all
    }
}

/// Names and checksums of the steps, in order.
fn known(steps: &[Step]) -> (Vec<&str>, Vec<&str>) {
    steps.iter().map(|step| (step.id(), step.migration.checksum.as_str())).unzip()
}

/// A step's number, from 1.
fn position(index: usize) -> i32 {
    i32::try_from(index).unwrap_or(i32::MAX).saturating_add(1)
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

fn unexpected(message: impl Into<String>) -> Fault {
    Fault::Said(describe::Error::unexpected(message))
}
