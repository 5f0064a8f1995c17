//! The ledger: a table in which every transaction of a writer leaves a row. Its primary key lets a transaction that is sent
//! again happen only once, and makes the second wait while the first is still under way.

use std::collections::BTreeSet;
use std::fmt::Display;
use std::ops::Range;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::catalog::name::{display, quote, quote_literal};
use crate::connect::Connection;
use crate::error::Error;
use crate::publish::load_id::LoadId;

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
    /// Parts before this one were removed, or will be by whoever was told to.
    forgotten: AtomicI64,
}

/// Notes a part in the ledger.
pub(super) struct Note {
    /// What it is called where it is prepared: no other writer's is called so, should a pooler lend a session to several.
    pub(super) name: String,
    insert: String,
}

impl Note {
    /// With the part's number, or the parameter that gives it.
    pub(super) fn sql(&self, part: impl Display) -> String {
        format!("{}, {part})", self.insert)
    }
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
            forgotten: AtomicI64::new(0),
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

    /// The parts that will not be sent again and are still in the table, if they are as many as that: they are the caller's to
    /// remove.
    pub(super) fn forgettable(&self, enough: i64) -> Option<Range<i64>> {
        let first = self.under_way().first().copied();
        let end = first.unwrap_or_else(|| self.next.load(Ordering::Relaxed));
        let start = self.forgotten.load(Ordering::Relaxed);
        (end - start >= enough).then(|| {
            self.forgotten.store(end, Ordering::Relaxed);
            start..end
        })
    }

    fn under_way(&self) -> MutexGuard<'_, BTreeSet<i64>> {
        self.under_way.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The statement that notes a part.
    pub(super) fn note(&self) -> Note {
        Note {
            name: format!("howdah_{}", self.id),
            insert: format!("INSERT INTO {} (load_id, part) VALUES ('{}'", self.relation(), self.id),
        }
    }

    /// Whether the server says that a part is committed already.
    pub(super) fn says_done(&self, error: &howdah_connect::Error) -> bool {
        error.as_db_error().is_some_and(|db| {
            db.code().code() == "23505" && db.table() == Some(TABLE) && db.schema() == Some(&self.schema)
        })
    }

    /// Removes parts of this writer. After a crash of the server some may be there again, until they are old.
    pub(super) async fn forget(
        &self,
        connection: &Connection,
        parts: Range<i64>,
    ) -> Result<(), tokio_postgres::Error> {
        // The lower bound spares the server the index entries of rows that were removed before.
        let Range { start, end } = parts;
        let sql = format!(
            "SET LOCAL synchronous_commit = off; \
             DELETE FROM {} WHERE load_id = '{}' AND part >= {start} AND part < {end}",
            self.relation(),
            self.id
        );
        connection.client().batch_execute(&sql).await
    }
}
