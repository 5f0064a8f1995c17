//! The built command, from outside: exit codes, and what goes to which stream. No server is needed.

use howdah_testkit::secrets::Guarded;
use std::process::{Command, Output, Stdio};

fn howdah(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_howdah"));
    command.args(args).stdin(Stdio::null());
    // Nobody listens on port 1 of this machine; nothing of the tester's surroundings may leak in.
    for name in ["PGHOST", "PGPORT", "PGUSER", "PGDATABASE", "PGSERVICE", "PGPASSWORD", "PGPASSFILE"] {
        command.env_remove(name);
    }
    command.guarded_output()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("output is UTF-8")
}

const NOWHERE: [&str; 4] = ["-h", "127.0.0.1", "-p", "1"];

#[test]
fn version_and_help_are_results_and_succeed() {
    for args in
        [&["--version"][..], &["-V"], &["--help"], &["-?"], &["load", "-?"], &["server", "start", "--help"]]
    {
        let done = howdah(args);
        assert_eq!(done.status.code(), Some(0), "{args:?}");
        assert!(!done.stdout.is_empty() && done.stderr.is_empty(), "{args:?}");
    }
}

#[test]
fn a_wrong_command_line_ends_with_2_and_leaves_stdout_empty() {
    let wrong: [&[&str]; 8] = [
        &[],
        &["load"],
        &["nonsense"],
        &["load", "x.csv", "--nonsense"],
        &["load", "x.csv", "--delimiter", "====="],
        &["load", "x.csv", "--columns", "a,,b"],
        &["load", "-"],
        &["dataset", "nonsense"],
    ];
    for args in wrong {
        let done = howdah(args);
        assert_eq!(done.status.code(), Some(2), "{args:?}");
        assert!(done.stdout.is_empty() && !done.stderr.is_empty(), "{args:?}");
    }
}

#[test]
fn an_option_of_another_program_is_answered_with_ours() {
    for (command, typed, ours) in [
        ("load", "--separator=;", "what other programs call '--separator' is here: --delimiter\n"),
        ("load", "--on-conflict", "is here: --mode upsert\n"),
        ("load", "--copy-options", "is here: --delimiter, --null, --quote,"),
        ("load", "--workers", "is here: --jobs\n"),
        ("load", "--truncate", "is here: --mode truncate\n"),
        ("load", "--null-string", "is here: --null\n"),
        ("load", "--null_string", "is here: --null\n"),
        ("stream", "--sep", "is here: --delimiter\n"),
        // A stream has no mode, and what is only mistyped is as clap answers it.
        ("stream", "--truncate", "unexpected argument '--truncate' found"),
        ("load", "--delimter", "a similar argument exists: '--delimiter'"),
    ] {
        let input: &[&str] = if command == "load" { &["x.csv"] } else { &["--table", "t"] };
        let done = howdah(&[&[command], input, &[typed]].concat());
        let said = text(&done.stderr);
        assert_eq!(done.status.code(), Some(2), "{typed}");
        assert!(said.contains(ours), "{typed}: {said}");
        assert_eq!(said.contains("is here"), ours.contains("is here"), "{said}");
        assert!(!ours.contains("is here") || !said.contains("similar"), "{said}");
    }
}

#[test]
fn a_failure_before_the_load_still_ends_in_a_json_report() {
    let done = howdah(&["load", "x.csv", "--table", "a.b.c", "--report", "json"]);
    assert_eq!(done.status.code(), Some(2));
    let report: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!(report["outcome"], "failed");
    assert!(report["error"]["message"].as_str().unwrap().contains("too many parts"));
    assert!(text(&done.stderr).starts_with("error: "));
}

#[test]
fn an_unreachable_server_is_named_and_ends_with_2() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    let done =
        howdah(&[&["load", file, "--table", "t", "-d", "db", "-U", "me", "-w"], &NOWHERE[..]].concat());
    assert_eq!(done.status.code(), Some(2), "{}", text(&done.stderr));
    assert!(done.stdout.is_empty());
    let first = text(&done.stderr).lines().next().unwrap();
    assert!(first.starts_with("server: ") && first.contains("127.0.0.1"), "{first}");
    assert!(text(&done.stderr).contains("\nerror: "));
}

#[test]
fn quiet_leaves_only_the_error_and_the_report() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    let args = ["load", file, "--table", "t", "-U", "me", "-w", "--quiet", "--report", "json"];
    let done = howdah(&[&args[..], &NOWHERE].concat());
    assert!(text(&done.stderr).starts_with("error: "), "{}", text(&done.stderr));
    assert_eq!(text(&done.stdout).lines().count(), 1);
    serde_json::from_slice::<serde_json::Value>(&done.stdout).unwrap();
}

#[test]
fn a_reader_that_leaves_early_is_no_failure() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_howdah"))
        .args(["dataset", "readings", "--rows", "200000"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let done = child.guarded_output();
    assert_eq!((done.status.code(), text(&done.stderr)), (Some(0), ""));
}

#[test]
fn a_data_set_says_how_to_load_and_check_it() {
    let list = howdah(&["dataset", "list"]);
    assert_eq!(text(&list.stdout).lines().filter(|line| line.contains("  study ")).count(), 6);
    let sql = howdah(&["dataset", "tasks", "--rows", "3", "--format", "sql"]);
    assert!(
        text(&sql.stdout).starts_with("CREATE TABLE tasks (id bigint GENERATED"),
        "{}",
        text(&sql.stdout)
    );
    assert!(text(&sql.stdout).contains("\n-- answers\n-- 3 "));
    let binary = howdah(&["dataset", "instest", "--rows", "3", "--format", "binary"]);
    assert!(binary.stdout.starts_with(b"PGCOPY\n") && binary.stdout.ends_with(&[0xff, 0xff]));
    let tagged = howdah(&["dataset", "readings", "--rows", "3", "--with-tags"]);
    assert!(text(&tagged.stdout).contains(",additional_tags\n"));
    let refused = howdah(&["dataset", "tasks", "--with-tags"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(text(&refused.stderr).contains("tasks has no tags"));
}

#[test]
fn archive_lines_that_are_no_events_are_said_and_change_the_exit_code() {
    let directory = tempfile::tempdir().unwrap();
    let (input, output) = (directory.path().join("0.json"), directory.path().join("events.csv"));
    let event = r#"{"id":"1","type":"WatchEvent","created_at":"2025-01-01T00:00:00Z","payload":{"action":"started"}}"#;
    std::fs::write(&input, format!("{event}\nnothing\n{event}\n")).unwrap();
    let convert = |more: &[&str]| {
        let paths = [input.to_str().unwrap(), "-o", output.to_str().unwrap()];
        howdah(&[&["dataset", "gh-archive"], &paths[..], more].concat())
    };
    let done = convert(&[]);
    assert_eq!(done.status.code(), Some(3), "{}", text(&done.stderr));
    assert!(
        text(&done.stderr).contains("1 line is no event and left out; the first is "),
        "{}",
        text(&done.stderr)
    );
    assert!(text(&done.stderr).starts_with("2 rows "));
    assert_eq!(std::fs::read_to_string(&output).unwrap().lines().count(), 3);
    assert_eq!(convert(&["--rows", "1"]).status.code(), Some(0));
    assert_eq!(convert(&["--hostile"]).status.code(), Some(2));
    assert_eq!(howdah(&["dataset", "gh-archive"]).status.code(), Some(2));
    assert_eq!(howdah(&["dataset", "tasks", "tasks.csv"]).status.code(), Some(2));
}

#[test]
fn a_suggested_command_can_be_pasted_where_no_howdah_is_installed() {
    let program = env!("CARGO_BIN_EXE_howdah");
    let file = std::env::temp_dir().join(format!("howdah-suggested-{}.csv", std::process::id()));
    let file = file.to_str().unwrap();
    let done = Command::new(program)
        .args(["dataset", "readings", "--rows", "1", "-o", file])
        .env("PATH", "/nowhere")
        .guarded_output();
    let _ = std::fs::remove_file(file);
    assert!(
        text(&done.stderr).ends_with(&format!("next: {program} load {file}\n")),
        "{}",
        text(&done.stderr)
    );
}
