//! What people read: `summary.csv`, `summary.md` and one HTML file that needs nothing else.

pub mod summary;

mod cell;
mod criteria;
mod csv;
mod headline;
mod html;
mod markdown;
mod rank;

use std::fs;
use std::path::Path;

use crate::error::Error;
use crate::record::Record;
use crate::scenario::Scenario;
use summary::Summary;

/// The promises of all scenarios, as a Markdown table; None where there are none.
#[must_use]
pub fn promises(records: &[Record], scenarios: &[Scenario]) -> Option<String> {
    markdown::promises(Summary::of(records, scenarios).sections().flat_map(|section| &section.promises))
}

/// Writes the reports on `records` into `directory`; `scenarios` say how to read them, `environment` (Markdown) says
/// what they were measured on.
///
/// # Errors
/// A file could not be written.
pub fn write(
    directory: &Path,
    records: &[Record],
    scenarios: &[Scenario],
    environment: &str,
) -> Result<(), Error> {
    let summary = Summary::of(records, scenarios);
    for (name, text) in [
        ("summary.csv", csv::render(&summary)),
        ("summary.md", markdown::render(&summary, environment)),
        ("report.html", html::render(&summary, environment)?),
    ] {
        let path = directory.join(name);
        fs::write(&path, text).map_err(Error::io(format!("could not write {}", path.display())))?;
    }
    Ok(())
}
