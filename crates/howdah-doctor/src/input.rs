//! How many rows an input has: counted where it is small, and else as many as its size and its first records tell. A dry run of a
//! load reads them, so that all that a load reads is known here, and in the same way.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use howdah::name::TableName;
use howdah::{Control, Error, ErrorKind, LoadOptions, Target, load};

use crate::case::InputEstimate;

/// Records of the first look; each look says how many the next one reads.
const FIRST: u64 = 1000;
/// Two know how long a record is, but for what is read ahead.
const LOOKS: usize = 3;
/// How long a look waits for a lock.
const PATIENCE: Duration = Duration::from_secs(2);
/// So soon it is noticed that a look is over, or is to stop.
const STOPS_WITHIN: Duration = Duration::from_millis(10);
/// Bytes of the input that the last look reads.
const BYTES: u64 = 32 * 1024 * 1024;

/// What the first records of an input tell of how many there are.
#[derive(Debug)]
pub enum InputLook {
    /// So many.
    Known(InputEstimate),
    /// Nothing, since the input is in columns, or is no file.
    Unknown,
    /// A load of them would be refused, which is no reason not to look at a server.
    Refused(Error),
}

impl InputEstimate {
    /// Reads the first records of the file `path`, which is to be loaded into `table`. Blocks until it is over.
    ///
    /// # Errors
    /// There is no such file, or somebody said stop.
    pub fn look(
        path: impl Into<OsString>,
        table: &TableName,
        target: &Target,
        control: &Control,
    ) -> Result<InputLook, Error> {
        let path = path.into();
        let is_there = path == "-" || Path::new(&path).exists();
        match InputEstimate::found(path, table, target, control) {
            Ok(Some(input)) => Ok(InputLook::Known(input)),
            Ok(None) => Ok(InputLook::Unknown),
            Err(error) if is_there && error.kind() != ErrorKind::Cancelled => Ok(InputLook::Refused(error)),
            Err(error) => Err(error),
        }
    }

    fn found(
        path: OsString,
        table: &TableName,
        target: &Target,
        control: &Control,
    ) -> Result<Option<InputEstimate>, Error> {
        // What comes through a pipe comes once.
        if path == "-" || std::fs::metadata(&path).is_ok_and(|found| !found.is_file()) {
            return Ok(None);
        }
        // Whoever holds the table is a finding, and nobody to wait for.
        let options =
            LoadOptions::new(path).table(table.clone()).jobs(1).dry_run(true).lock_timeout(PATIENCE);
        let mut looks: Vec<Records> = Vec::new();
        let mut wanted = FIRST;
        while looks.len() < LOOKS {
            if control.is_cancelled() {
                return Err(Error::new(ErrorKind::Cancelled, "stopped on request"));
            }
            let look = Records::read(&options, wanted, target, control)?;
            if look.rows < wanted {
                return Ok(Some(InputEstimate { rows: look.rows, is_counted: true }));
            }
            wanted = share(look.rows, BYTES, look.bytes).max(wanted.saturating_mul(2));
            looks.push(look);
        }
        Ok(estimated(&looks))
    }
}

/// What a dry run of some records read.
struct Records {
    rows: u64,
    /// Bytes as they are stored, and those that were read ahead.
    bytes: u64,
    /// Bytes of the whole input.
    total: Option<u64>,
    is_in_columns: bool,
}

impl Records {
    /// What the load says of them is for the one that follows: it has a handle of its own, and stops as `outer` does.
    fn read(options: &LoadOptions, limit: u64, target: &Target, outer: &Control) -> Result<Records, Error> {
        let control = Control::new();
        let report = std::thread::scope(|scope| {
            let loading = scope.spawn(|| load(&options.clone().limit(limit), target, &control));
            while !loading.is_finished() {
                if outer.is_cancelled() {
                    control.cancel();
                }
                std::thread::sleep(STOPS_WITHIN);
            }
            loading.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })?;
        let format = report.plan.map(|plan| plan.dialect.format);
        Ok(Records {
            rows: report.rows_read,
            bytes: report.bytes_read,
            total: control.snapshot().bytes_total,
            is_in_columns: matches!(format, Some("parquet" | "arrow")),
        })
    }
}

/// Rows of an input of which several looks read more and more of the first ones.
fn estimated(looks: &[Records]) -> Option<InputEstimate> {
    let (first, last) = (looks.first()?, looks.last()?);
    let total = last.total.filter(|_| !last.is_in_columns)?;
    // What was read ahead is in both.
    let behind = (last.rows.saturating_sub(first.rows), last.bytes.saturating_sub(first.bytes));
    let (rows, bytes) = if behind.0 > 0 && behind.1 > 0 { behind } else { (last.rows, last.bytes) };
    Some(InputEstimate { rows: share(rows, total, bytes), is_counted: false })
}

/// `rows × bytes ÷ of`, rounded.
fn share(rows: u64, bytes: u64, of: u64) -> u64 {
    let of = u128::from(of.max(1));
    u64::try_from((u128::from(rows) * u128::from(bytes) + of / 2) / of).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn records(rows: u64, bytes: u64) -> Records {
        Records { rows, bytes, total: Some(100_000_000), is_in_columns: false }
    }

    #[test]
    fn what_was_read_ahead_counts_for_nothing() {
        let rows = |looks: &[Records]| estimated(looks).unwrap().rows;
        // A hundred bytes a row, and 900,000 that were read ahead.
        assert_eq!(
            rows(&[records(1000, 1_000_000), records(5000, 1_000_000), records(100_000, 10_900_000)]),
            1_000_000
        );
        assert_eq!(rows(&[records(1000, 1_000_000), records(100_000, 1_000_000)]), 10_000_000);
    }

    #[test]
    fn the_first_rows_of_columns_say_nothing_of_the_others() {
        let of =
            |is_in_columns, total| estimated(&[Records { is_in_columns, total, ..records(1000, 1_000_000) }]);
        assert_eq!(of(true, Some(100)), None);
        assert_eq!(of(false, None), None);
        assert_eq!(of(false, Some(2_000_000)), Some(InputEstimate { rows: 2000, is_counted: false }));
    }
}
