//! What came of a load that several processes share, beside what this one did.

use serde::Serialize;

/// The parts of a shared load, as its ledger had them at the end; the rows of this process are the report's own.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct SharedLoad {
    /// What all of them call the load.
    pub load_id: String,
    /// All parts of the load: files, or row groups of files.
    pub parts: u64,
    /// Those that this process loaded.
    pub parts_here: u64,
    /// Those that other processes loaded.
    pub parts_elsewhere: u64,
    /// Rows that other processes loaded.
    pub rows_elsewhere: u64,
    /// Records that other processes rejected.
    pub rejected_elsewhere: u64,
}

impl SharedLoad {
    /// Whether every part is in the table.
    pub fn is_complete(&self) -> bool {
        self.parts_here + self.parts_elsewhere == self.parts
    }
}
