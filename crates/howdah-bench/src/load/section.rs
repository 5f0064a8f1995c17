//! A part of the result: a table of figures and the targets that follow from them.

use crate::rounds::Spread;
use crate::table::Table;

/// A promise, what was measured, and whether it holds.
pub(super) struct Verdict {
    pub(super) promise: String,
    pub(super) measured: String,
    pub(super) target: String,
    pub(super) holds: bool,
}

/// One measurement's result.
pub(super) struct Section {
    pub(super) title: String,
    pub(super) figures: Table,
    pub(super) verdicts: Vec<Verdict>,
}

impl Section {
    pub(super) fn markdown(&self) -> String {
        format!("## {}\n\n{}", self.title, self.figures.render())
    }
}

/// All targets in one table.
pub(super) fn targets(sections: &[Section]) -> String {
    let mut table = Table::new(["promise", "measured", "target", ""]);
    for verdict in sections.iter().flat_map(|section| &section.verdicts) {
        let word = if verdict.holds { "PASS" } else { "MISS" };
        table.row([verdict.promise.as_str(), &verdict.measured, &verdict.target, word]);
    }
    format!("## Targets\n\n{}", table.render())
}

/// `1.234 (1.200 to 1.300)`.
pub(super) fn spread(values: impl IntoIterator<Item = f64>, decimals: usize) -> String {
    match Spread::of(values) {
        Some(Spread { median, min, max }) => {
            format!("{median:.decimals$} ({min:.decimals$} to {max:.decimals$})")
        }
        None => "not measured".to_owned(),
    }
}
