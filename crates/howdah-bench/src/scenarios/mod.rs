//! The studies taken up again: what each asks, and the cells that answer.

mod concurrency;
mod continuous;
mod errata;
mod five_paths;
mod nine_ways;
mod peers;
mod promises;
mod scale;
mod six_techniques;

use crate::cell::Cell;
pub use crate::scenario::Scale;
use crate::scenario::Scenario;

/// What a new cluster does to the figures of logged tables.
const NEW_LOG_FILES: &str = "Each run has a new cluster, which has no log files to use again and creates them while it \
     loads. Backends of fast loads into logged tables spent up to two fifths of their time on that (IO:WalInit), those of \
     slow ones and of unlogged tables none: compare fast logged loads with each other only.";

/// Every scenario, in the order in which they are listed.
pub const ALL: &[Scenario] = &[
    five_paths::SCENARIO,
    nine_ways::SCENARIO,
    six_techniques::SCENARIO,
    scale::SCENARIO,
    concurrency::SCENARIO,
    continuous::SCENARIO,
    errata::SCENARIO,
    peers::SCENARIO,
    promises::SCENARIO,
];

/// The scenario of that name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Scenario> {
    ALL.iter().find(|scenario| scenario.name == name)
}

/// Returns the cells that a scenario runs, section by section.
#[must_use]
pub fn cells(scenario: &Scenario, scale: &Scale) -> Vec<Cell> {
    (scenario.cells)(scale)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_section_has_cells_and_no_cell_is_there_twice() {
        for quick in [false, true] {
            let scale = Scale { quick, rows: None, cores: 2 };
            for scenario in ALL {
                let cells = cells(scenario, &scale);
                for section in scenario.sections {
                    assert!(cells.iter().any(|cell| cell.section == section.name), "{}", section.name);
                }
                let known =
                    |cell: &Cell| scenario.sections.iter().any(|section| section.name == cell.section);
                assert!(cells.iter().all(|cell| cell.scenario == scenario.name && known(cell)));
                let places: HashSet<_> =
                    cells.iter().map(|cell| (cell.section, &cell.series, cell.x.map(f64::to_bits))).collect();
                assert_eq!(places.len(), cells.len(), "{}", scenario.name);
            }
        }
    }

    #[test]
    fn a_published_figure_stands_beside_a_method_of_ours() {
        let scale = Scale { quick: false, rows: None, cores: 2 };
        for scenario in ALL {
            let cells = cells(scenario, &scale);
            for section in scenario.sections {
                for figure in section.published {
                    let ours = |cell: &Cell| cell.section == section.name && cell.series == figure.series;
                    assert!(cells.iter().any(ours), "{}: {}", scenario.name, figure.series);
                }
            }
        }
    }
}
