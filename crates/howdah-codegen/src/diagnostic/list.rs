//! All messages about a project, with the texts that they speak of.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::{Diagnostic, Severity};

/// Messages in the order of the files and places that they are about.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Diagnostics {
    /// The messages.
    pub messages: Vec<Diagnostic>,
    /// The folder that places' files are relative to; empty if that is the current one.
    pub(crate) folder: PathBuf,
    /// The text of each file that could be read.
    pub(crate) texts: BTreeMap<String, String>,
}

impl Diagnostics {
    /// None yet, about files below a folder.
    #[must_use]
    pub fn new(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), ..Self::default() }
    }

    /// Keeps a file's text, to show lines of it.
    pub fn remember(&mut self, file: &str, text: &str) {
        self.texts.insert(file.to_owned(), text.to_owned());
    }

    /// Adds messages of one file or step, in the order of their places.
    pub fn extend(&mut self, mut messages: Vec<Diagnostic>) {
        messages.sort_by(|a, b| a.place.cmp(&b.place));
        self.messages.append(&mut messages);
    }

    /// How many are errors.
    #[must_use]
    pub fn errors(&self) -> usize {
        self.messages.iter().filter(|message| message.severity == Severity::Error).count()
    }

    /// How many are warnings.
    #[must_use]
    pub fn warnings(&self) -> usize {
        self.messages.len() - self.errors()
    }

    /// A file as one names it from the current folder.
    pub(crate) fn shown(&self, file: &str) -> String {
        self.folder.join(file).to_string_lossy().into_owned()
    }

    /// A line of a file, from 1.
    pub(crate) fn line(&self, file: &str, line: usize) -> Option<&str> {
        super::lines::Lines::new(self.texts.get(file)?).text(line)
    }
}
