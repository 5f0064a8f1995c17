//! `docs/modes.md` tells the truth: its commands, run one after the other, print what it shows.

use std::process::{Command, Stdio};

use howdah_testkit::Database;

const GUIDE: &str = include_str!("../../../docs/modes.md");

/// The commands of the guide, each with what it prints.
fn commands() -> Vec<(String, String)> {
    let mut commands: Vec<(String, String)> = Vec::new();
    let mut inside = false;
    for line in GUIDE.lines() {
        match (line, line.strip_prefix("$ "), commands.last_mut()) {
            ("```console" | "```", ..) => inside = line.ends_with("console"),
            (_, Some(command), _) if inside => commands.push((command.to_owned(), String::new())),
            (_, None, Some((_, output))) if inside => output.push_str(&format!("{line}\n")),
            _ => {}
        }
    }
    commands
}

#[test]
fn the_guide_to_modes_shows_what_happens() {
    let database = Database::new();
    let directory = database.path("");
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_howdah")).parent().unwrap();
    let path = format!("{}:{}:/usr/bin:/bin", program.display(), database.bin_dir().display());
    let commands = commands();
    assert!(commands.len() > 15, "the guide has {} commands", commands.len());
    for (command, expected) in commands {
        let here = command.replace("-d shop", "-w -d \"$SHOP\"").replace("psql shop", "psql -X \"$SHOP\"");
        let done = Command::new("sh")
            .args(["-c", &here])
            .current_dir(&directory)
            .env_clear()
            .env("PATH", &path)
            .env("SHOP", database.conninfo())
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let said = String::from_utf8(done.stderr).unwrap();
        assert!(done.status.success(), "{command}: {said}");
        assert_eq!(String::from_utf8(done.stdout).unwrap(), expected, "{command}: {said}");
    }
}
