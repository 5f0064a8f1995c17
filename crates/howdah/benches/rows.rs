//! Rows of a program per second, encoded on one core: `cargo bench -p howdah --bench rows`. The server says what the
//! columns are, and takes no part in it otherwise.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a program for people, with values of its own")]

use std::hint::black_box;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use howdah::connect::{ConnectOptions, Environment};
use howdah::{BulkWriter, Row, RowShape};
use howdah_testkit::Database;

/// Rows of a round, and rounds, of which the median counts.
const ROWS: u32 = 100_000;
const ROUNDS: usize = 15;

/// Rows are gathered as they are for a COPY.
const CHUNK_BYTES: usize = 512 * 1024;

#[derive(Row)]
struct Reading<'r> {
    id: i64,
    truck: &'r str,
    speed: f64,
    gear: i32,
    seen: SystemTime,
}

fn main() {
    let database = Database::new();
    database.sql(
        "CREATE TABLE readings (id bigint, truck text, speed double precision, gear int, seen timestamptz);
         CREATE TABLE events (id bigint, type text, actor bigint, at timestamptz, payload jsonb);
         CREATE TABLE odd (a numeric, b numeric, c uuid, d text[], e date)",
    );
    let payload = format!("{{\"text\":\"{}\"}}", "x".repeat(1012));
    let document: serde_json::Value = serde_json::from_str(&payload).unwrap();
    let json: serde_json::Value =
        serde_json::json!({"ref": "refs/heads/main", "size": 3, "commits": [1, 2, 3]});
    let seen = UNIX_EPOCH + Duration::from_secs(1_767_323_045);
    let words = vec!["some".to_owned(), "words of it".to_owned()];
    let uuid = howdah::Uuid([7; 16]);
    let readings = shape(&database, "readings");
    let events = shape(&database, "events");
    let odd = shape(&database, "odd");
    let reading = |n: u32| Reading {
        id: n.into(),
        truck: "truck_1234",
        speed: f64::from(n) / 8.0,
        gear: 3,
        seen: seen + Duration::from_micros(n.into()),
    };
    measure("5 columns, a struct", &readings, reading);
    measure("5 columns, a tuple", &readings, |n| (n, "truck_1234", f64::from(n) / 8.0, 3_i32, seen));
    measure("5 columns, all literals", &readings, |_| {
        ("17", "truck_1234", "2.125", "3", "2026-01-02 03:04:05+00")
    });
    measure("1 KB of jsonb, text", &events, |n| (n, "PushEvent", 7_i64, seen, payload.as_str()));
    measure("1 KB of jsonb, a document", &events, |n| (n, "PushEvent", 7_i64, seen, &document));
    measure("a small jsonb document", &events, |n| (n, "PushEvent", 7_i64, seen, &json));
    measure("numeric, uuid, text[], date", &odd, |n| (n, f64::from(n) / 8.0, uuid, &words, "2026-01-02"));
}

fn shape(database: &Database, table: &str) -> RowShape {
    let options = ConnectOptions::default().conninfo(database.conninfo());
    let target = options.resolve(&Environment::from_pairs([])).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let bulk = runtime.block_on(BulkWriter::start(&target, table, None)).unwrap();
    bulk.shape().clone()
}

fn measure<R: Row>(name: &str, shape: &RowShape, row: impl Fn(u32) -> R) {
    let (mut out, mut open) = (Vec::new(), Vec::new());
    let mut bytes = 0;
    let mut rounds: Vec<f64> = (0..ROUNDS)
        .map(|_| {
            bytes = 0;
            let begun = Instant::now();
            for n in 0..ROWS {
                shape.encode(&row(black_box(n)), &mut out, &mut open).unwrap();
                if out.len() > CHUNK_BYTES {
                    bytes += black_box(&mut out).len();
                    out.clear();
                }
            }
            bytes += out.len();
            out.clear();
            begun.elapsed().as_secs_f64()
        })
        .collect();
    assert!(open.is_empty());
    rounds.sort_by(f64::total_cmp);
    let seconds = rounds[ROUNDS / 2];
    let (ns, millions) = (seconds * 1e9 / f64::from(ROWS), f64::from(ROWS) / seconds / 1e6);
    println!("{name:28} {ns:7.1} ns/row {millions:6.2} M rows/s {:5} B/row", bytes / ROWS as usize);
}
