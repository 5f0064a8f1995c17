//! Peak memory of a load: bounded, the same for small and large inputs, plain and compressed, and with a huge field.

use std::path::{Path, PathBuf};

use super::contender::{Contender, Input};
use super::run::{Bench, Label, mebibytes};
use super::section::{Section, Verdict};
use super::tell;
use crate::dataset::Dataset;
use crate::error::Error;
use crate::table::Table;

/// The most that a load of ordinary records may take, in MiB.
const LIMIT: f64 = 256.0;
/// Peaks within so many MiB of their middle count as the same: allocators and page faults are not exact.
const TOLERANCE: f64 = 16.0;
/// How many copies of the largest record are granted above the limit.
const COPIES: f64 = 3.0;

const TABLE: &str = "howdah_bench_memory";

pub(super) fn measure(bench: &mut Bench) -> Result<Section, Error> {
    let dataset = Dataset::Readings;
    let mut inputs: Vec<(String, PathBuf, u64)> = Vec::new();
    for rows in bench.scale.memory_rows {
        tell(bench.say, &format!("making {rows} rows of {}, plain and gzipped\n", dataset.name()))?;
        inputs.push((format!("{rows} rows, plain"), bench.scratch.csv(dataset, rows)?, rows));
        inputs.push((format!("{rows} rows, gzip"), bench.scratch.csv_gz(dataset, rows)?, rows));
    }
    let mut figures = Table::new(["input", "file MB", "wall s", "peak MiB"]);
    let mut peaks = Vec::new();
    let create = dataset.create_table_sql(TABLE);
    for (label, path, rows) in &inputs {
        let (peak, wall) = peak(bench, path, &create, *rows)?;
        figures.row([label.clone(), megabytes(path), format!("{wall:.2}"), format!("{peak:.0}")]);
        peaks.push(peak);
    }
    let field = bench.scale.long_field;
    let path = bench.scratch.one_long_field(field)?;
    let (long, wall) = peak(bench, &path, &format!("CREATE TABLE {TABLE} (id bigint, body text)"), 3)?;
    figures.row(["one long field".to_owned(), megabytes(&path), format!("{wall:.2}"), format!("{long:.0}")]);
    bench.fresh(TABLE, None)?;

    let greatest = peaks.iter().copied().fold(0.0, f64::max);
    let least = peaks.iter().copied().fold(f64::INFINITY, f64::min);
    let long_limit = LIMIT + COPIES * mebibytes(field);
    let verdicts = vec![
        Verdict {
            promise: "memory: peak, any size, plain or gzip".to_owned(),
            measured: format!("{greatest:.0} MiB"),
            target: format!("<= {LIMIT:.0} MiB"),
            holds: greatest <= LIMIT,
        },
        Verdict {
            promise: "memory: the same for all of them".to_owned(),
            measured: format!("{least:.0} to {greatest:.0} MiB"),
            target: format!("± {TOLERANCE:.0} MiB"),
            holds: greatest - least <= 2.0 * TOLERANCE,
        },
        Verdict {
            promise: format!("memory: peak with one field of {:.0} MB", field as f64 / 1e6),
            measured: format!("{long:.0} MiB"),
            target: format!("<= {long_limit:.0} MiB"),
            holds: long <= long_limit,
        },
    ];
    let rounds = bench.scale.memory_rounds;
    let note = format!("Peaks are the greatest of {rounds} runs of howdah load, from the kernel's account.");
    Ok(Section { title: "Memory".to_owned(), figures, verdicts, note })
}

/// The greatest peak in MiB over a few runs, and the wall seconds of the last.
fn peak(bench: &mut Bench, csv: &PathBuf, create: &str, rows: u64) -> Result<(f64, f64), Error> {
    let input = Input { table: TABLE, file: csv, parts: &[] };
    let (mut peak, mut wall) = (0, 0.0);
    for round in 1..=bench.scale.memory_rounds {
        bench.fresh(TABLE, Some(create))?;
        let run = bench.run(Contender::Howdah, &input, rows, Label { measurement: "memory", round })?;
        peak = peak.max(run.client.peak_rss_bytes);
        wall = run.client.wall_s;
    }
    Ok((mebibytes(peak), wall))
}

fn megabytes(path: &Path) -> String {
    path.metadata().map_or_else(|_| "?".to_owned(), |metadata| format!("{:.1}", metadata.len() as f64 / 1e6))
}
