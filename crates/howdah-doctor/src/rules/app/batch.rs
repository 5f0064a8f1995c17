//! How many rows a statement should have.

use howdah::facts::{ProgramFacts, StatementFacts};

use super::{brings_rows, each};
use crate::case::Case;
use crate::figures::{count, rate, time};
use crate::finding::{Basis, Finding, Severity};
use crate::remedies::in_program;
use crate::trials::{BatchPath, BatchTrial, Line};
use crate::verdict::{Judged, Verdict};

/// The shares of what is possible whose sizes are named.
const HALF: f64 = 0.5;
const MOST: f64 = 0.9;
/// A smaller share is too small.
const ENOUGH: f64 = 0.5;

pub(super) fn batch_size(case: &Case<'_>) -> Judged {
    let trials = case.trials.ok_or(Verdict::DoesNotApply)?;
    let trial = trials.batches.as_ref().ok_or(Verdict::DoesNotApply)?;
    let commit = trials.commit.as_ref().and_then(|commit| commit.commit());
    let lines = Lines::of(trial, commit.unwrap_or(0.0));
    let Some((path, line)) = lines.best() else { return Ok(Verdict::Fine) };
    let sent = case.facts.watched.as_ref().and_then(|watched| rows_a_statement(watched.programs.as_ref()?));
    let reached = sent.map(|rows| (rows, line.reached(rows)));
    let severity = match reached {
        Some((_, reached)) if reached < ENOUGH => Severity::Costs,
        _ => Severity::Notice,
    };
    let (half, most) = (line.rows_for(HALF), line.rows_for(MOST));
    let title = format!(
        "{} rows a batch reach half of what is possible, and {} nine tenths",
        count(half),
        count(most)
    );
    let mut finding = Finding::new(severity, Basis::Measured, title);
    if let Some((rows, reached)) = reached {
        finding = finding.seen(format!(
            "programs sent {rows:.1} rows a statement: with a commit for each, {:.0} % of what is possible by {}",
            reached * 100.0,
            path.name()
        ));
    }
    for said in lines.said() {
        finding = finding.seen(said);
    }
    finding = finding.seen(match commit {
        Some(commit) => format!("each with a commit of {}, into a copy that begins empty", time(commit)),
        None => "without a commit, which could not be measured".to_owned(),
    });
    let latency = line.seconds(most);
    let finding = finding.remedy(in_program(
        &format!(
            "{} rows a batch, by {}; or howdah's Writer with a latency_target of {} or more, which finds the size by itself",
            count(most),
            path.name(),
            time(2.0 * latency)
        ),
        &format!("a row waits for its batch, {} and as long again for the one before", time(latency)),
    ));
    Ok(Verdict::of(vec![finding]))
}

/// Rows that statements which bring rows have on average.
fn rows_a_statement(programs: &ProgramFacts) -> Option<f64> {
    let sent = programs.statements.seen()?;
    let bringing = || sent.statements.iter().filter(|it| brings_rows(it));
    let sum = |of: fn(&StatementFacts) -> f64| bringing().map(of).sum::<f64>();
    let (calls, rows) = (sum(|it| it.calls), sum(|it| it.rows));
    (each(programs, calls) > 1.0 && rows > 0.0).then(|| rows / calls)
}

/// The lines of all ways to send, on one connection and on several.
struct Lines(Vec<(BatchPath, u32, Option<Line>)>);

impl Lines {
    fn of(trial: &BatchTrial, commit: f64) -> Lines {
        let mut lines = Vec::new();
        for connections in trial.connections() {
            for path in BatchPath::ALL {
                let mut times = trial.times(path, connections);
                times.iter_mut().for_each(|(_, seconds)| *seconds += commit);
                if !times.is_empty() {
                    lines.push((path, connections, Line::through(&times)));
                }
            }
        }
        Lines(lines)
    }

    /// What one connection sends rows by that cost least.
    fn best(&self) -> Option<(BatchPath, Line)> {
        let of_one = self.0.iter().filter(|(_, connections, _)| *connections == 1);
        let fitting = of_one.filter_map(|(path, _, line)| Some((*path, (*line)?)));
        fitting.min_by(|a, b| a.1.row.total_cmp(&b.1.row))
    }

    fn said(&self) -> impl Iterator<Item = String> {
        self.0.iter().map(|(path, connections, line)| {
            let on = if *connections == 1 { "one connection".to_owned() } else { format!("{connections} connections") };
            match line {
                None => format!("{}, {on}: no line fits its times", path.name()),
                Some(line) => {
                    let [half, most] = [HALF, MOST].map(|share| line.rows_for(share));
                    format!(
                        "{}, {on}: {} and {} a row, at most {} rows a second: half of it with {} rows ({}), nine tenths with {} ({})",
                        path.name(),
                        time(line.statement),
                        time(line.row),
                        rate(f64::from(*connections) / line.row),
                        count(half),
                        time(line.seconds(half)),
                        count(most),
                        time(line.seconds(most))
                    )
                }
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use howdah::facts::DatabaseFacts;

    use super::super::testing::{insert, sends};
    use super::*;
    use crate::case::Ask;
    use crate::rules;
    use crate::testing::healthy;
    use crate::trials::{BatchRun, CommitTrial, Trials};

    /// Three rounds on one connection, in which a statement takes as long as `of` says, and the first, which took longer.
    fn trial(path: BatchPath, of: fn(f64) -> f64) -> BatchTrial {
        let run = |round: u32, rows: u32| BatchRun {
            round,
            path,
            connections: 1,
            rows,
            statements: 2,
            seconds: 2.0 * of(f64::from(rows)) * if round == 0 { 5.0 } else { 1.0 },
            log: 0.0,
        };
        let runs = (0..=3).flat_map(|round| [1, 10, 100, 1000].map(|rows| run(round, rows))).collect();
        BatchTrial { runs }
    }

    /// What is said where programs send statements of so many rows.
    fn judged(trial: BatchTrial, rows: f64) -> Verdict {
        let mut facts = healthy();
        sends(vec![insert(1000.0, 1000.0 * rows)], DatabaseFacts::default())(&mut facts);
        let commit = CommitTrial { off: vec![1e-4], local: vec![4e-4], standby: Vec::new() };
        let trials = Trials { batches: Some(trial), commit: Some(commit), ..Trials::default() };
        let ask = Ask::default();
        let case = Case { facts: &facts, ask: &ask, trials: Some(&trials) };
        rules::find("app.batch-size").unwrap().verdict(&case)
    }

    fn found(verdict: Verdict) -> Finding {
        match verdict {
            Verdict::Found(mut findings) => findings.remove(0),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_sizes_follow_from_the_line_with_a_commit_for_each_batch() {
        let line = || trial(BatchPath::Copy, |rows| 0.5e-3 + 6e-6 * rows);
        let finding = found(judged(line(), 1.0));
        assert_eq!(finding.title, "150 rows a batch reach half of what is possible, and 1,350 nine tenths");
        assert_eq!(
            finding.evidence,
            [
                "programs sent 1.0 rows a statement: with a commit for each, 1 % of what is possible by COPY",
                "COPY, one connection: 900 µs and 6 µs a row, at most 167,000 rows a second: half of it with 150 rows (1.8 ms), \
                 nine tenths with 1,350 (9.0 ms)",
                "each with a commit of 400 µs, into a copy that begins empty"
            ]
        );
        assert_eq!(finding.severity, Severity::Costs);
        assert_eq!(found(judged(line(), 149.0)).severity, Severity::Costs);
        assert_eq!(found(judged(line(), 151.0)).severity, Severity::Notice);
    }

    #[test]
    fn the_way_whose_rows_cost_least_counts_and_what_bends_has_no_line() {
        let mut both = trial(BatchPath::Insert, |rows| 0.2e-3 + 2e-5 * rows);
        both.runs.extend(trial(BatchPath::Unnest, |rows| 0.4e-3 + 8e-6 * rows).runs);
        both.runs.extend(trial(BatchPath::Copy, |rows| 1e-3 * rows.powf(0.5)).runs);
        let finding = found(judged(both, 500.0));
        assert_eq!(finding.title, "100 rows a batch reach half of what is possible, and 900 nine tenths");
        assert!(
            finding.evidence.iter().any(|said| said == "COPY, one connection: no line fits its times"),
            "{finding:?}"
        );
        let bent = trial(BatchPath::Copy, |rows| 1e-3 * rows.powf(0.5));
        assert_eq!(judged(bent, 1.0), Verdict::Fine);
        assert_eq!(judged(BatchTrial::default(), 1.0), Verdict::Fine);
    }
}
