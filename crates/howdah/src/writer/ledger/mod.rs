//! The ledger: a table in which every transaction of a writer leaves a row. Its primary key lets a transaction that is sent
//! again happen only once, and makes the second wait while the first is still under way.
//!
//! A row of it says: nothing that is sent under this number happens any more. It is removed when no attempt under its number
//! can be under way; where one may be, it stays. `docs/exactly-once.md` has the whole argument.

mod entry;
mod table;

use parking_lot::Mutex;
use std::collections::BTreeSet;
use std::fmt::Display;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

pub(crate) use entry::{CommitRecord, Entry, Participant, Tag};
use howdah_connect::Connection;

use crate::catalog::load_id::LoadId;
use crate::error::Error;

/// One writer's rows in the ledger.
pub(super) struct Ledger {
    schema: String,
    id: LoadId,
    next: AtomicI64,
    parts: Mutex<Parts>,
}

/// Which parts have to stay in the table.
#[derive(Default)]
struct Parts {
    under_way: BTreeSet<i64>,
    /// Settled, but an attempt may still be under way somewhere: the row waits for it.
    late: BTreeSet<i64>,
    /// Parts before this one were removed, or will be by whoever was told to.
    forgotten: i64,
}

/// Rows of the ledger that nobody needs any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Forgettable {
    parts: Range<i64>,
    /// Those among them that stay.
    except: Vec<i64>,
}

/// Notes a part in the ledger.
pub(super) struct Note {
    /// What it is called where it is prepared: no other writer's is called so, should a pooler lend a session to several.
    pub(super) name: Arc<str>,
    insert: String,
}

impl Note {
    /// With the part's number, or the parameter that gives it.
    pub(super) fn sql(&self, part: impl Display) -> String {
        format!("{} {part})", self.insert)
    }
}

impl Ledger {
    /// Makes the table where it is missing, and removes what writers of long ago left.
    ///
    /// # Errors
    /// The role may not make it, or not write it; it is none that can be relied upon.
    pub(super) async fn open(connection: &Connection, schema: &str) -> Result<Ledger, Error> {
        table::open(connection, schema).await?;
        let (id, next) = (LoadId::new(), AtomicI64::new(0));
        Ok(Ledger { schema: schema.to_owned(), id, next, parts: Mutex::default() })
    }

    /// The number of a transaction; it keeps it however often it is sent.
    pub(super) fn part(&self) -> i64 {
        let part = self.next.fetch_add(1, Ordering::Relaxed);
        self.parts.lock().under_way.insert(part);
        part
    }

    /// A transaction is settled: its part will not be sent again. An attempt that may still be under way `is_late`: should it
    /// arrive one day, it must find the part noted.
    pub(super) fn settled(&self, part: i64, is_late: bool) {
        let mut parts = self.parts.lock();
        parts.under_way.remove(&part);
        if is_late {
            parts.late.insert(part);
        }
    }

    /// The parts that will not be sent again and are still in the table, if they are as many as that: they are the caller's to
    /// remove.
    pub(super) fn forgettable(&self, enough: i64) -> Option<Forgettable> {
        let mut parts = self.parts.lock();
        let end = parts.under_way.first().copied();
        let end = end.unwrap_or_else(|| self.next.load(Ordering::Relaxed));
        let start = parts.forgotten;
        (end - start >= enough).then(|| {
            parts.forgotten = end;
            Forgettable { parts: start..end, except: parts.late.range(start..end).copied().collect() }
        })
    }

    /// All parts of a writer that has ended. After a crash of the server some that were removed before may be there again.
    pub(super) fn remains(&self) -> Forgettable {
        let parts = self.parts.lock();
        Forgettable {
            parts: 0..i64::MAX,
            except: parts.late.iter().chain(&parts.under_way).copied().collect(),
        }
    }

    /// The statement that notes a part.
    pub(super) fn note(&self) -> Note {
        let relation = table::relation(&self.schema);
        Note {
            name: format!("howdah_{}", self.id).into(),
            insert: format!("INSERT INTO {relation} (load_id, part) VALUES ('{}',", self.id),
        }
    }

    /// What a part's row is called that says of it: no rows were written under this number, and none will be.
    pub(super) fn void(part: i64) -> i64 {
        -1 - part
    }

    /// Whether a part was made void.
    pub(super) async fn is_void(
        &self,
        connection: &Connection,
        part: i64,
    ) -> Result<bool, tokio_postgres::Error> {
        let sql = format!(
            "SELECT FROM {} WHERE load_id = '{}' AND part = {}",
            table::relation(&self.schema),
            self.id,
            Ledger::void(part)
        );
        Ok(!connection.client().query_typed(&sql, &[]).await?.is_empty())
    }

    /// Whether the server says that a part is in the ledger already. It says so of the note itself: what a trigger of the
    /// table says comes with a context.
    pub(super) fn says_done(&self, error: &howdah_connect::Error) -> bool {
        error.as_db_error().is_some_and(|db| {
            db.code().code() == "23505"
                && db.where_().is_none()
                && db.table() == Some(table::NAME)
                && db.schema() == Some(&self.schema)
        })
    }

    /// Whether the server was waiting for somebody who notes the same part, and no longer would. It names the table in which
    /// two rows meet; for what rows of the user's wait it names others, or none.
    pub(super) fn was_waited_for(error: &howdah_connect::Error) -> bool {
        let met = format!("\"{}\"", table::NAME);
        error.as_db_error().is_some_and(|db| {
            db.code().code() == "55P03" && db.where_().is_some_and(|context| context.contains(&met))
        })
    }

    /// Removes parts of this writer. After a crash of the server some may be there again, until they are old.
    pub(super) async fn forget(
        &self,
        connection: &Connection,
        Forgettable { parts, except }: Forgettable,
    ) -> Result<(), tokio_postgres::Error> {
        let except: Vec<String> = except.iter().map(i64::to_string).collect();
        // The lower bound spares the server the index entries of rows that were removed before.
        let sql = format!(
            "SET LOCAL synchronous_commit = off; \
             DELETE FROM {} WHERE load_id = '{}' AND part >= {} AND part < {} AND part <> ALL ('{{{}}}')",
            table::relation(&self.schema),
            self.id,
            parts.start,
            parts.end,
            except.join(",")
        );
        connection.client().batch_execute(&sql).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ledger() -> Ledger {
        let (id, next) = (LoadId::new(), AtomicI64::new(0));
        Ledger { schema: "s".to_owned(), id, next, parts: Mutex::default() }
    }

    #[test]
    fn a_part_of_which_an_attempt_may_still_arrive_is_never_forgotten() {
        let ledger = ledger();
        let parts: Vec<i64> = (0..6).map(|_| ledger.part()).collect();
        ledger.settled(parts[0], false);
        ledger.settled(parts[1], true);
        assert_eq!(ledger.forgettable(3), None);
        ledger.settled(parts[2], false);
        assert_eq!(ledger.forgettable(3), Some(Forgettable { parts: 0..3, except: vec![1] }));
        ledger.settled(parts[3], false);
        ledger.settled(parts[5], true);
        assert_eq!(ledger.remains().except, [1, 5, 4], "late, or never settled");
    }

    #[test]
    fn a_note_is_one_statement_for_a_number_and_for_a_parameter() {
        let note = ledger().note();
        assert!(note.sql(7).ends_with(", 7)") && note.sql("$1").ends_with(", $1)"), "{}", note.sql(7));
    }
}
