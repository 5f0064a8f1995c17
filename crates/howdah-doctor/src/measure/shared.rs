//! A copy of the table that several connections see. It has to be committed, but no row is; and it is tied to the session, so that
//! the server removes it however we end.

use futures_util::future::join_all;
use howdah::connect::Connection;
use howdah::facts::TableFacts;
use howdah::tokio_postgres::{self, Client};
use howdah::{Error, ErrorKind, HiddenTable, Target};

use super::place::may_make_tables;
use super::question::{answered, calm, number, text};
use super::scratch::Scratch;
use crate::sql;

/// The type of the copy's rows. The server drops temporary types when a session ends, with all that is made of them.
const TIE: &str = "pg_temp.howdah_doctor_row";

/// Why the role cannot make what is needed, if it cannot.
pub(super) async fn refused(
    client: &Client,
    table: &TableFacts,
) -> Result<Option<String>, tokio_postgres::Error> {
    if !may_make_tables(client, &table.schema).await? {
        return Ok(Some(format!("the role may make no table in the schema {}", sql::name(&table.schema))));
    }
    let may_make_types =
        "SELECT pg_catalog.has_database_privilege(pg_catalog.current_database(), 'TEMP')::int4";
    let why = "the role may make nothing temporary, by which the server would clean up after us";
    Ok((number(client, may_make_types).await? != Some(1.0)).then(|| why.to_owned()))
}

/// As many connections to the same server as it gives.
pub(super) async fn open(target: &Target, connection: &Connection, most: usize) -> Vec<Connection> {
    let target = target.pinned_to(connection).with_fallback_application_name("howdah");
    let mut lanes = Vec::new();
    while lanes.len() < most {
        let Ok(lane) = target.connect().await else { break };
        if calm(lane.client()).await.is_err() {
            break;
        }
        lanes.push(lane);
    }
    lanes
}

/// A copy that all connections see.
pub(super) struct Shared {
    table: HiddenTable,
    /// What makes it.
    statements: Vec<String>,
}

impl Shared {
    /// Makes the tie, and says how the copy is made.
    ///
    /// # Errors
    /// The connection is lost. `Ok(Err)`: the server refuses it.
    pub(super) async fn tie(
        connection: &Connection,
        scratch: &Scratch<'_>,
    ) -> Result<Result<Shared, String>, Error> {
        let (client, table) = (connection.client(), scratch.table());
        match HiddenTable::sweep(connection, &table.schema).await {
            Err(error) if error.kind() == ErrorKind::Server => {
                client.batch_execute("ROLLBACK").await?;
                return Ok(Err("what a load left cannot be removed".to_owned()));
            }
            swept => swept?,
        };
        let made = async {
            let columns = text(client, &columns_of(table)).await?.unwrap_or_default();
            let make = format!("BEGIN READ WRITE; CREATE TYPE {TIE} AS ({columns}); COMMIT");
            let made = client.batch_execute(&make).await;
            if made.is_err() {
                client.batch_execute("ROLLBACK").await?;
            }
            made
        };
        if let Err(why) = answered(made.await)? {
            return Ok(Err(why));
        }
        let hidden = HiddenTable::new(table.schema.clone());
        let copy = hidden.sql();
        let kind = if table.is_unlogged { "UNLOGGED " } else { "" };
        // Nobody is to clean up meanwhile what goes anyway.
        let options = ["autovacuum_enabled = off", "toast.autovacuum_enabled = off"];
        let mut statements = scratch.copy_sql(&copy, kind, &options);
        statements.push(format!("ALTER TABLE {copy} OF {TIE}"));
        Ok(Ok(Shared { table: hidden, statements }))
    }

    /// The copy, for SQL.
    pub(super) fn sql(&self) -> String {
        self.table.sql()
    }

    /// Makes the copy, which is empty.
    ///
    /// # Errors
    /// The server refuses, or the connection is lost.
    pub(super) async fn make(&self, connection: &Connection) -> Result<(), tokio_postgres::Error> {
        self.table.make(connection, &self.statements).await
    }

    /// Removes the copy.
    ///
    /// # Errors
    /// The server refuses, or the connection is lost.
    pub(super) async fn remove(&self, connection: &Connection) -> Result<(), tokio_postgres::Error> {
        self.table.remove(connection).await
    }

    /// Removes the tie: behind a pooler the session outlives us.
    ///
    /// # Errors
    /// The connection is lost.
    pub(super) async fn untie(&self, connection: &Connection) -> Result<(), Error> {
        let drop = format!("BEGIN READ WRITE; DROP TYPE IF EXISTS {TIE}; COMMIT");
        Ok(connection.client().batch_execute(&drop).await?)
    }
}

/// Runs `sql` on each of them.
pub(super) async fn all(lanes: &[Connection], sql: &str) -> Result<(), tokio_postgres::Error> {
    let done = join_all(lanes.iter().map(|lane| lane.client().batch_execute(sql))).await;
    done.into_iter().collect::<Result<Vec<()>, _>>().map(|_| ())
}

/// The columns of the table as a type has them.
fn columns_of(table: &TableFacts) -> String {
    format!(
        "SELECT pg_catalog.string_agg(pg_catalog.format('%I %s', a.attname, pg_catalog.format_type(a.atttypid, a.atttypmod))
                  || CASE WHEN a.attcollation <> 0 THEN pg_catalog.format(' COLLATE %I.%I', n.nspname, c.collname) ELSE '' END,
                  ', ' ORDER BY a.attnum)
           FROM pg_catalog.pg_attribute a LEFT JOIN pg_catalog.pg_collation c ON c.oid = a.attcollation
           LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.collnamespace
          WHERE a.attrelid = {}::pg_catalog.regclass AND a.attnum > 0 AND NOT a.attisdropped",
        sql::relation(&table.schema, &table.name)
    )
}
