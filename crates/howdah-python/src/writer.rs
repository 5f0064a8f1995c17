//! `howdah.Writer`: rows that a program writes continuously, from threads or an event loop.

mod ack;
mod options;
mod returned;
mod statistics;

use std::future::Future;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use howdah::writer::{self, OnFull};
use howdah::{Error, ErrorKind};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use tokio::sync::oneshot;

pub(crate) use ack::Ack;
pub(crate) use statistics::Statistics;

use crate::encoder::Encoders;
use crate::error::raised;
use crate::fork;
use crate::target::{Chosen, Place};
use crate::wait::{Answer, Pending, in_thread, wait};

/// A writer's own runtime ends while it is closed, so what waits for that is a thread.
const CLOSING: &str = "howdah-close";

/// The engine's writer, and what makes its rows.
#[pyclass(frozen, module = "howdah._native")]
pub(crate) struct Writer {
    /// `None` once it was dropped.
    writer: Option<Arc<writer::Writer>>,
    encoders: Encoders,
    on_full: OnFull,
    /// What makes a row of returned values.
    row_type: Option<Py<PyAny>>,
    /// The server in words, without a password.
    #[pyo3(get)]
    server: String,
    /// What there is to say of the server, the table and the session.
    #[pyo3(get)]
    notices: Vec<String>,
    /// What of that is warned of.
    #[pyo3(get)]
    warnings: Vec<String>,
}

#[pymethods]
impl Writer {
    /// Connects. `row_type` is called with the values that `returning` asks for.
    #[new]
    fn new(
        py: Python<'_>,
        table: String,
        place: Place,
        given: &Bound<'_, PyDict>,
        row_type: Option<Py<PyAny>>,
    ) -> PyResult<Self> {
        let options =
            fork::check().and_then(|()| options::read(given)).map_err(|error| raised(py, &error))?;
        let (on_full, chosen) = (options.on_full, options.columns.is_some());
        let connected = in_thread(py, "howdah-connect", move || {
            let Chosen { target, server, notices, .. } = Chosen::by(place)?;
            Ok((writer::Writer::connect_blocking(&target, &table, options)?, server, notices))
        })?;
        let (writer, server, mut notices) = connected.map_err(|error| raised(py, &error))?;
        notices.extend_from_slice(writer.notices());
        let warnings = writer.warnings().to_vec();
        let encoders = Encoders::new(py, writer.shape().clone(), chosen);
        Ok(Writer { writer: Some(Arc::new(writer)), encoders, on_full, row_type, server, notices, warnings })
    }

    /// The columns that rows are for.
    #[getter]
    fn columns(&self) -> Vec<String> {
        self.encoders.columns()
    }

    /// Writes a row, waiting for room if need be.
    fn write(&self, row: &Bound<'_, PyAny>) -> PyResult<Ack> {
        let py = row.py();
        let writer = self.writer(py)?;
        self.encoders.encode(row, |bytes, open| {
            let ack = match writer.try_write_encoded(bytes, open) {
                Err(full) if self.waits_after(&full) => finish(py, writer.write_encoded(bytes, open))?,
                tried => tried.map_err(|error| raised(py, &error))?,
            };
            Ok(self.ack(py, ack))
        })?
    }

    /// Writes a row of which nobody will ask what became of it.
    fn send(&self, row: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = row.py();
        let writer = self.writer(py)?;
        self.encoders.encode(row, |bytes, open| match writer.try_send_encoded(bytes, open) {
            Err(full) if self.waits_after(&full) => finish(py, writer.send_encoded(bytes, open)),
            tried => tried.map_err(|error| raised(py, &error)),
        })?
    }

    /// Writes a row if there is room: an `Ack`; else what an event loop waits for, whose result is one.
    fn begin_write(&self, row: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        let py = row.py();
        let writer = self.writer(py)?;
        self.encoders.encode(row, |bytes, open| match writer.try_write_encoded(bytes, open) {
            Err(full) if self.waits_after(&full) => {
                let (writer, bytes, open) = (writer.clone(), bytes.to_vec(), open.to_vec());
                let row_type = self.row_type.as_ref().map(|row_type| row_type.clone_ref(py));
                let pending = Pending::new(async move {
                    let ack = writer.write_encoded(&bytes, &open).await?;
                    Ok(Box::new(move |py: Python<'_>| Ok(Py::new(py, Ack::new(ack, row_type))?.into_any()))
                        as Answer)
                });
                Ok(Py::new(py, pending)?.into_any())
            }
            tried => {
                let ack = tried.map_err(|error| raised(py, &error))?;
                Ok(Py::new(py, self.ack(py, ack))?.into_any())
            }
        })?
    }

    /// The same for a row of which nobody will ask: `None`, or what an event loop waits for.
    fn begin_send(&self, row: &Bound<'_, PyAny>) -> PyResult<Option<Pending>> {
        let py = row.py();
        let writer = self.writer(py)?;
        self.encoders.encode(row, |bytes, open| match writer.try_send_encoded(bytes, open) {
            Err(full) if self.waits_after(&full) => {
                let (writer, bytes, open) = (writer.clone(), bytes.to_vec(), open.to_vec());
                Ok(Some(Pending::new(async move {
                    writer.send_encoded(&bytes, &open).await?;
                    Ok(nothing())
                })))
            }
            tried => tried.map(|()| None).map_err(|error| raised(py, &error)),
        })?
    }

    /// Waits until all rows written so far are settled.
    fn flush(&self, py: Python<'_>) -> PyResult<()> {
        finish(py, self.writer(py)?.flush())
    }

    /// The same for an event loop.
    fn begin_flush(&self, py: Python<'_>) -> PyResult<Pending> {
        let writer = self.writer(py)?.clone();
        Ok(Pending::new(async move {
            writer.flush().await?;
            Ok(nothing())
        }))
    }

    /// Takes no more rows, and writes those that are there until `deadline` seconds have passed.
    fn close(&self, py: Python<'_>, deadline: f64) -> PyResult<Statistics> {
        let (writer, deadline) = (self.writer(py)?.clone(), seconds(deadline)?);
        // The thread only waits: whoever is interrupted meanwhile is told by the next close.
        let settling = writer.clone();
        let settled = in_thread(py, CLOSING, move || {
            settling.settle_blocking(deadline);
            Ok(())
        })?;
        settled.and_then(|()| writer.closed()).map(Statistics).map_err(|error| raised(py, &error))
    }

    /// The same for an event loop; its result is statistics.
    #[expect(clippy::disallowed_methods, reason = "this module starts threads: see ARCHITECTURE")]
    fn begin_close(&self, py: Python<'_>, deadline: f64) -> PyResult<Pending> {
        let (writer, deadline) = (self.writer(py)?.clone(), seconds(deadline)?);
        let (tell, told) = oneshot::channel();
        let settling = writer.clone();
        let settle = move || {
            settling.settle_blocking(deadline);
            // Nobody may wait for it any more.
            let _ = tell.send(());
        };
        thread::Builder::new().name(CLOSING.to_owned()).spawn(settle)?;
        Ok(Pending::new(async move {
            told.await.map_err(|_| Error::bug())?;
            Ok(Box::new(move |py: Python<'_>| {
                // Not before somebody hears it.
                let statistics = writer.closed().map_err(|error| raised(py, &error))?;
                Ok(Py::new(py, Statistics(statistics))?.into_any())
            }) as Answer)
        }))
    }

    /// What it has done so far.
    #[getter]
    fn statistics(&self, py: Python<'_>) -> PyResult<Statistics> {
        Ok(Statistics(self.writer(py)?.statistics()))
    }
}

impl Writer {
    fn writer(&self, py: Python<'_>) -> PyResult<&Arc<writer::Writer>> {
        fork::check().map_err(|error| raised(py, &error))?;
        self.writer.as_ref().ok_or_else(|| {
            raised(py, &Error::new(ErrorKind::Internal, "the writer was dropped: this is a bug"))
        })
    }

    fn ack(&self, py: Python<'_>, ack: writer::Ack) -> Ack {
        Ack::new(ack, self.row_type.as_ref().map(|row_type| row_type.clone_ref(py)))
    }

    fn waits_after(&self, error: &Error) -> bool {
        error.kind() == ErrorKind::QueueFull && self.on_full != OnFull::Fail
    }
}

/// Waits for `work` in the caller's thread.
fn finish<T>(py: Python<'_>, work: impl Future<Output = Result<T, Error>>) -> PyResult<T> {
    let finished = wait(py, Box::pin(work), None)?;
    finished.unwrap_or_else(|| Err(Error::bug())).map_err(|error| raised(py, &error))
}

fn seconds(deadline: f64) -> PyResult<Duration> {
    Duration::try_from_secs_f64(deadline)
        .map_err(|_| PyValueError::new_err("deadline is a number of seconds"))
}

impl Drop for Writer {
    fn drop(&mut self) {
        // A forked child has a copy of this object, and none of its threads.
        if fork::check().is_err() {
            std::mem::forget(self.writer.take());
        }
    }
}

fn nothing() -> Answer {
    Box::new(|py: Python<'_>| Ok(py.None()))
}
