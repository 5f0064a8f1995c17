//! [`Mode::Replace`](crate::options::Mode::Replace): a new table takes the place of the old one and keeps everything that belongs
//! to it. What hangs on the old table and cannot be carried over is refused, by name, before a row moves.

mod belongings;
mod definition;
pub(crate) mod redefinition;
mod refusals;
mod rights;
mod signature;
mod traits;

use tokio_postgres::types::{ToSql, Type};

use crate::catalog::load_id::LoadId;
use crate::catalog::name::quote;
use crate::catalog::session::PINNED_SEARCH_PATH;
use crate::catalog::table::Table;
use crate::error::Error;
use howdah_connect::Connection;
use redefinition::{KeyName, Redefinition};
use rights::Rights;

/// The statements that make a table like the old one and put it into its place, in the order in which they run.
pub(crate) struct Replacement {
    /// The empty twin, with what must be there before rows come.
    pub(crate) create: Vec<String>,
    /// Indexes and constraints of the twin, under names that do not collide with the old ones.
    pub(crate) build: Vec<String>,
    /// The exchange: the old table goes, the twin gets its name, and everything else its old name.
    pub(crate) swap: Vec<String>,
    /// The twin's names of indexes, constraints and sequences, each with the old one, which it gets in the end.
    pub(crate) names: Vec<(String, String)>,
    /// Keeps everybody from the old table until the commit.
    pub(crate) lock: String,
    oid: u32,
    display: String,
    /// Quoted.
    name: String,
    /// What the old table and its parts had.
    rights: Vec<Rights>,
    /// What the table was when this was read.
    signature: Option<String>,
    /// The primary key that goes, for people.
    pub(crate) lost_key: Option<String>,
}

/// What the catalog is asked about: the old table, and the twin that will take its place.
struct Twins<'a> {
    connection: &'a Connection,
    oid: u32,
    /// Of both, quoted and qualified.
    twin: String,
    old: String,
    id: String,
}

impl Twins<'_> {
    /// The texts that `sql` selects, where `$1` is the old table's oid, `$2` the twin, `$3` the old table (both quoted) and `$4`
    /// the load's id.
    async fn texts(&self, sql: &str) -> Result<Vec<String>, Error> {
        let parameters: [(&(dyn ToSql + Sync), Type); 4] = [
            (&self.oid, Type::OID),
            (&self.twin, Type::TEXT),
            (&self.old, Type::TEXT),
            (&self.id, Type::TEXT),
        ];
        let rows = self.connection.client().query_typed(sql, &parameters).await?;
        Ok(rows.iter().map(|row| row.get(0)).collect())
    }
}

impl Replacement {
    /// Reads the definition of `table` and refuses what would be lost. `comment` takes the place of one that a load wrote;
    /// an `unlogged` replacement is unlogged even where the old table is not; `otherwise` says what is not as it was.
    ///
    /// # Errors
    /// A usage error that names everything that depends on the table; a right that the role lacks; what belongs to the table
    /// does not fit what is otherwise.
    pub(crate) async fn read(
        connection: &Connection,
        table: &Table,
        id: LoadId,
        comment: &str,
        unlogged: bool,
        otherwise: &Redefinition,
    ) -> Result<Replacement, Error> {
        refusals::of_kind(table)?;
        refusals::of_rights(connection, table).await?;
        // Quoted as the server quotes: definitions hold the name.
        let quoted = "select pg_catalog.format('%I.%I', $1, $2), pg_catalog.format('%I.%I', $1, $3)";
        let hidden = id.hidden_name();
        let names = [&table.schema, &hidden, &table.name];
        let names = names.map(|name| (name as &(dyn ToSql + Sync), Type::TEXT));
        let names = connection.client().query_typed_one(quoted, &names).await?;
        let (twin, old) = (names.get(0), names.get(1));
        let twins = Twins { connection, oid: table.oid, twin, old, id: id.to_string() };
        let pinned = format!("BEGIN READ ONLY; {PINNED_SEARCH_PATH}");
        connection.client().batch_execute(&pinned).await?;
        let read = twins.read(table, comment, unlogged || !table.is_logged, otherwise).await;
        connection.client().batch_execute("COMMIT").await?;
        let replacement = read?;
        if !otherwise.is_empty() {
            replacement.rehearse(connection, table, id).await?;
        }
        Ok(replacement)
    }
}

impl Replacement {
    /// Under its lock, the old table is as it was.
    ///
    /// # Errors
    /// It is not; the server's.
    pub(crate) async fn check_unchanged(&self, connection: &Connection) -> Result<(), Error> {
        let now = signature::read(connection, self.oid).await?;
        if now == self.signature { Ok(()) } else { Err(signature::changed(&self.display)) }
    }

    /// What gives the new table, which has its name by now, and its parts the rights that the old ones had.
    ///
    /// # Errors
    /// The server's.
    pub(crate) async fn restore_rights(&self, connection: &Connection) -> Result<Vec<String>, Error> {
        rights::restore(connection, &self.name, &self.rights).await
    }
}

impl Twins<'_> {
    async fn read(
        &self,
        table: &Table,
        comment: &str,
        unlogged: bool,
        otherwise: &Redefinition,
    ) -> Result<Replacement, Error> {
        // Read first: what is altered from here on is noticed.
        let signature = signature::read(self.connection, self.oid).await?;
        refusals::of_dependents(self, table).await?;
        otherwise.check(self.connection, table).await?;
        let rights = rights::read(self.connection, self.oid).await?;
        let lock = format!("LOCK TABLE {} IN ACCESS EXCLUSIVE MODE", self.old);
        let mut swap = self.sequences_leave().await?;
        swap.push(format!("DROP TABLE {}", self.old));
        swap.push(format!("ALTER TABLE {} RENAME TO {}", self.twin, quote(&table.name)));
        // Only sequences of the same owner can belong to the table.
        swap.extend(self.texts(traits::OWNER).await?);
        swap.extend(self.sequences_return().await?);
        swap.extend(self.texts(definition::INDEX_NAMES).await?);
        swap.extend(self.traits(comment).await?);
        let key = otherwise.new_key(self.connection, self.oid, &self.id).await?;
        let mut create = self.create(unlogged).await?;
        create.extend(otherwise.add_sql(&self.twin));
        create.extend(otherwise.retype_sql(&self.twin));
        create.extend(otherwise.not_nulls(self.connection, self.oid, &self.twin).await?);
        let mut build = self.build(key.as_ref().map(|key| key.clause.as_str())).await?;
        let mut names = self.names().await?;
        let mut lost_key = None;
        match key.map(|key| (key.clause, key.named)) {
            Some((_, KeyName::AsBefore(was))) => lost_key = Some(was),
            Some((clause, KeyName::New(hidden, name))) => {
                build.push(format!("ALTER TABLE {} ADD CONSTRAINT {} {clause}", self.twin, quote(&hidden)));
                let rename = format!(
                    "ALTER TABLE {} RENAME CONSTRAINT {} TO {}",
                    self.old,
                    quote(&hidden),
                    quote(&name)
                );
                swap.push(rename);
                names.push((hidden, name));
            }
            None => {}
        }
        let (oid, display, name) = (self.oid, table.display(), self.old.clone());
        Ok(Replacement { create, build, swap, names, lock, oid, display, name, rights, signature, lost_key })
    }
}
