//! Data sets through the command and into a server: what `howdah load` makes of hostile rows.

use std::process::Command;

use howdah_testkit::Database;
use howdah_testkit::secrets::Guarded;

/// What the command prints on standard output.
fn howdah(args: &[&str]) -> String {
    let done = Command::new(env!("CARGO_BIN_EXE_howdah")).args(args).guarded_output();
    assert!(done.status.success(), "{args:?}: {}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).unwrap()
}

#[test]
fn hostile_rows_arrive_as_they_were_made() {
    let database = Database::new();
    for name in ["github-events", "sensor-readings", "instest", "tagged-readings", "tasks"] {
        let recipe = ["dataset", name, "--rows", "20000", "--hostile"];
        let sql = howdah(&[&recipe[..], &["--format", "sql"]].concat());
        database.sql(&sql);

        let (table, file) = (name.replace('-', "_"), database.path("rows.csv"));
        howdah(&[&recipe[..], &["-o", &file]].concat());
        let into = ["--table", &table, "--mode", "append", "-w", "-d", &database.conninfo()];
        howdah(&[&["load", &file, "--header=true", "--quiet"], &into[..]].concat());

        let query = sql.lines().find_map(|line| line.strip_prefix("-- SELECT ")).unwrap();
        let expected = sql.lines().last().unwrap().trim_start_matches("-- ");
        assert_eq!(database.sql(&format!("SELECT {}", query.trim_end_matches(';'))), expected, "{name}");
    }
}
