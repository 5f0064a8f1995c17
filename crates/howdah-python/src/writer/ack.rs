//! What became of a row, for threads and for event loops.

use parking_lot::Mutex;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::Context;
use std::time::{Duration, Instant};

use howdah::Error;
use howdah::writer::{self, Written};
use pyo3::exceptions::{PyTimeoutError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

use super::returned;
use crate::error::raised;
use crate::fork;
use crate::wait::{Wakeups, wait};

/// What became of a row: it is committed, or it is refused. The row is written all the same when it is forgotten,
/// and a refusal is then raised by `close`, or `flush` before.
#[pyclass(frozen, module = "howdah")]
pub(crate) struct Ack {
    /// Locked for moments only: it is waited for outside.
    ack: Mutex<writer::Ack>,
    /// What makes a row of returned values; `None`: none are returned.
    row_type: Option<Py<PyAny>>,
}

impl Ack {
    pub(super) fn new(ack: writer::Ack, row_type: Option<Py<PyAny>>) -> Self {
        Ack { ack: Mutex::new(ack), row_type }
    }

    fn known(&self) -> Option<Result<Written, Error>> {
        self.ack.lock().try_get()
    }

    fn told<'py>(
        &self,
        py: Python<'py>,
        result: &Result<Written, Error>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let written = result.as_ref().map_err(|error| raised(py, error))?;
        match (&self.row_type, written.returned()) {
            (Some(row_type), Some(row)) => returned::row(row_type.bind(py), row).map(Some),
            _ => Ok(None),
        }
    }
}

#[pymethods]
impl Ack {
    /// Whether it is known what became of the row.
    fn done(&self) -> bool {
        self.ack.lock().is_resolved()
    }

    /// Waits until the row is committed, and gives the values that were asked for with `returning`.
    ///
    /// # Errors
    /// The row is refused; or `TimeoutError` after `timeout` seconds.
    #[pyo3(signature = (timeout=None))]
    fn result<'py>(&self, py: Python<'py>, timeout: Option<f64>) -> PyResult<Option<Bound<'py, PyAny>>> {
        if let Some(known) = self.known() {
            return self.told(py, &known);
        }
        fork::check().map_err(|error| raised(py, &error))?;
        let deadline = match timeout.map(|seconds| Duration::try_from_secs_f64(seconds.max(0.0))) {
            None => None,
            Some(Ok(patience)) => Instant::now().checked_add(patience),
            Some(Err(_)) => return Err(PyValueError::new_err("timeout is a number of seconds")),
        };
        let settled = poll_fn(|context| Pin::new(&mut *self.ack.lock()).poll(context));
        match wait(py, settled, deadline)? {
            Some(result) => self.told(py, &result),
            None => Err(PyTimeoutError::new_err("nobody knows yet what became of the row")),
        }
    }

    fn __await__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        static SETTLED: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        SETTLED.import(slf.py(), "howdah._wait", "settled")?.call1((slf,))?.call_method0("__await__")
    }

    /// Whether it is known; if not, `wakeups` will name `number` when it is.
    fn poll(&self, py: Python<'_>, wakeups: &Wakeups, number: u64) -> PyResult<bool> {
        if self.done() {
            return Ok(true);
        }
        fork::check().map_err(|error| raised(py, &error))?;
        let waker = wakeups.waker(number);
        Ok(Pin::new(&mut *self.ack.lock()).poll(&mut Context::from_waker(&waker)).is_ready())
    }

    fn __repr__(&self) -> &'static str {
        match self.ack.lock().peek() {
            None => "<howdah.Ack: under way>",
            Some(Ok(_)) => "<howdah.Ack: committed>",
            Some(Err(_)) => "<howdah.Ack: refused>",
        }
    }
}
