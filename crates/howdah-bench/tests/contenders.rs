//! Contenders as the benchmark runs them: descriptions of setup.py are understood, and what loads leaves the right rows.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use howdah_bench::contender::{Task, installed};
use howdah_bench::database::Database;
use howdah_bench::dataset::Dataset;
use howdah_bench::process::End;
use howdah_server::{Settings, Throwaway};

const PATIENCE: Duration = Duration::from_secs(120);

#[test]
fn contenders_that_can_run_load_the_same_rows_and_are_measured() {
    let directory = tempfile::tempdir().unwrap();
    let contenders = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench/contenders");
    // What `make contenders` writes, without installing anything.
    let script = "import setup, json; print(json.dumps({'contenders': setup.contenders()}))";
    let described = Command::new("python3").args(["-c", script]).current_dir(contenders).output();
    let Some(described) = described.ok().filter(|described| described.status.success()) else {
        return eprintln!("skipped: there is no Python that runs setup.py");
    };
    let file = directory.path().join("available.json");
    std::fs::write(&file, described.stdout).unwrap();
    let contenders = installed(&file).unwrap();
    assert!(contenders.len() >= 19, "{} contenders", contenders.len());

    let server = Throwaway::start(&Settings::fast_and_unsafe()).unwrap();
    let database = Database::connect(&server.conninfo()).unwrap();
    let recipe = Dataset::GithubEvents.recipe(2_000, 42);
    let input = directory.path().join("events.csv");
    recipe.write_csv_file(&input).unwrap();
    let dataset = recipe.dataset;
    let task =
        Task { url: &server.url(), table: "loaded", dataset, input: &input, batch: 500, connections: 2 };
    for contender in &contenders {
        if let Some(obstacle) = contender.obstacle(&input) {
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
        assert_eq!(stored, recipe.checksum().to_string(), "{}", contender.name);
    }
}
