//! Completions and manual pages, judged by the programs that read them: bash and man.

use std::io::Write;
use std::process::{Command, Stdio};

use howdah_testkit::require::missing;
use howdah_testkit::secrets::Guarded;

fn howdah(args: &[&str]) -> String {
    let done = Command::new(env!("CARGO_BIN_EXE_howdah")).args(args).guarded_output();
    assert!(done.status.success() && done.stderr.is_empty(), "{args:?}");
    String::from_utf8(done.stdout).unwrap()
}

/// What `program` prints for `input`; `None` where the program is not installed.
fn run(program: &str, args: &[&str], input: &str) -> Option<(String, String)> {
    let started = Command::new(program)
        .args(args)
        .env("LC_ALL", "C.UTF-8")
        .env("MANWIDTH", "100")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let Ok(mut child) = started else {
        missing(program, &format!("there is no {program} here"));
        return None;
    };
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let done = child.guarded_output();
    assert!(done.status.success(), "{program}: {}", String::from_utf8_lossy(&done.stderr));
    Some((String::from_utf8(done.stdout).unwrap(), String::from_utf8(done.stderr).unwrap()))
}

/// What bash offers at the end of `line`, one word a line; empty where it falls back on file names.
fn completed(line: &str) -> Option<String> {
    let words: Vec<&str> = line.split(' ').collect();
    let (current, before) = (words[words.len() - 1], words[words.len() - 2]);
    let script = format!(
        "{}\nCOMP_WORDS=({} '{current}'); COMP_CWORD={}\n\
         compopt() {{ :; }}\n\
         function=$(complete -p howdah | sed 's/.*-F \\([^ ]*\\).*/\\1/')\n\
         $function howdah '{current}' '{before}'\n\
         printf '%s\\n' \"${{COMPREPLY[@]}}\"\n",
        howdah(&["completions", "bash"]),
        words[..words.len() - 1].join(" "),
        words.len() - 1,
    );
    let (offered, complaints) = run("bash", &["--norc"], &script)?;
    assert_eq!(complaints, "", "{line}");
    Some(offered.trim_end().to_owned())
}

#[test]
fn bash_completes_commands_options_and_their_values() {
    for (line, offered) in [
        ("howdah lo", "load"),
        (
            "howdah load --mode ",
            "append\ncreate\nreplace\ncreate_append\ntruncate\nupsert\nignore\nupdate\ndelete",
        ),
        ("howdah load x.csv --mode cr", "create\ncreate_append"),
        ("howdah load x.csv --on-error ", "stop\nignore"),
        ("howdah load x.csv --rej", "--reject-limit\n--rejects"),
        ("howdah stream --on-conflict ", "ignore\nupdate"),
        ("howdah stream --table t --state-", "--state-table"),
        ("howdah codegen check --format ", "text\njson\ngithub"),
        (
            "howdah codegen init --generator ",
            "python/postgres\njava/postgres\ntypescript/postgres\ngo/postgres\nrust/postgres",
        ),
        ("howdah migrate st", "status"),
        ("howdah server st", "start\nstop\nstatus"),
        ("howdah completions ", "-?\n--help\nbash\nzsh\nfish"),
    ] {
        let Some(got) = completed(line) else { return };
        assert_eq!(got, offered, "{line}");
    }
}

#[test]
fn bash_completes_file_names_where_an_input_stands() {
    for line in ["howdah load ", "howdah load peo", "howdah load a.csv ", "howdah load --table t "] {
        let Some(got) = completed(line) else { return };
        assert_eq!(got, "", "{line:?} must leave the words to readline, which knows the files");
    }
    let script = howdah(&["completions", "bash"]);
    let last = script.lines().rfind(|line| line.trim_start().starts_with("complete ")).unwrap();
    assert!(last.contains("-o default"), "without it readline does not offer files: {last}");
}

#[test]
fn every_shell_has_a_script_that_knows_the_options() {
    assert!(howdah(&["completions", "zsh"]).starts_with("#compdef howdah"));
    assert!(howdah(&["completions", "fish"]).contains("reject-limit"));
}

#[test]
fn man_reads_every_page_without_a_complaint_and_examples_keep_their_lines() {
    for page in [
        &["man"][..],
        &["man", "load"],
        &["man", "stream"],
        &["man", "codegen"],
        &["man", "migrate"],
        &["man", "server"],
        &["man", "dataset"],
        &["man", "man"],
    ] {
        let Some((text, complaints)) = run("man", &["--warnings", "-l", "-"], &howdah(page)) else { return };
        assert_eq!(complaints, "", "{page:?}");
        assert!(text.contains("NAME") && text.contains("SYNOPSIS"), "{page:?}: {text}");
        if page.last() == Some(&"load") {
            let example =
                "howdah load old.tsv --null '\\N' --mode replace    exchange the table's rows in one swap";
            assert!(text.contains(example), "{text}");
        }
    }
}
