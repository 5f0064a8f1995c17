//! Whether the doctor is right, measured quickly: a real doctor and real loads, if howdah was built.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use howdah_testkit::require::missing;
use howdah_testkit::secrets::Guarded;
use serde_json::Value;

/// The howdah beside this crate's program, which a build of all crates makes.
fn howdah() -> Option<PathBuf> {
    let howdah = Path::new(env!("CARGO_BIN_EXE_bench-load")).with_file_name("howdah");
    howdah.is_file().then_some(howdah)
}

fn measure(howdah: &Path, directory: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_bench-load"))
        .args(["--quick", "--howdah"])
        .arg(howdah)
        .arg("--output")
        .arg(directory.join("results"))
        .args(arguments)
        .guarded_output()
}

fn lines(directory: &Path, name: &str) -> Vec<Value> {
    let text = fs::read_to_string(directory.join("results").join(name)).expect("there are results");
    text.lines().map(|line| serde_json::from_str(line).expect("a line is JSON")).collect()
}

#[test]
fn what_the_doctor_says_stands_beside_what_loads_took() {
    let Some(howdah) = howdah() else {
        return missing("howdah", "howdah was not built beside this crate's program");
    };
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let two = ["--only", "doctor:foreign-key", "--only", "doctor:unsafe"];
    let output = measure(&howdah, directory, &two);
    assert!(output.status.success(), "{output:?}");

    let runs = lines(directory, "raw.jsonl");
    assert_eq!(
        runs.len(),
        1 + (1 + 2 * 2),
        "a look at the server; one at the table, and two rounds of two loads"
    );
    for run in &runs {
        assert_eq!(run["outcome"], "verified", "{run}");
        assert!(run["seconds"].as_f64().unwrap() > 0.0, "{run}");
    }
    let truths = lines(directory, "doctor.jsonl");
    let of = |state: &str| truths.iter().find(|truth| truth["state"] == state).expect("the state is there");
    let (unsafe_, key) = (of("unsafe"), of("foreign-key"));
    assert_eq!((&unsafe_["rank"], &unsafe_["is_first"]), (&1.into(), &true.into()), "{unsafe_:#}");
    assert_eq!(unsafe_["gained"], Value::Null);
    assert_eq!((&key["finding"], &key["rounds"]), (&"fk.cost".into(), &2.into()), "{key:#}");
    assert!(key["rank"].is_u64() && key["gained"]["median"].is_f64(), "{key:#}");
    assert!(key["predicted_s"].as_f64().unwrap() > 0.0 && key["real_s"].as_f64().unwrap() > 0.0, "{key:#}");
    let page = fs::read_to_string(directory.join("results/doctor.md")).unwrap();
    for part in
        ["the finding comes first", "predicted ÷ real", "a foreign key to a small table", "A quick run"]
    {
        assert!(page.contains(part), "{part} is missing from: {page}");
    }

    // What is there already is not measured again, by whatever program.
    let again = measure(Path::new("/bin/false"), directory, &[&two[..], &["--resume"]].concat());
    assert!(again.status.success(), "{again:?}");
    assert_eq!(lines(directory, "raw.jsonl"), runs);
}

#[test]
fn the_doctor_is_measured_by_itself_and_by_names_that_there_are() {
    let directory = tempfile::tempdir().unwrap();
    for others in [["--only", "events"], ["--only", "keyed"], ["-d", "host=/nowhere"]] {
        let output = measure(
            Path::new("/bin/false"),
            directory.path(),
            &[&["--only", "doctor:grid"], &others[..]].concat(),
        );
        assert!(!output.status.success());
        assert!(String::from_utf8_lossy(&output.stderr).contains("on a server of our own"), "{output:?}");
    }
    let unknown = measure(Path::new("/bin/false"), directory.path(), &["--only", "doctor:nothing"]);
    assert_eq!(unknown.status.code(), Some(2));
}
