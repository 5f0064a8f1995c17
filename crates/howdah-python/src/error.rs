//! Failures on their way to Python: described as JSON, in Python's words, and raised as one of the package's exceptions.

use howdah::message::Respell;
use howdah::report::ReportedError;
use howdah::{Committed, Error, ErrorKind};
use pyo3::prelude::*;
use serde_json::{Value, json};

use crate::spelling::Keywords;

/// The name under which rows of Python objects stand in messages, as a file's name does.
pub(crate) const ROWS: &str = "rows";

/// What `howdah._errors` makes an exception of. Where the input was rows, `header_lines` is how many lines of what the
/// engine read stood before the first of them: the line it names becomes the row, counted from 0 as `enumerate` does.
pub(crate) fn described(error: &Error, header_lines: Option<u64>) -> Value {
    let reported = ReportedError::from(error).respelled(&Keywords);
    let mut all = serde_json::to_value(reported).unwrap_or_default();
    all["kind"] = json!(kind(error.kind()));
    all["column"] = json!(error.column());
    all["constraint"] = json!(error.constraint());
    all["committed"] = match error.committed() {
        Committed::No => json!(false),
        Committed::Yes | Committed::Partly => json!(true),
        _ => Value::Null,
    };
    if let (Some(header_lines), Some(ROWS)) = (header_lines, all["location"]["file"].as_str())
        && let Some(line) = all["location"]["line"].as_u64()
    {
        all["location"] = json!({ "file": ROWS, "row": line.saturating_sub(header_lines + 1) });
    }
    all
}

/// The exception for `error`.
pub(crate) fn raised(py: Python<'_>, error: &Error) -> PyErr {
    raise_described(py, &described(error, None))
}

/// The exception for what [`described`] gave.
pub(crate) fn raise_described(py: Python<'_>, described: &Value) -> PyErr {
    let exception = py
        .import("howdah._errors")
        .and_then(|errors| errors.call_method1("from_native", (described.to_string(),)));
    exception.map_or_else(|failed| failed, PyErr::from_value)
}

fn kind(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::Usage => "usage",
        ErrorKind::Connect | ErrorKind::PasswordRequired => "connect",
        ErrorKind::Source => "source",
        ErrorKind::Data => "data",
        ErrorKind::TooManyRejects => "too_many_rejects",
        ErrorKind::Server => "server",
        ErrorKind::Cancelled => "cancelled",
        ErrorKind::PartlyCommitted => "partly_committed",
        ErrorKind::QueueFull => "queue_full",
        ErrorKind::Closed => "closed",
        _ => "internal",
    }
}
