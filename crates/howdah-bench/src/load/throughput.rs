//! Wall and CPU time of a large load into an existing table without indexes, against the floor and against psql.

use super::contender::{Contender, Input};
use super::run::{Bench, Label, Run, mebibytes};
use super::section::{Section, Verdict, quiet_or_not, spread};
use super::tell;
use crate::dataset::Dataset;
use crate::error::Error;
use crate::rounds::{Spread, orders};
use crate::table::Table;

/// Hardly longer than streaming pre-encoded files: the ratio of wall times.
const FLOOR_LIMIT: f64 = 1.15;
/// Typed, logged and durable, and still not slower than landing text: the ratio of wall times.
const TEXT_LIMIT: f64 = 1.0;
/// psql's wall time over ours, for readings.
const PSQL_LEAST: f64 = 2.5;
/// Our CPU above the minimal client's, as a share of the server's.
const CPU_LIMIT: f64 = 0.2;

/// All runs of a data set: one list per contender, round by round, without the warm-up.
struct Rounds {
    contenders: Vec<Contender>,
    runs: Vec<Vec<Run>>,
}

pub(super) fn measure(bench: &mut Bench, dataset: Dataset) -> Result<Section, Error> {
    let events = dataset == Dataset::GithubEvents;
    let name = if events { "events" } else { "readings" };
    let rows = if events { bench.scale.events } else { bench.scale.readings };
    let mut contenders =
        vec![Contender::FloorPsql, Contender::FloorClient, Contender::Howdah, Contender::PsqlTyped];
    contenders.extend(events.then_some(Contender::PsqlText));

    tell(bench.say, &format!("making {rows} rows of {}\n", dataset.name()))?;
    let csv = bench.scratch.csv(dataset, rows)?;
    let parts = bench.scratch.binary_parts(dataset, rows, bench.programs.jobs)?;
    let table = format!("howdah_bench_{name}");
    let input = Input { table: &table, file: &csv, parts: &parts };

    let mut runs = vec![Vec::new(); contenders.len()];
    let mut checksums = Vec::new();
    // Round 0 is the warm-up: it fills the page cache, is checked value by value, and does not count.
    for (round, order) in orders(contenders.len(), bench.scale.rounds + 1, bench.seed).into_iter().enumerate()
    {
        for index in order {
            let contender = contenders[index];
            let as_text = contender == Contender::PsqlText;
            let create =
                if as_text { dataset.all_text_table_sql(&table) } else { dataset.create_table_sql(&table) };
            bench.fresh(&table, Some(&create))?;
            let run = bench.run(contender, &input, rows, Label { measurement: name, round })?;
            if round > 0 {
                runs[index].push(run);
            } else if !as_text {
                checksums.push((contender, bench.checksum(&table)?));
            }
        }
    }
    bench.fresh(&table, None)?;
    compare(&checksums)?;

    let bytes = csv.metadata().map_err(Error::io("could not read the input's size"))?.len();
    let rounds = Rounds { contenders, runs };
    let title = format!("{}: {rows} rows, {:.0} MB of CSV", dataset.name(), bytes as f64 / 1e6);
    Ok(Section {
        title,
        figures: rounds.figures(rows, bench.programs.jobs),
        verdicts: rounds.verdicts(name, events),
        note: quiet_or_not(rounds.runs.iter().flatten()),
    })
}

/// Every way must have stored the same values.
fn compare(checksums: &[(Contender, String)]) -> Result<(), Error> {
    let Some(((first, expected), others)) = checksums.split_first() else { return Ok(()) };
    match others.iter().find(|(_, checksum)| checksum != expected) {
        None => Ok(()),
        Some((other, found)) => Err(Error::Wrong(format!(
            "{} and {} stored different values: {expected}; {found}",
            first.key(),
            other.key()
        ))),
    }
}

impl Rounds {
    fn of(&self, contender: Contender) -> &[Run] {
        let place = self.contenders.iter().position(|other| *other == contender);
        place.map_or(&[], |index| self.runs[index].as_slice())
    }

    /// The floor with the lower median.
    fn floor(&self) -> Contender {
        let median = |contender| Spread::of(self.of(contender).iter().map(|run| run.client.wall_s));
        let [psql, client] = [Contender::FloorPsql, Contender::FloorClient].map(median);
        match (psql, client) {
            (Some(psql), Some(client)) if psql.median < client.median => Contender::FloorPsql,
            _ => Contender::FloorClient,
        }
    }

    /// Wall-time ratios of two contenders, round by round.
    fn ratios(&self, upper: Contender, lower: Contender) -> Vec<f64> {
        let pairs = self.of(upper).iter().zip(self.of(lower));
        pairs.map(|(upper, lower)| upper.client.wall_s / lower.client.wall_s).collect()
    }

    fn figures(&self, rows: u64, jobs: u32) -> Table {
        let header = [
            "",
            "wall s",
            "÷ floor",
            "M rows/s",
            "client CPU s",
            "server CPU s",
            "other CPU s",
            "client peak MiB",
        ];
        let mut table = Table::new(header);
        let floor = self.floor();
        for (contender, runs) in self.contenders.iter().zip(&self.runs) {
            let peak = runs.iter().map(|run| run.client.peak_rss_bytes).max().unwrap_or(0);
            table.row([
                contender.label(jobs),
                spread(runs.iter().map(|run| run.client.wall_s), 3),
                spread(self.ratios(*contender, floor), 2),
                spread(runs.iter().map(|run| rows as f64 / 1e6 / run.client.wall_s), 2),
                spread(runs.iter().map(|run| run.client.cpu_s()), 2),
                spread(runs.iter().filter_map(|run| run.server_cpu_s), 2),
                spread(runs.iter().filter_map(|run| run.other_cpu_s), 2),
                format!("{:.0}", mebibytes(peak)),
            ]);
        }
        table
    }

    fn verdicts(&self, name: &str, events: bool) -> Vec<Verdict> {
        let floor = self.floor();
        let mut verdicts = vec![at_most(
            format!("{name}: howdah ÷ floor ({})", floor.key()),
            self.ratios(Contender::Howdah, floor),
            FLOOR_LIMIT,
        )];
        if events {
            let promise = format!("{name}: howdah, typed ÷ psql, all-text table");
            verdicts.push(at_most(promise, self.ratios(Contender::Howdah, Contender::PsqlText), TEXT_LIMIT));
        } else {
            let ratios = self.ratios(Contender::PsqlTyped, Contender::Howdah);
            verdicts.push(Verdict {
                promise: format!("{name}: psql ÷ howdah"),
                measured: spread(ratios.iter().copied(), 3),
                target: format!(">= {PSQL_LEAST}"),
                holds: Spread::of(ratios).is_some_and(|spread| spread.median >= PSQL_LEAST),
            });
        }
        let shares = self.of(Contender::Howdah).iter().zip(self.of(Contender::FloorClient)).filter_map(
            |(ours, floor)| {
                Some(
                    (ours.client.cpu_s() - floor.client.cpu_s())
                        / ours.server_cpu_s.filter(|cpu| *cpu > 0.0)?,
                )
            },
        );
        let promise = format!("{name}: howdah's CPU above the minimal client's ÷ server's CPU");
        verdicts.push(at_most(promise, shares.collect(), CPU_LIMIT));
        verdicts
    }
}

fn at_most(promise: String, values: Vec<f64>, limit: f64) -> Verdict {
    Verdict {
        promise,
        measured: spread(values.iter().copied(), 3),
        target: format!("<= {limit}"),
        holds: Spread::of(values).is_some_and(|spread| spread.median <= limit),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::Usage;

    fn run(wall_s: f64, cpu_s: f64, server: f64) -> Run {
        let client = Usage { wall_s, user_s: cpu_s, ..Usage::default() };
        Run { client, server_cpu_s: Some(server), other_cpu_s: Some(0.0) }
    }

    #[test]
    fn ratios_are_taken_within_a_round_and_against_the_faster_floor() {
        let contenders =
            vec![Contender::FloorPsql, Contender::FloorClient, Contender::Howdah, Contender::PsqlTyped];
        // The second round ran on a machine half as fast; within each round howdah takes 1.1 times the floor.
        let rounds = Rounds {
            contenders,
            runs: vec![
                vec![run(1.2, 0.1, 2.0), run(2.4, 0.1, 4.0)],
                vec![run(1.0, 0.1, 2.0), run(2.0, 0.1, 4.0)],
                vec![run(1.1, 0.4, 2.0), run(2.2, 1.3, 4.0)],
                vec![run(3.3, 1.0, 4.0), run(6.6, 2.0, 8.0)],
            ],
        };
        assert_eq!(rounds.floor(), Contender::FloorClient);
        let verdicts = rounds.verdicts("readings", false);
        let said: Vec<&str> = verdicts.iter().map(|verdict| verdict.measured.as_str()).collect();
        assert_eq!(said, ["1.100 (1.100 to 1.100)", "3.000 (3.000 to 3.000)", "0.225 (0.150 to 0.300)"]);
        assert_eq!(verdicts.iter().map(|verdict| verdict.holds).collect::<Vec<_>>(), [true, true, false]);
    }

    #[test]
    fn nothing_measured_is_not_a_promise_kept() {
        assert!(!at_most("x".to_owned(), Vec::new(), 1.0).holds);
    }

    #[test]
    fn different_values_are_not_published_as_a_race() {
        let same = |text: &str| (Contender::Howdah, text.to_owned());
        assert!(compare(&[same("1"), same("1")]).is_ok());
        assert!(compare(&[same("1"), same("1"), same("2")]).is_err());
    }
}
