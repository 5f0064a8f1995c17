//! What `--on-error ignore` costs: on clean data, and where one row in a hundred is none.

use super::contender::{Contender, Input};
use super::run::{Bench, Label, Run};
use super::section::{Section, Verdict, quiet_or_not, spread};
use super::tell;
use crate::dataset::Dataset;
use crate::error::Error;
use crate::rounds::{Spread, orders};
use crate::table::Table;

const TABLE: &str = "howdah_bench_tolerance";
/// Every so many rows one is none.
const EVERY: usize = 100;

/// Contender, whether rows are spoilt, a name, and the most it may take of the first one's wall time.
const CASES: [(Contender, bool, &str, Option<f64>); 3] = [
    (Contender::Howdah, false, "stop, clean", None),
    (Contender::HowdahIgnore, false, "ignore, clean", Some(1.05)),
    (Contender::HowdahIgnore, true, "ignore, 1 % bad", Some(1.3)),
];

pub(super) fn measure(bench: &mut Bench) -> Result<Section, Error> {
    let dataset = Dataset::Readings;
    let rows = bench.scale.readings;
    tell(bench.say, &format!("making {rows} rows of {}, one in {EVERY} of them bad\n", dataset.name()))?;
    let clean = bench.scratch.csv(dataset, rows)?;
    let spoilt = bench.scratch.spoilt_csv(dataset, rows, EVERY)?;
    let create = dataset.create_table_sql(TABLE);
    let mut runs: Vec<Vec<Run>> = vec![Vec::new(); CASES.len()];
    for (round, order) in orders(CASES.len(), bench.scale.rounds + 1, bench.seed).into_iter().enumerate() {
        for index in order {
            let (contender, is_spoilt, ..) = CASES[index];
            let csv = if is_spoilt { &spoilt } else { &clean };
            let input = Input { table: TABLE, file: csv, parts: &[] };
            let good = if is_spoilt { rows - rows / EVERY as u64 } else { rows };
            bench.fresh(TABLE, Some(&create))?;
            let run = bench.run(contender, &input, good, Label { measurement: "tolerance", round })?;
            if round > 0 {
                runs[index].push(run);
            }
        }
    }
    bench.fresh(TABLE, None)?;

    let mut figures = Table::new(["", "wall s", "÷ stop, clean", "client CPU s", "server CPU s"]);
    let mut verdicts = Vec::new();
    for ((_, _, name, limit), own) in CASES.iter().zip(&runs) {
        let pairs = own.iter().zip(&runs[0]);
        let ratios: Vec<f64> = pairs.map(|(own, stop)| own.client.wall_s / stop.client.wall_s).collect();
        figures.row([
            (*name).to_owned(),
            spread(own.iter().map(|run| run.client.wall_s), 3),
            spread(ratios.iter().copied(), 3),
            spread(own.iter().map(|run| run.client.cpu_s()), 2),
            spread(own.iter().filter_map(|run| run.server_cpu_s), 2),
        ]);
        if let Some(limit) = limit {
            verdicts.push(Verdict {
                promise: format!("tolerance: {name} ÷ stop, clean"),
                measured: spread(ratios.iter().copied(), 3),
                target: format!("<= {limit}"),
                holds: Spread::of(ratios).is_some_and(|spread| spread.median <= *limit),
            });
        }
    }
    let title = format!("Tolerance: {rows} rows of {}", dataset.name());
    Ok(Section { title, figures, verdicts, note: quiet_or_not(runs.iter().flatten()) })
}
