//! A report that was saved, read again.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use howdah::facts::Facts;
use howdah::{Error, ErrorKind};
use serde::Deserialize;

use crate::case::Ask;
use crate::trials::Trials;

/// Moves when a key goes or means something else; new keys do not move it.
pub const FORMAT: u32 = 1;

/// Tells it from other reports.
pub(crate) const NAME: &str = "doctor";

/// What counts of a saved report: findings are judged again. The file may be a stranger's, so nothing in it is believed to be
/// more than a fact.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Saved {
    report_format: u32,
    report: String,
    /// What was looked at.
    pub facts: Facts,
    /// The load that was to come.
    #[serde(default)]
    pub ask: Ask,
    /// What was measured.
    #[serde(default)]
    pub trials: Option<Trials>,
}

/// A report of a thousand tables has less.
const MOST_BYTES: u64 = 64 * 1024 * 1024;

impl Saved {
    /// Reads a report from a file.
    ///
    /// # Errors
    /// The file cannot be read, and those of [`Saved::read`].
    pub fn open(path: &Path) -> Result<Saved, Error> {
        let refused = |error: &dyn std::fmt::Display| {
            Error::new(ErrorKind::Source, format!("{} cannot be read: {error}", path.display()))
        };
        let mut text = String::new();
        let file = File::open(path).map_err(|error| refused(&error))?;
        file.take(MOST_BYTES + 1).read_to_string(&mut text).map_err(|error| refused(&error))?;
        match text.len() as u64 > MOST_BYTES {
            true => Err(refused(&"it is too large for a report")),
            false => Saved::read(&text),
        }
    }

    /// Reads a report.
    ///
    /// # Errors
    /// It is none, or one of a later howdah.
    pub fn read(text: &str) -> Result<Saved, Error> {
        let refused =
            |why: String| Error::new(ErrorKind::Usage, format!("this is no report of the doctor: {why}"));
        let saved: Saved = serde_json::from_str(text).map_err(|error| refused(error.to_string()))?;
        if saved.report != NAME {
            return Err(refused("it is a report of something else".to_owned()));
        }
        if saved.report_format != FORMAT {
            let format = saved.report_format;
            return Err(refused(format!("its format is {format}, and {FORMAT} is known here")));
        }
        Ok(saved)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_report_or_a_later_one_is_refused() {
        for text in [
            "",
            "{}",
            "[1]",
            r#"{"report_format":1,"report":"load","facts":{}}"#,
            r#"{"report_format":2,"report":"doctor","facts":{}}"#,
            r#"{"report_format":1,"report":"doctor","facts":{"table":7}}"#,
        ] {
            assert!(Saved::read(text).is_err(), "{text}");
        }
        // Of a report that knows less, nothing is fine.
        let saved = Saved::read(r#"{"report_format":1,"report":"doctor","facts":{},"later":1}"#).unwrap();
        assert_eq!(saved.facts, Facts::default());
    }
}
