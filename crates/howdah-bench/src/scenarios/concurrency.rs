//! Study 5: single rows and small batches over many connections, near and far, on a table with a key and a unique index.

use crate::cell::{Cell, Keys, Method};
use crate::dataset::Dataset;
use crate::scenario::{Chart, Published, Scale, Scenario, Section, published};
use crate::writers::Shape;

const NAME: &str = "concurrency";
const NEAR: (&str, &str) = (NAME, "near");
const FAR: (&str, &str) = (NAME, "far");
const BATCH: (&str, &str) = (NAME, "batch");

const fn at(series: &'static str, x: f64, rows_per_s: f64, but: &'static str) -> Published {
    Published { x: Some(x), ..published(series, rows_per_s, but) }
}

pub(super) const SCENARIO: Scenario = Scenario {
    name: NAME,
    title: "Many connections, small batches",
    question: "What do more connections bring, what does a round trip cost, and how much do small batches save?",
    study: Some(5),
    cells,
    sections: &[
        Section {
            name: "near",
            title: "Rows a second by connections",
            chart: Chart::Curves { axis: "connections" },
            note: "Every connection is a backend of its own, counted in pg_stat_activity before the clock starts. All bytes \
                   pass a proxy of ours, here without delay, so that the next chart differs in nothing but the delay. Without it single INSERTs over \
                   20 and 80 connections are 29 and 45 % faster (errata).",
            criteria: &[],
            published: &[
                at(
                    "single INSERTs",
                    1.0,
                    2_284.0,
                    "the post's text does not show the unique key of its table",
                ),
                at("single INSERTs", 10.0, 11_004.0, "without a proxy between"),
                at("single INSERTs", 20.0, 16_654.0, "without a proxy between"),
                at(
                    "single INSERTs",
                    40.0,
                    16_534.0,
                    "40 writers share 20 connections: the option came too late",
                ),
            ],
        },
        Section {
            name: "far",
            title: "The same, 2 ms away",
            chart: Chart::Curves { axis: "connections" },
            note: "A proxy of ours holds every byte back for 1 ms in each direction; it does not narrow the way.",
            criteria: &[],
            published: &[],
        },
        Section {
            name: "batch",
            title: "Rows a second by rows in a batch, over 10 connections",
            chart: Chart::Curves { axis: "rows per batch" },
            note: "Each batch is a transaction. The no-op sends the same bytes and writes nothing: it is what the \
                   generator and the way to the server can do, and figures near it say nothing about the server.",
            criteria: &[],
            published: &[],
        },
    ],
    caveats: &[
        super::NEW_LOG_FILES,
        "Writers and server share this machine's cores: more of both than cores cannot run at once.",
        "The study's pool was made before its options were read, so its sweep of connections is one figure many times.",
    ],
};

const COUNTS: [u32; 7] = [1, 2, 5, 10, 20, 40, 80];

fn cells(scale: &Scale) -> Vec<Cell> {
    let counts: &[u32] = if scale.quick { &[1, 10] } else { &COUNTS };
    let rows = scale.rows(50_000, 2_000);
    let mut cells = Vec::new();
    for (place, latency_ms) in [(NEAR, 0.0), (FAR, 2.0)] {
        for &connections in counts {
            for (series, shape, rows_per_statement) in [
                ("single INSERTs", Shape::Values, 1),
                ("batches of 100", Shape::Pipeline, 100),
                ("COPY of 100", Shape::CopyBinary, 100),
                ("no-op", Shape::Ping, 1),
            ] {
                let method = Method::Writers { shape, connections, rows_per_statement };
                let mut cell = keyed(place, series, rows, method).at(f64::from(connections));
                cell.latency_ms = Some(latency_ms);
                cells.push(cell);
            }
        }
    }
    let sizes: &[u64] = if scale.quick { &[1, 100] } else { &[1, 10, 30, 100, 300, 1_000] };
    for &size in sizes {
        for (series, shape) in [
            ("batch", Shape::Pipeline),
            ("multi-row VALUES", Shape::Values),
            ("unnest", Shape::Unnest),
            ("COPY", Shape::CopyBinary),
            ("no-op", Shape::Ping),
        ] {
            let method = Method::Writers { shape, connections: 10, rows_per_statement: size };
            cells.push(keyed(BATCH, series, rows, method).at(size as f64));
        }
    }
    cells
}

fn keyed(place: (&'static str, &'static str), series: &str, rows: u64, method: Method) -> Cell {
    let mut cell = Cell::new(place, series, (Dataset::Tasks, rows), method);
    cell.table.keys = Keys::Before;
    cell
}
