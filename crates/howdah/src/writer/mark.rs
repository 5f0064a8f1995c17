//! The mark of a session: a comment in each of its statements, by which the server tells what became of them.
//!
//! A process id would do where every connection is a backend of its own. Behind a pooler the backend that works for a
//! connection is another from transaction to transaction, and the one that did so yesterday is somebody else's today.

use std::sync::Arc;
use std::time::Duration;

use howdah_connect::{Connection, Target};
use tokio::time::timeout;
use tokio_postgres::types::Type;

use crate::catalog::load_id::LoadId;

/// Names the statements of one session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mark(Arc<str>);

/// What the server says about a session from which no answer comes.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Sign {
    /// It works on our statement, or waits for somebody else.
    Works,
    /// Nothing of ours runs, or it waits for us. As long as this stays the same nothing passes between us.
    Waits(String),
    /// It could not be asked.
    Unknown,
}

impl Mark {
    pub(super) fn new() -> Mark {
        Mark(format!("howdah {}", LoadId::new()).into())
    }

    /// The statement with the mark in front, where a long one is not cut off in `pg_stat_activity`.
    pub(super) fn on(&self, sql: &str) -> String {
        format!("/* {} */ {sql}", self.0)
    }

    /// Asks the server over a connection of its own what it makes of the session, and ends abandoned sessions by the way.
    pub(super) async fn look(&self, target: &Target, abandoned: &[Mark], within: Duration) -> Sign {
        // What is sent waits for us where it is a COPY without rows, or where nothing was begun; ClientWrite: it has an answer
        // that nobody takes.
        let sql = "select a.state = 'active' and a.wait_event is distinct from 'ClientRead'
                                             and a.wait_event is distinct from 'ClientWrite',
                          pg_catalog.concat_ws(' ', a.pid, a.backend_start, a.state_change, p.bytes_processed)
                     from pg_catalog.pg_stat_activity a left join pg_catalog.pg_stat_progress_copy p using (pid)
                    where pg_catalog.strpos(a.query, $1) > 0 and a.pid <> pg_catalog.pg_backend_pid()
                    order by 2";
        let asked = async {
            let connection = target.connect().await.ok()?;
            if !abandoned.is_empty() {
                end(&connection, abandoned).await;
            }
            connection.client().query_typed(sql, &[(&&*self.0, Type::TEXT)]).await.ok()
        };
        let Ok(Some(rows)) = timeout(within, asked).await else { return Sign::Unknown };
        if rows.iter().any(|row| row.get::<_, Option<bool>>(0) == Some(true)) {
            return Sign::Works;
        }
        Sign::Waits(rows.iter().map(|row| row.get::<_, String>(1) + "\n").collect())
    }
}

/// Ends what still runs of sessions that were given up, and may hold what we need. One that waits for a standby is let be: it
/// has committed, and what it waits for is what was promised.
pub(super) async fn end(connection: &Connection, given_up: &[Mark]) {
    let sql = "select pg_catalog.pg_terminate_backend(a.pid)
                 from pg_catalog.pg_stat_activity a join pg_catalog.unnest($1) as abandoned(mark)
                   on pg_catalog.strpos(a.query, abandoned.mark) > 0
                where a.state <> 'idle' and a.wait_event is distinct from 'SyncRep'
                  and a.pid <> pg_catalog.pg_backend_pid()";
    let marks: Vec<&str> = given_up.iter().map(|mark| &*mark.0).collect();
    // It may be gone by now, or of another role: then time will tell.
    let _ = connection.client().query_typed(sql, &[(&marks, Type::TEXT_ARRAY)]).await;
}
