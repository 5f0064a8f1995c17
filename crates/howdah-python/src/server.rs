//! A throwaway PostgreSQL as a Python object, for tests and notebooks.

use parking_lot::Mutex;
use std::path::PathBuf;

use howdah_cli::server_error;
use howdah_server::{Settings, Throwaway};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::error::raised;
use crate::fork;

/// A PostgreSQL server in a temporary directory. It ends when it is closed, and with this process at the latest, even when
/// that is killed.
#[pyclass(frozen, module = "howdah")]
pub(crate) struct Server {
    running: Mutex<Option<Throwaway>>,
    /// The process that started it: a forked child has a copy of this object, and no business with the server.
    owner: u32,
    /// A URI through loopback TCP, which every driver takes; it contains the password.
    #[pyo3(get)]
    dsn: String,
    /// A key=value string through the Unix socket, the fastest way; it contains the password.
    #[pyo3(get)]
    conninfo: String,
    /// As PostgreSQL prints it: 18.6.
    #[pyo3(get)]
    version: String,
    /// Its TCP port on 127.0.0.1.
    #[pyo3(get)]
    port: u16,
    /// Its data directory.
    #[pyo3(get)]
    data_dir: PathBuf,
    /// Where its programs are, such as psql.
    #[pyo3(get)]
    bin_dir: PathBuf,
}

#[pymethods]
impl Server {
    #[new]
    fn new(py: Python<'_>, settings: Vec<(String, String)>) -> PyResult<Self> {
        fork::check().map_err(|error| raised(py, &error))?;
        let settings = settings
            .into_iter()
            .fold(Settings::fast_and_unsafe(), |settings, (name, value)| settings.with(name, value));
        let started = py.detach(|| Throwaway::start(&settings));
        let running = started.map_err(|error| raised(py, &server_error(&error)))?;
        Ok(Server {
            owner: std::process::id(),
            dsn: running.url(),
            conninfo: running.conninfo(),
            version: running.version().to_owned(),
            port: running.port(),
            data_dir: running.data_dir().to_owned(),
            bin_dir: running.bin_dir().to_owned(),
            running: Mutex::new(Some(running)),
        })
    }

    /// Stops the server and removes its data. Nothing happens to one that is closed already.
    fn close(&self, py: Python<'_>) {
        let running = self.take();
        py.detach(|| drop(running));
    }

    fn __enter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, py: Python<'_>, _exception: &Bound<'_, PyTuple>) {
        self.close(py);
    }

    fn __repr__(&self) -> String {
        let state = match *self.running.lock() {
            Some(_) => "on port",
            None => "closed, once on port",
        };
        format!("<howdah.Server: PostgreSQL {}, throwaway, {state} {}>", self.version, self.port)
    }
}

impl Server {
    /// The server, to be dropped; in a forked child it is the parent's, and left alone.
    fn take(&self) -> Option<Throwaway> {
        let running = self.running.lock().take()?;
        if std::process::id() == self.owner {
            return Some(running);
        }
        std::mem::forget(running);
        None
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.take());
    }
}
