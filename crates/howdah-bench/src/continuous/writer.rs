//! Rows through howdah's own Writer.

use std::time::Duration;

use howdah::connect::{ConnectOptions, Environment};
use howdah::rows::{Fields, Row};
use howdah::writer::{Writer, WriterOptions, WriterPath};

use tokio::runtime::{Builder, Runtime};

use super::drive::{Taker, drive, waiting};
use super::ledger::Observed;
use super::options::{Buffer, Offer, Path};
use super::rows::Literals;
use crate::dataset::Dataset;
use crate::error::Error;

/// How long a writer may take to end: all rows were acknowledged before.
const CLOSING: Duration = Duration::from_secs(10);

/// A writer and the rows that it is to write.
pub struct MeasuredWriter {
    writer: Writer,
    rows: Vec<Literals>,
    /// Where the writer runs beside producers that are tasks; None: on a thread of its own.
    runtime: Option<Runtime>,
}

impl Row for Literals {
    const COLUMNS: Option<&'static [&'static str]> = None;

    fn put(&self, fields: &mut Fields<'_>) -> Result<(), howdah::Error> {
        self.0.iter().try_for_each(|field| fields.put(&field.as_deref()))
    }
}

impl MeasuredWriter {
    /// Connects. A writer whose producers wait runs on their runtime, as a service's does; others hand rows over to its thread.
    ///
    /// # Errors
    /// There is no such server or table.
    pub fn connect(
        conninfo: &str,
        table: &str,
        dataset: Dataset,
        (buffer, offer): (&Buffer, &Offer),
        rows: Vec<Literals>,
    ) -> Result<MeasuredWriter, Error> {
        let options = ConnectOptions::default().conninfo(conninfo);
        let target = options.resolve(&Environment::from_process())?;
        let columns = dataset.columns().iter().map(|(name, _)| (*name).to_owned()).collect();
        let options = options_of(buffer, columns);
        if !matches!(offer, Offer::Waiting { .. }) {
            return Ok(MeasuredWriter {
                writer: Writer::connect_blocking(&target, table, options)?,
                rows,
                runtime: None,
            });
        }
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(Error::io("could not start a runtime"))?;
        let writer = runtime.block_on(Writer::connect(&target, table, options))?;
        Ok(MeasuredWriter { writer, rows, runtime: Some(runtime) })
    }

    /// Offers all rows as the offer says that it was connected for.
    ///
    /// # Errors
    /// A row was not taken, was refused, or was never settled.
    pub fn serve(&self, offer: &Offer) -> Result<Observed, Error> {
        let rows = self.rows.len() as u64;
        match (offer, &self.runtime) {
            (Offer::Waiting { producers }, Some(runtime)) => {
                let write = async |row: u64| {
                    self.writer.write(self.row(row)?).await?.await?;
                    Ok(())
                };
                runtime.block_on(waiting(rows, *producers, write))
            }
            _ => drive(self, rows, offer),
        }
    }

    /// Ends it. The mean number of rows in its batches, if there was one.
    ///
    /// # Errors
    /// It could not end.
    pub fn close(self) -> Result<Option<f64>, Error> {
        let statistics = match &self.runtime {
            Some(runtime) => runtime.block_on(self.writer.close(CLOSING)),
            None => self.writer.close_blocking(CLOSING),
        };
        let batches = statistics?.batch_rows;
        Ok((batches.count() > 0).then(|| batches.mean()))
    }

    fn row(&self, row: u64) -> Result<&Literals, Error> {
        let row = usize::try_from(row).ok().and_then(|row| self.rows.get(row));
        row.ok_or_else(|| Error::Usage("fewer rows were made than are wanted".to_owned()))
    }
}

impl Taker for MeasuredWriter {
    fn take<F>(&self, row: u64, settled: F) -> Result<(), Error>
    where
        F: FnOnce(Result<(), String>) + Send + 'static,
    {
        let ack = self.writer.write_blocking(self.row(row)?)?;
        ack.on_resolved(move |written| settled(written.map(drop).map_err(|error| error.to_string())));
        Ok(())
    }

    fn take_unasked(&self, row: u64) -> Result<(), Error> {
        Ok(self.writer.send_blocking(self.row(row)?)?)
    }

    fn flush(&self) -> Result<(), Error> {
        Ok(self.writer.flush_blocking()?)
    }
}

fn options_of(buffer: &Buffer, columns: Vec<String>) -> WriterOptions {
    let own = WriterOptions::default();
    let count = |given: Option<u64>, own: usize| {
        given.map_or(own, |given| usize::try_from(given).unwrap_or(usize::MAX))
    };
    let duration = |ms: f64| Duration::from_secs_f64(ms / 1e3);
    let mut options = own.clone().columns(columns).adaptive(buffer.adaptive).discard(buffer.discard);
    options.max_rows = count(buffer.max_rows, own.max_rows);
    options.max_age = buffer.interval_ms.map_or(own.max_age, duration);
    options.connections = count(buffer.connections.map(u64::from), own.connections);
    options.queue_rows = count(buffer.queue_rows, own.queue_rows);
    options.path = match buffer.path {
        Path::Auto => WriterPath::Auto,
        Path::Copy => WriterPath::Copy,
        Path::Insert => WriterPath::Insert,
    };
    options.latency_target = buffer.latency_target_ms.map(duration);
    options
}
