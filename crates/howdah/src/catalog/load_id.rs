//! The id of a load, which names what it leaves in the database until its commit.

/// Names a load: sixteen hexadecimal digits. The advisory lock on the number tells a running load from a dead one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LoadId(u64);

/// What hidden tables are called, before the load's id.
pub(crate) const HIDDEN_PREFIX: &str = "howdah_load_";

impl LoadId {
    /// A new id, which no other load has: from the system's randomness, or from a generator seeded with the time
    /// where the system has none.
    pub(crate) fn new() -> Self {
        LoadId(getrandom::u64().unwrap_or_else(|_| fastrand::u64(..)))
    }

    /// What this load calls a table that nobody should look for.
    pub(crate) fn hidden_name(self) -> String {
        format!("{HIDDEN_PREFIX}{self}")
    }

    pub(crate) fn lock_key(self) -> i64 {
        i64::from_be_bytes(self.0.to_be_bytes())
    }

    pub(crate) fn parse(text: &str) -> Option<Self> {
        u64::from_str_radix(text, 16).ok().map(LoadId)
    }
}

impl std::fmt::Display for LoadId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}
