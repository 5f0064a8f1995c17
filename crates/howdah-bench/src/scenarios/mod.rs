//! The studies taken up again: what each asks, and the cells that answer.

mod five_paths;

use crate::cell::Cell;
use crate::scenario::Scenario;

/// How much is run.
#[derive(Debug, Clone, Copy)]
pub struct Scale {
    /// Few rows: shows that everything works, and a first order of things.
    pub quick: bool,
    /// Rows instead of the scenario's own.
    pub rows: Option<u64>,
    /// Connections where several are compared: the cores of this machine.
    pub cores: u32,
}

impl Scale {
    /// The rows of a section.
    fn rows(&self, full: u64, quick: u64) -> u64 {
        self.rows.unwrap_or(if self.quick { quick } else { full })
    }
}

/// Every scenario.
pub const ALL: &[Scenario] = &[five_paths::SCENARIO];

/// The scenario of that name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Scenario> {
    ALL.iter().find(|scenario| scenario.name == name)
}

/// What a scenario runs, section by section.
#[must_use]
pub fn cells(scenario: &Scenario, scale: &Scale) -> Vec<Cell> {
    match scenario.name {
        "five-paths" => five_paths::cells(scale),
        _ => Vec::new(),
    }
}
