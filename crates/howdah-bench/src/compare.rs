//! What changed between two sets of records beyond what their own runs differ by.

use serde::Serialize;

use crate::number::{gain, thousands};
use crate::record::{Conditions, Outcome, Record};
use crate::report::summary::{ReportCell, Summary};
use crate::table::Table;
use howdah_doctor::statistics::Spread;

/// Medians nearer than this are the same to anybody who reads them.
const NOTICEABLE: f64 = 0.05;

/// Fewer runs do not show how much runs differ.
const ENOUGH: usize = 3;

/// The rule, for people.
const RULE: &str = "A method changed when its medians are more than 5 % apart and further apart than the slowest and the \
                    fastest run on either side, three runs at least on each. It broke when runs fail or store the wrong \
                    rows that did not before.";

/// All methods of both sets.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// In the order of the earlier set; what only the later one has comes last.
    pub cells: Vec<Compared>,
}

/// One method at one place.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Compared {
    /// Scenario, section, series and place, for people.
    pub name: String,
    /// The verdict on the change.
    pub verdict: Verdict,
    /// Rows a second in the earlier set.
    pub before: Option<Spread>,
    /// Rows a second in the later set.
    pub after: Option<Spread>,
    /// The reason, where figures do not say it; else empty.
    pub why: String,
}

/// A verdict on a method that was measured before and after.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Runs fail or store the wrong rows that did not before.
    Broken,
    /// Slower beyond noise.
    Slower,
    /// Faster beyond noise.
    Faster,
    /// Runs failed or stored the wrong rows, and no longer do.
    Repaired,
    /// Not done in the same way.
    Otherwise,
    /// Too few runs to tell.
    TooFew,
    /// Only in the earlier set, or skipped in the later one.
    OnlyBefore,
    /// Only in the later set, or skipped in the earlier one.
    OnlyAfter,
    /// No change beyond noise.
    Same,
}

impl Verdict {
    /// In the order in which people want to know.
    const ALL: [(Verdict, &'static str); 9] = [
        (Verdict::Broken, "Broken"),
        (Verdict::Slower, "Slower"),
        (Verdict::Faster, "Faster"),
        (Verdict::Repaired, "Repaired"),
        (Verdict::Otherwise, "Not done in the same way"),
        (Verdict::TooFew, "Too few runs to tell"),
        (Verdict::OnlyBefore, "Only before"),
        (Verdict::OnlyAfter, "Only after"),
        (Verdict::Same, "Within noise"),
    ];

    /// Returns true if a change like that should stop a release.
    #[must_use]
    pub fn is_regression(self) -> bool {
        matches!(self, Verdict::Broken | Verdict::Slower)
    }
}

/// Compares `after` with `before`.
#[must_use]
pub fn compare(before: &[Record], after: &[Record]) -> Comparison {
    let (before, after) = (named(before), named(after));
    let find = |cells: &[(String, ReportCell)], name: &str| cells.iter().position(|(own, _)| own == name);
    let mut cells: Vec<Compared> = Vec::new();
    for (name, cell) in &before {
        let other = find(&after, name).map(|index| &after[index].1);
        cells.push(judged(name, Some(cell), other));
    }
    for (name, cell) in after.iter().filter(|(name, _)| find(&before, name).is_none()) {
        cells.push(judged(name, None, Some(cell)));
    }
    Comparison { cells }
}

fn named(records: &[Record]) -> Vec<(String, ReportCell)> {
    let summary = Summary::of(records, &[]);
    let name = |(scenario, section, cell): (&str, &str, &ReportCell)| {
        let place = cell.x.map_or(String::new(), |x| format!(" at {}", thousands(x)));
        (format!("{scenario} / {section} / {}{place}", cell.series), cell.clone())
    };
    summary.cells().map(|(scenario, section, cell)| name((&scenario.name, &section.name, cell))).collect()
}

fn judged(name: &str, before: Option<&ReportCell>, after: Option<&ReportCell>) -> Compared {
    let (verdict, why) = match (before.filter(|cell| tried(cell)), after.filter(|cell| tried(cell))) {
        (Some(before), Some(after)) => verdict(before, after),
        (Some(_), None) => (Verdict::OnlyBefore, after.map_or(String::new(), reasons)),
        (None, _) => (Verdict::OnlyAfter, before.map_or(String::new(), reasons)),
    };
    let rate = |cell: Option<&ReportCell>| cell.and_then(|cell| cell.rate);
    Compared { name: name.to_owned(), verdict, before: rate(before), after: rate(after), why }
}

/// Whether it ran at all.
fn tried(cell: &ReportCell) -> bool {
    cell.runs > 0 || is_bad(cell)
}

/// Whether runs failed or stored something else than they should.
fn is_bad(cell: &ReportCell) -> bool {
    cell.troubles.iter().any(|trouble| trouble.outcome != Outcome::Skipped)
}

fn reasons(cell: &ReportCell) -> String {
    let reason = cell.troubles.iter().map(|trouble| format!("{:?}: {}", trouble.outcome, trouble.reason));
    reason.collect::<Vec<_>>().join("; ").to_lowercase()
}

fn verdict(before: &ReportCell, after: &ReportCell) -> (Verdict, String) {
    match (is_bad(before), is_bad(after)) {
        (false, true) => return (Verdict::Broken, reasons(after)),
        (true, false) => return (Verdict::Repaired, reasons(before)),
        _ => {}
    }
    let differing = differing(&before.conditions, &after.conditions);
    if !differing.is_empty() {
        return (Verdict::Otherwise, differing.join(", "));
    }
    let (Some(old), Some(new)) = (before.rate, after.rate) else { return (Verdict::Same, reasons(after)) };
    if before.runs.min(after.runs) < ENOUGH {
        return (Verdict::TooFew, format!("{} and {} runs", before.runs, after.runs));
    }
    let apart = (new.median - old.median).abs();
    let width = |spread: Spread| spread.max - spread.min;
    let beyond = apart > NOTICEABLE * old.median && apart > width(old).max(width(new));
    match (beyond, new.median > old.median) {
        (false, _) => (Verdict::Same, String::new()),
        (true, true) => (Verdict::Faster, String::new()),
        (true, false) => (Verdict::Slower, String::new()),
    }
}

/// Versions and command lines may differ: they are what is compared.
fn differing(before: &Conditions, after: &Conditions) -> Vec<String> {
    let same = [
        ("data set", before.dataset == after.dataset),
        ("rows", before.rows_asked == after.rows_asked),
        ("connections", before.connections == after.connections),
        ("rows per statement", before.rows_per_statement == after.rows_per_statement),
        ("table", before.table == after.table),
        ("settings", before.settings == after.settings),
        ("added latency", before.latency_ms == after.latency_ms),
        ("how the server was made fresh", before.fresh == after.fresh),
    ];
    same.into_iter().filter(|(_, same)| !same).map(|(name, _)| name.to_owned()).collect()
}

impl Comparison {
    /// Returns true if something is slower or broken.
    #[must_use]
    pub fn has_regression(&self) -> bool {
        self.cells.iter().any(|cell| cell.verdict.is_regression())
    }

    /// Returns what changed, as Markdown whose tables line up at a terminal; what did not change is only counted.
    #[must_use]
    pub fn markdown(&self) -> String {
        let with = |verdict: Verdict| self.cells.iter().filter(move |cell| cell.verdict == verdict);
        let counts: Vec<String> = Verdict::ALL
            .iter()
            .map(|(verdict, heading)| (with(*verdict).count(), heading))
            .filter(|(count, _)| *count > 0)
            .map(|(count, heading)| format!("{}: {count}", heading.to_lowercase()))
            .collect();
        let counts = if counts.is_empty() { "nothing to compare".to_owned() } else { counts.join(", ") };
        let mut text = format!("# What changed\n\n{counts}.\n\n{RULE}\n");
        for (verdict, heading) in Verdict::ALL {
            if verdict != Verdict::Same && with(verdict).next().is_some() {
                text += &format!("\n## {heading}\n\n{}", table(with(verdict)).render());
            }
        }
        text
    }
}

fn table<'a>(cells: impl Iterator<Item = &'a Compared>) -> Table {
    let mut table = Table::new(["", "rows/s before", "rows/s after", "change", ""]);
    for cell in cells {
        let spread = |rate: Option<Spread>| match rate {
            Some(Spread { median, min, max }) => {
                format!("{} ({} to {})", thousands(median), thousands(min), thousands(max))
            }
            None => "—".to_owned(),
        };
        let change = cell.before.zip(cell.after);
        let change = change.map_or("—".to_owned(), |(before, after)| gain(after.median / before.median));
        let one_line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        table.row([
            one_line(&cell.name),
            spread(cell.before),
            spread(cell.after),
            change,
            one_line(&cell.why),
        ]);
    }
    table
}
