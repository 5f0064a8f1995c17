//! Formats other than CSV: Parquet against the floor, NDJSON against the same rows as CSV.

use std::path::PathBuf;

use super::contender::{Contender, Input};
use super::run::{Bench, Label, Run, mebibytes};
use super::section::{Section, Verdict, quiet_or_not, spread};
use super::tell;
use crate::dataset::Dataset;
use crate::error::Error;
use crate::rounds::{Spread, orders};
use crate::table::Table;

const TABLE: &str = "howdah_bench_formats";

/// A format beside what it is measured against.
struct Pair {
    dataset: Dataset,
    rows: u64,
    beside: Contender,
    /// What that reads; a floor reads parts.
    csv: PathBuf,
    parts: Vec<PathBuf>,
    contender: Contender,
    file: PathBuf,
    /// The most that the format may take of the other's time.
    limit: f64,
}

pub(super) fn measure(bench: &mut Bench) -> Result<Section, Error> {
    let (readings, events) = (Dataset::Readings, Dataset::GithubEvents);
    let (many, fewer) = (bench.scale.readings, bench.scale.events);
    tell(bench.say, "making Parquet and NDJSON\n")?;
    let pairs = [
        Pair {
            dataset: readings,
            rows: many,
            beside: Contender::FloorClient,
            csv: bench.scratch.csv(readings, many)?,
            parts: bench.scratch.binary_parts(readings, many, bench.programs.jobs)?,
            contender: Contender::HowdahParquet,
            file: bench.scratch.parquet(readings, many)?,
            limit: 1.10,
        },
        Pair {
            dataset: events,
            rows: fewer,
            beside: Contender::Howdah,
            csv: bench.scratch.csv(events, fewer)?,
            parts: Vec::new(),
            contender: Contender::HowdahNdjson,
            file: bench.scratch.ndjson(events, fewer)?,
            limit: 1.3,
        },
    ];
    let mut figures =
        Table::new(["", "wall s", "÷ the one above", "client CPU s", "server CPU s", "client peak MiB"]);
    let mut verdicts = Vec::new();
    let mut all = Vec::new();
    for pair in pairs {
        let runs = run(bench, &pair)?;
        let ratios: Vec<f64> = runs[1]
            .iter()
            .zip(&runs[0])
            .map(|(format, beside)| format.client.wall_s / beside.client.wall_s)
            .collect();
        for (at, (contender, runs)) in [pair.beside, pair.contender].into_iter().zip(&runs).enumerate() {
            let peak = runs.iter().map(|run| run.client.peak_rss_bytes).max().unwrap_or(0);
            figures.row([
                format!("{}: {}", pair.dataset.name(), contender.label(bench.programs.jobs)),
                spread(runs.iter().map(|run| run.client.wall_s), 3),
                if at == 1 { spread(ratios.iter().copied(), 2) } else { String::new() },
                spread(runs.iter().map(|run| run.client.cpu_s()), 2),
                spread(runs.iter().filter_map(|run| run.server_cpu_s), 2),
                format!("{:.0}", mebibytes(peak)),
            ]);
        }
        verdicts.push(Verdict {
            promise: format!("{}: {} ÷ {}", pair.dataset.name(), pair.contender.key(), pair.beside.key()),
            measured: spread(ratios.iter().copied(), 3),
            target: format!("<= {}", pair.limit),
            holds: Spread::of(ratios).is_some_and(|spread| spread.median <= pair.limit),
        });
        all.extend(runs.concat());
    }
    Ok(Section { title: "Formats".to_owned(), figures, verdicts, note: quiet_or_not(all.iter()) })
}

/// Both, in turns; the tables of the warm-up must hold the same values.
fn run(bench: &mut Bench, pair: &Pair) -> Result<[Vec<Run>; 2], Error> {
    let create = pair.dataset.create_table_sql(TABLE);
    let contenders = [(pair.beside, &pair.csv), (pair.contender, &pair.file)];
    let mut runs: [Vec<Run>; 2] = Default::default();
    let mut checksums = Vec::new();
    for (round, order) in orders(2, bench.scale.rounds + 1, bench.seed).into_iter().enumerate() {
        for index in order {
            let (contender, file) = contenders[index];
            bench.fresh(TABLE, Some(&create))?;
            let input = Input { table: TABLE, file, parts: &pair.parts };
            let run = bench.run(contender, &input, pair.rows, Label { measurement: "formats", round })?;
            if round > 0 {
                runs[index].push(run);
            } else {
                checksums.push(bench.checksum(TABLE)?);
            }
        }
    }
    bench.fresh(TABLE, None)?;
    match checksums.windows(2).all(|pair| pair[0] == pair[1]) {
        true => Ok(runs),
        false => Err(Error::Wrong(format!("the formats stored different values: {}", checksums.join("; ")))),
    }
}
