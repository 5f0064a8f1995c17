//! A session of somebody else, who holds what a load needs.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Stdio};
use std::thread::JoinHandle;

use howdah_testkit::Database;
use howdah_testkit::waiting::until;

/// A load that runs this waits as long as the gate is closed.
pub(crate) const GATE: &str = "SELECT pg_advisory_xact_lock_shared(7)";

/// Waits until `load` has come to the gate.
pub(crate) fn until_at_the_gate<T: std::fmt::Debug>(database: &Database, load: &JoinHandle<T>) {
    let waiting = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
                      AND database = (SELECT oid FROM pg_database WHERE datname = current_database())";
    until("the load is at the gate", || {
        assert!(!load.is_finished(), "it ended before");
        database.sql(waiting) == "1"
    });
}

/// An open transaction in psql, which ends with its value.
pub(crate) struct Holder(Child);

impl Holder {
    /// Runs `sql` in a transaction that stays open.
    pub(crate) fn new(database: &Database, sql: &str) -> Holder {
        let mut psql = database.psql();
        let mut child = psql.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        writeln!(child.stdin.as_mut().unwrap(), "BEGIN; {sql};\n\\echo ready").unwrap();
        let mut lines = BufReader::new(child.stdout.as_mut().unwrap()).lines();
        assert!(lines.any(|line| line.unwrap().ends_with("ready")), "{sql} did not work");
        Holder(child)
    }

    /// Closes the gate at which a load waits that runs [`GATE`] in its transaction.
    pub(crate) fn gate(database: &Database) -> Holder {
        Holder::new(database, "SELECT pg_advisory_lock(7)")
    }

    /// Has it run `sql` too, and does not wait for that.
    pub(crate) fn tell(&mut self, sql: &str) {
        writeln!(self.0.stdin.as_mut().unwrap(), "{sql};").unwrap();
    }

    /// Lets go of everything.
    pub(crate) fn release(mut self) {
        drop(self.0.stdin.take());
        self.0.wait().unwrap();
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}
