//! Programs of `command`: when they run, what they get, where they write, and how they end.

use std::path::Path;
use std::process::{Command, Stdio};

use howdah_testkit::secrets::Guarded;
use howdah_testkit::waiting::until;
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use super::{codegen, out, project, said};

const SQL: &str = "-- QUERY one :one\nSELECT 1 AS a;\n";

/// A project whose code is made by a script of a shell.
fn scripted(script: &str) -> TempDir {
    let config = "version: 1\nname: shop\nsql:\n  - files: [shop.sql]\n    gen:\n      \
                  - {command: [sh, ./make.sh, a word], output: code/, name: mine}\n";
    project(&[("howdah.yaml", config), ("shop.sql", SQL), ("make.sh", script)])
}

#[test]
fn a_program_runs_only_to_generate_and_sees_no_secret() {
    let script = "echo ran \"$1\" >> ran\nenv > environment\ncat > model\n\
                  printf '%s' '{\"files\": {\"a/b.txt\": \"text\\n\"}}'\nprintf 'done \\033[2J\\n' >&2\n";
    let folder = scripted(script);
    let here = folder.path();
    for args in [&["check"][..], &["explain"], &["generate", "--emit", "model"]] {
        assert_eq!(codegen(here, args).status.code(), Some(0), "{args:?}");
    }
    assert!(!here.join("ran").exists());

    let mut command = Command::new(env!("CARGO_BIN_EXE_howdah"));
    command.args(["codegen", "generate"]).arg(here).stdin(Stdio::null());
    command.env("PGPASSWORD", "canary").env("HOWDAH_CODEGEN_URL", "").env("TOKEN", "canary");
    let done = command.guarded_output();
    assert_eq!(done.status.code(), Some(0), "{}", said(&done));
    let text = said(&done);
    assert!(text.contains("\ncommand: sh ./make.sh 'a word'\ndone \\u{1b}[2J\n"), "{text}");
    assert_eq!(std::fs::read_to_string(here.join("code/a/b.txt")).unwrap(), "text\n");
    let read = |name: &str| std::fs::read_to_string(here.join(name)).unwrap();
    assert_eq!(read("ran"), "ran a word\n");
    let environment = read("environment");
    assert!(environment.contains("PATH="), "{environment}");
    for secret in ["canary", "PGPASSWORD", "HOWDAH_CODEGEN_URL", "TOKEN"] {
        assert!(!environment.contains(secret), "{environment}");
    }
    let model: serde_json::Value = serde_json::from_str(&read("model")).unwrap();
    assert_eq!((&model["project"], &model["modules"][0]["name"]), (&"shop".into(), &"mine".into()));

    let done = codegen(here, &["generate", "--check"]);
    assert_eq!(done.status.code(), Some(0), "{}", said(&done));
    assert!(said(&done).ends_with("\n1 file up to date\n"), "{}", said(&done));
}

#[test]
fn a_program_writes_below_its_output_and_nowhere_else() {
    for path in ["../outside", "/tmp/howdah-outside", "a/../../outside", "link/outside", "."] {
        let folder =
            scripted(&format!("printf '%s' '{{\"files\": {{\"{path}\": \"x\", \"fine\": \"x\"}}}}'"));
        std::fs::create_dir(folder.path().join("code")).unwrap();
        std::os::unix::fs::symlink("..", folder.path().join("code/link")).unwrap();
        let done = codegen(folder.path(), &["generate"]);
        assert_eq!(done.status.code(), Some(1), "{path}: {}", said(&done));
        assert!(said(&done).contains("error[CONFIG_VALIDATION_ERROR]: `"), "{path}: {}", said(&done));
        assert!(!folder.path().join("outside").exists() && !Path::new("/tmp/howdah-outside").exists());
        assert!(!folder.path().join("code/fine").exists(), "{path}");
    }
}

#[test]
fn a_program_writes_over_its_own_source_or_what_people_wrote() {
    let answer = |name: &str, text: &str| {
        format!("# generated\nprintf '%s' '{{\"files\": {{\"{name}\": \"{text}\"}}}}'\n")
    };
    for (name, wrong) in [
        ("make.sh", "error[CONFIG_VALIDATION_ERROR]: `./make.sh` is what is read: it would be lost"),
        ("kept.txt", "error[FOREIGN_FILE]: `./kept.txt` is there and does not say that it is generated"),
    ] {
        let script = answer(name, "new");
        let folder = scripted(&script);
        let here = folder.path();
        let config = std::fs::read_to_string(here.join("howdah.yaml")).unwrap().replace("code/", "./");
        std::fs::write(here.join("howdah.yaml"), config).unwrap();
        std::fs::write(here.join("kept.txt"), "mine\n").unwrap();
        for args in [&["generate"][..], &["generate", "--check"]] {
            let done = codegen(here, args);
            assert_eq!(done.status.code(), Some(1), "{name}: {}", said(&done));
            assert!(said(&done).contains(wrong), "{name}: {}", said(&done));
        }
        assert_eq!(std::fs::read_to_string(here.join("make.sh")).unwrap(), script);
        assert_eq!(std::fs::read_to_string(here.join("kept.txt")).unwrap(), "mine\n");
    }

    // What a program wrote is its own where it says so.
    let folder = scripted(&answer("a.txt", "one"));
    let here = folder.path();
    assert_eq!(codegen(here, &["generate"]).status.code(), Some(0));
    assert_eq!(codegen(here, &["generate"]).status.code(), Some(0), "nothing changes");
    std::fs::write(here.join("make.sh"), answer("a.txt", "Generated: two")).unwrap();
    let done = codegen(here, &["generate"]);
    assert_eq!(done.status.code(), Some(1), "{}", said(&done));
    std::fs::write(here.join("code/a.txt"), "Generated: one").unwrap();
    let done = codegen(here, &["generate"]);
    assert_eq!(done.status.code(), Some(0), "{}", said(&done));
    std::fs::write(here.join("code/a.txt"), "by hand").unwrap();
    std::fs::write(here.join("make.sh"), answer("a.txt", "three")).unwrap();
    let done = codegen(here, &["generate"]);
    assert!(
        said(&done).contains("if the program wrote it: have the program write the word generated near"),
        "{}",
        said(&done)
    );
}

#[test]
fn a_file_that_cannot_be_written_leaves_its_folder() {
    // The name is one of a folder, which is there only after the first file.
    let folder = scripted("printf '%s' '{\"files\": {\"a/b/c\": \"x\", \"a/b\": \"x\"}}'");
    let done = codegen(folder.path(), &["generate"]);
    assert_eq!(done.status.code(), Some(1), "{}", said(&done));
    assert!(said(&done).contains("no code was written"), "{}", said(&done));
    assert!(!folder.path().join("code").exists());
}

#[test]
fn a_program_that_fails_writes_nothing_and_is_named() {
    for (script, wrong) in [
        ("echo '{\"files\": {\"a\": \"b\"}}'; echo no luck >&2; exit 7", "`sh` failed: exit status: 7"),
        (
            "echo hello",
            "`sh` does not answer with {\"files\": {\"path\": \"text\"}}: expected value at line 1",
        ),
    ] {
        let folder = scripted(script);
        let done = codegen(folder.path(), &["generate"]);
        assert_eq!((done.status.code(), out(&done)), (Some(1), ""));
        let text = said(&done);
        assert!(text.contains(&format!("howdah.yaml:6:9: error[COMMAND_FAILED]: {wrong}")), "{text}");
        assert_eq!(text.contains("\nno luck\n"), script.contains("no luck"), "{text}");
        assert!(!folder.path().join("code").exists());
    }
    let folder = scripted("");
    let config = std::fs::read_to_string(folder.path().join("howdah.yaml")).unwrap();
    std::fs::write(folder.path().join("howdah.yaml"), config.replace("[sh, ", "[./nowhere, ")).unwrap();
    let done = codegen(folder.path(), &["generate"]);
    assert!(said(&done).contains("`./nowhere` cannot be run: No such file"), "{}", said(&done));
}

#[test]
fn a_program_ends_with_howdah() {
    let folder = scripted("sleep 1000 &\necho $! > part && mv part sleeper\nwait\n");
    let mut command = Command::new(env!("CARGO_BIN_EXE_howdah"));
    command.args(["codegen", "generate"]).current_dir(folder.path()).env_remove("HOWDAH_CODEGEN_URL");
    command.env_remove("SQG_POSTGRES_URL").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    let sleeper = folder.path().join("sleeper");
    until("the program runs", || sleeper.exists());
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let done = child.guarded_output();
    assert_eq!(done.status.code(), Some(130), "{}", said(&done));
    assert!(said(&done).ends_with("error: stopped; no code was written\n"), "{}", said(&done));
    let process = format!("/proc/{}", std::fs::read_to_string(sleeper).unwrap().trim());
    let ended = || {
        let state = std::fs::read_to_string(format!("{process}/stat"));
        // Where nobody waits for it, what is left of it is a zombie.
        state.map_or(true, |state| state.contains(") Z "))
    };
    until("what the program started has ended", ended);
}
