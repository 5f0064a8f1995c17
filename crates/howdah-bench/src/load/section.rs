//! A part of the result: a table of figures and the targets that follow from them.

use std::thread;

use super::run::Run;
use crate::rounds::Spread;
use crate::table::Table;

/// Percent of the machine that may go elsewhere before ratios are doubtful; the kernel's own work on files and sockets
/// takes a few.
const LOUD: f64 = 10.0;

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
    /// What a reader must know to trust or distrust the figures.
    pub(super) note: String,
}

impl Section {
    pub(super) fn markdown(&self) -> String {
        format!("## {}\n\n{}\n{}\n", self.title, self.figures.render(), self.note)
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

/// Says how much of the machine went elsewhere in the runs of a section.
pub(super) fn quiet_or_not<'a>(runs: impl IntoIterator<Item = &'a Run>) -> String {
    let cores = thread::available_parallelism().map_or(1.0, |cores| cores.get() as f64);
    let shares =
        runs.into_iter().filter_map(|run| Some(run.other_cpu_s? / (run.client.wall_s * cores) * 100.0));
    match Spread::of(shares) {
        None => "How busy the machine was with other things is not known.".to_owned(),
        Some(elsewhere) => {
            let loud =
                if elsewhere.median > LOUD { " **The machine was not quiet: measure again.**" } else { "" };
            let Spread { median, max, .. } = elsewhere;
            format!(
                "Other programs took {median:.0} % of the machine in the median run, {max:.0} % at most.{loud}"
            )
        }
    }
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
