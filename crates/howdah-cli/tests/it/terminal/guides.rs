//! Every command that README.md and docs/*.md show is run, and what they show of its output is compared. The convention is in
//! CONTRIBUTING.md.

use std::path::{Path, PathBuf};

use super::shell::{Done, LOAD_ID, Surroundings, Terminal};

/// What a reader is told to type, with what they are told to see.
#[derive(Debug, PartialEq)]
struct Step {
    line: usize,
    command: String,
    shown: Vec<String>,
}

/// Commands that build or install: `make test` and the package's tests run those.
const NOT_HERE: [&str; 2] = ["make ", "pip "];

/// The steps of a document: `$ ` lines of ```console blocks, and the hidden ones of `<!-- $ … -->`.
fn steps(text: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let mut inside = false;
    for (number, line) in text.lines().enumerate() {
        let hidden = line.strip_prefix("<!-- $ ").and_then(|rest| rest.strip_suffix(" -->"));
        let typed = hidden.or_else(|| line.strip_prefix("$ ").filter(|_| inside));
        if line.starts_with("```") {
            inside = !inside && line == "```console";
        } else if let Some(command) = typed {
            steps.push(Step { line: number + 1, command: command.to_owned(), shown: Vec::new() });
        } else if let (true, Some(step)) = (inside, steps.last_mut()) {
            match step.command.strip_suffix('\\') {
                Some(begun) => step.command = format!("{begun}{}", line.trim_start()),
                None => step.shown.push(line.trim_end().to_owned()),
            }
        }
    }
    steps.retain(|step| !NOT_HERE.iter().any(|start| step.command.starts_with(start)));
    steps
}

/// Whether `…` in `pattern` can stand for something so that it becomes `text`.
fn matches(pattern: &str, text: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('…') else { return pattern == text };
    let Some(mut text) = text.strip_prefix(start) else { return false };
    let parts: Vec<&str> = rest.split('…').collect();
    let (last, between) = parts.split_last().unwrap();
    for part in between {
        let Some(at) = text.find(part) else { return false };
        text = &text[at + part.len()..];
    }
    text.ends_with(last)
}

/// The first shown line that the command did not print behind the one before it.
fn missing<'a>(shown: &'a [String], printed: &str) -> Option<&'a String> {
    let mut printed = printed.lines();
    shown
        .iter()
        .filter(|line| !line.is_empty())
        .find(|line| !printed.any(|printed| matches(line.as_str(), printed.trim_end())))
}

/// Runs a document from top to bottom; everything that is not as it says.
fn walk(path: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(path).unwrap();
    let steps = steps(&text);
    if steps.is_empty() {
        return Vec::new();
    }
    let surroundings =
        if text.contains("<!-- no connection -->") { Surroundings::OwnServer } else { Surroundings::Shop };
    let terminal = Terminal::of_a_guide(surroundings);
    let mut wrong = Vec::new();
    let mut last = 0;
    for (at, step) in steps.iter().enumerate() {
        let done = match step.command.as_str() {
            "echo $?" => Done { shown: format!("{last}\n"), code: 0 },
            // A file that is named after a load has another name every time.
            command => terminal.run(&command.replace(LOAD_ID, "*")),
        };
        last = done.code;
        let code_is_shown = steps.get(at + 1).is_some_and(|next| next.command == "echo $?");
        let fails = step.shown.iter().any(|line| line.starts_with("error: "));
        let lost = missing(
            &step.shown.iter().map(|line| terminal.made_equal_line(line)).collect::<Vec<_>>(),
            &done.shown,
        )
        .cloned();
        if lost.is_some() || (!code_is_shown && fails != (done.code != 0)) {
            let lost = lost.map(|line| format!("\nnot printed: {line}")).unwrap_or_default();
            wrong.push(format!(
                "{}:{}: {}{lost}\nprinted, with exit code {}:\n{}",
                path.display(),
                step.line,
                step.command,
                done.code,
                done.shown
            ));
        }
    }
    wrong
}

#[test]
fn no_guide_shows_a_command_that_does_something_else() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    let mut documents = vec![root.join("README.md")];
    let docs = std::fs::read_dir(root.join("docs")).unwrap().map(|entry| entry.unwrap().path());
    documents.extend(docs.filter(|path| path.extension().is_some_and(|ending| ending == "md")));
    documents.sort();
    let wrong: Vec<String> = documents.iter().flat_map(|path: &PathBuf| walk(path)).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn the_steps_of_a_guide_are_found_with_what_they_show() {
    let text = "\
<!-- $ touch a -->\nWords.\n```console\n$ make all\n$ howdah load a \\\n    --table t\nCOPY 1\nlook: …\n```\n```sh\n$ not this\n```\n";
    let step = |line, command: &str, shown: &[&str]| Step {
        line,
        command: command.to_owned(),
        shown: shown.iter().map(|line| (*line).to_owned()).collect(),
    };
    assert_eq!(
        steps(text),
        [step(1, "touch a", &[]), step(5, "howdah load a --table t", &["COPY 1", "look: …"])]
    );
}

#[test]
fn a_guide_that_shows_what_is_not_printed_is_noticed() {
    let printed = "server: x\nCOPY 2\n2 rows in 0.1 s: 20 rows/s\n";
    let shown = |lines: &[&str]| lines.iter().map(|line| (*line).to_owned()).collect::<Vec<_>>();
    assert_eq!(missing(&shown(&["COPY 2", "2 rows in … rows/s"]), printed), None);
    assert_eq!(missing(&shown(&["2 rows in …", "COPY 2"]), printed), Some(&"COPY 2".to_owned()));
    assert_eq!(missing(&shown(&["COPY 3"]), printed), Some(&"COPY 3".to_owned()));
    assert!(!matches("a…b", "a") && matches("a…b", "ab") && !matches("a…", "ba"));
}
