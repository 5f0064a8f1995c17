//! The ledger of shared loads: a table of loads, and one of their parts. The row of a part is locked by whoever loads the part,
//! and says that it is loaded from the commit on that brought its rows.

use howdah_connect::Connection;
use tokio_postgres::types::{ToSql, Type};

use super::parts::SharedPart;
use super::settings::{self, Settings};
use crate::catalog::name::{display, quote, quote_literal};
use crate::catalog::table::Table;
use crate::error::Error;

/// Beside the table that rows go to.
const LOADS: &str = "howdah_loads";
const PARTS: &str = "howdah_parts";

/// What the tables' comments say: a table of a later format is not written.
const COMMENT: &str = "shared loads of howdah, format 1";

/// Of inputs that differ, so many are named.
const SHOWN: usize = 3;

/// One shared load in the ledger.
pub(super) struct PartLedger {
    schema: String,
    loads: String,
    parts: String,
    /// The table, as the load's row names it.
    table: String,
    /// What tells it from another of that name.
    oid: u32,
    id: String,
    /// Who notes parts.
    process: String,
}

/// How far a load is.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct PartCounts {
    pub(super) parts: u64,
    pub(super) parts_in: u64,
    pub(super) rows_in: u64,
    pub(super) rejected_in: u64,
    /// Of parts that other processes loaded.
    pub(super) bytes_elsewhere: u64,
}

impl PartCounts {
    pub(super) fn is_complete(&self) -> bool {
        self.parts_in == self.parts
    }
}

impl PartLedger {
    pub(super) fn new(table: &Table, id: String, process: String) -> Self {
        let relation = |name: &str| format!("{}.{}", quote(&table.schema), quote(name));
        PartLedger {
            schema: table.schema.clone(),
            loads: relation(LOADS),
            parts: relation(PARTS),
            table: table.display(),
            oid: table.oid,
            id,
            process,
        }
    }

    fn creation(&self) -> String {
        let PartLedger { loads, parts, .. } = self;
        format!(
            "CREATE TABLE {loads} (load_id text PRIMARY KEY, target text NOT NULL, target_oid oid NOT NULL, settings text NOT NULL, \
             parts bigint NOT NULL, begun_at timestamptz NOT NULL DEFAULT pg_catalog.clock_timestamp()); \
             CREATE TABLE {parts} (load_id text NOT NULL REFERENCES {loads} ON DELETE CASCADE, part bigint NOT NULL, \
             input text NOT NULL, row_groups int8range, version text NOT NULL, bytes bigint NOT NULL, rows bigint, \
             rejected bigint, loaded_by text, committed_at timestamptz, PRIMARY KEY (load_id, part)); \
             CREATE INDEX ON {parts} (load_id, bytes DESC, part) WHERE committed_at IS NULL; \
             COMMENT ON TABLE {loads} IS '{COMMENT}'; COMMENT ON TABLE {parts} IS '{COMMENT}'"
        )
    }

    /// Makes the tables where they are missing; of processes that begin at once, one does.
    ///
    /// # Errors
    /// The role may not; tables of these names that cannot be relied upon.
    pub(super) async fn make(&self, connection: &Connection) -> Result<(), Error> {
        if self.is_there(connection).await? {
            return Ok(());
        }
        let lock = "SELECT pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtextextended($1, 0))";
        let making = async {
            connection.client().batch_execute("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE").await?;
            connection.client().query_typed(lock, &[(&self.parts, Type::TEXT)]).await?;
            if !self.is_there(connection).await? {
                connection.client().batch_execute(&self.creation()).await?;
            }
            Ok::<(), Error>(connection.client().batch_execute("COMMIT").await?)
        };
        let Err(error) = making.await else { return Ok(()) };
        let _ = connection.client().batch_execute("ROLLBACK").await;
        Err(error.prefixed("the ledger of shared loads cannot be made").with_hint(format!(
            "let a role that may do so run: {}; GRANT SELECT, INSERT, UPDATE ON {}, {} TO the role",
            self.creation(),
            self.loads,
            self.parts
        )))
    }

    /// Whether the tables are there.
    ///
    /// # Errors
    /// They cannot be relied upon.
    async fn is_there(&self, connection: &Connection) -> Result<bool, Error> {
        let sql = "select c.relpersistence = 'p', coalesce(pg_catalog.obj_description(c.oid, 'pg_class'), '')
                     from pg_catalog.unnest($1::text[]) as name
                     join pg_catalog.pg_class c on c.oid = pg_catalog.to_regclass(name)";
        let names = vec![self.loads.clone(), self.parts.clone()];
        let found = connection.client().query_typed(sql, &[(&names, Type::TEXT_ARRAY)]).await?;
        for row in &found {
            let problem = match (row.get::<_, bool>(0), row.get::<_, &str>(1) == COMMENT) {
                (_, false) => "of another format: use the version of howdah that made them",
                (false, true) => "UNLOGGED: a crash would empty them, and parts would be loaded twice",
                (true, true) => continue,
            };
            let schema = display(&self.schema);
            let tables = format!("the tables {LOADS} and {PARTS} in {schema} cannot be relied upon");
            return Err(Error::usage(format!("{tables}: they are {problem}")));
        }
        Ok(found.len() == names.len())
    }

    /// Enters the load, or compares this process's inputs and settings with those of the process that entered it: of several
    /// that begin at once one does, and the others wait for its commit.
    ///
    /// # Errors
    /// They differ.
    pub(super) async fn join(
        &self,
        connection: &Connection,
        settings: &Settings,
        parts: &[SharedPart],
    ) -> Result<(), Error> {
        let client = connection.client();
        client.batch_execute("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE").await?;
        let entering = async {
            if self.enter(connection, settings, parts).await? {
                return Ok(client.batch_execute("COMMIT").await?);
            }
            client.batch_execute("ROLLBACK").await?;
            self.compare(connection, settings, parts).await
        };
        let entered: Result<(), Error> = entering.await;
        if entered.is_err() {
            let _ = client.batch_execute("ROLLBACK").await;
        }
        entered
    }

    /// Whether this process is the first.
    async fn enter(
        &self,
        connection: &Connection,
        settings: &Settings,
        parts: &[SharedPart],
    ) -> Result<bool, Error> {
        let settings = serde_json::to_string(settings).unwrap_or_default();
        let sql = format!(
            "INSERT INTO {} (load_id, target, target_oid, settings, parts) VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING RETURNING load_id",
            self.loads
        );
        let count = number(parts.len() as u64);
        let values: [(&(dyn ToSql + Sync), Type); 5] = [
            (&self.id, Type::TEXT),
            (&self.table, Type::TEXT),
            (&self.oid, Type::OID),
            (&settings, Type::TEXT),
            (&count, Type::INT8),
        ];
        if connection.client().query_typed(&sql, &values).await?.is_empty() {
            return Ok(false);
        }
        let sql = format!(
            "INSERT INTO {} (load_id, part, input, row_groups, version, bytes) \
             SELECT $1, part, input, row_groups::int8range, version, bytes \
             FROM ROWS FROM (pg_catalog.unnest($2::text[]), pg_catalog.unnest($3::text[]), pg_catalog.unnest($4::text[]), \
             pg_catalog.unnest($5::int8[])) WITH ORDINALITY AS p(input, row_groups, version, bytes, part)",
            self.parts
        );
        let inputs: Vec<&str> = parts.iter().map(|part| &*part.input).collect();
        let groups: Vec<Option<String>> = parts.iter().map(row_groups).collect();
        let versions: Vec<&str> = parts.iter().map(|part| &*part.version).collect();
        let bytes: Vec<i64> = parts.iter().map(|part| number(part.bytes)).collect();
        let values: [(&(dyn ToSql + Sync), Type); 5] = [
            (&self.id, Type::TEXT),
            (&inputs, Type::TEXT_ARRAY),
            (&groups, Type::TEXT_ARRAY),
            (&versions, Type::TEXT_ARRAY),
            (&bytes, Type::INT8_ARRAY),
        ];
        connection.client().query_typed(&sql, &values).await?;
        Ok(true)
    }

    async fn compare(
        &self,
        connection: &Connection,
        ours: &Settings,
        parts: &[SharedPart],
    ) -> Result<(), Error> {
        let id = &self.id;
        let sql = format!("SELECT target, settings, target_oid FROM {} WHERE load_id = $1", self.loads);
        let rows = connection.client().query_typed(&sql, &[(id, Type::TEXT)]).await?;
        let row = rows.first().ok_or_else(|| self.is_gone())?;
        let target: String = row.get(0);
        if target != self.table {
            return Err(Error::usage(format!("load {id} is one into {target}, not into {}", self.table))
                .with_hint("give every load an id of its own"));
        }
        if row.get::<_, u32>(2) != self.oid {
            let said = format!("load {id} is one into another table of the name {target}, which is gone");
            return Err(Error::usage(said).with_hint(format!(
                "give the load an id of its own, or forget the one that was: DELETE FROM {} WHERE load_id = {}",
                self.loads,
                quote_literal(id)
            )));
        }
        let sql = format!(
            "SELECT input, row_groups::text, version FROM {} WHERE load_id = $1 ORDER BY part",
            self.parts
        );
        let rows = connection.client().query_typed(&sql, &[(id, Type::TEXT)]).await?;
        let theirs: Vec<_> = rows.iter().map(|row| (row.get(0), row.get(1), row.get(2))).collect();
        let own: Vec<_> =
            parts.iter().map(|part| (part.input.clone(), row_groups(part), part.version.clone())).collect();
        if theirs != own {
            return Err(differing_inputs(id, &theirs, &own));
        }
        settings::agree(id, row.get(1), ours)
    }

    /// Locks a part that nobody has and that is not in, until the end of the transaction. The largest first: the last ones
    /// to be loaded are then small, and nobody waits long for another. `None`: there is none.
    pub(super) async fn claim(&self, connection: &Connection) -> Result<Option<usize>, Error> {
        let sql = format!(
            "SELECT part FROM {} WHERE load_id = $1 AND committed_at IS NULL ORDER BY bytes DESC, part LIMIT 1 \
             FOR UPDATE SKIP LOCKED",
            self.parts
        );
        let rows = connection.client().query_typed(&sql, &[(&self.id, Type::TEXT)]).await?;
        // Numbers begin at 1.
        Ok(rows.first().and_then(|row| usize::try_from(row.get::<_, i64>(0) - 1).ok()))
    }

    /// Notes that part `at` is loaded, in the transaction that holds it.
    ///
    /// # Errors
    /// Its row is gone, or not what it was.
    pub(super) async fn note(
        &self,
        connection: &Connection,
        at: usize,
        (rows, rejected): (u64, u64),
    ) -> Result<(), Error> {
        let sql = format!(
            "UPDATE {} SET rows = $3, rejected = $4, loaded_by = $5, committed_at = pg_catalog.clock_timestamp() \
             WHERE load_id = $1 AND part = $2 AND committed_at IS NULL RETURNING part",
            self.parts
        );
        let part = number(at as u64 + 1);
        let (rows, rejected) = (number(rows), number(rejected));
        let values: [(&(dyn ToSql + Sync), Type); 5] = [
            (&self.id, Type::TEXT),
            (&part, Type::INT8),
            (&rows, Type::INT8),
            (&rejected, Type::INT8),
            (&self.process, Type::TEXT),
        ];
        match connection.client().query_typed(&sql, &values).await?.len() {
            1 => Ok(()),
            _ => Err(self.is_gone()),
        }
    }

    /// How far the load is.
    ///
    /// # Errors
    /// Its rows are gone.
    pub(super) async fn standing(&self, connection: &Connection) -> Result<PartCounts, Error> {
        let sql = format!(
            "SELECT l.parts, count(p.part), count(p.committed_at), coalesce(sum(p.rows), 0)::int8, \
             coalesce(sum(p.rejected), 0)::int8, \
             coalesce(sum(p.bytes) FILTER (WHERE p.loaded_by <> $2), 0)::int8 \
             FROM {} l LEFT JOIN {} p USING (load_id) WHERE l.load_id = $1 GROUP BY l.parts",
            self.loads, self.parts
        );
        let values: [(&(dyn ToSql + Sync), Type); 2] = [(&self.id, Type::TEXT), (&self.process, Type::TEXT)];
        let rows = connection.client().query_typed(&sql, &values).await?;
        let row = rows.first().ok_or_else(|| self.is_gone())?;
        let count = |at: usize| u64::try_from(row.get::<_, i64>(at)).unwrap_or_default();
        if count(0) != count(1) {
            return Err(self.is_gone());
        }
        Ok(PartCounts {
            parts: count(0),
            parts_in: count(2),
            rows_in: count(3),
            rejected_in: count(4),
            bytes_elsewhere: count(5),
        })
    }

    /// The parts that are not in, with the backends that hold them: numbers of parts, and who.
    pub(super) async fn holders(&self, connection: &Connection) -> Result<Vec<(usize, String)>, Error> {
        // Who locks a row stands in it, by the number of its transaction.
        let sql = format!(
            "SELECT p.part, coalesce('backend ' || a.pid \
             || coalesce(' of ' || pg_catalog.host(a.client_addr), ''), 'nobody') \
             FROM {} p LEFT JOIN pg_catalog.pg_stat_activity a ON a.backend_xid = p.xmax \
             WHERE p.load_id = $1 AND p.committed_at IS NULL ORDER BY p.part",
            self.parts
        );
        let rows = connection.client().query_typed(&sql, &[(&self.id, Type::TEXT)]).await?;
        let held = |row: &tokio_postgres::Row| {
            (usize::try_from(row.get::<_, i64>(0) - 1).unwrap_or_default(), row.get(1))
        };
        Ok(rows.iter().map(held).collect())
    }

    fn is_gone(&self) -> Error {
        let schema = display(&self.schema);
        Error::usage(format!("the ledger in {schema} does not have all parts of load {} any more", self.id))
            .with_hint("somebody deleted from it: which parts are in cannot be known")
    }
}

/// As PostgreSQL writes a range.
fn row_groups(part: &SharedPart) -> Option<String> {
    part.row_groups.as_ref().map(|groups| format!("[{},{})", groups.start, groups.end))
}

fn number(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// Input, row groups and version.
type PartRow = (String, Option<String>, String);

/// Names inputs that differ.
fn differing_inputs(id: &str, theirs: &[PartRow], own: &[PartRow]) -> Error {
    let find = |rows: &[PartRow], name: &str| rows.iter().find(|row| row.0 == name).map(|row| row.2.clone());
    let mut names: Vec<&String> = theirs.iter().chain(own).map(|row| &row.0).collect();
    names.sort_unstable();
    names.dedup();
    let told = names.into_iter().filter_map(|name| match (find(theirs, name), find(own, name)) {
        (Some(there), Some(here)) => (there != here).then(|| format!("{name}: {there} there, {here} here")),
        (Some(_), None) => Some(format!("{name} is not among the inputs here")),
        (None, _) => Some(format!("{name} is not among those that the load was begun with")),
    });
    let told: Vec<String> = told.collect();
    let more = told.len().saturating_sub(SHOWN);
    let mut detail = told.iter().take(SHOWN).cloned().collect::<Vec<_>>().join("; ");
    if more > 0 {
        detail.push_str(&format!("; and {more} more"));
    }
    if told.is_empty() {
        "the same inputs come in another order, or as other row groups".clone_into(&mut detail);
    }
    Error::usage(format!("load {id} was begun with other inputs")).with_detail(detail).with_hint(
        "all processes load the same files under the same names, in the same state; other files are another load, \
         with an id of its own",
    )
}
