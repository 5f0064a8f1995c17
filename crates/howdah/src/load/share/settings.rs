//! What all processes of a shared load must agree on, beside the inputs: how records are read, and where fields go.

use std::collections::BTreeMap;

use howdah_connect::Connection;
use howdah_message::{Message, setting};

use crate::error::Error;
use crate::options::LoadOptions;
use crate::plan::Plan;
use crate::report::PlanSummary;

/// Settings by the names of their options.
pub(super) type Settings = BTreeMap<String, String>;

/// Those of this process.
pub(super) fn of(options: &LoadOptions, plan: &Plan, summary: Option<&PlanSummary>) -> Settings {
    let mut dialect = summary.map(|summary| summary.dialect.clone()).unwrap_or_default();
    // Who guesses and who says it mean the same.
    dialect.guessed.clear();
    let dialect = serde_json::to_string(&dialect).unwrap_or_default();
    let columns = summary.iter().flat_map(|summary| &summary.columns);
    let columns: Vec<String> =
        columns.map(|column| format!("{} -> {}", column.source, column.target)).collect();
    let input = &options.input;
    let forced = &options.columns;
    [
        (setting::FORMAT, dialect),
        (setting::COLUMNS, columns.join(", ")),
        (setting::HEADER, plan.reading.header.is_some().to_string()),
        (setting::SKIP_LINES, input.skip_lines.to_string()),
        (setting::DECIMAL, if input.decimal_comma { "comma" } else { "point" }.to_owned()),
        (setting::THOUSANDS, format!("{:?}", input.thousands)),
        (setting::BOOLEANS, format!("{:?}", input.booleans)),
        (setting::DATE_FORMAT, format!("{:?}", input.date_format)),
        (setting::DEFAULT, format!("{:?}", input.dialect.default)),
        (setting::ALLOW, format!("{:?}", input.allow_loss)),
        (setting::FORCE_NULL, forced.force_null.join(", ")),
        (setting::FORCE_NOT_NULL, forced.force_not_null.join(", ")),
        (setting::ON_ERROR, options.tolerance.on_error.name().to_owned()),
        (setting::ON_NUL, options.tolerance.on_nul.name().to_owned()),
    ]
    .map(|(setting, value)| (setting.name().to_owned(), value))
    .into()
}

/// What the session decides of the values that literals have.
const OF_SESSION: &str = "select name, setting from pg_catalog.pg_settings
     where name in ('TimeZone', 'DateStyle', 'IntervalStyle', 'lc_monetary', 'array_nulls', 'xmloption')";

/// Those of this process's sessions.
///
/// # Errors
/// The server's.
pub(super) async fn of_session(connection: &Connection) -> Result<Settings, Error> {
    let rows = connection.client().query_typed(OF_SESSION, &[]).await?;
    Ok(rows.iter().map(|row| (row.get(0), row.get(1))).collect())
}

/// Refuses `ours` where they are not those that the load was begun with.
///
/// # Errors
/// A usage error that names those that differ.
pub(super) fn agree(id: &str, theirs: &str, ours: &Settings) -> Result<(), Error> {
    let theirs: Settings = serde_json::from_str(theirs).unwrap_or_default();
    let names = theirs.keys().chain(ours.keys());
    let mut differing: Vec<&String> = names.filter(|name| theirs.get(*name) != ours.get(*name)).collect();
    differing.sort_unstable();
    differing.dedup();
    if differing.is_empty() {
        return Ok(());
    }
    let value = |of: &Settings, name: &String| of.get(name).cloned().unwrap_or_else(|| "nothing".to_owned());
    let told = differing.iter().map(|name| {
        Message::from(format!("{name}: {} there, {} here", value(&theirs, name), value(ours, name)))
    });
    Err(Error::usage(format!("load {id} was begun with other options"))
        .with_detail(Message::joined(told, "; "))
        .with_hint(
            "all processes run the same command, of the same version of howdah, under the same settings of the session",
        ))
}
