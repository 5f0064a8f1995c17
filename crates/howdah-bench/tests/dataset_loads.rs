//! Data sets against PostgreSQL itself: the CSV and the binary form must hold the same rows.

use std::path::Path;
use std::process::Command;

use howdah_bench::database::Database;
use howdah_bench::dataset::{Dataset, Part};
use howdah_server::{Settings, Throwaway};

fn psql(server: &Throwaway, command: &str) -> Vec<u8> {
    let output = Command::new(server.bin_dir().join("psql"))
        .args(["-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", &server.conninfo(), "-c", command])
        .output()
        .expect("psql runs");
    assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

fn stored(server: &Throwaway, table: &str) -> Vec<u8> {
    psql(
        server,
        &format!("\\copy (SELECT * FROM {table} t ORDER BY t::text COLLATE \"C\") to stdout (FORMAT binary)"),
    )
}

#[test]
fn the_floor_is_not_given_other_rows_than_the_contenders() {
    let server = match Throwaway::start(&Settings::fast_and_unsafe()) {
        Ok(server) if server.bin_dir().join("psql").exists() => server,
        Ok(_) => return eprintln!("skipped: this PostgreSQL has no psql"),
        Err(error) => panic!("{error}"),
    };
    let database = Database::connect(&server.conninfo()).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let file = |name: &str| directory.path().join(name);
    let copy = |table: &str, path: &Path, options: &str| {
        psql(&server, &format!("\\copy {table} from '{}' ({options})", path.display()));
    };
    for (dataset, table) in [(Dataset::GithubEvents, "events"), (Dataset::Readings, "readings")] {
        let rows = 5_000;
        for suffix in ["csv", "binary"] {
            database.run(&dataset.create_table_sql(&format!("{table}_{suffix}"))).unwrap();
        }
        database.run(&dataset.all_text_table_sql(&format!("{table}_text"))).unwrap();

        dataset.write_csv_file(rows, 42, &file("rows.csv")).unwrap();
        copy(&format!("{table}_csv"), &file("rows.csv"), "FORMAT csv, HEADER match");
        copy(&format!("{table}_text"), &file("rows.csv"), "FORMAT csv, HEADER match");
        for index in 0..3 {
            dataset.write_binary_file(rows, 42, Part { index, of: 3 }, &file("part.bin")).unwrap();
            copy(&format!("{table}_binary"), &file("part.bin"), "FORMAT binary");
        }

        let (csv, binary) =
            (stored(&server, &format!("{table}_csv")), stored(&server, &format!("{table}_binary")));
        assert!(csv == binary, "{dataset:?}: CSV and binary differ");
        let count =
            |name: &str| database.row(&format!("SELECT count(*) FROM {table}_{name}")).unwrap().concat();
        assert_eq!((count("csv"), count("text")), (rows.to_string(), rows.to_string()));
    }
}
