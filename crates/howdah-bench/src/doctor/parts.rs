//! The names of the parts: every state, a healthy server, the grid.

use super::states;

/// The name by which all of it is asked for, and the scenario's in records.
pub const NAME: &str = "doctor";

/// The name of the part that shows false alarms, and of the one that compares configurations.
pub(super) const HEALTHY: &str = "healthy";
pub(super) const GRID: &str = "grid";

/// The name by which a part is asked for.
pub(super) fn named(part: &str) -> String {
    format!("{NAME}:{part}")
}

/// The names by which parts are asked for.
#[must_use]
pub fn parts() -> Vec<String> {
    states::all().map(|state| state.name).chain([HEALTHY, GRID]).map(named).collect()
}
