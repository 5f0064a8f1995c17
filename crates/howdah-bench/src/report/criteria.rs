//! Whether the runs of a section keep what was promised.

use serde::Serialize;

use crate::record::Record;
use crate::scenario::{Criterion, Figure, Limit};
use howdah_doctor::statistics::Spread;

/// Share of the machine that may go to other programs before ratios are doubtful; the kernel's own work on files and
/// sockets takes a few per cent.
const LOUD: f64 = 0.1;

/// A promise, what was measured, and whether it holds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Promise {
    /// The promise, in words.
    pub promise: String,
    /// The median with the least and the greatest.
    pub measured: String,
    /// The target that the median must meet, in words.
    pub target: String,
    /// True if the target is met; what was not measured is not met.
    pub holds: bool,
}

/// Judges a section by its records.
pub(super) fn judge(criteria: &[Criterion], records: &[&Record]) -> Vec<Promise> {
    let runs = Runs(records);
    criteria.iter().map(|criterion| runs.judge(criterion)).collect()
}

/// How much of the machine went elsewhere in the runs that count; empty where that was not measured.
pub(super) fn elsewhere(records: &[&Record]) -> String {
    let shares =
        records.iter().filter(|record| counts(record)).filter_map(|record| record.evidence.elsewhere);
    let Some(Spread { median, max, .. }) = Spread::of(shares) else { return String::new() };
    let loud = if median > LOUD { " **The machine was not quiet: measure again.**" } else { "" };
    let [median, max] = [median, max].map(|share| share * 100.0);
    format!("Other programs took {median:.0} % of the machine in the median run, {max:.0} % at most.{loud}")
}

fn counts(record: &Record) -> bool {
    record.repetition > 0 && record.outcome.counts()
}

/// The runs of a section.
struct Runs<'a>(&'a [&'a Record]);

/// How figures are written.
struct Unit {
    decimals: usize,
    name: &'static str,
}

impl<'a> Runs<'a> {
    fn judge(&self, criterion: &Criterion) -> Promise {
        let unit = match criterion.figure {
            Figure::Ratio { .. } | Figure::CpuAbove { .. } => Unit { decimals: 3, name: "" },
            Figure::MoreMilliseconds { .. } => Unit { decimals: 1, name: " ms" },
            Figure::PeakMemory { .. } | Figure::PeakMemoryRange { .. } | Figure::MemoryGrowth { .. } => {
                Unit { decimals: 0, name: " MiB" }
            }
        };
        let spread = Spread::of(self.values(criterion.figure));
        let holds = |spread: Spread| match criterion.limit {
            Limit::AtMost(limit) => spread.median <= limit,
            Limit::AtLeast(limit) => spread.median >= limit,
        };
        let mut measured = spread.map_or_else(|| "not measured".to_owned(), |spread| unit.spread(spread));
        if let Figure::Ratio { to: to @ [_, _, ..], .. } = criterion.figure
            && let Some(fastest) = self.fastest(to)
        {
            measured += &format!(", beside “{fastest}”");
        }
        Promise {
            promise: criterion.promise.to_owned(),
            measured,
            target: match criterion.limit {
                Limit::AtMost(limit) => format!("<= {limit}{}", unit.name),
                Limit::AtLeast(limit) => format!(">= {limit}{}", unit.name),
            },
            holds: spread.is_some_and(holds),
        }
    }

    /// The figure of each round, or of all of them.
    fn values(&self, figure: Figure) -> Vec<f64> {
        match figure {
            Figure::Ratio { of, to } => {
                let Some(to) = self.fastest(to) else { return Vec::new() };
                self.pairs(of, to).map(|(of, to)| of.seconds / to.seconds).collect()
            }
            Figure::MoreMilliseconds { of, than } => {
                self.pairs(of, than).map(|(of, than)| (of.seconds - than.seconds) * 1e3).collect()
            }
            Figure::CpuAbove { of, than } => {
                let share = |(of, than): (&Record, &Record)| {
                    let above = of.evidence.client_cpu_s? - than.evidence.client_cpu_s?;
                    Some(above / of.evidence.server_cpu_s.filter(|cpu| *cpu > 0.0)?)
                };
                self.pairs(of, than).filter_map(share).collect()
            }
            Figure::PeakMemory { of } => {
                self.peaks(of).and_then(|peaks| peaks.into_iter().reduce(f64::max)).into_iter().collect()
            }
            Figure::PeakMemoryRange { of } => {
                self.peaks(of).and_then(Spread::of).map(|peaks| peaks.max - peaks.min).into_iter().collect()
            }
            Figure::MemoryGrowth { of } => {
                self.of(of).filter_map(|record| growth(&record.evidence.memory)).collect()
            }
        }
    }

    /// The runs of a series that count.
    fn of(&self, series: &str) -> impl Iterator<Item = &'a Record> {
        self.0.iter().copied().filter(move |record| record.series == series && counts(record))
    }

    /// The runs of two series, those of a round together.
    fn pairs(
        &self,
        one: &'static str,
        other: &'static str,
    ) -> impl Iterator<Item = (&'a Record, &'a Record)> {
        self.of(one).filter_map(move |one| {
            let same = |record: &&Record| record.repetition == one.repetition && record.x == one.x;
            Some((one, self.of(other).find(same)?))
        })
    }

    /// The series with the lowest median of seconds.
    fn fastest(&self, series: &[&'static str]) -> Option<&'static str> {
        let median =
            |series: &str| Spread::of(self.of(series).map(|record| record.seconds)).map(|it| it.median);
        let measured = series.iter().filter_map(|series| Some((*series, median(series)?)));
        measured.min_by(|a, b| a.1.total_cmp(&b.1)).map(|(series, _)| series)
    }

    /// The highest peak memory of each series at each place; None if a run of one was not measured.
    fn peaks(&self, series: &[&str]) -> Option<Vec<f64>> {
        let mut peaks: Vec<(&str, Option<f64>, f64)> = Vec::new();
        for series in series {
            let mut measured = false;
            for record in self.of(series) {
                measured = true;
                let peak = mebibytes(record.evidence.peak_rss_bytes?);
                match peaks.iter_mut().find(|(known, x, _)| known == series && *x == record.x) {
                    Some((.., highest)) => *highest = highest.max(peak),
                    None => peaks.push((*series, record.x, peak)),
                }
            }
            if !measured {
                return None;
            }
        }
        Some(peaks.into_iter().map(|(.., peak)| peak).collect())
    }
}

impl Unit {
    /// `1.234 (1.200 to 1.300)`, or the one value that there is.
    fn spread(&self, Spread { median, min, max }: Spread) -> String {
        let (decimals, name) = (self.decimals, self.name);
        if min == max {
            return format!("{median:.decimals$}{name}");
        }
        format!("{median:.decimals$} ({min:.decimals$} to {max:.decimals$}){name}")
    }
}

/// How much more the highest memory of the second half of a run was than that of the first half, of which the first
/// fifth does not count: what a program takes to begin is no growth.
fn growth(memory: &[(f64, u64)]) -> Option<f64> {
    let (end, _) = *memory.last()?;
    let highest = |from: f64, to: f64| {
        let within = memory.iter().filter(|(at, _)| (from * end..=to * end).contains(at));
        within.map(|(_, bytes)| mebibytes(*bytes)).reduce(f64::max)
    };
    Some(highest(0.5, 1.0)? - highest(0.1, 0.5)?)
}

fn mebibytes(bytes: u64) -> f64 {
    // Exact: memory sizes stay far below 2^53.
    bytes as f64 / 1_048_576.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cell::{Cell, Loading, Method};
    use crate::dataset::Dataset;
    use crate::record::Outcome;

    fn run(series: &str, repetition: u32, seconds: f64, client_cpu_s: f64, server_cpu_s: f64) -> Record {
        let method = Method::Load(Loading::by("copy-binary"));
        let mut record = Cell::new(("s", "t"), series, (Dataset::Readings, 1), method).record();
        (record.repetition, record.outcome, record.seconds) = (repetition, Outcome::Verified, seconds);
        record.evidence.client_cpu_s = Some(client_cpu_s);
        record.evidence.server_cpu_s = Some(server_cpu_s);
        record
    }

    fn judged(records: &[Record], figure: Figure, limit: Limit) -> (String, bool) {
        let records: Vec<&Record> = records.iter().collect();
        let criterion = Criterion { promise: "it is quick", figure, limit };
        let Promise { measured, holds, .. } = judge(&[criterion], &records).remove(0);
        (measured, holds)
    }

    #[test]
    fn ratios_are_taken_within_a_round_and_against_the_faster_floor() {
        // The second round ran on a machine half as fast; within each round howdah takes 1.1 times the floor. The
        // warm-up does not count, and neither does the round in which the floor failed.
        let mut failed = run("client", 3, 9.0, 0.0, 0.0);
        failed.outcome = Outcome::Failed;
        let records = [
            run("howdah", 0, 99.0, 0.0, 0.0),
            run("client", 0, 1.0, 0.0, 0.0),
            run("psql", 1, 1.2, 0.1, 2.0),
            run("psql", 2, 2.4, 0.1, 4.0),
            run("howdah", 2, 2.2, 1.3, 4.0),
            run("client", 1, 1.0, 0.1, 2.0),
            run("client", 2, 2.0, 0.1, 4.0),
            run("howdah", 1, 1.1, 0.4, 2.0),
            run("howdah", 3, 7.0, 7.0, 7.0),
            failed,
        ];
        let ratio = Figure::Ratio { of: "howdah", to: &["psql", "client"] };
        let (measured, holds) = judged(&records, ratio, Limit::AtMost(1.15));
        assert!(
            measured.starts_with("1.1") && measured.ends_with(", beside “client”") && holds,
            "{measured}"
        );
        let turned = Figure::Ratio { of: "client", to: &["howdah"] };
        assert!(!judged(&records, turned, Limit::AtLeast(1.0)).1);
        let above = Figure::CpuAbove { of: "howdah", than: "client" };
        assert_eq!(judged(&records, above, Limit::AtMost(0.2)), ("0.225 (0.150 to 0.300)".to_owned(), false));
        let more = Figure::MoreMilliseconds { of: "howdah", than: "client" };
        assert_eq!(
            judged(&records, more, Limit::AtMost(150.5)),
            ("150.0 (100.0 to 200.0) ms".to_owned(), true)
        );
    }

    #[test]
    fn what_was_not_measured_is_not_a_promise_kept() {
        for figure in [
            Figure::Ratio { of: "a", to: &["b"] },
            Figure::Ratio { of: "a", to: &["b", "c"] },
            Figure::MoreMilliseconds { of: "a", than: "b" },
            Figure::PeakMemory { of: &["a"] },
            Figure::PeakMemoryRange { of: &["a", "b"] },
            Figure::MemoryGrowth { of: "a" },
        ] {
            let records = [run("a", 1, 1.0, 1.0, 1.0)];
            assert_eq!(
                judged(&records, figure, Limit::AtMost(9.0)),
                ("not measured".to_owned(), false),
                "{figure:?}"
            );
        }
    }

    #[test]
    fn memory_counts_at_its_highest_and_its_start_is_no_growth() {
        const MIB: u64 = 1_048_576;
        let peak = |series: &str, repetition, mebibytes: u64| {
            let mut record = run(series, repetition, 1.0, 1.0, 1.0);
            record.evidence.peak_rss_bytes = Some(mebibytes * MIB);
            record
        };
        let mut records = vec![peak("a", 1, 20), peak("a", 2, 24), peak("b", 1, 60), peak("b", 2, 50)];
        let both = &["a", "b"];
        let judged_of = |records: &[Record], figure| judged(records, figure, Limit::AtMost(36.0));
        assert_eq!(judged_of(&records, Figure::PeakMemory { of: both }), ("60 MiB".to_owned(), false));
        assert_eq!(judged_of(&records, Figure::PeakMemoryRange { of: both }), ("36 MiB".to_owned(), true));
        records[0].evidence.memory =
            vec![(0.5, 90 * MIB), (2.0, 30 * MIB), (4.0, 40 * MIB), (8.0, 45 * MIB), (10.0, 43 * MIB)];
        assert_eq!(judged_of(&records, Figure::MemoryGrowth { of: "a" }), ("5 MiB".to_owned(), true));
    }
}
