//! The states: of a server, of a table whose slowness is measured, and of a table whose slowness is known.

mod known;
mod measured;
mod server;

use super::slowdown::Slowdown;

/// All of them.
pub(super) fn all() -> impl Iterator<Item = &'static Slowdown> {
    [server::STATES, measured::STATES, known::STATES].into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use howdah_doctor::find;

    use super::*;
    use crate::doctor::slowdown::Claim;

    #[test]
    fn states_are_named_once_and_expect_findings_that_there_are() {
        let names: BTreeSet<&str> = all().map(|state| state.name).collect();
        assert_eq!(names.len(), all().count());
        assert!(names.len() >= 30);
        for state in all() {
            assert!(find(state.finding).is_some(), "{}: {}", state.name, state.finding);
            assert!(!state.says.is_empty() && !state.says.ends_with('.'), "{}", state.name);
        }
    }

    #[test]
    fn enough_shares_are_held_against_real_loads() {
        let claims = all().filter(|state| state.claim != Claim::Nothing);
        let with_loads = claims.filter(|state| state.columns.is_some() && state.remedy.is_some());
        assert!(with_loads.count() >= 15);
    }

    #[test]
    fn loads_are_run_where_there_is_a_table_and_what_is_said_can_be_taken_back() {
        for state in all() {
            let Some(remedy) = state.remedy else {
                assert_eq!(state.claim, Claim::Nothing, "{}: a share of what remedy?", state.name);
                continue;
            };
            assert!(state.columns.is_some(), "{}: loads need a table", state.name);
            let is_for_server = remedy.sql.iter().any(|sql| sql.starts_with("ALTER SYSTEM"));
            assert_eq!(
                is_for_server,
                remedy.undo.iter().any(|sql| sql.starts_with("ALTER SYSTEM")),
                "{}",
                state.name
            );
        }
    }
}
