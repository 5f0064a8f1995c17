//! Contenders as the benchmark runs them: descriptions of setup.py are understood, and what loads leaves the right rows.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use howdah_bench::contender::{Contender, Kind, Service, Task, installed};
use howdah_bench::continuous::{self, Buffer, Offer, Step};
use howdah_bench::database::Database;
use howdah_bench::dataset::Dataset;
use howdah_bench::process::End;
use howdah_bench::worker::WorkerReport;
use howdah_server::{Settings, Throwaway};
use howdah_testkit::require::missing;

const PATIENCE: Duration = Duration::from_secs(120);

/// What `make contenders` writes, without installing anything; None where there is no Python that can say it.
fn described(directory: &Path) -> Option<Vec<Contender>> {
    let contenders = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench/contenders");
    let script = "import setup, json; print(json.dumps({'contenders': setup.contenders()}))";
    let described = Command::new("python3").args(["-c", script]).current_dir(contenders).output();
    let described = described.ok().filter(|described| described.status.success())?;
    let file = directory.join("available.json");
    std::fs::write(&file, described.stdout).expect("it is written");
    Some(installed(&file).expect("it is understood"))
}

#[test]
fn services_that_can_run_store_each_row_once_and_tell_what_it_took() {
    let directory = tempfile::tempdir().unwrap();
    let Some(contenders) = described(directory.path()) else {
        return missing("python", "there is no Python that runs setup.py");
    };
    let server = Throwaway::start(&Settings::fast_and_unsafe()).unwrap();
    let database = Database::connect(&server.conninfo()).unwrap();
    let generator = Dataset::Tasks.generator(2_000, 42);
    let dataset = generator.dataset;
    let input = directory.path().join("tasks.csv");
    generator.write_csv_file(&input).unwrap();
    let buffer = Buffer::fixed(continuous::Path::Copy, 4, 50, 2.0);
    let steps = vec![Step { rows_per_s: 8_000.0, seconds: 0.1 }, Step { rows_per_s: 6_000.0, seconds: 0.2 }];
    for contender in contenders.iter().filter(|contender| contender.kind == Kind::Service) {
        if let Some(obstacle) = contender.obstacle(dataset, &input) {
            eprintln!("{} is not tested: {obstacle}", contender.name);
            continue;
        }
        for offer in [Offer::Full, Offer::Waiting { producers: 60 }, Offer::Paced { steps: steps.clone() }] {
            let table = [vec![dataset.create_table_sql("loaded")], dataset.keys_sql("loaded")].concat();
            database.run(&format!("DROP TABLE IF EXISTS loaded; {}", table.join(";"))).unwrap();
            let service = Some(Service { buffer: &buffer, offer: &offer, rows: 2_000 });
            let url = server.url();
            let task = Task {
                url: &url,
                table: "loaded",
                dataset,
                input: &input,
                batch: 50,
                connections: 4,
                service,
            };
            let run = contender.start(&task, PATIENCE).unwrap().go(PATIENCE);
            assert_eq!(run.end, End::Done { rows: 2_000 }, "{}: {run:?}", contender.name);
            let stored = database.row(&dataset.checksum_sql("loaded")).unwrap().concat();
            assert_eq!(stored, generator.checksum().to_string(), "{}", contender.name);
            let told = WorkerReport::find(&run.said).unwrap().expect("it tells what rows took");
            assert_eq!(told.counts.iter().map(|(_, rows)| rows).sum::<u64>(), 2_000);
            let paced = matches!(offer, Offer::Paced { .. });
            assert!(told.seconds > if paced { 0.29 } else { 0.0 }, "{}: {}", contender.name, told.seconds);
            assert!(told.seconds <= run.wall_s, "{}: {}", contender.name, told.seconds);
        }
    }
}

#[test]
fn contenders_that_can_run_load_the_same_rows_and_are_measured() {
    let directory = tempfile::tempdir().unwrap();
    let Some(contenders) = described(directory.path()) else {
        return missing("python", "there is no Python that runs setup.py");
    };
    assert!(contenders.len() >= 30, "{} contenders", contenders.len());

    let server = Throwaway::start(&Settings::fast_and_unsafe()).unwrap();
    let database = Database::connect(&server.conninfo()).unwrap();
    let generator = Dataset::GithubEvents.generator(2_000, 42);
    let input = directory.path().join("events.csv");
    generator.write_csv_file(&input).unwrap();
    let dataset = generator.dataset;
    let task = Task {
        url: &server.url(),
        table: "loaded",
        dataset,
        input: &input,
        batch: 500,
        connections: 2,
        service: None,
    };
    for contender in contenders.iter().filter(|contender| contender.kind == Kind::Load) {
        if let Some(obstacle) = contender.obstacle(dataset, &input) {
            eprintln!("{} is not tested: {obstacle}", contender.name);
            continue;
        }
        database
            .run(&format!("DROP TABLE IF EXISTS loaded; {}", dataset.create_table_sql("loaded")))
            .unwrap();
        let run = contender.start(&task, PATIENCE).unwrap().go(PATIENCE);
        eprintln!("{}: {run:?}", contender.name);
        assert_eq!(run.end, End::Done { rows: 2_000 }, "{}: {run:?}", contender.name);
        assert!(run.wall_s > 0.0 && run.peak_rss_bytes.is_some_and(|bytes| bytes > 1_000_000), "{run:?}");
        let stored = database.row(&dataset.checksum_sql("loaded")).unwrap().concat();
        assert_eq!(stored, generator.checksum().to_string(), "{}", contender.name);
    }
}
