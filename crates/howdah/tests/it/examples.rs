//! The examples for users of the library run.

use std::path::PathBuf;
use std::process::Command;

use howdah_testkit::Database;

/// A program of `examples/`, which `cargo test` has built beside the tests.
fn example(name: &str) -> Command {
    let tests: PathBuf = std::env::current_exe().unwrap();
    let program = tests.parent().unwrap().parent().unwrap().join("examples").join(name);
    assert!(program.exists(), "with `--test it` cargo builds no examples: `cargo build --examples`");
    Command::new(program)
}

fn said(mut command: Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_file_is_loaded_and_its_bad_record_kept() {
    let database = Database::new();
    let file = database.file("people.csv", "id,born\n1,2001-02-28\n2,2001-02-29\n");
    database.sql("CREATE TABLE people (id int, born date)");
    let mut command = example("load_file");
    command.args([&file, &database.conninfo()]);
    let said = said(command);
    assert!(said.starts_with("1 rows into public.people in "), "{said}");
    assert!(said.contains("(1 rejected)"), "{said}");
}

#[test]
fn rows_are_written_and_each_is_acknowledged() {
    let database = Database::new();
    let mut command = example("write_rows");
    command.args(["1000", &database.conninfo()]);
    let said = said(command);
    assert!(said.starts_with("1000 rows in "), "{said}");
    assert_eq!(database.sql("SELECT count(*), sum(km) FROM example_readings"), "1000|500");
}
