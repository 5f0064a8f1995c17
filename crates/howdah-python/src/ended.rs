//! A load that is over, as Python is told of it.

use howdah::message::Respell;
use howdah::report::{Outcome, Report, ReportedError};
use howdah::{Error, ErrorKind};
use serde_json::{Value, json};

use crate::error::described;
use crate::spelling::Keywords;

/// A load that is over.
pub(crate) struct Ended {
    pub(crate) outcome: Outcome,
    /// The server, in words; empty where it did not come to that.
    pub(crate) server: String,
    /// What there is to say of the server.
    pub(crate) notices: Vec<String>,
}

impl Ended {
    /// One that failed before the engine took over.
    pub(crate) fn early(error: Error) -> Ended {
        let error = error.or_nothing_changed();
        let outcome = if error.kind() == ErrorKind::Cancelled { "cancelled" } else { "failed" };
        let report = Report { outcome, error: Some(ReportedError::from(&error)), ..Report::default() };
        Ended { outcome: Outcome { report, error: Some(error) }, server: String::new(), notices: Vec::new() }
    }

    /// What Python makes a `LoadReport` of, and an exception where there is an error.
    pub(crate) fn told(self, control: &howdah::Control, header_lines: Option<u64>) -> String {
        let own = control.take_notices().into_iter().map(|notice| notice.spelled(&Keywords));
        let notices: Vec<String> = self.notices.into_iter().chain(own).collect();
        let mut report = serde_json::to_value(self.outcome.report.respelled(&Keywords)).unwrap_or_default();
        report["server"] = json!(self.server);
        report["notices"] = json!(notices);
        report["error"] = self.outcome.error.map_or(Value::Null, |error| described(&error, header_lines));
        report.to_string()
    }
}
