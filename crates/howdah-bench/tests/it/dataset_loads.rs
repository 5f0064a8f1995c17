//! Data sets against PostgreSQL itself: the CSV and the binary form must hold the same rows, those of the checksum.

use std::path::Path;
use std::process::Command;

use howdah_bench::database::Database;
use howdah_bench::dataset::{Dataset, Generator, Part};
use howdah_server::{Settings, Throwaway};
use howdah_testkit::require::missing;
use howdah_testkit::secrets::Guarded;

fn psql(server: &Throwaway, command: &str) -> Vec<u8> {
    let output = Command::new(server.bin_dir().join("psql"))
        .args(["-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", &server.conninfo(), "-c", command])
        .guarded_output();
    assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

/// Every column that files hold, byte for byte, whatever the order of rows.
fn stored(server: &Throwaway, dataset: Dataset, table: &str) -> Vec<u8> {
    let columns = dataset.header();
    psql(
        server,
        &format!(
            "\\copy (SELECT {columns} FROM {table} t ORDER BY ({columns})::text COLLATE \"C\") \
             to stdout (FORMAT binary)"
        ),
    )
}

/// A server, if it comes with psql.
fn server() -> Option<Throwaway> {
    let server = Throwaway::start(&Settings::fast_and_unsafe()).expect("a server starts");
    server.bin_dir().join("psql").exists().then_some(server)
}

fn one(database: &Database, query: &str) -> String {
    database.row(query).expect("the query answers").concat()
}

/// Loads both forms into tables with all their keys and compares everything with everything.
fn check(server: &Throwaway, database: &Database, directory: &Path, generator: Generator) {
    let (dataset, rows) = (generator.dataset, generator.rows);
    let [csv, binary, text] = ["from_csv", "from_binary", "from_text"];
    let copy = |table: &str, file: &str, options: &str| {
        let (columns, path) = (dataset.header(), directory.join(file));
        psql(server, &format!("\\copy {table} ({columns}) from '{}' ({options})", path.display()));
    };
    database.run(&format!("DROP TABLE IF EXISTS {csv}, {binary}, {text}")).expect("the statement runs");
    for table in [csv, binary] {
        database.run(&dataset.create_table_sql(table)).expect("the statement runs");
        dataset.keys_sql(table).iter().for_each(|key| database.run(key).expect("the statement runs"));
    }
    database.run(&dataset.all_text_table_sql(text)).expect("the statement runs");

    generator.write_csv_file(&directory.join("rows.csv")).expect("a file is written");
    copy(csv, "rows.csv", "FORMAT csv, HEADER match");
    copy(text, "rows.csv", "FORMAT csv, HEADER match");
    for index in 0..3 {
        generator
            .write_binary_file(Part { index, of: 3 }, &directory.join("part.bin"))
            .expect("a file is written");
        copy(binary, "part.bin", "FORMAT binary");
    }

    assert!(
        stored(server, dataset, csv) == stored(server, dataset, binary),
        "{generator:?}: CSV and binary differ"
    );
    assert_eq!(one(database, &format!("SELECT count(*) FROM {text}")), rows.to_string());
    let expected = generator.checksum().to_string();
    for table in [csv, binary] {
        assert_eq!(one(database, &dataset.checksum_sql(table)), expected, "{generator:?}, {table}");
    }
}

#[test]
fn the_floor_is_not_given_other_rows_than_the_contenders() {
    let Some(server) = server() else { return missing("psql", "this PostgreSQL has no psql") };
    let database = Database::connect(&server.conninfo()).unwrap();
    // The answer must not depend on how a session likes its values.
    database
        .run("SET TimeZone = 'Asia/Kolkata'; SET DateStyle = 'German'; SET extra_float_digits = 0")
        .unwrap();
    let directory = tempfile::tempdir().unwrap();
    for dataset in Dataset::ALL {
        for hostile in [false, true] {
            let generator = Generator { hostile, ..dataset.generator(5_000, 42) };
            check(&server, &database, directory.path(), generator);
        }
    }
}

#[test]
fn a_wrong_table_does_not_pass_for_a_right_one() {
    let Some(server) = server() else { return missing("psql", "this PostgreSQL has no psql") };
    let database = Database::connect(&server.conninfo()).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let generator = Dataset::SensorReadings.generator(1_000, 42);
    check(&server, &database, directory.path(), generator);
    let right = generator.checksum().to_string();
    let answer = || one(&database, &generator.dataset.checksum_sql("from_csv"));
    for damage in [
        "UPDATE from_csv SET location = '' WHERE id = 1",
        "UPDATE from_csv SET location = NULL WHERE id = 1",
        "UPDATE from_csv SET tags = NULL WHERE id = (SELECT min(id) FROM from_csv WHERE tags = '{}')",
        "UPDATE from_csv SET temperature = temperature * 1.0000000000000003 WHERE id = 7",
        "UPDATE from_csv SET \"timestamp\" = \"timestamp\" + interval '1 microsecond' WHERE id = 7",
        "UPDATE from_csv SET device_id = gen_random_uuid() WHERE id = 1000",
        "UPDATE from_csv a SET pressure = b.pressure FROM from_csv b WHERE (a.id, b.id) IN ((1, 2), (2, 1))",
        "DELETE FROM from_csv WHERE id = 500",
        "INSERT INTO from_csv OVERRIDING SYSTEM VALUE SELECT 2000 + id, device_id, \"timestamp\", temperature, \
         humidity, pressure, battery_level, is_anomaly, location, tags FROM from_csv WHERE id = 3",
    ] {
        database.run("BEGIN").unwrap();
        database.run(damage).unwrap();
        assert_ne!(answer(), right, "{damage}");
        database.run("ROLLBACK").unwrap();
    }
    database.run("CREATE TABLE turned AS SELECT * FROM from_csv ORDER BY \"timestamp\" DESC").unwrap();
    assert_eq!(
        one(&database, &generator.dataset.checksum_sql("turned")),
        right,
        "the order of rows is no fault"
    );
}
