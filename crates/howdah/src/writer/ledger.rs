//! The ledger: a table in which every transaction of a writer leaves a row. Its primary key lets a transaction that is sent
//! again happen only once, and makes the second wait while the first is still under way.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::connect::Connection;
use crate::error::Error;
use crate::landing::LoadId;
use crate::name::{display, quote, quote_literal};

/// The table's name, in the schema of the table that is written.
pub(super) const TABLE: &str = "howdah_ledger";

/// The rows of writers that did not close stay so long: no writer tries a batch again for longer.
const KEPT: &str = "7 days";

/// One writer's rows in the ledger.
pub(super) struct Ledger {
    schema: String,
    id: LoadId,
    next: AtomicI64,
    under_way: Mutex<BTreeSet<i64>>,
}

impl Ledger {
    /// Makes the table where it is missing, and removes what writers of long ago left.
    ///
    /// # Errors
    /// The role may not make it, or not write it.
    pub(super) async fn open(connection: &Connection, schema: &str) -> Result<Ledger, Error> {
        let ledger = Ledger {
            schema: schema.to_owned(),
            id: LoadId::new(),
            next: AtomicI64::new(0),
            under_way: Mutex::default(),
        };
        let relation = ledger.relation();
        let known = format!("SELECT pg_catalog.to_regclass({}) IS NOT NULL", quote_literal(&relation));
        let known = connection.client().query_typed(&known, &[]).await?;
        if !known.first().is_some_and(|row| row.get(0)) {
            let create = format!(
                "CREATE TABLE IF NOT EXISTS {relation} (load_id text NOT NULL, part bigint NOT NULL, \
                 committed_at timestamptz NOT NULL DEFAULT now(), PRIMARY KEY (load_id, part))"
            );
            if let Err(error) = connection.client().batch_execute(&create).await {
                // Two that make it at once: one of them finds that it is there.
                // It may be the key of one of three catalogs, or the table's name, or that of its row type.
                let meets =
                    error.code().is_some_and(|code| ["23505", "42P07", "42710"].contains(&code.code()));
                if !meets {
                    let create = create.replace(" IF NOT EXISTS", "");
                    return Err(Error::from(error).prefixed("the ledger cannot be made").with_hint(format!(
                        "let a role that may do so run: {create}; GRANT SELECT, INSERT, DELETE ON {relation} TO …; \
                         or choose at-least-once delivery, which needs none"
                    )));
                }
            }
        }
        let old = format!("DELETE FROM {relation} WHERE committed_at < now() - interval '{KEPT}'");
        connection.client().batch_execute(&old).await.map_err(|error| {
            Error::from(error).prefixed("the ledger cannot be written").with_hint(format!(
                "GRANT SELECT, INSERT, DELETE ON {}.{TABLE} TO the role; or choose at-least-once delivery",
                display(schema)
            ))
        })?;
        Ok(ledger)
    }

    fn relation(&self) -> String {
        format!("{}.{}", quote(&self.schema), quote(TABLE))
    }

    /// The number of a transaction; it keeps it however often it is sent.
    pub(super) fn part(&self) -> i64 {
        let part = self.next.fetch_add(1, Ordering::Relaxed);
        self.under_way().insert(part);
        part
    }

    /// A transaction is settled: its part will not be sent again.
    pub(super) fn settled(&self, part: i64) {
        self.under_way().remove(&part);
    }

    /// The first part that may still be sent again.
    pub(super) fn oldest_needed(&self) -> i64 {
        let first = self.under_way().first().copied();
        first.unwrap_or_else(|| self.next.load(Ordering::Relaxed))
    }

    fn under_way(&self) -> MutexGuard<'_, BTreeSet<i64>> {
        self.under_way.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes a part: its number, or the parameter that gives it, and a parenthesis are to follow.
    pub(super) fn insert_sql(&self) -> String {
        format!("INSERT INTO {} (load_id, part) VALUES ('{}', ", self.relation(), self.id)
    }

    /// Whether the server says that a part is committed already.
    pub(super) fn says_done(&self, error: &tokio_postgres::Error) -> bool {
        error.as_db_error().is_some_and(|db| {
            db.code().code() == "23505" && db.table() == Some(TABLE) && db.schema() == Some(&self.schema)
        })
    }

    /// Forgets the writer's parts before `part`: nobody sends them again.
    pub(super) async fn forget_before(
        &self,
        connection: &Connection,
        part: i64,
    ) -> Result<(), tokio_postgres::Error> {
        let sql = format!("DELETE FROM {} WHERE load_id = '{}' AND part < {part}", self.relation(), self.id);
        connection.client().batch_execute(&sql).await
    }
}
