//! What a test has written, what it was told about each row, and whether the table agrees.

use std::collections::{HashMap, HashSet};
use std::time::Instant;

use howdah::connect::{ConnectOptions, Environment, Target};
use howdah::writer::{Ack, Writer, WriterOptions};
use howdah::{Error, ErrorKind};
use howdah_testkit::waiting::PATIENCE;

/// A producer and its row's number: what tells rows apart.
pub(crate) type Key = (i32, i64);

/// The table that tests write.
pub(crate) fn create(table: &str) -> String {
    format!("CREATE TABLE {table} (producer int NOT NULL, number bigint NOT NULL, payload text)")
}

pub(crate) fn target(conninfo: &str) -> Target {
    let options = ConnectOptions::default().conninfo(conninfo);
    options.resolve(&Environment::from_pairs([])).unwrap()
}

pub(crate) fn connect(conninfo: &str, options: &WriterOptions) -> Writer {
    Writer::connect_blocking(&target(conninfo), "t", options.clone()).unwrap()
}

/// Small batches, so that a few rows are several transactions.
pub(crate) fn options() -> WriterOptions {
    WriterOptions::default().max_rows(50).connections(2).retry_for(PATIENCE)
}

/// The books of one test or one of its producers.
#[derive(Default)]
pub(crate) struct Account {
    open: Vec<(Key, Ack)>,
    acknowledged: Vec<Key>,
    failed: Vec<(Key, Error)>,
}

impl Account {
    /// Writes a row, waiting for room.
    pub(crate) fn write(&mut self, writer: &Writer, key: Key) {
        self.try_write(writer, key, "some words").unwrap();
    }

    /// Writes a row, unless the writer has no room for it or is closed.
    pub(crate) fn try_write(&mut self, writer: &Writer, key: Key, payload: &str) -> Result<(), Error> {
        let ack = writer.write_blocking(&(key.0, key.1, payload))?;
        self.open.push((key, ack));
        Ok(())
    }

    pub(crate) fn add(&mut self, other: Account) {
        self.open.extend(other.open);
        self.acknowledged.extend(other.acknowledged);
        self.failed.extend(other.failed);
    }

    /// Waits until every acknowledgement has resolved.
    pub(crate) fn settle(&mut self) {
        let deadline = Instant::now() + PATIENCE;
        for (key, ack) in self.open.drain(..) {
            match ack.wait_for(deadline.saturating_duration_since(Instant::now())) {
                Some(Ok(_)) => self.acknowledged.push(key),
                Some(Err(error)) => self.failed.push((key, error)),
                None => panic!("nobody says what became of row {key:?}"),
            }
        }
    }

    /// Rows that were acknowledged so far.
    pub(crate) fn acknowledged(&self) -> usize {
        self.acknowledged.len()
    }

    pub(crate) fn failed(&self) -> &[(Key, Error)] {
        &self.failed
    }

    /// What is wrong with `rows`, a line each: acknowledged rows that are missing, refused rows that are there, rows that
    /// nobody wrote; and where delivery is exactly once, rows that are there twice.
    pub(crate) fn wrongs(&self, rows: impl IntoIterator<Item = Key>, exactly_once: bool) -> Vec<String> {
        let mut found: HashMap<Key, usize> = HashMap::new();
        for key in rows {
            *found.entry(key).or_default() += 1;
        }
        let mut wrongs = Vec::new();
        for key in &self.acknowledged {
            if !found.contains_key(key) {
                wrongs.push(format!("{key:?} was acknowledged and is missing"));
            }
        }
        for (key, error) in &self.failed {
            // Of these nobody knows, and the error says so.
            if error.kind() != ErrorKind::PartlyCommitted && found.contains_key(key) {
                wrongs.push(format!("{key:?} is there, and was said to have failed: {error:?}"));
            }
        }
        let written: HashSet<Key> =
            self.acknowledged.iter().copied().chain(self.failed.iter().map(|(key, _)| *key)).collect();
        for (key, times) in found {
            if !written.contains(&key) {
                wrongs.push(format!("{key:?} was never written"));
            } else if times > 1 && exactly_once {
                wrongs.push(format!("{key:?} is there {times} times"));
            }
        }
        wrongs.sort();
        wrongs
    }

    /// Settles, and panics unless the table `t` has every acknowledged row once and no other; `ask` is psql.
    pub(crate) fn check(&mut self, ask: impl FnOnce(&str) -> String) {
        self.settle();
        let wrongs = self.wrongs(keys(&ask("SELECT producer, number FROM t")), true);
        assert!(wrongs.is_empty(), "{} rows are wrong: {:#?}", wrongs.len(), &wrongs[..wrongs.len().min(20)]);
    }

    /// The same, and no row may have failed.
    pub(crate) fn check_all(&mut self, ask: impl FnOnce(&str) -> String) {
        self.check(ask);
        assert!(self.failed.is_empty(), "{} rows failed: {:?}", self.failed.len(), self.failed[0]);
    }
}

/// Keys as psql prints them.
fn keys(rows: &str) -> impl Iterator<Item = Key> + '_ {
    rows.lines().map(|line| {
        let (producer, number) = line.split_once('|').unwrap();
        (producer.parse().unwrap(), number.parse().unwrap())
    })
}

#[test]
fn an_account_that_does_not_add_up_is_noticed() {
    let mut account = Account { acknowledged: vec![(1, 1), (1, 2)], ..Account::default() };
    account.failed.push(((1, 3), Error::usage("refused")));
    account.failed.push(((1, 4), Error::new(ErrorKind::PartlyCommitted, "unknown")));
    let wrongs = |rows: &str, exactly_once| account.wrongs(keys(rows), exactly_once).len();
    assert_eq!(wrongs("1|1\n1|2", true), 0);
    assert_eq!(wrongs("1|1\n1|2\n1|4", true), 0);
    assert_eq!(wrongs("1|1", true), 1);
    assert_eq!(wrongs("1|1\n1|2\n1|3", true), 1);
    assert_eq!(wrongs("1|1\n1|2\n1|2", true), 1);
    assert_eq!(wrongs("1|1\n1|2\n1|2", false), 0);
    assert_eq!(wrongs("1|1\n1|2\n2|1", true), 1);
}
