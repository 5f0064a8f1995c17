//! What howdah promises: as fast as the server, as small as it can be, and quick to start. Whole programs, as a person
//! runs them, beside the floor and psql.

use crate::cell::{Cell, Method, Rounds};
use crate::command::{Command, Input, Variant};
use crate::dataset::Dataset;
use crate::scenario::{Chart, Criterion, Figure, Limit, Scale, Scenario, Section};

const NAME: &str = "promises";

const HOWDAH: &str = "howdah load";
const PSQL: &str = "psql \\copy";
const PSQL_TEXT: &str = "psql \\copy, all-text table";
const FLOOR_PSQL: &str = "floor: pre-encoded, psql";
const FLOOR_CLIENT: &str = "floor: pre-encoded, minimal client";
const FLOOR: &[&str] = &[FLOOR_PSQL, FLOOR_CLIENT];

const STOP: &str = "stop, clean";
const IGNORE: &str = "ignore, clean";
const IGNORE_BAD: &str = "ignore, 1 % bad";

const READINGS_EXISTING: &str = "readings, existing table";
const READINGS_NEW: &str = "readings, new table";
const EVENTS_EXISTING: &str = "events, existing table";
const EVENTS_NEW: &str = "events, new table";

const READINGS_FLOOR: &str = "readings, floor: pre-encoded, minimal client";
const READINGS_PARQUET: &str = "readings, Parquet";
const EVENTS_CSV: &str = "events, CSV";
const EVENTS_NDJSON: &str = "events, NDJSON";

const PLAIN: &str = "plain";
const GZIP: &str = "gzip";
const LONG_FIELD: &str = "one long field";

const SMALL_PSQL: &str = "psql, existing table";
const SMALL_HOWDAH: &str = "howdah load, existing table";
const SMALL_NEW: &str = "howdah load, new table";

const STREAM: &str = "howdah stream";

/// The distance between two spoilt rows.
const SPOILT_EVERY: u64 = 100;
/// Rows that a stream is fed over and over.
const STREAMED: u64 = 100_000;

pub(super) const SCENARIO: Scenario = Scenario {
    name: NAME,
    title: "What howdah promises",
    question: "Is a load as fast as the server, as small and as prompt as promised?",
    study: None,
    cells,
    sections: &[
        Section {
            name: "readings",
            title: "Readings into an existing table",
            chart: Chart::Bars,
            note: THROUGHPUT,
            criteria: &[
                Criterion {
                    promise: "readings: howdah ÷ floor",
                    figure: Figure::Ratio { of: HOWDAH, to: FLOOR },
                    limit: Limit::AtMost(1.15),
                },
                Criterion {
                    promise: "readings: psql ÷ howdah",
                    figure: Figure::Ratio { of: PSQL, to: &[HOWDAH] },
                    limit: Limit::AtLeast(2.5),
                },
                Criterion {
                    promise: "readings: howdah's CPU above the minimal client's ÷ server's CPU",
                    figure: Figure::CpuAbove { of: HOWDAH, than: FLOOR_CLIENT },
                    limit: Limit::AtMost(0.2),
                },
            ],
            published: &[],
        },
        Section {
            name: "events",
            title: "GitHub events into an existing table",
            chart: Chart::Bars,
            note: THROUGHPUT,
            criteria: &[
                Criterion {
                    promise: "events: howdah ÷ floor",
                    figure: Figure::Ratio { of: HOWDAH, to: FLOOR },
                    limit: Limit::AtMost(1.15),
                },
                Criterion {
                    promise: "events: howdah, typed ÷ psql, all-text table",
                    figure: Figure::Ratio { of: HOWDAH, to: &[PSQL_TEXT] },
                    limit: Limit::AtMost(1.0),
                },
                Criterion {
                    promise: "events: howdah's CPU above the minimal client's ÷ server's CPU",
                    figure: Figure::CpuAbove { of: HOWDAH, than: FLOOR_CLIENT },
                    limit: Limit::AtMost(0.2),
                },
            ],
            published: &[],
        },
        Section {
            name: "tolerance",
            title: "What --on-error ignore costs",
            chart: Chart::Bars,
            note: "Readings; of the bad file one row in a hundred is refused and put aside.",
            criteria: &[
                Criterion {
                    promise: "tolerance: ignore, clean ÷ stop, clean",
                    figure: Figure::Ratio { of: IGNORE, to: &[STOP] },
                    limit: Limit::AtMost(1.05),
                },
                Criterion {
                    promise: "tolerance: ignore, 1 % bad ÷ stop, clean",
                    figure: Figure::Ratio { of: IGNORE_BAD, to: &[STOP] },
                    limit: Limit::AtMost(1.3),
                },
            ],
            published: &[],
        },
        Section {
            name: "inference",
            title: "New tables",
            chart: Chart::Curves { axis: "rows" },
            note: "For a new table the whole file is read for its types first.",
            criteria: &[
                Criterion {
                    promise: "inference: readings, new ÷ existing table",
                    figure: Figure::Ratio { of: READINGS_NEW, to: &[READINGS_EXISTING] },
                    limit: Limit::AtMost(1.25),
                },
                Criterion {
                    promise: "inference: events, new ÷ existing table",
                    figure: Figure::Ratio { of: EVENTS_NEW, to: &[EVENTS_EXISTING] },
                    limit: Limit::AtMost(1.25),
                },
            ],
            published: &[],
        },
        Section {
            name: "formats",
            title: "Parquet and NDJSON",
            chart: Chart::Curves { axis: "rows" },
            note: "The same rows each time: readings from Parquet beside the floor, events from NDJSON beside CSV.",
            criteria: &[
                Criterion {
                    promise: "formats: readings, Parquet ÷ floor",
                    figure: Figure::Ratio { of: READINGS_PARQUET, to: &[READINGS_FLOOR] },
                    limit: Limit::AtMost(1.1),
                },
                Criterion {
                    promise: "formats: events, NDJSON ÷ CSV",
                    figure: Figure::Ratio { of: EVENTS_NDJSON, to: &[EVENTS_CSV] },
                    limit: Limit::AtMost(1.3),
                },
            ],
            published: &[],
        },
        Section {
            name: "memory",
            title: "Peak memory of a load",
            chart: Chart::Curves { axis: "rows" },
            note: "Peaks are from the kernel's account. The long field stands in a file of three rows.",
            criteria: &[
                Criterion {
                    promise: "memory: peak, any size, plain or gzip",
                    figure: Figure::PeakMemory { of: &[PLAIN, GZIP] },
                    limit: Limit::AtMost(256.0),
                },
                Criterion {
                    // Allocators and page faults are not exact: 16 MiB on either side of the middle.
                    promise: "memory: the same for all of them",
                    figure: Figure::PeakMemoryRange { of: &[PLAIN, GZIP] },
                    limit: Limit::AtMost(32.0),
                },
                Criterion {
                    // As any other load, and three copies of the field.
                    promise: "memory: peak with one field of 200 MB",
                    figure: Figure::PeakMemory { of: &[LONG_FIELD] },
                    limit: Limit::AtMost(828.0),
                },
            ],
            published: &[],
        },
        Section {
            name: "small",
            title: "Small loads",
            chart: Chart::Bars,
            note: "A thousand readings: start-up, connecting and planning must not be felt.",
            criteria: &[
                Criterion {
                    promise: "small: howdah − psql, existing table",
                    figure: Figure::MoreMilliseconds { of: SMALL_HOWDAH, than: SMALL_PSQL },
                    limit: Limit::AtMost(30.0),
                },
                Criterion {
                    promise: "small: howdah, new table − psql, existing table",
                    figure: Figure::MoreMilliseconds { of: SMALL_NEW, than: SMALL_PSQL },
                    limit: Limit::AtMost(60.0),
                },
            ],
            published: &[],
        },
        Section {
            name: "endurance",
            title: "Endurance of a stream",
            chart: Chart::Bars,
            note: "howdah stream reads CSV from a pipe that is always full, for ten minutes. Its resident memory is \
                   looked at four times a second, the table is counted and emptied every ten seconds.",
            criteria: &[Criterion {
                promise: "endurance: memory is flat while howdah stream runs",
                figure: Figure::MemoryGrowth { of: STREAM },
                limit: Limit::AtMost(8.0),
            }],
            published: &[],
        },
    ],
    caveats: &[
        "Programs are timed from their start to their end. Client and server share the machine's cores.",
        "All runs share one server; before each of them the table is made anew and a CHECKPOINT is run.",
    ],
};

const THROUGHPUT: &str = "The floor is what the server can take: the faster of two clients that stream binary COPY files \
                          of the same rows. Ratios are taken within a round.";

fn cells(scale: &Scale) -> Vec<Cell> {
    let size = Size::of(scale);
    let jobs = scale.cores;
    let mut cells = throughput("readings", (Dataset::Readings, size.readings), jobs);
    cells.extend(throughput("events", (Dataset::GithubEvents, size.events), jobs));
    let mut as_text = cell("events", PSQL_TEXT, (Dataset::GithubEvents, size.events), Command::Psql);
    as_text.table.all_text = true;
    cells.push(as_text);
    cells.extend(tolerance((Dataset::Readings, size.readings), jobs));
    cells.extend(inference(&size, jobs));
    cells.extend(formats(&size, jobs));
    cells.extend(memory(&size, jobs));
    cells.extend(small(&size, jobs));
    let rounds = Some(Rounds { warm_up: false, count: 1 });
    let stream = Command::Stream { seconds: size.stream_s };
    cells.push(Cell { rounds, ..cell("endurance", STREAM, (Dataset::Readings, STREAMED), stream) });
    cells
}

/// How much is measured: what the promises speak of, or little to see that everything runs.
struct Size {
    readings: u64,
    events: u64,
    /// The two sizes whose memory must not differ.
    memory: [u64; 2],
    /// Runs per input: a peak varies less than a time.
    memory_rounds: u32,
    long_field: u64,
    small: u64,
    small_rounds: u32,
    stream_s: u64,
}

impl Size {
    fn of(scale: &Scale) -> Size {
        let (readings, events) = (scale.rows(5_000_000, 50_000), scale.rows(1_000_000, 20_000));
        if scale.quick {
            return Size {
                readings,
                events,
                memory: [20_000, 100_000],
                memory_rounds: 1,
                long_field: 5_000_000,
                small: 1_000,
                small_rounds: 3,
                stream_s: 2,
            };
        }
        Size {
            readings,
            events,
            memory: [1_000_000, 20_000_000],
            memory_rounds: 2,
            long_field: 200_000_000,
            small: 1_000,
            small_rounds: 30,
            stream_s: 600,
        }
    }
}

fn cell(section: &'static str, series: &str, data: (Dataset, u64), command: Command) -> Cell {
    Cell::new((NAME, section), series, data, Method::Command(command))
}

fn howdah(input: Input, jobs: u32, variant: Variant) -> Command {
    Command::Howdah { input, jobs, variant }
}

fn throughput(section: &'static str, data: (Dataset, u64), jobs: u32) -> Vec<Cell> {
    let commands = [
        (FLOOR_PSQL, Command::PsqlBinary { connections: jobs }),
        (FLOOR_CLIENT, Command::MinimalClient { connections: jobs }),
        (HOWDAH, howdah(Input::Csv, jobs, Variant::Append)),
        (PSQL, Command::Psql),
    ];
    commands.map(|(series, command)| cell(section, series, data, command)).to_vec()
}

fn tolerance(data: (Dataset, u64), jobs: u32) -> [Cell; 3] {
    [
        (STOP, howdah(Input::Csv, jobs, Variant::Append)),
        (IGNORE, howdah(Input::Csv, jobs, Variant::Ignore)),
        (IGNORE_BAD, howdah(Input::SpoiltCsv { every: SPOILT_EVERY }, jobs, Variant::Ignore)),
    ]
    .map(|(series, command)| cell("tolerance", series, data, command))
}

fn inference(size: &Size, jobs: u32) -> [Cell; 4] {
    let (readings, events) = ((Dataset::Readings, size.readings), (Dataset::GithubEvents, size.events));
    [
        (READINGS_EXISTING, readings, Variant::Append),
        (READINGS_NEW, readings, Variant::Create),
        (EVENTS_EXISTING, events, Variant::Append),
        (EVENTS_NEW, events, Variant::Create),
    ]
    .map(|(series, data, variant)| {
        cell("inference", series, data, howdah(Input::Csv, jobs, variant)).at(data.1 as f64)
    })
}

fn formats(size: &Size, jobs: u32) -> [Cell; 4] {
    let (readings, events) = ((Dataset::Readings, size.readings), (Dataset::GithubEvents, size.events));
    [
        (READINGS_FLOOR, readings, Command::MinimalClient { connections: jobs }),
        (READINGS_PARQUET, readings, howdah(Input::Parquet, jobs, Variant::Append)),
        (EVENTS_CSV, events, howdah(Input::Csv, jobs, Variant::Append)),
        (EVENTS_NDJSON, events, howdah(Input::Ndjson, jobs, Variant::Append)),
    ]
    .map(|(series, data, command)| cell("formats", series, data, command).at(data.1 as f64))
}

fn memory(size: &Size, jobs: u32) -> Vec<Cell> {
    let rounds = Some(Rounds { warm_up: false, count: size.memory_rounds });
    let load = |series, rows, input| {
        let command = howdah(input, jobs, Variant::Append);
        Cell { rounds, ..cell("memory", series, (Dataset::Readings, rows), command).at(rows as f64) }
    };
    let mut cells = Vec::new();
    for rows in size.memory {
        cells.extend([load(PLAIN, rows, Input::Csv), load(GZIP, rows, Input::GzippedCsv)]);
    }
    cells.push(load(LONG_FIELD, 3, Input::LongField { bytes: size.long_field }));
    cells
}

fn small(size: &Size, jobs: u32) -> [Cell; 3] {
    let rounds = Some(Rounds { warm_up: true, count: size.small_rounds });
    [
        (SMALL_PSQL, Command::Psql),
        (SMALL_HOWDAH, howdah(Input::Csv, jobs, Variant::Append)),
        (SMALL_NEW, howdah(Input::Csv, jobs, Variant::Create)),
    ]
    .map(|(series, command)| Cell {
        rounds,
        ..cell("small", series, (Dataset::Readings, size.small), command)
    })
}
