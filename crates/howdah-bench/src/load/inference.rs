//! What a new table costs more than an existing one: the whole input is read for its types first.

use super::contender::{Contender, Input};
use super::run::{Bench, Label, Run};
use super::section::{Section, Verdict, quiet_or_not, spread};
use super::tell;
use crate::dataset::Dataset;
use crate::error::Error;
use crate::rounds::{Spread, orders};
use crate::table::Table;

const TABLE: &str = "howdah_bench_inference";
/// The most that a load into a new table may take of the time of one into an existing table.
const LIMIT: f64 = 1.25;
const CONTENDERS: [Contender; 2] = [Contender::Howdah, Contender::HowdahCreate];

pub(super) fn measure(bench: &mut Bench) -> Result<Section, Error> {
    let mut figures =
        Table::new(["", "existing table, wall s", "new table, wall s", "new ÷ existing", "client CPU s"]);
    let mut verdicts = Vec::new();
    let mut all: Vec<Run> = Vec::new();
    for (dataset, rows) in
        [(Dataset::Readings, bench.scale.readings), (Dataset::GithubEvents, bench.scale.events)]
    {
        tell(bench.say, &format!("making {rows} rows of {}\n", dataset.name()))?;
        let csv = bench.scratch.csv(dataset, rows)?;
        let create = dataset.create_table_sql(TABLE);
        let mut runs: [Vec<Run>; 2] = Default::default();
        for (round, order) in orders(2, bench.scale.rounds + 1, bench.seed).into_iter().enumerate() {
            for index in order {
                let contender = CONTENDERS[index];
                bench.fresh(TABLE, (contender == Contender::Howdah).then_some(&create))?;
                let input = Input { table: TABLE, file: &csv, parts: &[] };
                let run = bench.run(contender, &input, rows, Label { measurement: "inference", round })?;
                if round > 0 {
                    runs[index].push(run);
                }
            }
        }
        bench.fresh(TABLE, None)?;
        let walls = |runs: &[Run]| spread(runs.iter().map(|run| run.client.wall_s), 3);
        let ratios: Vec<f64> =
            runs[1].iter().zip(&runs[0]).map(|(new, old)| new.client.wall_s / old.client.wall_s).collect();
        figures.row([
            dataset.name().to_owned(),
            walls(&runs[0]),
            walls(&runs[1]),
            spread(ratios.iter().copied(), 3),
            spread(runs[1].iter().map(|run| run.client.cpu_s()), 2),
        ]);
        verdicts.push(Verdict {
            promise: format!("inference: {}, new ÷ existing table", dataset.name()),
            measured: spread(ratios.iter().copied(), 3),
            target: format!("<= {LIMIT}"),
            holds: Spread::of(ratios).is_some_and(|spread| spread.median <= LIMIT),
        });
        all.extend(runs.concat());
    }
    Ok(Section { title: "New tables".to_owned(), figures, verdicts, note: quiet_or_not(all.iter()) })
}
