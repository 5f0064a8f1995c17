//! How long a thousand rows take: start-up, connecting and planning must not be felt.

use super::contender::{Contender, Input};
use super::run::{Bench, Label, Run};
use super::section::{Section, Verdict, quiet_or_not, spread};
use crate::dataset::Dataset;
use crate::error::Error;
use crate::rounds::{Spread, orders};
use crate::table::Table;

const TABLE: &str = "howdah_bench_small";

/// The contenders; each of ours with the milliseconds it may take longer than psql needs for an existing table.
const CONTENDERS: [(Contender, Option<f64>); 3] =
    [(Contender::PsqlTyped, None), (Contender::Howdah, Some(30.0)), (Contender::HowdahCreate, Some(60.0))];

pub(super) fn measure(bench: &mut Bench) -> Result<Section, Error> {
    let dataset = Dataset::Readings;
    let rows = bench.scale.small_rows;
    let csv = bench.scratch.csv(dataset, rows)?;
    let input = Input { table: TABLE, file: &csv, parts: &[] };
    let create = dataset.create_table_sql(TABLE);
    let mut runs: Vec<Vec<Run>> = vec![Vec::new(); CONTENDERS.len()];
    // Round 0 is the warm-up and does not count.
    for (round, order) in
        orders(CONTENDERS.len(), bench.scale.small_rounds + 1, bench.seed).into_iter().enumerate()
    {
        for index in order {
            let (contender, _) = CONTENDERS[index];
            bench.fresh(TABLE, (contender != Contender::HowdahCreate).then_some(create.as_str()))?;
            let run = bench.run(contender, &input, rows, Label { measurement: "small", round })?;
            if round > 0 {
                runs[index].push(run);
            }
        }
    }
    bench.fresh(TABLE, None)?;

    let millis: Vec<Vec<f64>> =
        runs.iter().map(|runs| runs.iter().map(|run| run.client.wall_s * 1e3).collect()).collect();
    let mut figures = Table::new(["", "wall ms", "ms more than psql"]);
    let mut verdicts = Vec::new();
    for ((contender, limit), own) in CONTENDERS.iter().zip(&millis) {
        let more: Vec<f64> = own.iter().zip(&millis[0]).map(|(own, psql)| own - psql).collect();
        let label = contender.label(bench.programs.jobs);
        figures.row([label, spread(own.iter().copied(), 1), spread(more.iter().copied(), 1)]);
        if let Some(limit) = limit {
            verdicts.push(Verdict {
                promise: format!("small: {rows} rows, {} − psql into an existing table", contender.key()),
                measured: format!("{} ms", spread(more.iter().copied(), 1)),
                target: format!("<= {limit:.0} ms"),
                holds: Spread::of(more).is_some_and(|spread| spread.median <= *limit),
            });
        }
    }
    let title = format!("Small loads: {rows} rows of {}", dataset.name());
    let note = quiet_or_not(runs.iter().flatten());
    Ok(Section { title, figures, verdicts, note })
}
