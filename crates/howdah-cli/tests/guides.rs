//! The commands of the guides in `docs/`, run as they stand there: what a guide shows is what a reader gets.
#![expect(clippy::unwrap_used, reason = "a test that cannot set itself up has failed")]

use std::path::Path;
use std::process::{Command, Stdio};

use howdah_testkit::Database;

/// A command and the lines that a guide shows below it.
struct Step {
    command: String,
    shown: Vec<String>,
}

/// The steps in the `console` blocks of a guide; a line of `…` stands for any others.
fn steps(guide: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let mut inside = false;
    for line in guide.lines() {
        match line.strip_prefix("$ ") {
            _ if line.starts_with("```") => inside = line == "```console",
            Some(command) if inside => steps.push(Step { command: command.to_owned(), shown: Vec::new() }),
            None if inside && line != "…" => steps.last_mut().unwrap().shown.push(line.to_owned()),
            _ => {}
        }
    }
    steps
}

fn run(name: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name);
    let steps = steps(&std::fs::read_to_string(path).unwrap());
    assert!(steps.len() > 10, "{name} has {} commands only", steps.len());
    let database = Database::new();
    let directory = database.path("");
    for step in steps {
        let script =
            format!("howdah() {{ \"$PROGRAM\" \"$@\" -w -d \"$CONNINFO\"; }}\n{} 2>&1", step.command);
        let done = Command::new("sh")
            .args(["-c", &script])
            .current_dir(&directory)
            .env("PROGRAM", env!("CARGO_BIN_EXE_howdah"))
            .env("CONNINFO", database.conninfo())
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let output = String::from_utf8_lossy(&done.stdout).into_owned();
        let said: Vec<&str> = output.lines().collect();
        for line in &step.shown {
            assert!(said.contains(&line.as_str()), "{}: {line:?} is not in\n{output}", step.command);
        }
        let expects_error = step.shown.iter().any(|line| line.starts_with("error: "));
        assert_eq!(done.status.success(), !expects_error, "{}: {output}", step.command);
    }
}

#[test]
fn csv_troubleshooting_does_what_it_says() {
    run("csv-troubleshooting.md");
}
