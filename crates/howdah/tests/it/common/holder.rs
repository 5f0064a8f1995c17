//! A session of somebody else, who holds what a load needs.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Stdio};

use howdah_testkit::Database;

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
