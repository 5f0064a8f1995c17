//! Runs loads into a test's database.

pub(crate) mod everything;
mod holder;
pub(crate) mod staged;

use howdah::connect::{ConnectOptions, Environment, Target};
use howdah::name::TableName;
use howdah::{Control, Error, LoadOptions, Report};
use howdah_testkit::Database;

pub(crate) use holder::{GATE, Holder, until_at_the_gate};

pub(crate) fn target(database: &Database) -> Target {
    let options = ConnectOptions::default().conninfo(database.conninfo());
    options.resolve(&Environment::from_pairs([])).unwrap()
}

/// A test may load one file more than once, each time with the same reject file.
pub(crate) fn options(file: &str, table: &str) -> LoadOptions {
    LoadOptions::new(file).table(TableName::parse(table).unwrap()).overwrite_rejects(true)
}

/// Loads; the report and what was said meanwhile, or the error.
pub(crate) fn try_load(database: &Database, options: &LoadOptions) -> Result<(Report, Vec<String>), Error> {
    let control = Control::new();
    let report = howdah::load(options, &target(database), &control)?;
    Ok((report, control.take_notices().iter().map(ToString::to_string).collect()))
}

pub(crate) fn load(database: &Database, options: &LoadOptions) -> Report {
    try_load(database, options).unwrap_or_else(|error| panic!("{error:?}")).0
}
