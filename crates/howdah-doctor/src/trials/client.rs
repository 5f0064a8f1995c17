//! Runs in which rows were read and encoded here, and sent nowhere.

use serde::{Deserialize, Serialize};

use crate::measured::Measured;

/// Rows of the table as CSV, read, split and encoded as a load over one connection does.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ClientTrial {
    /// Rows of a run.
    pub rows: u64,
    /// Bytes of CSV of a run.
    pub bytes: u64,
    /// Seconds of each run.
    pub seconds: Vec<f64>,
}

impl ClientTrial {
    /// Rows a second.
    pub fn rate(&self) -> Option<Measured> {
        Measured::of(self.seconds.iter().map(|seconds| self.rows as f64 / seconds))
    }
}
