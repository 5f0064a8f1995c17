//! Data sets through the command and into a server: what the guide says, and what `howdah load` makes of hostile rows.
#![expect(clippy::unwrap_used, reason = "a step of a test that fails is a failed test")]

use std::path::Path;
use std::process::{Command, Output};

use howdah_testkit::Database;

/// Runs `command` in a shell that finds howdah and psql, which find the database.
fn shell(database: &Database, directory: &Path, command: &str) -> Output {
    let program = Path::new(env!("CARGO_BIN_EXE_howdah")).parent().unwrap();
    let path = format!("{}:{}:/usr/bin:/bin", program.display(), database.bin_dir().display());
    let mut shell = Command::new("sh");
    shell.args(["-e", "-c", command]).current_dir(directory).env("PATH", path);
    for (name, value) in database.conninfo().split(' ').filter_map(|word| word.split_once('=')) {
        let name = if name == "dbname" { "DATABASE".to_owned() } else { name.to_uppercase() };
        shell.env(format!("PG{name}"), value.trim_matches('\''));
    }
    shell.output().unwrap()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

#[test]
fn what_the_guide_says_works_and_its_query_answers_what_it_says() {
    let database = Database::new();
    if !database.bin_dir().join("psql").exists() {
        return eprintln!("skipped: this PostgreSQL has no psql");
    }
    let directory = tempfile::tempdir().unwrap();
    let guide = include_str!("../../../docs/datasets.md");
    let commands: Vec<&str> = guide.lines().filter_map(|line| line.strip_prefix("$ ")).collect();
    assert_eq!(commands.len(), 10, "commands in the guide");
    let mut answers = Vec::new();
    for command in commands {
        let done = shell(&database, directory.path(), command);
        assert!(done.status.success(), "{command}: {}", text(&done.stderr));
        answers.push(text(&done.stdout).to_owned());
    }
    let said = answers[9].trim_start_matches("-- ").trim();
    assert!(said.starts_with("1000 ") && answers[8].contains(said), "{answers:?}");
}

#[test]
fn hostile_rows_arrive_as_they_were_made() {
    let database = Database::new();
    let directory = tempfile::tempdir().unwrap();
    for name in ["github-events", "sensor-readings", "instest", "tagged-readings", "tasks"] {
        let table = name.replace('-', "_");
        let run = |command: &str| {
            let done = shell(&database, directory.path(), command);
            assert!(done.status.success(), "{command}: {}", text(&done.stderr));
            text(&done.stdout).to_owned()
        };
        let sql = run(&format!("howdah dataset {name} --rows 20000 --hostile --format sql"));
        database.sql(&sql);
        let load = format!("howdah load {table}.csv --header=true --mode append --quiet");
        run(&format!("howdah dataset {name} --rows 20000 --hostile -o {table}.csv; {load}"));
        let query = sql.lines().find_map(|line| line.strip_prefix("-- SELECT ")).unwrap();
        let expected = sql.lines().last().unwrap().trim_start_matches("-- ");
        assert_eq!(database.sql(&format!("SELECT {}", query.trim_end_matches(';'))), expected, "{name}");
    }
}
