//! Study 4: does the time a row takes stay flat as rows become many, statements large, and tables wide?

use crate::cell::{Cell, Loading, Method};
use crate::dataset::Dataset;
use crate::scenario::{Chart, Published, Scale, Scenario, Section, published_at};

const NAME: &str = "scale";
const ROWS: (&str, &str) = (NAME, "rows");
const BATCH: (&str, &str) = (NAME, "batch");
const WIDTH: (&str, &str) = (NAME, "width");

const OTHER: &str = "another machine, its table emptied before each run";

/// What the study printed, in rows a second, for 1, 25, 50, 75 and 100 million rows.
const PUBLISHED: [Published; 20] = published_at(
    [1e6, 25e6, 50e6, 75e6, 100e6],
    [
        ("COPY", [232_234.0, 342_184.0, 301_659.0, 322_595.0, 316_395.0], OTHER),
        ("20,000 rows a statement", [30_782.0, 44_136.0, 41_404.0, 41_738.0, 37_692.0], OTHER),
        ("single INSERTs", [937.0, 1_043.0, 1_042.0, 1_033.0, 1_057.0], OTHER),
        ("nested unnest, from a file", [250_000.0, 195_313.0, 195_313.0, 190_840.0, 187_617.0], OTHER),
    ],
);

pub(super) const SCENARIO: Scenario = Scenario {
    name: NAME,
    title: "Larger and larger loads",
    question: "Does a row cost the same at the end of a large load as at its beginning?",
    study: Some(4),
    cells,
    sections: &[
        Section {
            name: "rows",
            title: "Rows a second by number of rows",
            chart: Chart::Curves { axis: "rows" },
            note: "Flat lines are good. The study compares its nested unnest, which reads a file on the server's own \
                   disk, with a COPY from a client; here both kinds of COPY stand beside it.",
            criteria: &[],
            published: &PUBLISHED,
        },
        Section {
            name: "batch",
            title: "Rows a second by rows in a statement",
            chart: Chart::Curves { axis: "rows per statement" },
            note: "Literals in one statement, as the study wrote them.",
            criteria: &[],
            published: &[],
        },
        Section {
            name: "width",
            title: "Rows a second by columns",
            chart: Chart::Curves { axis: "columns" },
            note: "The same file each time; columns that the table lacks are skipped by the reader.",
            criteria: &[],
            published: &[],
        },
    ],
    caveats: &[
        super::NEW_LOG_FILES,
        "A slow method loads a first part of the rows. Such a figure is that of fewer rows, whatever was asked for: it says \
         nothing about how flat the line is.",
        "Checkpoints write while large loads run; how often they do is not varied here.",
        "The table has no key and no index.",
    ],
};

fn cells(scale: &Scale) -> Vec<Cell> {
    let sizes: Vec<u64> = match scale.rows {
        Some(rows) => vec![rows],
        None if scale.quick => vec![5_000, 20_000],
        None => vec![1_000_000, 5_000_000, 25_000_000],
    };
    let mut cells = Vec::new();
    for rows in sizes {
        let cell =
            |series: &str, method| Cell::new(ROWS, series, (Dataset::Readings, rows), method).at(rows as f64);
        let load = |series: &str, loading| cell(series, Method::Load(loading));
        cells.extend([
            load("COPY", Loading::by("copy-csv")),
            load("COPY binary", Loading::by("copy-binary")),
            load("COPY binary, a connection a core", Loading::by("copy-binary").over(scale.cores)),
            load("20,000 rows a statement", Loading::by("values").rows_per_statement(20_000)),
            load("single INSERTs", Loading::by("insert-autocommit")),
            cell("COPY of a file on the server", Method::ServerFile { freeze: false }),
            cell("nested unnest, from a file", Method::NestedUnnest { file: true }),
            cell("nested unnest, from a table", Method::NestedUnnest { file: false }),
            load("no-op", Loading::nothing()),
        ]);
    }
    let rows = scale.rows(1_000_000, 10_000);
    let data = (Dataset::Readings, rows);
    let batches: &[u64] =
        if scale.quick { &[1_000, 20_000] } else { &[1_000, 5_000, 10_000, 15_000, 20_000, 50_000] };
    for &batch in batches {
        for (series, path) in [("literals", "values"), ("unnest", "unnest")] {
            let loading = Loading::by(path).rows_per_statement(batch);
            cells.push(Cell::new(BATCH, series, data, Method::Load(loading)).at(batch as f64));
        }
    }
    let widths: &[usize] = if scale.quick { &[1, 9] } else { &[1, 3, 5, 7, 9] };
    for &width in widths {
        for (series, path) in [
            ("COPY binary", "copy-binary"),
            ("COPY text", "copy-text"),
            ("multi-row VALUES", "values-prepared"),
            ("unnest", "unnest"),
        ] {
            let mut cell = Cell::new(WIDTH, series, data, Method::Load(Loading::by(path))).at(width as f64);
            cell.table.columns = Some(width);
            cells.push(cell);
        }
    }
    cells
}
