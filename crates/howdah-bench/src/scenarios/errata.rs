//! The studies' claims that can be run again, each beside the factor that it leaves out.

use crate::cell::{Cell, Keys, Loading, Method};
use crate::dataset::Dataset;
use crate::scenario::{Chart, Scale, Scenario, Section, published};
use crate::writers::Shape;

const NAME: &str = "errata";
const TYPES: (&str, &str) = (NAME, "types");
const POOL: (&str, &str) = (NAME, "pool");
const CEILING: (&str, &str) = (NAME, "ceiling");
const UNIQUE: (&str, &str) = (NAME, "unique");
const BINARY: (&str, &str) = (NAME, "binary");

pub(super) const SCENARIO: Scenario = Scenario {
    name: NAME,
    title: "What the studies leave out",
    question: "Which of the studies' conclusions stand when one thing is changed at a time?",
    study: None,
    cells,
    sections: &[
        Section {
            name: "types",
            title: "Study 1: \"landing raw text is three times as fast as typed COPY\"",
            chart: Chart::Bars,
            note: "Only the table's types differ between the first two bars. The third is the study's, which also is \
                   unlogged, frozen, read on the server, and on a server with fsync, full_page_writes and \
                   synchronous_commit off, fewer checkpoints and more memory.",
            criteria: &[],
            published: &[
                published("typed, COPY CSV", 255_754.0, "a network disk"),
                published("all text and the study's other changes", 775_194.0, "a laboratory's server"),
            ],
        },
        Section {
            name: "pool",
            title: "Study 5: \"twenty connections are the sweet spot\"",
            chart: Chart::Curves { axis: "connections" },
            note: "The study's pool had 20 connections whatever was asked for, so its line is flat. Here the connections \
                   are counted on the server.",
            criteria: &[],
            published: &[],
        },
        Section {
            name: "ceiling",
            title: "Study 5: as fast as its own generator",
            chart: Chart::Bars,
            note: "The study's generator alone reached 108,664 rows a second without writing, and its largest figures with \
                   writing are 107,364 and 111,602. A figure within a fifth of what the harness can do says nothing \
                   about the server.",
            criteria: &[],
            published: &[published("no-op", 108_664.0, "what the study measured without writing")],
        },
        Section {
            name: "unique",
            title: "Study 5: the unique index that its text does not mention",
            chart: Chart::Bars,
            note: "The study's table has a unique index on random keys besides its primary key.",
            criteria: &[],
            published: &[],
        },
        Section {
            name: "binary",
            title: "Study 2: \"binary COPY is twice as fast as CSV\"",
            chart: Chart::Bars,
            note: "The study's CSV client builds the whole text in memory first. Here both stream the same file, and binary \
                   stays nearly as far ahead: most of the study's factor is the format's.",
            criteria: &[],
            published: &[
                published("COPY CSV, streamed", 360_420.0, "all of it in memory first"),
                published("COPY binary, streamed", 712_418.0, "one warm JVM"),
            ],
        },
    ],
    caveats: &[
        super::NEW_LOG_FILES,
        "Study 1's INSERT paths store '' where its COPY paths store NULL. Every path here stores the same, or is shown as \
         wrong.",
        "Study 2's binary writer ends its COPY well when its program fails between rows, so a part is committed; its \
         single-row lookups on SQLite ask for keys that do not exist.",
        "timescaledb-parallel-copy can cut a record in two at its limit of bytes; it cannot be run here.",
    ],
};

fn cells(scale: &Scale) -> Vec<Cell> {
    let events = (Dataset::GithubEvents, scale.rows(1_000_000, 20_000));
    let typed = Cell::new(TYPES, "typed, COPY CSV", events, Method::Load(Loading::by("copy-csv")));
    let mut text = typed.clone();
    text.series = "all text, COPY CSV".to_owned();
    text.table.all_text = true;
    let mut study = text.clone();
    study.series = "all text and the study's other changes".to_owned();
    study.table.unlogged = true;
    study.method = Method::ServerFile { freeze: true };
    study.settings = super::five_paths::LAB.to_vec();
    let mut cells = vec![typed, text, study];

    let rows = scale.rows(50_000, 2_000);
    let writers = |place, series: &str, keys, (shape, connections, rows_per_statement)| {
        let method = Method::Writers { shape, connections, rows_per_statement };
        let mut cell = Cell::new(place, series, (Dataset::Tasks, rows), method);
        cell.table.keys = keys;
        cell
    };
    let primary_only = |series: &str, how| {
        let mut cell = writers(UNIQUE, series, Keys::None, how);
        cell.table.extra = vec!["ALTER TABLE {table} ADD PRIMARY KEY (id)"];
        cell.table.extra_is = "primary key only";
        cell
    };
    let counts: &[u32] = if scale.quick { &[1, 20] } else { &[1, 5, 20, 40, 80] };
    for &count in counts {
        let single = (Shape::Values, count, 1);
        cells.push(writers(POOL, "single INSERTs", Keys::Before, single).at(f64::from(count)));
    }
    cells.extend([
        writers(CEILING, "COPY of 1,000", Keys::Before, (Shape::CopyBinary, 10, 1_000)),
        writers(CEILING, "batches of 1,000", Keys::Before, (Shape::Pipeline, 10, 1_000)),
        writers(CEILING, "no-op", Keys::Before, (Shape::Ping, 10, 1_000)),
        primary_only("single INSERTs, primary key only", (Shape::Values, 10, 1)),
        primary_only("COPY of 1,000, primary key only", (Shape::CopyBinary, 10, 1_000)),
        writers(UNIQUE, "single INSERTs, with both keys", Keys::Before, (Shape::Values, 10, 1)),
        writers(UNIQUE, "COPY of 1,000, with both keys", Keys::Before, (Shape::CopyBinary, 10, 1_000)),
    ]);
    for (series, path) in [("COPY CSV, streamed", "copy-csv"), ("COPY binary, streamed", "copy-binary")] {
        let data = (Dataset::SensorReadings, scale.rows(1_000_000, 20_000));
        let mut cell = Cell::new(BINARY, series, data, Method::Load(Loading::by(path)));
        cell.table.keys = Keys::Before;
        cells.push(cell);
    }
    cells
}
