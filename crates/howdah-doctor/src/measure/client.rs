//! What this machine can do: it reads and encodes rows of the table as a load does, and sends them nowhere.

use std::sync::Arc;

use howdah::facts::TableFacts;
use howdah::name::TableName;
use howdah::options::{Format, HeaderOption};
use howdah::source::Input;
use howdah::{Control, Error, ErrorKind, LoadOptions, Target, load_inputs};

use super::sample::quote;
use crate::trials::ClientTrial;

/// Runs, and one that warms up.
const RUNS: usize = 5;
/// Bytes of a run: rows are repeated until they are as many, since a run is to take longer than to begin it.
const BYTES: usize = 8 * 1024 * 1024;

/// Rows as CSV.
pub(super) struct Csv {
    pub(super) columns: Vec<String>,
    pub(super) rows: u64,
    pub(super) text: Vec<u8>,
}

impl Csv {
    /// The same rows several times.
    fn repeated(&mut self) {
        if self.text.is_empty() {
            return;
        }
        let times = BYTES.div_ceil(self.text.len());
        self.text = self.text.repeat(times);
        self.rows *= times as u64;
    }
}

/// Measures. Blocks until it is over; `tell` hears what is done.
///
/// # Errors
/// Somebody said stop. `Ok(Err)`: it cannot be measured.
pub(super) fn measure(
    target: &Target,
    table: &TableFacts,
    mut csv: Csv,
    control: &Control,
    tell: &mut dyn FnMut(&str),
) -> Result<Result<ClientTrial, String>, Error> {
    tell("encoding rows of the table, and sending them nowhere");
    csv.repeated();
    let name = TableName::parse(&format!("{}.{}", quote(&table.schema), quote(&table.name)))?;
    let options = LoadOptions::default()
        .table(name)
        .format(Format::Csv)
        .header(HeaderOption::No)
        .column_list(csv.columns)
        .jobs(1)
        .dry_run(true);
    let text: Arc<[u8]> = csv.text.into();
    let mut trial = ClientTrial { rows: csv.rows, bytes: text.len() as u64, seconds: Vec::new() };
    for run in 0..=RUNS {
        if control.is_cancelled() {
            return Err(Error::new(ErrorKind::Cancelled, "stopped on request"));
        }
        match load_inputs(
            vec![Input::memory("rows of the table", Arc::clone(&text))],
            &options,
            target,
            &Control::new(),
        ) {
            Ok(report) if run > 0 => trial.seconds.push(report.phases.load_s),
            Ok(_) => {}
            // What it says may hold values.
            Err(_) => return Ok(Err("a dry run of a load was refused".to_owned())),
        }
    }
    Ok(Ok(trial))
}
