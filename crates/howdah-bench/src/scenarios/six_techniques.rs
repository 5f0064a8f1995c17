//! Study 3: six techniques on a keyed table of two columns, rows in a statement, settings one by one, and keys.

use crate::cell::{Cell, Keys, Loading, Method};
use crate::dataset::Dataset;
use crate::scenario::{Chart, Scale, Scenario, Section, published};
use crate::writers::Shape;

const NAME: &str = "six-techniques";
const TECHNIQUES: (&str, &str) = (NAME, "techniques");
const STATEMENT: (&str, &str) = (NAME, "statement");
const SETTINGS: (&str, &str) = (NAME, "settings");
const KEYS: (&str, &str) = (NAME, "keys");

const ONCE: &str = "one run, over a Unix socket";

pub(super) const SCENARIO: Scenario = Scenario {
    name: NAME,
    title: "Techniques on a keyed table",
    question: "What do commits, statements and prepared statements cost, and which settings and keys matter?",
    study: Some(3),
    cells,
    sections: &[
        Section {
            name: "techniques",
            title: "The study's six techniques",
            chart: Chart::Bars,
            note: "The study ran each once, without a spread. Its surprise, that preparing a statement of many rows \
                   makes it slower, is shown over all sizes in the next chart.",
            criteria: &[],
            published: &[
                published("single INSERTs, a commit each", 1_117.0, ONCE),
                published("single INSERTs, one commit", 11_891.0, ONCE),
                published("single INSERTs, prepared", 14_535.0, ONCE),
                published("1,000 rows a statement", 192_308.0, ONCE),
                published("1,000 rows a statement, prepared", 175_439.0, ONCE),
                published("COPY", 714_286.0, ONCE),
            ],
        },
        Section {
            name: "statement",
            title: "Rows a second by rows in a statement",
            chart: Chart::Curves { axis: "rows per statement" },
            note: "What the study's readers asked for. Prepared statements end at 32,767 rows of two columns.",
            criteria: &[],
            published: &[],
        },
        Section {
            name: "settings",
            title: "The study's settings, one at a time",
            chart: Chart::Bars,
            note: "Settings that spare commits matter to many small transactions and not to one large one. Settings that \
                   spare checkpoints are not tested by this load: ten million rows write 867 MB of log, less than the \
                   default max_wal_size. commit_delay has one value here, 1,000 µs, which is five times an fsync.",
            criteria: &[],
            published: &[],
        },
        Section {
            name: "keys",
            title: "What keys cost",
            chart: Chart::Bars,
            note: "All by binary COPY over one connection. A key that is built afterwards is in the time. The server makes \
                   the uuids, which is most of the time of those rows; the loads are too small for full-page images \
                   to tell random keys from ordered ones.",
            criteria: &[],
            published: &[],
        },
    ],
    caveats: &[
        super::NEW_LOG_FILES,
        "Two narrow columns are the best case for statements and the worst for the share of each row's overhead.",
        "synchronous_commit = off loses the last commits on a crash; it is not a faster way to be durable.",
    ],
};

fn cells(scale: &Scale) -> Vec<Cell> {
    let rows = scale.rows(10_000_000, 20_000);
    let cell = |place, series: &str, rows, method| {
        let mut cell = Cell::new(place, series, (Dataset::Instest, rows), method);
        cell.table.keys = Keys::Before;
        cell
    };
    let load = |series: &str, loading| cell(TECHNIQUES, series, rows, Method::Load(loading));
    let mut cells = vec![
        load("single INSERTs, a commit each", Loading::by("insert-autocommit")),
        load("single INSERTs, one commit", Loading::by("insert")),
        load("single INSERTs, prepared", Loading::by("insert-prepared")),
        load("1,000 rows a statement", Loading::by("values").rows_per_statement(1_000)),
        load("1,000 rows a statement, prepared", Loading::by("values-prepared").rows_per_statement(1_000)),
        load("COPY", Loading::by("copy-csv")),
        load("howdah, binary COPY", Loading::by("copy-binary")),
        load("no-op", Loading::nothing()),
    ];

    let sweep = scale.rows(1_000_000, 10_000);
    let sizes: &[u64] =
        if scale.quick { &[1, 100, 10_000] } else { &[1, 3, 10, 30, 100, 300, 1_000, 3_000, 10_000, 30_000] };
    for &size in sizes {
        for path in ["values", "values-prepared", "unnest"] {
            let loading = Loading::by(path).rows_per_statement(size);
            cells.push(cell(STATEMENT, path, sweep, Method::Load(loading)).at(size as f64));
        }
    }
    cells.extend(settings(scale, &cell));
    cells.extend(keys(scale));
    cells
}

/// A server's settings that differ from the defaults.
type Settings = &'static [(&'static str, &'static str)];

type Make<'a> = &'a dyn Fn((&'static str, &'static str), &str, u64, Method) -> Cell;

fn settings(scale: &Scale, cell: Make) -> Vec<Cell> {
    let one = Method::Writers { shape: Shape::Values, connections: 1, rows_per_statement: 1 };
    let eight = Method::Writers { shape: Shape::Values, connections: 8, rows_per_statement: 1 };
    let copy = Method::Load(Loading::by("copy-binary"));
    let (few, many) = (scale.rows(200_000, 2_000), scale.rows(10_000_000, 20_000));
    let loads: [(&str, Method, u64, &[Settings]); 3] = [
        ("1 writer", one, few, &[&[], &[("synchronous_commit", "off")]]),
        (
            "8 writers",
            eight,
            few,
            &[&[], &[("synchronous_commit", "off")], &[("commit_delay", "1000"), ("commit_siblings", "3")]],
        ),
        (
            "COPY",
            copy,
            many,
            &[
                &[],
                &[("synchronous_commit", "off")],
                &[("max_wal_size", "8GB")],
                &[("checkpoint_timeout", "1h")],
                &[("max_wal_size", "8GB"), ("checkpoint_timeout", "1h")],
            ],
        ),
    ];
    let mut cells = Vec::new();
    for (who, method, rows, variations) in loads {
        for settings in variations {
            let what: Vec<String> = settings.iter().map(|(name, value)| format!("{name} {value}")).collect();
            let what = if what.is_empty() { "defaults".to_owned() } else { what.join(", ") };
            let mut cell = cell(SETTINGS, &format!("{who}: {what}"), rows, method.clone());
            cell.settings = settings.to_vec();
            cells.push(cell);
        }
    }
    cells
}

fn keys(scale: &Scale) -> Vec<Cell> {
    let rows = scale.rows(5_000_000, 20_000);
    let cell = |series: &str, keys, extra: &[&'static str], extra_is| {
        let copy = Method::Load(Loading::by("copy-binary"));
        let mut cell = Cell::new(KEYS, series, (Dataset::Instest, rows), copy);
        cell.table.keys = keys;
        cell.table.extra = extra.to_vec();
        cell.table.extra_is = extra_is;
        cell
    };
    vec![
        cell("no key", Keys::None, &[], ""),
        cell("ascending bigint key, kept", Keys::Before, &[], ""),
        cell("ascending bigint key, built afterwards", Keys::After, &[], ""),
        cell(
            "ascending uuid key (uuidv7)",
            Keys::None,
            &["ALTER TABLE {table} ADD COLUMN u uuid DEFAULT uuidv7() PRIMARY KEY"],
            "a uuidv7 key",
        ),
        cell(
            "random uuid key (uuidv4)",
            Keys::None,
            &["ALTER TABLE {table} ADD COLUMN u uuid DEFAULT gen_random_uuid() PRIMARY KEY"],
            "a uuidv4 key",
        ),
        cell(
            "uuidv4 column without a key",
            Keys::None,
            &["ALTER TABLE {table} ADD COLUMN u uuid DEFAULT gen_random_uuid()"],
            "a uuidv4 column",
        ),
        cell(
            "foreign key",
            Keys::None,
            &[
                "CREATE TABLE {table}_parents (id bigint PRIMARY KEY)",
                "INSERT INTO {table}_parents SELECT generate_series(0, {rows})",
                "VACUUM ANALYZE {table}_parents",
                "ALTER TABLE {table} ADD FOREIGN KEY (id) REFERENCES {table}_parents",
            ],
            "a foreign key",
        ),
    ]
}
