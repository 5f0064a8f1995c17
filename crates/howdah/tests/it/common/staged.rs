//! Loads whose rows are matched with those of the table, and what they did.

use howdah::options::Mode;
use howdah::{LoadOptions, Report};
use howdah_testkit::Database;

use super::options;

/// The modes that match rows.
pub(crate) const MODES: [Mode; 4] = [Mode::Upsert, Mode::Ignore, Mode::Update, Mode::Delete];

pub(crate) fn matching(mode: Mode, file: &str, table: &str, jobs: usize) -> LoadOptions {
    options(file, table).mode(mode).jobs(jobs)
}

/// Inserted, updated, deleted, skipped, duplicate; with the account of all rows checked.
pub(crate) fn counts(report: &Report) -> [u64; 5] {
    assert_eq!(report.rows_read, report.rows + report.rows_rejected);
    [
        report.rows_inserted,
        report.rows_updated,
        report.rows_deleted,
        report.rows_skipped,
        report.rows_duplicate,
    ]
}

/// How many tables of loads there are under hidden names.
pub(crate) fn hidden_tables(database: &Database) -> String {
    database.sql("SELECT count(*) FROM pg_class WHERE relname ~ '^howdah_load_'")
}
