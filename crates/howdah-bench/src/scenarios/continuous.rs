//! Study 5's second half: rows of a running service, one by one, through a buffer that makes batches of them.

use crate::cell::{Cell, Keys, Method, Program};
use crate::continuous::{Buffer, Offer, Path, Peak};
use crate::dataset::Dataset;
use crate::scenario::{Chart, Published, Scale, Scenario, Section, published};
use crate::writers::Shape;

const NAME: &str = "continuous";
const STUDY: (&str, &str) = (NAME, "study");
const KEY: (&str, &str) = (NAME, "key");
const CONNECTIONS: (&str, &str) = (NAME, "connections");
const PAYLOAD: (&str, &str) = (NAME, "payload");
const DISTANCE: (&str, &str) = (NAME, "distance");
const ADAPTIVE: (&str, &str) = (NAME, "adaptive");
const OFFERED: (&str, &str) = (NAME, "offered");
const STEPS: (&str, &str) = (NAME, "steps");
const LONE: (&str, &str) = (NAME, "lone");
const BULK: (&str, &str) = (NAME, "bulk");
const PRODUCER: (&str, &str) = (NAME, "producer");
const PEERS: (&str, &str) = (NAME, "peers");

/// The study's connections, and its largest batch where it varies something else.
const STUDY_CONNECTIONS: u32 = 20;
const STUDY_ROWS: u64 = 100;
/// Milliseconds between its flushes there.
const STUDY_MS: f64 = 10.0;

/// The study's pairs of batch size and milliseconds.
const PAIRS: [(u64, f64, &str); 6] = [
    (5, 0.5, "COPY, 5 rows, 0.5 ms"),
    (10, 1.0, "COPY, 10 rows, 1 ms"),
    (25, 2.5, "COPY, 25 rows, 2.5 ms"),
    (50, 5.0, "COPY, 50 rows, 5 ms"),
    (100, 10.0, "COPY, 100 rows, 10 ms"),
    (200, 20.0, "COPY, 200 rows, 20 ms"),
];

/// Rows where some seconds are needed: of the fastest, and of those that come at a rate.
const LONG_ROWS: u64 = 400_000;

/// The control of howdah's writer; see `report::rank`.
const CONTROL: &str = "no-op";

const fn study(series: &'static str, rows_per_s: f64) -> Published {
    published(series, rows_per_s, "the study's generator itself made 108,664")
}

pub(super) const SCENARIO: Scenario = Scenario {
    name: NAME,
    title: "Rows of a running service",
    question: "How many rows a second can a service write one by one, how long does each wait for its acknowledgement, \
               and what decides it?",
    study: Some(5),
    cells,
    sections: &[
        Section {
            name: "study",
            title: "The study's batch sizes and intervals",
            chart: Chart::Tradeoff,
            note: "20 connections, one producer that keeps the queue full; latencies begin before a row is offered, as \
                   the study's do, and so hold the waiting in a full queue: rows waiting, divided by rows a second. A \
                   figure above a quarter of the no-op, which takes the same way and writes nothing, is marked: the \
                   study's own no-op was slower than its best figures.",
            criteria: &[],
            published: &[
                study("COPY, 5 rows, 0.5 ms", 47_741.0),
                study("COPY, 10 rows, 1 ms", 60_576.0),
                study("COPY, 25 rows, 2.5 ms", 88_742.0),
                study("COPY, 50 rows, 5 ms", 107_364.0),
                study("COPY, 100 rows, 10 ms", 98_278.0),
                study("COPY, 200 rows, 20 ms", 111_602.0),
                published("INSERT, 100 rows, 10 ms", 79_927.0, "mean latency 43 ms"),
            ],
        },
        Section {
            name: "key",
            title: "With and without the unique key",
            chart: Chart::Bars,
            note: "The study's text shows a table with a primary key; its code adds a unique index on random uuids.",
            criteria: &[],
            published: &[],
        },
        Section {
            name: "connections",
            title: "Rows a second by connections",
            chart: Chart::Curves { axis: "connections" },
            note: "Batches of 100 rows at most. The study's own sweep is one figure many times: its pool was made before \
                   its options were read.",
            criteria: &[],
            published: &[],
        },
        Section {
            name: "payload",
            title: "Rows a second by bytes in a row",
            chart: Chart::Curves { axis: "bytes a row" },
            note: "A number and its text, an event with a document, and the study's task. The tables of the first two \
                   have no unique index beside their primary key, if they have one.",
            criteria: &[],
            published: &[],
        },
        Section {
            name: "distance",
            title: "Here and 2 ms away",
            chart: Chart::Curves { axis: "ms of round trip" },
            note: "A proxy of ours holds every byte back; without delay it stands between too.",
            criteria: &[],
            published: &[],
        },
        Section {
            name: "adaptive",
            title: "Adaptive, and every fixed setting",
            chart: Chart::Tradeoff,
            note: "One producer keeps the queue full. To be compared with an adaptive writer without a target: the fastest \
                   of the fixed ones. With a target the queue is kept short, and rows wait less.",
            criteria: &[],
            published: &[],
        },
        Section {
            name: "offered",
            title: "Latency by offered load",
            chart: Chart::Latencies { axis: "% of the peak" },
            note: "Rows are due at a fixed rate whatever became of those before, and latency counts from the moment when \
                   a row was due: a stall counts for every row that was due meanwhile. The peak is what the Writer with \
                   its own settings reached in the same round. Beyond it the queue grows as long as the run does.",
            criteria: &[],
            published: &[],
        },
        Section {
            name: "steps",
            title: "Load that steps from 20 to 90 to 40 % of the peak",
            chart: Chart::Course,
            note: "Percentiles of the rows that were due in each quarter of a second; dotted lines are the targets. The peak \
                   is the buffer's own: what it reached with the same target and a full queue a moment before.",
            criteria: &[],
            published: &[],
        },
        Section {
            name: "lone",
            title: "A lone row",
            chart: Chart::Bars,
            note: "One producer waits for each row: its median latency is what a row costs that has no company. Nothing \
                   is gained by waiting for more, so the Writer should not.",
            criteria: &[],
            published: &[],
        },
        Section {
            name: "bulk",
            title: "Beside the floor",
            chart: Chart::Bars,
            note: "The same rows into equal tables. The floor is what the server can take: binary COPY of rows that were \
                   encoded beforehand, one statement over each of two connections. Through the Writer every row is \
                   encoded while the clock runs, queued, and acknowledged.",
            criteria: &[],
            published: &[],
        },
        Section {
            name: "producer",
            title: "What one producer can hand over",
            chart: Chart::Bars,
            note: "Rows are encoded, queued and acknowledged, and go nowhere.",
            criteria: &[],
            published: &[],
        },
        Section {
            name: "peers",
            title: "Other people's buffers",
            chart: Chart::Tradeoff,
            note: "20 connections, batches of 100 rows, 10 ms, as in the study, where a name says nothing else; one producer \
                   that keeps the queue full. Each buffer's own no-op stands beside it.",
            criteria: &[],
            published: &[],
        },
    ],
    caveats: &[
        "Producers, the writer and the server share this machine's cores.",
        "The server is new, but for a gigabyte of log files to use again, as one that has been running has them (min_wal_size \
         2GB, max_wal_size 8GB, checkpoint_timeout 30min); without them each is made while rows come, and for some 50 ms \
         commits wait.",
        "With a producer that keeps the queue full, latency is the length of the queue: compare it between settings of \
         equal queues, or use the charts with offered rates.",
    ],
};

fn cells(scale: &Scale) -> Vec<Cell> {
    let rows = scale.rows(200_000, 2_000);
    let mut cells = Vec::new();
    study_and_key(scale, rows, &mut cells);
    one_factor(scale, rows, &mut cells);
    adaptive(scale, &mut cells);
    offered(scale, &mut cells);
    lone_and_bulk(scale, &mut cells);
    peers(scale, &mut cells);
    // A service's server has been running: what a new one does once would be most of what the slowest rows show.
    for cell in &mut cells {
        cell.has_log_files = !scale.quick && !cell.is_control();
    }
    cells
}

fn service(program: Program, buffer: Buffer, offer: Offer) -> Method {
    Method::Service { program, buffer, offer }
}

fn ours(buffer: Buffer, offer: Offer) -> Method {
    service(Program::Writer, buffer, offer)
}

/// As the study has it.
fn fixed(path: Path) -> Buffer {
    Buffer::fixed(path, STUDY_CONNECTIONS, STUDY_ROWS, STUDY_MS)
}

fn keyed(place: (&'static str, &'static str), series: &str, rows: u64, method: Method) -> Cell {
    let mut cell = Cell::new(place, series, (Dataset::Tasks, rows), method);
    cell.table.keys = Keys::Before;
    cell
}

fn study_and_key(scale: &Scale, rows: u64, cells: &mut Vec<Cell>) {
    let pairs = if scale.quick { &PAIRS[4..5] } else { &PAIRS[..] };
    let copies = pairs
        .iter()
        .map(|&(size, ms, series)| (series, Buffer::fixed(Path::Copy, STUDY_CONNECTIONS, size, ms)));
    let others =
        [("INSERT, 100 rows, 10 ms", fixed(Path::Insert)), (CONTROL, fixed(Path::Copy).discarding())];
    for (series, buffer) in copies.chain(others) {
        cells.push(keyed(STUDY, series, rows, ours(buffer, Offer::Full)));
    }
    let paths = [("COPY", Path::Copy), ("INSERT", Path::Insert)];
    for (what, path) in &paths[..if scale.quick { 1 } else { 2 }] {
        let method = || ours(fixed(*path), Offer::Full);
        cells.push(keyed(KEY, &format!("{what}, unique key"), rows, method()));
        let mut without = keyed(KEY, &format!("{what}, primary key alone"), rows, method());
        without.table.keys = Keys::None;
        without.table.extra = vec!["ALTER TABLE {table} ADD PRIMARY KEY (id)"];
        without.table.extra_is = "a primary key";
        cells.push(without);
    }
}

fn one_factor(scale: &Scale, rows: u64, cells: &mut Vec<Cell>) {
    let counts: &[u32] = if scale.quick { &[4] } else { &[1, 2, 5, 10, 20, 40] };
    for &connections in counts {
        for (series, path) in [("COPY of 100", Path::Copy), ("INSERT of 100", Path::Insert)] {
            let buffer = Buffer {
                // The same rows wait, whatever the connections.
                queue_rows: fixed(path).queue_rows,
                ..Buffer::fixed(path, connections, STUDY_ROWS, STUDY_MS)
            };
            let cell = keyed(CONNECTIONS, series, rows, ours(buffer, Offer::Full));
            cells.push(cell.at(f64::from(connections)));
        }
    }
    let sizes = [(Dataset::Instest, 15.0), (Dataset::GithubEvents, 250.0), (Dataset::Tasks, 750.0)];
    for (dataset, bytes) in sizes {
        let buffers = [("own settings", Buffer::default()), ("COPY of 100", fixed(Path::Copy))];
        for (series, buffer) in buffers.into_iter().take(if scale.quick { 1 } else { 2 }) {
            let mut cell = Cell::new(PAYLOAD, series, (dataset, rows), ours(buffer, Offer::Full)).at(bytes);
            cell.table.keys = if dataset == Dataset::GithubEvents { Keys::None } else { Keys::Before };
            cells.push(cell);
        }
    }
    let buffers = [
        ("own settings", Buffer::default()),
        ("COPY of 100, 20 connections", fixed(Path::Copy)),
        ("INSERT of 100, 20 connections", fixed(Path::Insert)),
    ];
    for (series, buffer) in buffers.into_iter().take(if scale.quick { 1 } else { 3 }) {
        for latency_ms in [0.0, 2.0] {
            let mut cell = keyed(DISTANCE, series, rows, ours(buffer.clone(), Offer::Full)).at(latency_ms);
            cell.latency_ms = Some(latency_ms);
            cells.push(cell);
        }
    }
}

fn adaptive(scale: &Scale, cells: &mut Vec<Cell>) {
    // It has to learn first.
    let rows = scale.rows(500_000, 2_000);
    let targets: &[Option<f64>] =
        if scale.quick { &[None] } else { &[None, Some(5.0), Some(20.0), Some(100.0)] };
    for target in targets {
        let series = target.map_or("adaptive".to_owned(), |ms| format!("adaptive, target {ms} ms"));
        // As free as the fixed ones.
        let bounds = Buffer { connections: Some(8), max_rows: Some(5_000), ..Buffer::adaptive(*target) };
        cells.push(keyed(ADAPTIVE, &series, rows, ours(bounds, Offer::Full)));
    }
    let connections: &[u32] = if scale.quick { &[2] } else { &[1, 2, 4, 8] };
    let sizes: &[u64] = if scale.quick { &[100] } else { &[20, 100, 500, 2_500] };
    for &connections in connections {
        for &size in sizes {
            let buffer = Buffer::fixed(Path::Auto, connections, size, STUDY_MS);
            let series = format!("{size} rows over {connections}");
            cells.push(keyed(ADAPTIVE, &series, rows, ours(buffer, Offer::Full)));
        }
    }
}

fn offered(scale: &Scale, cells: &mut Vec<Cell>) {
    let rows = scale.rows(LONG_ROWS, 2_000);
    let percents: &[u32] = if scale.quick { &[50] } else { &[10, 30, 50, 70, 90, 110] };
    for &percent in percents {
        let share = f64::from(percent) / 100.0;
        let offer = || Offer::OfPeak { peak: Peak::Common, shares: vec![share], seconds: 6.0 };
        let pgx = Program::Contender("pgx-service-copy");
        for (series, method) in [
            ("own settings", ours(Buffer::default(), offer())),
            ("adaptive, target 20 ms", ours(Buffer::adaptive(Some(20.0)), offer())),
            ("COPY of 100, 20 connections", ours(fixed(Path::Copy), offer())),
            ("pgx-service-copy", service(pgx, fixed(Path::Copy), offer())),
        ] {
            cells.push(keyed(OFFERED, series, rows, method).at(f64::from(percent)));
        }
    }
    let rows = scale.rows(600_000, 2_000);
    let targets: &[f64] = if scale.quick { &[20.0] } else { &[5.0, 20.0, 100.0] };
    for &target in targets {
        let offer = Offer::OfPeak { peak: Peak::Own, shares: vec![0.2, 0.9, 0.4], seconds: 5.0 };
        let method = ours(Buffer::adaptive(Some(target)), offer);
        cells.push(keyed(STEPS, &format!("target {target} ms"), rows, method));
    }
}

fn lone_and_bulk(scale: &Scale, cells: &mut Vec<Cell>) {
    let rows = scale.rows(LONG_ROWS, 2_000);
    let few = scale.rows(5_000, 500);
    let one = Offer::Waiting { producers: 1 };
    let plain = Method::Writers { shape: Shape::Values, connections: 1, rows_per_statement: 1 };
    cells.push(keyed(LONE, "prepared INSERT", few, plain));
    cells.push(keyed(LONE, "Writer", few, ours(Buffer::default(), one)));

    // The floor has one statement a connection.
    let floor =
        Method::Writers { shape: Shape::CopyBinary, connections: 2, rows_per_statement: rows.div_ceil(2) };
    cells.push(keyed(BULK, "floor: encoded rows, COPY", rows, floor));
    let queues: &[u64] = if scale.quick { &[1_000] } else { &[500, 1_000, 2_500, 4_000, 5_000] };
    for &queue in queues {
        // What does not wait is under way.
        let buffer = Buffer { queue_rows: Some(queue), ..Buffer::fixed(Path::Copy, 2, queue / 2, STUDY_MS) };
        let series = format!("Writer, COPY, queue of {queue}");
        cells.push(keyed(BULK, &series, rows, ours(buffer, Offer::Full)));
    }
    cells.push(keyed(BULK, "Writer, own settings", rows, ours(Buffer::default(), Offer::Full)));
    cells.push(keyed(BULK, CONTROL, rows, ours(Buffer::default().discarding(), Offer::Full)));

    let nothing = || Buffer::default().discarding();
    cells.push(keyed(PRODUCER, "acknowledgements dropped", rows, ours(nothing(), Offer::Unasked)));
    cells.push(keyed(PRODUCER, "acknowledgements timed", rows, ours(nothing(), Offer::Full)));
    let many = Offer::Waiting { producers: 1_000 };
    cells.push(keyed(PRODUCER, "1,000 producers that wait", rows, ours(nothing(), many)));
}

fn peers(scale: &Scale, cells: &mut Vec<Cell>) {
    let rows = scale.rows(LONG_ROWS, 2_000);
    let (copy, insert) = (fixed(Path::Copy), fixed(Path::Insert));
    // What two cores like better, for both.
    let large = Buffer::fixed(Path::Copy, 2, 1_250, STUDY_MS);
    let pgx = Program::Contender("pgx-service-copy");
    let programs = [
        ("Writer, COPY", CONTROL, Program::Writer, &copy),
        ("Writer, INSERT", "", Program::Writer, &insert),
        ("Writer, COPY, 1,250 rows over 2", "", Program::Writer, &large),
        ("pgx-service-copy", "no-op: pgx", pgx, &copy),
        ("pgx-service-copy, 1,250 rows over 2", "", pgx, &large),
        ("pgx-service-batch", "", Program::Contender("pgx-service-batch"), &insert),
        ("asyncpg-service", "no-op: asyncpg", Program::Contender("asyncpg-service"), &copy),
        ("psycopg-service", "no-op: psycopg", Program::Contender("psycopg-service"), &copy),
    ];
    for (series, control, program, buffer) in programs {
        cells.push(keyed(PEERS, series, rows, service(program, buffer.clone(), Offer::Full)));
        if !(control.is_empty() || scale.quick && program == Program::Writer) {
            let nothing = buffer.clone().discarding();
            cells.push(keyed(PEERS, control, rows, service(program, nothing, Offer::Full)));
        }
    }
}
