//! Which files are not what would be generated now, and how they differ.

use std::io;

use similar::TextDiff;

use super::output::{Planned, unplaced};
use crate::diagnostic::{Code, Diagnostic};

/// A file that is not what it is to be.
#[derive(Debug, Clone, PartialEq)]
pub struct Stale {
    /// What to say of it.
    pub diagnostic: Diagnostic,
    /// From what is there to what would be generated, as a unified diff; empty where the file is not there or is not text.
    pub diff: String,
}

impl Planned {
    /// Says which files are not what they are to be.
    ///
    /// # Errors
    ///
    /// A file is there and cannot be read.
    pub fn stale(&self) -> io::Result<Vec<Stale>> {
        let changed = self.changed()?.into_iter();
        let stale = changed.map(|(path, text)| {
            let shown = path.display().to_string();
            let (message, diff) = match std::fs::read_to_string(path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    (format!("`{shown}` is not there"), String::new())
                }
                Err(_) => (format!("`{shown}` is not text"), String::new()),
                Ok(old) => {
                    let same = old.lines().zip(text.lines()).take_while(|(old, new)| old == new).count();
                    let message =
                        format!("`{shown}` is not what would be generated now, from line {} on", same + 1);
                    let diff = TextDiff::from_lines(&old, text);
                    let diff =
                        diff.unified_diff().header(&shown, &format!("{shown} (generated now)")).to_string();
                    (message, diff)
                }
            };
            let diagnostic = unplaced(Code::StaleOutput, message, None);
            Stale { diagnostic: diagnostic.help("run `howdah codegen generate`"), diff }
        });
        Ok(stale.collect())
    }
}
