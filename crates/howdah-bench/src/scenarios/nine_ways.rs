//! Study 2: nine ways of writing sensor readings, from a hundred rows to a million, and its sweep of batch sizes.

use crate::cell::{Cell, Keys, Loading, Method};
use crate::dataset::Dataset;
use crate::scenario::{Chart, Published, Scale, Scenario, Section, published_at};

const NAME: &str = "nine-ways";
const ROWS: (&str, &str) = (NAME, "rows");
const BATCH: (&str, &str) = (NAME, "batch");

const JVM: &str = "one JVM, warm after two runs; here howdah's client, a new process each run";
const IN_MEMORY: &str = "the whole text made in memory first, in one warm JVM; here streamed";
const APPENDER: &str =
    "not the same way: the study appends to a table in memory, then INSERT … SELECT; here read_csv";
const IMPORTS: &str = "in one warm JVM; here 0.27 s of each run are the imports of a Python program";

/// Series, and what the study printed for 100, 1,000, 10,000, 100,000 and 1,000,000 rows.
const PUBLISHED: [Published; 45] = published_at(
    [100.0, 1e3, 1e4, 1e5, 1e6],
    [
        ("single INSERTs", [11_057.0, 25_612.0, 37_589.0, 37_733.0, 39_225.0], JVM),
        ("batch", [72_420.0, 147_246.0, 155_544.0, 157_907.0, 161_990.0], JVM),
        ("batch, rewritten", [69_433.0, 196_576.0, 276_876.0, 266_216.0, 292_091.0], JVM),
        ("multi-row VALUES", [71_185.0, 127_238.0, 251_090.0, 258_964.0, 252_504.0], JVM),
        ("unnest", [74_810.0, 155_451.0, 247_087.0, 255_124.0, 242_437.0], JVM),
        ("COPY CSV", [110_549.0, 249_664.0, 310_479.0, 359_671.0, 360_420.0], IN_MEMORY),
        ("COPY binary", [51_234.0, 205_923.0, 621_596.0, 670_830.0, 712_418.0], JVM),
        ("DuckDB", [33_531.0, 133_547.0, 247_228.0, 282_339.0, 305_362.0], APPENDER),
        ("Arrow, DuckDB", [23_937.0, 91_756.0, 254_744.0, 344_363.0, 353_263.0], IMPORTS),
    ],
);

/// Series, and names in `bench/contenders`: other people's ways, and the appenders that howdah generates.
const TOOLS: [(&str, &str); 12] = [
    ("DuckDB", "duckdb"),
    ("Arrow, DuckDB", "arrow-duckdb"),
    ("PgBulkInsert", "pgbulkinsert"),
    ("psycopg, COPY binary", "psycopg-copy-binary"),
    ("pgx, CopyFrom", "pgx-copy-from"),
    ("tokio-postgres, COPY binary", "tokio-postgres-copy-binary"),
    ("pg-copy-streams, COPY text", "pg-copy-streams-text"),
    ("generated Java", "generated-java"),
    ("generated Python", "generated-python"),
    ("generated Go", "generated-go"),
    ("generated Rust", "generated-rust"),
    ("generated TypeScript", "generated-typescript"),
];

pub(super) const SCENARIO: Scenario = Scenario {
    name: NAME,
    title: "Ways of writing, by number of rows",
    question: "From how many rows on does each way pay, and where do the curves cross?",
    study: Some(2),
    cells,
    sections: &[
        Section {
            name: "rows",
            title: "Rows a second by number of rows",
            chart: Chart::Curves { axis: "rows" },
            note: "One connection, one transaction, the table with its key. Connecting and planning are not timed, as in \
                   the study; reading and encoding the file are, which the study's rows in memory did not need.",
            criteria: &[],
            published: &PUBLISHED,
        },
        Section {
            name: "batch",
            title: "Rows a second by rows in a statement",
            chart: Chart::Curves { axis: "rows per statement" },
            note: "The study printed this sweep on a console only. Statements of more than 65,535 parameters do not \
                   exist: multi-row VALUES of nine columns end at 7,281 rows.",
            criteria: &[],
            published: &[],
        },
    ],
    caveats: &[
        super::NEW_LOG_FILES,
        "The study's COPY CSV builds the whole text in memory first. Its factor of two for binary is nearly reached \
         without that: errata.",
        "The study's nine ways are here howdah's own, and two tools: the libraries that the study measured stand in peers. \
         PgBulkInsert, psycopg, pgx, tokio-postgres, pg-copy-streams and generated code stand beside them, each a program \
         that is new each run: a JVM and V8 are cold.",
        "Programs of one language read the file in the same way: compare a generated appender with the tool of its own \
         language.",
        "The study's rows hold no NULL, no quote and no character beyond ASCII.",
        "At a hundred rows a run lasts a few milliseconds; look at the spread before the median.",
    ],
};

fn cells(scale: &Scale) -> Vec<Cell> {
    let sizes: &[u64] =
        if scale.quick { &[100, 1_000, 5_000] } else { &[100, 1_000, 10_000, 100_000, 1_000_000] };
    let mut cells = Vec::new();
    for &rows in sizes {
        let cell = |series: &str, method| keyed(ROWS, series, rows, method).at(rows as f64);
        let load = |series: &str, path| cell(series, Method::Load(Loading::by(path)));
        cells.extend([
            load("single INSERTs", "insert-prepared"),
            load("batch", "insert-pipelined"),
            load("batch, rewritten", "insert-rewritten"),
            load("multi-row VALUES", "values-prepared"),
            load("unnest", "unnest"),
            load("COPY CSV", "copy-csv"),
            load("COPY binary", "copy-binary"),
            cell("no-op", Method::Load(Loading::nothing())),
        ]);
        for (series, name) in TOOLS {
            cells.push(cell(series, Method::Contender { name, connections: 1, parquet: false }));
        }
    }
    let rows = scale.rows(100_000, 5_000);
    // A batch is rewritten to statements of a power of two of rows; nine parameters a row end at 7,281.
    let (any, powers): (&[u64], &[u64]) = match scale.quick {
        true => (&[50, 1_000], &[64, 1_024]),
        false => (&[50, 100, 500, 1_000, 5_000, 7_281], &[64, 128, 512, 1_024, 4_096]),
    };
    for (series, path, sizes) in [
        ("multi-row VALUES", "values-prepared", any),
        ("batch, rewritten", "insert-rewritten", powers),
        ("unnest", "unnest", any),
    ] {
        for &size in sizes {
            let loading = Loading::by(path).rows_per_statement(size);
            cells.push(keyed(BATCH, series, rows, Method::Load(loading)).at(size as f64));
        }
    }
    cells
}

fn keyed(place: (&'static str, &'static str), series: &str, rows: u64, method: Method) -> Cell {
    let mut cell = Cell::new(place, series, (Dataset::SensorReadings, rows), method);
    cell.table.keys = Keys::Before;
    cell
}
