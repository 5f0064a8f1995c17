//! [`Indexes::Rebuild`](crate::options::Indexes::Rebuild): indexes and foreign keys are dropped in the load's transaction and made
//! again when the rows are there. What somebody else needs stays.

mod definition;

use howdah_connect::Connection;
use tokio_postgres::types::{ToSql, Type};

use crate::catalog::session::PINNED_SEARCH_PATH;
use crate::catalog::table::Table;
use crate::error::{Error, ErrorKind};

/// The indexes and foreign keys of a table that are dropped and made again.
pub(crate) struct Rebuild {
    /// Empties the table too.
    truncate: Option<String>,
    /// Keeps everybody else from the table.
    lock: String,
    /// Quoted as the server quotes.
    name: String,
    oid: u32,
    display: String,
    definitions: Vec<Definition>,
    /// What stays, and why.
    pub(crate) kept: Vec<(String, String)>,
}

/// An index, with the constraint that owns it, or a foreign key.
#[derive(Debug, PartialEq, Eq)]
struct Definition {
    name: String,
    is_foreign_key: bool,
    /// It judges rows as they come.
    refuses_rows: bool,
    /// Why it stays; `None`: it can be dropped.
    stays: Option<String>,
    drop: String,
    /// The statements that make it, in order.
    build: Vec<String>,
    /// The other table that a foreign key refers to, for people.
    refers_to: Option<String>,
}

impl Rebuild {
    /// Reads what `table` has. What refuses rows stays where `keeps` says why.
    ///
    /// # Errors
    /// The server's.
    pub(crate) async fn read(
        connection: &Connection,
        table: &Table,
        truncates: bool,
        keeps: Option<String>,
    ) -> Result<Rebuild, Error> {
        let quoted = "select pg_catalog.format('%I.%I', $1, $2)";
        let names = [&table.schema, &table.name].map(|name| (name as &(dyn ToSql + Sync), Type::TEXT));
        let name: String = connection.client().query_typed_one(quoted, &names).await?.get(0);
        let read = pinned(connection, "BEGIN READ ONLY", "COMMIT", table.oid, &name).await?;
        let (mut definitions, mut kept) = (Vec::new(), Vec::new());
        for definition in read {
            let stays = keeps.as_ref().filter(|_| definition.refuses_rows);
            match definition.stays.as_ref().or(stays) {
                Some(why) => kept.push((definition.name, why.clone())),
                None => definitions.push(definition),
            }
        }
        Ok(Rebuild {
            truncate: truncates.then(|| table.truncate_sql()),
            lock: format!("LOCK TABLE ONLY {name} IN ACCESS EXCLUSIVE MODE"),
            name,
            oid: table.oid,
            display: table.display(),
            definitions,
            kept,
        })
    }

    /// Whether there is nothing to drop.
    pub(crate) fn is_empty(&self) -> bool {
        self.definitions.is_empty()
    }

    /// Names of the indexes, then of the foreign keys.
    pub(crate) fn names(&self) -> Vec<String> {
        self.definitions.iter().map(|definition| definition.name.clone()).collect()
    }

    /// How many indexes, and how many foreign keys.
    pub(crate) fn counts(&self) -> (usize, usize) {
        let keys = self.definitions.iter().filter(|definition| definition.is_foreign_key).count();
        (self.definitions.len() - keys, keys)
    }

    /// The tables that nobody else can read until the commit.
    pub(crate) fn locked(&self) -> Vec<String> {
        let mut locked = vec![self.display.clone()];
        for referenced in self.definitions.iter().filter_map(|definition| definition.refers_to.as_ref()) {
            if !locked.contains(referenced) {
                locked.push(referenced.clone());
            }
        }
        locked
    }

    /// Takes the lock on the table.
    pub(crate) fn lock_sql(&self) -> &str {
        &self.lock
    }

    /// Drops foreign keys, which takes the locks on other tables.
    pub(crate) fn drop_keys(&self) -> Vec<String> {
        self.drops(|definition| definition.is_foreign_key)
    }

    /// Empties the table where that is asked for, and drops the indexes.
    pub(crate) fn drop_indexes(&self) -> Vec<String> {
        let drops = self.drops(|definition| !definition.is_foreign_key);
        self.truncate.iter().cloned().chain(drops).collect()
    }

    fn drops(&self, which: impl Fn(&Definition) -> bool) -> Vec<String> {
        let dropped = self.definitions.iter().filter(|definition| which(definition));
        dropped.map(|definition| definition.drop.clone()).collect()
    }

    /// Makes everything again, indexes before foreign keys.
    pub(crate) fn build(&self) -> Vec<String> {
        let (analyze, build): (Vec<_>, Vec<_>) = self
            .definitions
            .iter()
            .flat_map(|definition| &definition.build)
            .cloned()
            .partition(|statement| statement.starts_with("ANALYZE "));
        // Once, when all indexes are there.
        build.into_iter().chain(analyze.into_iter().take(1)).collect()
    }

    /// What judges the rows of the input one by one: the table as it is outside of the load's transaction.
    pub(crate) fn judges(&self) -> Vec<String> {
        self.truncate.iter().cloned().collect()
    }

    /// Under its lock, in an open transaction, the table has what was read.
    ///
    /// # Errors
    /// It has not; the server's.
    pub(crate) async fn check_unchanged(&self, connection: &Connection) -> Result<(), Error> {
        let (set, undo) = ("SAVEPOINT howdah_reads", "ROLLBACK TO howdah_reads; RELEASE howdah_reads");
        let now = pinned(connection, set, undo, self.oid, &self.name).await?;
        let kept = |definition: &&Definition| self.kept.iter().all(|(name, _)| *name != definition.name);
        let now: Vec<&Definition> = now.iter().filter(kept).collect();
        if now == self.definitions.iter().collect::<Vec<_>>() {
            return Ok(());
        }
        let message = format!("the indexes of {} were altered while the load was planned", self.display);
        Err(Error::new(ErrorKind::Server, message).with_sqlstate("55000").with_hint("load again"))
    }
}

/// The definitions of the table `oid`, read between `begin` and `end` with a search path on which nothing depends.
async fn pinned(
    connection: &Connection,
    begin: &str,
    end: &str,
    oid: u32,
    name: &str,
) -> Result<Vec<Definition>, Error> {
    let client = connection.client();
    client.batch_execute(&format!("{begin}; {PINNED_SEARCH_PATH}")).await?;
    let rows = client.query_typed(definition::DEFINITIONS, &[(&oid, Type::OID), (&name, Type::TEXT)]).await?;
    client.batch_execute(end).await?;
    let definition = |row: &tokio_postgres::Row| Definition {
        name: row.get(0),
        is_foreign_key: row.get(1),
        refuses_rows: row.get(2),
        stays: row.get(3),
        drop: row.get(4),
        build: row.get(5),
        refers_to: row.get(6),
    };
    Ok(rows.iter().map(definition).collect())
}
