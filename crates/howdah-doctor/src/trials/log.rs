//! Some files of the log that were filled, and how long whoever filled them waited for new ones.

use serde::{Deserialize, Serialize};

use crate::measured::Measured;

/// Files of the log that were filled one after the other with messages that belong to no table.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LogTrial {
    /// Bytes of each of them.
    pub bytes: f64,
    /// Each of them.
    pub files: Vec<LogFile>,
}

/// One of them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LogFile {
    /// Seconds in which it was filled.
    pub seconds: f64,
    /// How often it was looked at who filled it.
    pub looks: u32,
    /// At so many of these looks a new file was being made: `WALInitWrite` or `WALInitSync`.
    pub waits: u32,
}

impl LogTrial {
    /// The share of the time in which new files were made; `None`: too few looks.
    pub(crate) fn share(&self) -> Option<Measured> {
        Measured::of(self.seen().map(share))
    }

    /// Seconds in which new files were made, for each byte of the log.
    pub(crate) fn seconds_per_byte(&self) -> Option<Measured> {
        Measured::of(self.seen().map(|file| share(file) * file.seconds / self.bytes))
    }

    fn seen(&self) -> impl Iterator<Item = &LogFile> {
        self.files.iter().filter(|file| file.looks >= FEWEST_LOOKS)
    }
}

/// Fewer say nothing of a file.
const FEWEST_LOOKS: u32 = 5;

fn share(file: &LogFile) -> f64 {
    f64::from(file.waits) / f64::from(file.looks)
}
