//! The native module `howdah._native`: loads, servers, the doctor and the command, for the Python package. The only crate that knows
//! Python.

mod argument;
mod array;
mod bulk;
mod data;
mod doctor;
mod encoder;
mod ended;
mod error;
mod fork;
mod form;
mod json_string;
mod literal;
mod load;
mod moments;
mod options;
mod pull;
mod record;
mod rejects;
mod row_object;
mod rows;
mod server;
mod shape;
mod spelling;
mod target;
mod wait;
mod writer;

use std::ffi::OsString;

use pyo3::prelude::*;

/// The Rust side of the `howdah` Python package.
#[pymodule]
mod _native {
    use pyo3::prelude::*;

    #[pymodule_export]
    use super::bulk::Bulk;
    #[pymodule_export]
    use super::cli_main;
    #[pymodule_export]
    use super::doctor::doctor;
    #[pymodule_export]
    use super::load::{Control, load};
    #[pymodule_export]
    use super::rejects::Rejects;
    #[pymodule_export]
    use super::server::Server;
    #[pymodule_export]
    use super::wait::{Pending, Wakeups};
    #[pymodule_export]
    use super::writer::{Ack, Statistics, Writer};

    #[pymodule_export]
    #[expect(non_upper_case_globals, reason = "Python's name for it")]
    const __version__: &str = env!("CARGO_PKG_VERSION");

    /// Runs once in a process, when Python imports the module; the panic hook is this module's own, no other's.
    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        howdah::source::batches::silence_decoder_panics();
        howdah_server::in_python(module.py().import("sys")?.getattr("prefix")?.extract()?);
        Ok(())
    }
}

/// Runs the `howdah` command; `argv` starts with the program's name. Returns the exit code.
///
/// The GIL is released meanwhile. SIGINT and SIGTERM stop a load and end in exit code 130 or 143; a handler that Python
/// has installed for them runs as well, after this function has returned.
#[pyfunction]
fn cli_main(py: Python<'_>, argv: Vec<OsString>) -> u8 {
    py.detach(|| howdah_cli::main(argv))
}
