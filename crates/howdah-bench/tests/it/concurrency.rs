//! Writers against PostgreSQL itself: connections that are really open, a latency that is really there, rows that arrive.
//! Times are checked from below; from above only by what a machine under load cannot miss.

use std::time::Duration;

use howdah_bench::database::Database;
use howdah_bench::dataset::{Dataset, Generator};
use howdah_bench::delay_proxy::{DelayProxy, ProxyTarget};
use howdah_bench::writers::{Pace, Shape, ShapedRows, Work, WriteOutcome, Writers};
use howdah_server::{Settings, Throwaway};

const MS: Duration = Duration::from_millis(1);

/// A server of the test's own, and a connection beside the measured ones.
struct Fixture {
    server: Throwaway,
    database: Database,
}

impl Fixture {
    fn new() -> Self {
        let server = Throwaway::start(&Settings::fast_and_unsafe()).expect("a server starts");
        let database = Database::connect(&server.conninfo()).expect("it answers");
        Fixture { server, database }
    }

    /// Makes the table anew, with its keys.
    fn table(&self, dataset: Dataset) {
        let mut statements =
            vec!["DROP TABLE IF EXISTS written".to_owned(), dataset.create_table_sql("written")];
        statements.extend(dataset.keys_sql("written"));
        self.database.run(&statements.join(";")).expect("the table is made");
    }

    fn one(&self, query: &str) -> String {
        self.database.row(query).expect("the query answers").concat()
    }

    /// Checks that the table holds the first rows of the generator and nothing else.
    fn holds(&self, generator: Generator, rows: u64) {
        let first = Generator { rows, ..generator };
        assert_eq!(
            self.one(&generator.dataset.checksum_sql("written")),
            first.checksum().to_string(),
            "{first:?}"
        );
    }

    fn proxy(&self, round_trip: Duration) -> (DelayProxy, String) {
        let target = ProxyTarget::of(&self.server.conninfo()).expect("it has a socket");
        let proxy = DelayProxy::start(target, round_trip).expect("a proxy starts");
        let conninfo = proxy.conninfo(&self.server.conninfo()).expect("the server's conninfo is one");
        (proxy, conninfo)
    }
}

fn work(dataset: Dataset, shape: Shape, connections: usize, rows_per_statement: usize) -> Work {
    Work { dataset, table: "written".to_owned(), shape, rows_per_statement, connections }
}

fn write(conninfo: &str, generator: Generator, work: Work) -> WriteOutcome {
    let rows = ShapedRows::new(generator, work.shape).expect("rows are made");
    let mut writers = Writers::connect(conninfo, work).expect("connections are opened");
    writers.run(&rows, Pace::Closed, None).expect("rows are written")
}

#[test]
fn every_shape_stores_the_same_rows_whatever_the_batch() {
    let fixture = Fixture::new();
    for dataset in Dataset::ALL {
        for shape in Shape::ALL.into_iter().filter(|shape| shape.writes()) {
            if (dataset, shape) == (Dataset::SensorReadings, Shape::Unnest) {
                continue; // a column of arrays
            }
            for (connections, batch) in [(1, 1), (3, 7), (2, 1_000)] {
                fixture.table(dataset);
                let generator = Generator { hostile: batch == 7, ..dataset.generator(100, 42) };
                let outcome =
                    write(&fixture.server.conninfo(), generator, work(dataset, shape, connections, batch));
                assert_eq!((outcome.rows, outcome.statements), (100, 100_u64.div_ceil(batch as u64)));
                fixture.holds(generator, 100);
            }
        }
    }
}

#[test]
fn connections_are_as_many_as_said_and_all_of_them_write() {
    let fixture = Fixture::new();
    fixture.table(Dataset::Tasks);
    let mut writers =
        Writers::connect(&fixture.server.conninfo(), work(Dataset::Tasks, Shape::Values, 20, 1)).unwrap();
    let pids = writers.backend_pids();
    assert_eq!(pids.len(), 20);
    let list = pids.iter().map(i32::to_string).collect::<Vec<_>>().join(",");
    let open = format!("SELECT count(*) FROM pg_stat_activity WHERE pid IN ({list})");
    assert_eq!(fixture.one(&open), "20");
    let before = fixture.one("SELECT clock_timestamp()");
    let rows = ShapedRows::new(Dataset::Tasks.generator(2_000, 42), Shape::Values).unwrap();
    let outcome = writers.run(&rows, Pace::Closed, None).unwrap();
    let wrote = format!(
        "SELECT count(*) FROM pg_stat_activity WHERE pid IN ({list}) AND query LIKE 'INSERT%' \
         AND query_start > '{before}'"
    );
    assert_eq!(fixture.one(&wrote), "20");
    // Little's law: had they waited for each other here, and not at the server, this would be less.
    let busy = outcome.latency.mean_ms / 1e3 * outcome.statements as f64 / outcome.seconds;
    assert!((10.0..21.0).contains(&busy), "{busy} connections were busy: {outcome:?}");
}

#[test]
fn latency_is_there_and_connections_hide_it() {
    let fixture = Fixture::new();
    let (proxy, conninfo) = fixture.proxy(2 * MS);
    fixture.table(Dataset::Tasks);
    let generator = Dataset::Tasks.generator(200, 42);
    let mut writers = Writers::connect(&conninfo, work(Dataset::Tasks, Shape::Values, 1, 1)).unwrap();
    assert_eq!(proxy.connections_now(), 1);
    let rows = ShapedRows::new(generator, Shape::Values).unwrap();
    let one = writers.run(&rows, Pace::Closed, None).unwrap();
    assert!(one.seconds >= 0.4 && one.latency.p50_ms >= 2.0 && one.latency.mean_ms >= 2.0, "{one:?}");
    fixture.holds(generator, 200);

    let (_proxy, conninfo) = fixture.proxy(20 * MS);
    fixture.table(Dataset::Tasks);
    let ten = write(&conninfo, generator, work(Dataset::Tasks, Shape::Values, 10, 1));
    assert!(ten.latency.p50_ms >= 20.0, "{ten:?}");
    assert!((0.4..4.0).contains(&ten.seconds), "one connection needs 4 s: {ten:?}");
    fixture.table(Dataset::Tasks);
    let pipeline = write(&conninfo, generator, work(Dataset::Tasks, Shape::Pipeline, 1, 100));
    assert!((0.04..2.0).contains(&pipeline.seconds), "a round trip a batch, not a row: {pipeline:?}");
    fixture.table(Dataset::Tasks);
    let copy = write(&conninfo, generator, work(Dataset::Tasks, Shape::CopyBinary, 1, 100));
    assert!(copy.latency.p50_ms >= 40.0, "two round trips each: {copy:?}");
}

#[test]
fn without_a_latency_a_proxy_costs_little() {
    let fixture = Fixture::new();
    let median = |conninfo: &str| {
        fixture.table(Dataset::Tasks);
        let generator = Dataset::Tasks.generator(300, 42);
        write(conninfo, generator, work(Dataset::Tasks, Shape::Ping, 1, 1)).latency.p50_ms
    };
    let direct = median(&fixture.server.conninfo());
    let (_none, conninfo) = fixture.proxy(Duration::ZERO);
    let through = median(&conninfo);
    let (_two, conninfo) = fixture.proxy(2 * MS);
    let delayed = median(&conninfo);
    eprintln!("a ping: {direct} ms, through the proxy {through} ms, with 2 ms {delayed} ms");
    assert!(through < direct + 1.0 && delayed >= direct.min(0.01) + 2.0, "{direct}, {through}, {delayed}");
}

#[test]
fn what_the_time_limit_leaves_is_a_first_part_of_the_rows() {
    let fixture = Fixture::new();
    let (_proxy, conninfo) = fixture.proxy(5 * MS);
    let generator = Dataset::Tasks.generator(5_000, 42);
    for shape in [Shape::Values, Shape::CopyCsv] {
        fixture.table(Dataset::Tasks);
        let rows = ShapedRows::new(generator, shape).unwrap();
        let mut writers = Writers::connect(&conninfo, work(Dataset::Tasks, shape, 6, 3)).unwrap();
        let outcome = writers.run(&rows, Pace::Closed, Some(100 * MS)).unwrap();
        assert!((3..5_000).contains(&outcome.rows) && outcome.seconds >= 0.1, "{outcome:?}");
        fixture.holds(generator, outcome.rows);
    }
}

#[test]
fn controls_write_nothing_and_do_their_work() {
    let fixture = Fixture::new();
    fixture.table(Dataset::Tasks);
    let generator = Dataset::Tasks.generator(100, 42);
    let conninfo = fixture.server.conninfo();
    let ping = write(&conninfo, generator, work(Dataset::Tasks, Shape::Ping, 2, 10));
    assert_eq!((ping.rows, ping.statements), (100, 10));
    fixture.holds(generator, 0);
    // A study has measured look-ups of rows that do not exist.
    let rows = ShapedRows::new(generator, Shape::Read).unwrap();
    let mut readers = Writers::connect(&conninfo, work(Dataset::Tasks, Shape::Read, 2, 10)).unwrap();
    assert!(readers.run(&rows, Pace::Closed, None).is_err());
    write(&conninfo, generator, work(Dataset::Tasks, Shape::CopyBinary, 1, 100));
    assert_eq!(readers.run(&rows, Pace::Closed, None).unwrap().rows, 100);
    fixture.holds(generator, 100);
}

#[test]
fn a_pace_counts_what_late_statements_waited() {
    let fixture = Fixture::new();
    fixture.table(Dataset::Tasks);
    let (_proxy, conninfo) = fixture.proxy(20 * MS);
    let rows = ShapedRows::new(Dataset::Tasks.generator(50, 42), Shape::Ping).unwrap();
    let mut writers = Writers::connect(&conninfo, work(Dataset::Tasks, Shape::Ping, 1, 1)).unwrap();
    // Twenty times what one connection can do: the last one should begin after 49 ms, and ends after 1000 ms.
    let hurried = writers.run(&rows, Pace::Open { rows_per_s: 1_000.0 }, None).unwrap();
    assert!(hurried.latency.max_ms >= 950.0 && hurried.latency.p50_ms >= 400.0, "{hurried:?}");
    // A tenth of what five can do: nobody waits, and the rate is kept.
    let mut writers = Writers::connect(&conninfo, work(Dataset::Tasks, Shape::Ping, 5, 1)).unwrap();
    let calm = writers.run(&rows, Pace::Open { rows_per_s: 25.0 }, None).unwrap();
    assert!(calm.seconds >= 49.0 / 25.0 && calm.latency.p50_ms >= 20.0, "{calm:?}");
    assert!(calm.latency.p50_ms < hurried.latency.p50_ms, "{calm:?}");
    assert!(writers.run(&rows, Pace::Open { rows_per_s: 0.0 }, None).is_err());
}

#[test]
fn a_refused_batch_is_a_failure_and_leaves_nothing_of_itself() {
    let fixture = Fixture::new();
    let conninfo = fixture.server.conninfo();
    let generator = Dataset::Tasks.generator(100, 42);
    for shape in Shape::ALL.into_iter().filter(|shape| shape.writes()) {
        fixture.table(Dataset::Tasks);
        // Row 57 is there already: batches of 20 before its own arrive, its own does not.
        write(&conninfo, generator, work(Dataset::Tasks, Shape::CopyBinary, 1, 100));
        fixture.database.run("DELETE FROM written WHERE id <> 57").unwrap();
        let rows = ShapedRows::new(generator, shape).unwrap();
        let mut writers = Writers::connect(&conninfo, work(Dataset::Tasks, shape, 1, 20)).unwrap();
        let error = writers.run(&rows, Pace::Closed, None).unwrap_err().to_string();
        assert!(error.contains("23505"), "{shape:?}: {error}");
        assert_eq!(fixture.one("SELECT count(*) FROM written"), "41", "{shape:?}");
    }
}

#[test]
fn connections_that_cannot_be_opened_are_not_left_out() {
    let settings = Settings::fast_and_unsafe().with("max_connections", "10");
    let server = Throwaway::start(&settings).unwrap();
    let database = Database::connect(&server.conninfo()).unwrap();
    database.run(&Dataset::Tasks.create_table_sql("written")).unwrap();
    let error =
        Writers::connect(&server.conninfo(), work(Dataset::Tasks, Shape::Values, 30, 1)).err().unwrap();
    assert!(error.to_string().contains("53300"), "{error}");
    assert!(Writers::connect(&server.conninfo(), work(Dataset::Tasks, Shape::Values, 0, 1)).is_err());
}
