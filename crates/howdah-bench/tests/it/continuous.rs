//! Rows through howdah's Writer as the benchmark offers them: all of them arrive once, and what each took is there.

use howdah_bench::continuous::{Buffer, Lane, Literals, Observed, Offer, Path, Step};
use howdah_bench::database::Database;
use howdah_bench::dataset::Dataset;
use howdah_server::{Settings, Throwaway};

const ROWS: u64 = 1_500;

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

    /// Offers the rows into a new table; what was seen, and the table's checksum.
    fn offered(&self, dataset: Dataset, buffer: &Buffer, offer: &Offer) -> (Observed, String) {
        let mut sql = vec!["DROP TABLE IF EXISTS written".to_owned(), dataset.create_table_sql("written")];
        sql.extend(dataset.keys_sql("written"));
        self.database.run(&sql.join(";")).expect("the table is made");
        let rows = Literals::of(dataset.recipe(ROWS, 7)).expect("rows are made");
        let lane = Lane::connect(&self.server.conninfo(), "written", dataset, (buffer, offer), rows);
        let lane = lane.expect("a writer connects");
        let seen = lane.serve(offer).expect("rows are written");
        let batch_rows = lane.close().expect("it closes");
        assert!(batch_rows.is_some_and(|rows| rows >= 1.0), "{batch_rows:?}");
        (seen, self.database.row(&dataset.checksum_sql("written")).expect("a checksum").concat())
    }
}

#[test]
fn every_row_arrives_once_however_it_is_offered_and_gathered() {
    let fixture = Fixture::new();
    let steps = vec![Step { rows_per_s: 10_000.0, seconds: 0.1 }, Step { rows_per_s: 5_000.0, seconds: 0.1 }];
    let offers = [
        Offer::Full,
        Offer::Unasked,
        Offer::Waiting { producers: 1 },
        Offer::Waiting { producers: 100 },
        Offer::Paced { steps },
    ];
    let buffers = [
        Buffer::default(),
        Buffer::fixed(Path::Copy, 4, 20, 2.0),
        Buffer::fixed(Path::Insert, 4, 20, 2.0),
        Buffer::adaptive(Some(20.0)),
    ];
    let expected = Dataset::Tasks.recipe(ROWS, 7).checksum().to_string();
    for buffer in &buffers {
        for offer in &offers {
            let (seen, stored) = fixture.offered(Dataset::Tasks, buffer, offer);
            assert_eq!(stored, expected, "{buffer:?}, {offer:?}");
            assert_eq!(seen.rows, ROWS);
            let timed: u64 = seen.counts.iter().map(|(_, rows)| rows).sum();
            let asked = !matches!(offer, Offer::Unasked);
            assert_eq!((timed, seen.latency.is_some()), (if asked { ROWS } else { 0 }, asked));
            let paced = matches!(offer, Offer::Paced { .. });
            assert!(seen.seconds > if paced { 0.19 } else { 0.0 }, "no row is early: {seen:?}");
        }
    }
}

#[test]
fn every_payload_is_written_and_a_control_writes_nothing() {
    let fixture = Fixture::new();
    for dataset in [Dataset::Instest, Dataset::GithubEvents] {
        let (_, stored) = fixture.offered(dataset, &Buffer::default(), &Offer::Full);
        assert_eq!(stored, dataset.recipe(ROWS, 7).checksum().to_string(), "{dataset:?}");
    }
    let (seen, _) = fixture.offered(Dataset::Tasks, &Buffer::default().discarding(), &Offer::Full);
    assert_eq!(seen.rows, ROWS);
    assert_eq!(fixture.database.row("SELECT count(*) FROM written").unwrap(), ["0"]);
}
