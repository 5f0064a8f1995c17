//! Runs loads into a test's database.

use howdah::connect::{ConnectOptions, Environment, Target};
use howdah::name::TableName;
use howdah::{Control, Error, LoadOptions, Report};
use howdah_testkit::Database;

pub(crate) fn target(database: &Database) -> Target {
    let options = ConnectOptions { conninfo: Some(database.conninfo()), ..ConnectOptions::default() };
    options.resolve(&Environment::from_pairs([])).unwrap()
}

pub(crate) fn options(file: &str, table: &str) -> LoadOptions {
    LoadOptions {
        inputs: vec![file.to_owned()],
        table: Some(TableName::parse(table).unwrap()),
        ..LoadOptions::default()
    }
}

/// Loads; the report and what was said meanwhile, or the error.
pub(crate) fn try_load(database: &Database, options: &LoadOptions) -> Result<(Report, Vec<String>), Error> {
    let control = Control::new();
    let outcome = howdah::load(options, &target(database), &control);
    match outcome.error {
        None => Ok((outcome.report, control.take_notices())),
        Some(error) => Err(error),
    }
}

pub(crate) fn load(database: &Database, options: &LoadOptions) -> Report {
    try_load(database, options).unwrap_or_else(|error| panic!("{error:?}")).0
}
