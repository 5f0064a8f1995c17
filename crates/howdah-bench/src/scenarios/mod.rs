//! The studies taken up again: what each asks, and the cells that answer.

mod concurrency;
mod continuous;
mod errata;
mod five_paths;
mod nine_ways;
mod peers;
mod scale;
mod six_techniques;

use crate::cell::Cell;
use crate::scenario::{Published, Scenario};

/// How much is run.
#[derive(Debug, Clone, Copy)]
pub struct Scale {
    /// Few rows: shows that everything works, and a first order of things.
    pub quick: bool,
    /// Rows instead of the scenario's own.
    pub rows: Option<u64>,
    /// Connections where one is compared with several: the cores of this machine.
    pub cores: u32,
}

impl Scale {
    /// The rows of a section.
    fn rows(&self, full: u64, quick: u64) -> u64 {
        self.rows.unwrap_or(if self.quick { quick } else { full })
    }
}

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
];

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
        "nine-ways" => nine_ways::cells(scale),
        "six-techniques" => six_techniques::cells(scale),
        "scale" => scale::cells(scale),
        "concurrency" => concurrency::cells(scale),
        "continuous" => continuous::cells(scale),
        "errata" => errata::cells(scale),
        "peers" => peers::cells(scale),
        _ => Vec::new(),
    }
}

/// Study 1's server for its last path.
const LAB: [(&str, &str); 6] = [
    ("fsync", "off"),
    ("synchronous_commit", "off"),
    ("full_page_writes", "off"),
    ("checkpoint_timeout", "30min"),
    ("max_wal_size", "8GB"),
    ("shared_buffers", "512MB"),
];

/// A figure of a study, for a bar.
const fn published(series: &'static str, rows_per_s: f64, but: &'static str) -> Published {
    Published { series, x: None, rows_per_s, but }
}

/// A table of a study: its series over the places of an axis.
const fn published_at<const X: usize, const S: usize, const ALL: usize>(
    places: [f64; X],
    table: [(&'static str, [f64; X]); S],
) -> [Published; ALL] {
    assert!(X * S == ALL);
    let mut all = [published("", 0.0, ""); ALL];
    let mut at = 0;
    while at < ALL {
        let (series, figures) = table[at / X];
        all[at] = Published { x: Some(places[at % X]), ..published(series, figures[at % X], "") };
        at += 1;
    }
    all
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
