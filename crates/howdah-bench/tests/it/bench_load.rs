//! The measuring program as a whole, with a stand-in for howdah that loads through psql.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use howdah_server::{Settings, Throwaway};
use howdah_testkit::require::missing;
use howdah_testkit::secrets::Guarded;

/// A program that takes the arguments bench-load gives to howdah. `load` is what it does with `$file` and `$table`.
pub(crate) fn stand_in(directory: &Path, psql: &Path, load: &str) -> PathBuf {
    let path = directory.join("howdah");
    let psql = psql.display();
    let script = format!(
        "#!/bin/sh\nset -e\nfile=$2\nwhile [ $# -gt 0 ]; do case $1 in\n\
         --table) table=$2;; -d) server=$2;; esac; shift; done\n\
         sql() {{ '{psql}' -X -q -A -t -v ON_ERROR_STOP=1 -d \"$server\" -c \"$1\"; }}\n\
         {load}\n\
         echo \"{{\\\"rows\\\": $(($(wc -l < \"$file\") - 1))}}\"\n"
    );
    fs::write(&path, script).expect("a script can be written");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("a script can be made executable");
    path
}

/// The same for `howdah stream`. `load` is what it does with its standard input and `$table`.
fn streaming_stand_in(directory: &Path, psql: &Path, load: &str) -> PathBuf {
    let copy = format!("{load} | '{}' -X -q -d \"$server\"", psql.display());
    stand_in(
        directory,
        psql,
        &format!("{copy} -c \"\\\\copy $table from pstdin (format csv, header)\"; exit 0"),
    )
}

fn bench_load(server: &Throwaway, directory: &Path, load: &str) -> Output {
    let howdah = stand_in(directory, &server.bin_dir().join("psql"), load);
    bench_load_of(server, directory, &howdah, "events")
}

fn bench_load_of(server: &Throwaway, directory: &Path, howdah: &Path, only: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_bench-load"))
        .args([
            "--quick",
            "--only",
            only,
            "-d",
            &server.conninfo(),
            "--server-pid",
            &server.pid().to_string(),
        ])
        .arg("--bin-dir")
        .arg(server.bin_dir())
        .arg("--howdah")
        .arg(howdah)
        .arg("--scratch")
        .arg(directory.join("scratch"))
        .arg("--output")
        .arg(directory.join("results"))
        .guarded_output()
}

#[test]
fn figures_come_only_from_loads_that_are_complete_and_right() {
    let server = Throwaway::start(&Settings::fast_and_unsafe()).unwrap();
    if !server.bin_dir().join("psql").exists() {
        return missing("psql", "this PostgreSQL has no psql");
    }
    let directory = tempfile::tempdir().unwrap();

    let honest = "sql \"\\\\copy $table from '$file' (format csv, header)\"";
    let output = bench_load(&server, directory.path(), honest);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let summary = fs::read_to_string(directory.path().join("results/summary.md")).unwrap();
    for part in ["PostgreSQL", "howdah ÷ floor", "all-text table", "Other programs took", "A quick run"] {
        assert!(summary.contains(part), "{part} is missing from: {summary}");
    }
    assert!(!summary.contains(server.password()));
    let raw = fs::read_to_string(directory.path().join("results/raw.jsonl")).unwrap();
    assert_eq!(raw.lines().count(), 5 * 3, "five contenders, a warm-up and two rounds");
    for line in raw.lines() {
        let run: serde_json::Value = serde_json::from_str(line).unwrap();
        assert_eq!(run["outcome"], "verified", "{line}");
        assert!(run["seconds"].as_f64().unwrap() > 0.0, "{line}");
        assert!(run["evidence"]["server_cpu_s"].is_number(), "{line}");
    }

    let nothing_loaded = bench_load(&server, directory.path(), "true");
    assert!(!nothing_loaded.status.success());
    assert!(String::from_utf8_lossy(&nothing_loaded.stderr).contains("0 arrived"), "{nothing_loaded:?}");

    let one_value_wrong =
        format!("{honest}; sql \"update $table set actor_id = 0 where event_id = '45000000005'\"");
    let wrong = bench_load(&server, directory.path(), &one_value_wrong);
    assert!(String::from_utf8_lossy(&wrong.stderr).contains("with the checksum"), "{wrong:?}");
    assert!(!wrong.status.success());

    let failed = bench_load(&server, directory.path(), "echo out of luck >&2; exit 1");
    assert!(String::from_utf8_lossy(&failed.stderr).contains("out of luck"), "{failed:?}");
    assert!(!failed.status.success());
}

#[test]
fn a_stream_is_watched_and_every_row_of_it_counted() {
    let server = Throwaway::start(&Settings::fast_and_unsafe()).unwrap();
    if !server.bin_dir().join("psql").exists() {
        return missing("psql", "this PostgreSQL has no psql");
    }
    let directory = tempfile::tempdir().unwrap();
    let endure = |load: &str| {
        let howdah = streaming_stand_in(directory.path(), &server.bin_dir().join("psql"), load);
        bench_load_of(&server, directory.path(), &howdah, "endurance")
    };

    let output = endure("cat");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let summary = fs::read_to_string(directory.path().join("results/summary.md")).unwrap();
    assert!(summary.contains("Endurance of a stream") && summary.contains("memory is flat"), "{summary}");

    let lossy = endure("sed 7d");
    assert!(String::from_utf8_lossy(&lossy.stderr).contains("arrived"), "{lossy:?}");
    assert!(!lossy.status.success());
}
