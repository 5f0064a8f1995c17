//! A load that is over, as Python is told of it.

use howdah::Error;
use howdah::message::Respell;
use howdah::report::Report;
use serde_json::{Value, json};

use crate::error::described;
use crate::spelling::Keywords;

/// A load that is over.
pub(crate) struct Ended {
    pub(crate) report: Report,
    /// Why it failed.
    pub(crate) error: Option<Error>,
    /// The server, in words; empty where it did not come to that.
    pub(crate) server: String,
    /// What there is to say of the server.
    pub(crate) notices: Vec<String>,
}

impl Ended {
    /// What came of a load on `server`, with what there is to say of that.
    pub(crate) fn new(done: Result<Report, Error>, server: String, notices: Vec<String>) -> Ended {
        let (report, error) = match done {
            Ok(report) => (report, None),
            Err(error) => (Report::of_failure(&error), Some(error)),
        };
        Ended { report, error, server, notices }
    }

    /// One that failed before the engine took over.
    pub(crate) fn early(error: Error) -> Ended {
        Ended::new(Err(error.or_nothing_changed()), String::new(), Vec::new())
    }

    /// What Python makes a `LoadReport` of, and an exception where there is an error.
    pub(crate) fn told(self, control: &howdah::Control, header_lines: Option<u64>) -> String {
        let own = control.take_notices().into_iter().map(|notice| notice.spelled(&Keywords));
        let notices: Vec<String> = self.notices.into_iter().chain(own).collect();
        let mut report = serde_json::to_value(self.report.respelled(&Keywords)).unwrap_or_default();
        report["server"] = json!(self.server);
        report["notices"] = json!(notices);
        report["error"] = self.error.map_or(Value::Null, |error| described(&error, header_lines));
        report.to_string()
    }
}
