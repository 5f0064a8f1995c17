//! A command whose output cannot be written has not done what it was asked for, and its exit code says so.

use std::fs::OpenOptions;
use std::process::{Command, Stdio};

use howdah_testkit::Database;

/// The exit code of the command with its standard output on a device that is full.
fn into_full_device(args: &[&str]) -> Option<i32> {
    let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_howdah"));
    command.args(args).stdin(Stdio::null()).stderr(Stdio::null()).stdout(full).status().unwrap().code()
}

#[test]
fn no_command_whose_output_is_lost_ends_with_0() {
    for args in [&["--version"][..], &["load", "--help"], &["completions", "bash"], &["man", "load"]] {
        assert_eq!(into_full_device(args), Some(1), "{args:?}");
    }
}

#[test]
fn a_load_whose_report_is_lost_says_that_rows_may_be_in() {
    let database = Database::new();
    database.sql("CREATE TABLE t (a int)");
    let file = database.file("t.csv", "a\n1\n");
    let conninfo = database.conninfo();
    let load = |more: &[&str]| {
        into_full_device(&[&["load", &file, "-w", "-d", &conninfo, "--table", "t", "--quiet"], more].concat())
    };
    assert_eq!(load(&["--report", "json"]), Some(5));
    assert_eq!(database.sql("SELECT count(*) FROM t"), "1");
    assert_eq!(load(&["--report", "json", "--dry-run"]), Some(1));
    // Nothing was to be written.
    assert_eq!(load(&[]), Some(0));
}
