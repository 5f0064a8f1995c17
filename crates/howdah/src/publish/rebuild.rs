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
    /// It is a rule that all rows of the table keep to.
    is_rule: bool,
    /// It can refuse a row.
    can_refuse: bool,
    /// Why it stays; `None`: it can be dropped.
    stays: Option<String>,
    drop: String,
    /// The statements that make it, in order.
    build: Vec<String>,
    /// The other table that a foreign key refers to, for people.
    refers_to: Option<String>,
}

/// What of a table stays, besides what cannot be dropped: none of it changes what becomes of a row.
pub(crate) struct Needs {
    /// A bad record is found by what refuses its row.
    pub(crate) finds_bad_records: bool,
    /// The user's own code that runs for the rows, if any: what it does may go by keys, and by the actions of foreign keys.
    pub(crate) runs: Option<&'static str>,
}

impl Needs {
    /// Why `definition` is needed.
    fn why(&self, definition: &Definition) -> Option<String> {
        if self.finds_bad_records && definition.can_refuse {
            return Some("bad records are found by it".into());
        }
        let code = self.runs.filter(|_| definition.is_rule)?;
        Some(format!("the table has {code}, which may need it"))
    }
}

/// Where definitions are run as they were read, the session's own settings wait under these names.
const BEGIN_PINNED: [&str; 3] = [
    "SELECT pg_catalog.set_config('howdah.search_path', pg_catalog.current_setting('search_path'), true)",
    "SELECT pg_catalog.set_config('howdah.default_tablespace', pg_catalog.current_setting('default_tablespace'), true)",
    PINNED_SEARCH_PATH,
];
const END_PINNED: [&str; 2] = [
    "SELECT pg_catalog.set_config('search_path', pg_catalog.current_setting('howdah.search_path'), true)",
    "SELECT pg_catalog.set_config('default_tablespace', pg_catalog.current_setting('howdah.default_tablespace'), true)",
];

impl Rebuild {
    /// Reads what `table` has.
    ///
    /// # Errors
    /// The server's.
    pub(crate) async fn read(
        connection: &Connection,
        table: &Table,
        truncates: bool,
        needs: &Needs,
    ) -> Result<Rebuild, Error> {
        let quoted = "select pg_catalog.format('%I.%I', $1, $2)";
        let names = [&table.schema, &table.name].map(|name| (name as &(dyn ToSql + Sync), Type::TEXT));
        let name: String = connection.client().query_typed_one(quoted, &names).await?.get(0);
        let read = pinned(connection, "BEGIN READ ONLY", "COMMIT", table.oid, &name).await?;
        let (mut definitions, mut kept) = (Vec::new(), Vec::new());
        for definition in read {
            match definition.stays.clone().or_else(|| needs.why(&definition)) {
                Some(why) => kept.push((definition.name, why)),
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

    /// How many of the indexes refuse rows.
    pub(crate) fn keys(&self) -> usize {
        let is_key = |definition: &&Definition| definition.is_rule && !definition.is_foreign_key;
        self.definitions.iter().filter(is_key).count()
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

    /// What users call the table.
    pub(crate) fn display(&self) -> &str {
        &self.display
    }

    /// Whether the table is emptied first.
    pub(crate) fn truncates(&self) -> bool {
        self.truncate.is_some()
    }

    /// Takes the lock on the table.
    pub(crate) fn lock_sql(&self) -> &str {
        &self.lock
    }

    /// Empties the table where that is asked for, and drops the foreign keys, which takes the locks on other tables, and
    /// the indexes.
    pub(crate) fn drop_sql(&self) -> Vec<String> {
        let keys = self.definitions.iter().filter(|definition| definition.is_foreign_key);
        let indexes = self.definitions.iter().filter(|definition| !definition.is_foreign_key);
        let drops = keys.chain(indexes).map(|definition| definition.drop.clone());
        self.truncate.iter().cloned().chain(drops).collect()
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
        let build = build.into_iter().chain(analyze.into_iter().take(1));
        let begin = BEGIN_PINNED.into_iter().map(str::to_owned);
        begin.chain(build).chain(END_PINNED.into_iter().map(str::to_owned)).collect()
    }

    /// What judges the rows of the input one by one: the table as it is outside of the load's transaction.
    pub(crate) fn judges(&self) -> Vec<String> {
        self.truncate.iter().cloned().collect()
    }

    /// Whether the table, under its lock in an open transaction, has what was read.
    ///
    /// # Errors
    /// The server's.
    pub(crate) async fn is_unchanged(&self, connection: &Connection) -> Result<bool, Error> {
        let (set, undo) = ("SAVEPOINT howdah_reads", "ROLLBACK TO howdah_reads; RELEASE howdah_reads");
        let now = pinned(connection, set, undo, self.oid, &self.name).await?;
        let kept = |definition: &&Definition| self.kept.iter().all(|(name, _)| *name != definition.name);
        let now: Vec<&Definition> = now.iter().filter(kept).collect();
        Ok(now == self.definitions.iter().collect::<Vec<_>>())
    }

    /// The table has other indexes than those that were read.
    pub(crate) fn altered(&self, how: &str) -> Error {
        let message = format!("the indexes of {} were altered {how}", self.display);
        Error::new(ErrorKind::Server, message).with_sqlstate("55000")
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
        is_rule: row.get(2),
        can_refuse: row.get(3),
        stays: row.get(4),
        drop: row.get(5),
        build: row.get(6),
        refers_to: row.get(7),
    };
    Ok(rows.iter().map(definition).collect())
}
