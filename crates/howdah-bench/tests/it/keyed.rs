//! Loads into tables with keys, measured with a stand-in for howdah that loads through psql.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use howdah_server::{Settings, Throwaway};
use howdah_testkit::require::missing;
use howdah_testkit::secrets::Guarded;

use crate::bench_load::stand_in;

/// Appends, or updates what is there, as a stand-in does it.
const HONEST: &str = "'$psql' -X -q -v ON_ERROR_STOP=1 -d \"$server\" -c \"create temp table stage (like $table)\" \
        -c \"\\\\copy stage from '$file' (format csv, header)\" \
        -c \"insert into $table select * from stage on conflict (id) do update set customer = excluded.customer, \
            placed = excluded.placed, amount = excluded.amount, status = excluded.status, note = excluded.note\"";

fn measure(directory: &Path, psql: &Path, load: &str, arguments: &[&str]) -> Output {
    let howdah = stand_in(directory, psql, &load.replace("$psql", &psql.display().to_string()));
    Command::new(env!("CARGO_BIN_EXE_bench-load"))
        .args(["--quick", "--howdah"])
        .arg(howdah)
        .arg("--output")
        .arg(directory.join("results"))
        .args(arguments)
        .guarded_output()
}

fn lines(directory: &Path) -> Vec<serde_json::Value> {
    let raw = fs::read_to_string(directory.join("results/raw.jsonl")).expect("there are runs");
    raw.lines().map(|line| serde_json::from_str(line).expect("a line is a record")).collect()
}

#[test]
fn a_figure_stands_for_a_table_with_the_right_rows_and_all_its_keys() {
    let psql = Throwaway::start(&Settings::fast_and_unsafe()).unwrap().bin_dir().join("psql");
    if !psql.exists() {
        return missing("psql", "this PostgreSQL has no psql");
    }
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let both = ["--only", "append-random", "--only", "upsert-random"];

    let output = measure(directory, &psql, HONEST, &both);
    assert!(output.status.success(), "{output:?}");
    let runs = lines(directory);
    assert_eq!(runs.len(), 2 * 3 * 3, "two sections, three ways, a warm-up and two rounds");
    for run in &runs {
        assert_eq!(run["outcome"], "verified", "{run}");
        assert!(run["seconds"].as_f64().unwrap() > 0.0, "{run}");
    }
    let summary = fs::read_to_string(directory.join("results/summary.md")).unwrap();
    for part in ["psql ÷ howdah", "2 M rows into 3 M, random ids", "psql, staged ÷ howdah", "A quick run"] {
        assert!(summary.contains(part), "{part} is missing from: {summary}");
    }

    // What is there already is not measured again, by whatever program.
    let again = measure(directory, &psql, "exit 1", &[&both[..], &["--resume"]].concat());
    assert!(again.status.success(), "{again:?}");
    assert_eq!(lines(directory), runs);

    let one_value_wrong =
        format!("{HONEST}\nsql \"update $table set note = 'x' where id = (select max(id) from $table)\"");
    let wrong = measure(directory, &psql, &one_value_wrong, &both[..2]);
    assert!(!wrong.status.success());
    assert!(String::from_utf8_lossy(&wrong.stderr).contains("rows and checksum"), "{wrong:?}");

    let without_an_index = format!("{HONEST}\nsql \"drop index orders_placed_idx\"");
    let cheat = measure(directory, &psql, &without_an_index, &both[2..]);
    assert!(!cheat.status.success());
    assert!(String::from_utf8_lossy(&cheat.stderr).contains("indexes and constraints"), "{cheat:?}");
}

#[test]
fn tables_with_keys_are_measured_by_themselves() {
    let directory = tempfile::tempdir().unwrap();
    for others in [["--only", "events"], ["-d", "host=/nowhere"]] {
        let arguments = [&["--only", "keyed"], &others[..]].concat();
        let output = measure(directory.path(), Path::new("psql"), "true", &arguments);
        assert!(!output.status.success());
        assert!(String::from_utf8_lossy(&output.stderr).contains("by themselves"), "{output:?}");
    }
}
