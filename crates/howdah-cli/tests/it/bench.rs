//! `howdah bench`, every scenario with few rows: what is published must be true, and each factor really applied.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use howdah_bench::record::{Durability, Outcome, Record};
use howdah_bench::scenarios;
use howdah_testkit::Database;
use howdah_testkit::secrets::Guarded;
use rustix::process::{Pid, Signal, kill_process};
use tempfile::tempdir;

fn bench(directory: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_howdah")).arg("bench").args(args).current_dir(directory).guarded_output()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

fn records(directory: &Path) -> Vec<Record> {
    let text = fs::read_to_string(directory.join("raw.jsonl")).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Runs a scenario on a few rows; contenders are not installed where tests run. A limit on time would leave rows out on a busy
/// machine.
fn quick(scenario: &str) -> Vec<Record> {
    let directory = tempdir().unwrap();
    let args = ["run", scenario, "--quick", "--rows", "300", "--max-seconds", "600", "-o", "out"];
    let output = bench(directory.path(), &args);
    assert!(output.status.success(), "{}", said(&output));
    let out = directory.path().join("out");
    let records = records(&out);
    for record in &records {
        let contender = record.conditions.command.starts_with("bench/contenders");
        let wanted = if contender { Outcome::Skipped } else { Outcome::Verified };
        assert_eq!(record.outcome, wanted, "{record:?}");
        assert!(contender || record.seconds > 0.0 && record.rows > 0, "{record:?}");
    }
    let page = fs::read_to_string(out.join("report.html")).unwrap();
    assert!(fs::read_to_string(out.join("summary.md")).unwrap().contains("made with --quick"));
    // Once when it is met, and once at the end.
    let (said, reason) = (said(&output), "programs are not installed");
    let skipped = records.iter().filter(|record| record.outcome == Outcome::Skipped).count();
    assert_eq!(said.matches(reason).count(), 2 * skipped.min(1), "{said}");
    assert!(said.contains("could not take place here: other people's") == (skipped > 0), "{said}");
    let titles = scenarios::find(scenario).unwrap().sections.iter().map(|section| section.title);
    assert!(titles.clone().count() > 0);
    for file in ["summary.csv", "summary.md", "environment.md"] {
        assert!(out.join(file).metadata().unwrap().len() > 100, "{file}");
    }
    assert!(page.contains(scenarios::find(scenario).unwrap().title));
    records
}

fn of<'r>(records: &'r [Record], section: &str, series: &str) -> Vec<&'r Record> {
    let found: Vec<&Record> =
        records.iter().filter(|record| record.section == section && record.series == series).collect();
    assert!(!found.is_empty(), "{section}, {series}");
    found
}

#[test]
fn five_paths_are_true_and_say_what_a_crash_leaves() {
    let records = quick("five-paths");
    let landing = of(&records, "paths", "raw landing")[0];
    assert_eq!(landing.conditions.durability, Durability::LabOnly);
    assert_eq!(landing.conditions.settings["fsync"], "off");
    assert_eq!(of(&records, "paths", "COPY CSV")[0].conditions.durability, Durability::Durable);
    let wal = |series: &str| of(&records, "ladder", series)[0].evidence.wal_bytes.unwrap();
    // Each row of an unlogged table would take some 250 bytes.
    assert!(
        wal("unlogged") + 50_000 < wal("file on the server"),
        "{} {}",
        wal("unlogged"),
        wal("file on the server")
    );
}

#[test]
fn nine_ways_are_true() {
    quick("nine-ways");
}

#[test]
fn six_techniques_are_true() {
    let records = quick("six-techniques");
    let built = of(&records, "keys", "ascending bigint key, built afterwards")[0];
    let phase = |name: &str| built.phases.iter().find(|(phase, _)| phase == name).unwrap().1;
    assert!((phase("ingest") + phase("index") - built.seconds).abs() < 1e-9, "{built:?}");
}

#[test]
fn scale_is_true_at_every_width() {
    let records = quick("scale");
    let narrow = of(&records, "width", "COPY binary");
    let wal: BTreeMap<u64, u64> = narrow
        .iter()
        .map(|record| (record.x.map(f64::to_bits).unwrap(), record.evidence.wal_bytes.unwrap()))
        .collect();
    assert!(wal[&1_f64.to_bits()] < wal[&9_f64.to_bits()], "a narrow table takes less: {wal:?}");
}

#[test]
fn concurrency_is_of_connections_that_are_open_and_latency_that_is_there() {
    let records = quick("concurrency");
    for record in records.iter().filter(|record| record.section != "batch") {
        let asked = record.x.unwrap();
        assert!(record.evidence.connections_seen.map(f64::from) >= Some(asked), "{record:?}");
        let p50 = record.evidence.latency.unwrap().p50_ms;
        assert!(record.conditions.latency_ms == 0.0 || p50 >= 2.0, "{record:?}");
    }
}

#[test]
fn continuous_rows_are_all_there_and_each_acknowledgement_is_timed() {
    let records = quick("continuous");
    for record in records.iter().filter(|record| record.outcome == Outcome::Verified) {
        let evidence = &record.evidence;
        let by_a_writer = record.conditions.command.starts_with("howdah's Writer");
        if by_a_writer && record.series != "acknowledgements dropped" {
            let timed: u64 = evidence.counts.iter().map(|(_, rows)| rows).sum();
            assert_eq!(timed, record.rows, "{record:?}");
        }
        let far = record.conditions.latency_ms > 0.0;
        assert!(!far || evidence.latency.unwrap().p50_ms >= 2.0, "{record:?}");
        let set = matches!(record.section.as_str(), "offered" | "steps");
        assert_eq!(set, !evidence.course.is_empty() && evidence.peak_rows_per_s.is_some(), "{record:?}");
    }
    for record in of(&records, "offered", "own settings") {
        // Never faster than rows were due: half of a peak, but for the last acknowledgement.
        let due = record.evidence.peak_rows_per_s.unwrap() * record.x.unwrap() / 100.0;
        assert!(record.rows as f64 / record.seconds <= due * 1.05, "{record:?}");
    }
    let wal = |series: &str| of(&records, "bulk", series)[0].evidence.wal_bytes.unwrap();
    assert!(wal("no-op") + 100_000 < wal("Writer, own settings"), "the control writes nothing");
}

#[test]
fn errata_and_peers_are_true() {
    quick("errata");
    quick("peers");
}

#[test]
fn promises_are_measured_on_whole_programs_and_judged() {
    let directory = tempdir().unwrap();
    let output = bench(directory.path(), &["run", "promises", "--quick", "--rows", "1000", "-o", "out"]);
    assert!(output.status.success(), "{}", said(&output));
    let records = records(&directory.path().join("out"));
    for record in &records {
        assert_eq!(record.outcome, Outcome::Verified, "{record:?}");
        assert!(record.evidence.peak_rss_bytes.is_some(), "{record:?}");
    }
    let spoilt = of(&records, "tolerance", "ignore, 1 % bad")[0];
    assert_eq!((spoilt.conditions.rows_asked, spoilt.rows), (1_000, 990));
    let stream = of(&records, "endurance", "howdah stream")[0];
    assert!(stream.rows > 0 && !stream.evidence.memory.is_empty(), "{stream:?}");
    // Some are run more often than others, whatever is asked for.
    assert_eq!(of(&records, "small", "howdah load, existing table").len(), 4);
    assert_eq!(of(&records, "readings", "howdah load").len(), 1);
    let summary = fs::read_to_string(directory.path().join("out/summary.md")).unwrap();
    for section in scenarios::find("promises").unwrap().sections {
        assert!(!section.criteria.is_empty());
        for criterion in section.criteria {
            let line = summary.lines().find(|line| line.contains(criterion.promise)).unwrap();
            assert!(!line.contains("not measured"), "{line}");
        }
    }
}

#[test]
fn a_given_server_is_measured_and_its_settings_are_left_alone() {
    let (database, directory) = (Database::new(), tempdir().unwrap());
    let method = ["--method", "COPY", "--method", "batched"];
    let args = ["run", "five-paths", "--quick", "--rows", "500", "-d", &database.conninfo(), "-o", "out"];
    let output = bench(directory.path(), &[&args[..], &method].concat());
    assert!(output.status.success(), "{}", said(&output));
    let records = records(&directory.path().join("out"));
    let changed = |record: &Record| !record.conditions.settings.is_empty();
    assert!(records.iter().any(changed) && !records.iter().all(changed));
    for record in &records {
        let wanted = if changed(record) { Outcome::Skipped } else { Outcome::Verified };
        assert_eq!(record.outcome, wanted, "{record:?}");
        assert!(changed(record) || record.conditions.fresh.starts_with("new table"), "{record:?}");
    }
    assert_eq!(database.sql("SELECT count(*) FROM pg_class WHERE relname LIKE 'howdah%'"), "0");
}

#[test]
fn a_slow_method_loads_a_first_part_and_is_marked() {
    let directory = tempdir().unwrap();
    let run = ["run", "five-paths", "--rows", "200000", "--repeat", "1", "--max-seconds", "1.5", "-o", "out"];
    let method = ["--section", "ladder", "--method", "one commit"];
    let output = bench(directory.path(), &[&run[..], &method].concat());
    assert!(output.status.success(), "{}", said(&output));
    let records = records(&directory.path().join("out"));
    assert!(records.iter().all(|record| record.section == "ladder"), "{records:?}");
    let last = records.last().unwrap();
    assert_eq!((last.repetition, last.outcome), (1, Outcome::Prefix), "{last:?}");
    assert!(last.rows < 200_000 && last.conditions.rows_asked == 200_000, "{last:?}");

    let unknown = bench(directory.path(), &["run", "five-paths", "--section", "lader", "-o", "none"]);
    assert_eq!(unknown.status.code(), Some(2));
    assert!(said(&unknown).contains("one of: paths, ladder"), "{}", said(&unknown));
}

#[test]
fn results_are_gone_on_with_compared_and_never_overwritten() {
    let directory = tempdir().unwrap();
    let run = ["run", "five-paths", "--rows", "500", "--method", "COPY text", "-o", "out"];
    let first = bench(directory.path(), &[&run[..], &["--repeat", "1"]].concat());
    assert!(first.status.success(), "{}", said(&first));
    let again = bench(directory.path(), &run);
    assert_eq!(again.status.code(), Some(2), "{}", said(&again));
    assert!(said(&again).contains("--resume"));
    let before = records(&directory.path().join("out"));
    let resumed = bench(directory.path(), &[&run[..], &["--repeat", "3", "--resume"]].concat());
    assert!(resumed.status.success(), "{}", said(&resumed));
    let after = records(&directory.path().join("out"));
    assert_eq!((before.len(), after.len()), (2, 4));
    assert_eq!(after[..2], before[..]);
    assert!(
        after[2].seconds != before[0].seconds && after[2].seconds != before[1].seconds,
        "a run is no copy"
    );
    let other = bench(
        directory.path(),
        &["run", "five-paths", "--rows", "600", "--method", "COPY text", "-o", "out", "--resume"],
    );
    assert_eq!(other.status.code(), Some(2), "{}", said(&other));

    let same = bench(directory.path(), &["compare", "out", "out"]);
    assert!(same.status.success(), "{}", said(&same));
    // How far apart real runs lie is the machine's affair.
    for (name, seconds) in [("usual", 1.0), ("slow", 2.0)] {
        let lines = after.iter().map(|record| Record { seconds, ..record.clone() });
        let lines = lines.map(|record| serde_json::to_string(&record).unwrap() + "\n");
        fs::create_dir(directory.path().join(name)).unwrap();
        fs::write(directory.path().join(name).join("raw.jsonl"), lines.collect::<String>()).unwrap();
    }
    let regression = bench(directory.path(), &["compare", "usual", "slow"]);
    assert_eq!(regression.status.code(), Some(1), "{}", said(&regression));
    assert!(said(&regression).contains("COPY text"));

    fs::remove_file(directory.path().join("out/report.html")).unwrap();
    assert!(bench(directory.path(), &["report", "out"]).status.success());
    assert!(directory.path().join("out/report.html").exists());
}

#[test]
fn ctrl_c_leaves_nothing_running_and_nothing_on_a_given_server() {
    let (database, directory) = (Database::new(), tempdir().unwrap());
    let child = Command::new(env!("CARGO_BIN_EXE_howdah"))
        .args([
            "bench",
            "run",
            "five-paths",
            "--rows",
            "200000",
            "--method",
            "one commit",
            "--max-seconds",
            "60",
        ])
        .args(["-d", &database.conninfo(), "-o", "out"])
        .current_dir(directory.path())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let writing = "SELECT count(*) > 0 FROM pg_stat_activity
                    WHERE datname = current_database() AND query LIKE 'INSERT INTO%howdah_bench%'";
    database.until(writing, "t");
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let output = child.guarded_output();
    assert_eq!(output.status.code(), Some(130), "{}", said(&output));
    assert!(said(&output).contains("--resume"), "{}", said(&output));
    let left = "SELECT count(*) FROM pg_class WHERE relname LIKE 'howdah%'";
    assert_eq!(database.sql(left), "0");
    assert!(directory.path().join("out/environment.md").exists());
}

#[test]
fn what_there_is_can_be_listed() {
    let directory = tempdir().unwrap();
    let list = said(&bench(directory.path(), &["list"]));
    let methods = said(&bench(directory.path(), &["methods"]));
    for scenario in scenarios::ALL {
        assert!(list.contains(scenario.name) && methods.contains(scenario.name), "{list}");
    }
    let unknown = bench(directory.path(), &["run", "six-paths"]);
    assert_eq!(unknown.status.code(), Some(2));
    assert!(said(&unknown).contains("five-paths"));
}
