//! Other people's ways of loading beside howdah's, on the same files into the same tables.

use crate::cell::{Cell, Loading, Method};
use crate::dataset::Dataset;
use crate::scenario::{Chart, Scale, Scenario, Section};

const NAME: &str = "peers";

const NOTE: &str = "The file is CSV, or where the table says so Parquet or NDJSON with the same rows. Programs are connected and ready before the \
                    clock starts, except where the table says that their start is counted, and have committed when it \
                    stops, some of them batch by batch; bench/contenders says how each is used.";

pub(super) const SCENARIO: Scenario = Scenario {
    name: NAME,
    title: "Beside other tools",
    question: "Which tool brings a file into a table in the least time, and at what cost for the client?",
    study: None,
    cells,
    sections: &[
        Section {
            name: "readings",
            title: "A truck fleet's readings: nine narrow columns",
            chart: Chart::Bars,
            note: NOTE,
            criteria: &[],
            published: &[],
        },
        Section {
            name: "events",
            title: "GitHub's events: nine columns with a JSON document",
            chart: Chart::Bars,
            note: NOTE,
            criteria: &[],
            published: &[],
        },
    ],
    caveats: &[
        super::NEW_LOG_FILES,
        "Programs in Java start anew for each run, so their compiler is never warm.",
        "howdah connects, reads the catalog and plans after GO; these milliseconds are left out, as they are for the others.",
        "timescaledb-parallel-copy could not be installed here, so the fastest other tool at several connections is missing.",
        "Client and server share the cores: what a client saves, the server has.",
    ],
};

/// Names in `bench/contenders`, and whether they read Parquet too.
const CONTENDERS: [(&str, bool); 19] = [
    ("psql", false),
    ("pgloader", false),
    ("duckdb", true),
    ("arrow-duckdb", true),
    ("adbc", true),
    ("pgpq", true),
    ("polars", true),
    ("pandas", false),
    ("pandas-multi", false),
    ("psycopg-executemany", false),
    ("psycopg-copy-text", false),
    ("psycopg-copy-binary", false),
    ("asyncpg-copy", false),
    ("jdbc-batch", false),
    ("jdbc-batch-rewritten", false),
    ("jdbc-copy", false),
    ("pgbulkinsert", false),
    ("pgx-copy-from", false),
    ("pgx-send-batch", false),
];

fn cells(scale: &Scale) -> Vec<Cell> {
    let mut cells = Vec::new();
    for (section, dataset, rows) in [
        ("readings", Dataset::Readings, scale.rows(5_000_000, 20_000)),
        ("events", Dataset::GithubEvents, scale.rows(1_000_000, 10_000)),
    ] {
        let cell = |series: String, method| Cell::new((NAME, section), series, (dataset, rows), method);
        for jobs in [1, 2] {
            let loading = Loading::by("copy-binary").over(jobs);
            cells.push(cell(format!("howdah, N = {jobs}"), Method::Load(loading.clone())));
            for (format, name) in [("parquet", "Parquet"), ("ndjson", "NDJSON")] {
                let series = format!("howdah, N = {jobs}, {name}");
                cells.push(cell(series, Method::Load(loading.clone().from(format))));
            }
        }
        cells.push(cell("no-op".to_owned(), Method::Load(Loading::nothing())));
        for (name, reads_parquet) in CONTENDERS {
            let connections = 1;
            let csv = Method::Contender { name, connections, parquet: false };
            cells.push(cell(name.to_owned(), csv));
            if reads_parquet {
                let method = Method::Contender { name, connections, parquet: true };
                cells.push(cell(format!("{name}, Parquet"), method));
            }
        }
        let pgloader = Method::Contender { name: "pgloader", connections: 2, parquet: false };
        cells.push(cell("pgloader, N = 2".to_owned(), pgloader));
    }
    cells
}
