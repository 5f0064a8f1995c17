//! One word for one thing: a type's name stands once in a crate, and words that were given up for the field's own stay away.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Words that the field does not have, and what is said instead.
const RETIRED: [(&str, &str); 8] = [
    ("fate", "state, outcome"),
    ("fates", "states, outcomes"),
    ("ghost", "an abandoned session"),
    ("ghosts", "abandoned sessions"),
    ("farewell", "the end"),
    ("hurried", "flushed"),
    ("unheard", "unclaimed"),
    ("untold", "unreported"),
];

/// Files that take each other's place: what a crate has without a feature bears the names of what it has with it.
const STAND_INS: [&str; 2] = ["store/none.rs", "batches/no_parquet.rs"];

/// All files of Rust below a folder, but for tests.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("a folder of sources can be listed");
    let mut found = Vec::new();
    for entry in entries {
        let path = entry.expect("an entry can be read").path();
        let is_of_tests = path.file_stem().is_some_and(|name| name == "tests");
        if path.is_dir() && !is_of_tests {
            found.extend(files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") && !is_of_tests {
            found.push(path);
        }
    }
    found
}

fn sources(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name).join("src")
}

/// The type that a line declares for its whole module.
fn declared(line: &str) -> Option<&str> {
    let line = match line.strip_prefix("pub") {
        Some(rest) => {
            rest.strip_prefix('(').and_then(|rest| rest.split_once(") ")).map_or(rest, |(_, it)| it)
        }
        None => line,
    };
    let name = ["struct ", "enum ", "trait ", "type ", "union "]
        .iter()
        .find_map(|kind| line.trim_start_matches(' ').strip_prefix(kind))?;
    if line.starts_with("    ") {
        return None;
    }
    name.split(|c: char| !c.is_ascii_alphanumeric()).next().filter(|name| !name.is_empty())
}

#[test]
fn a_type_s_name_stands_once_in_a_crate() {
    for name in [
        "howdah",
        "howdah-bench",
        "howdah-cli",
        "howdah-connect",
        "howdah-encode",
        "howdah-message",
        "howdah-python",
        "howdah-server",
        "howdah-source",
    ] {
        let mut declarations: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for path in
            files(&sources(name)).iter().filter(|path| !STAND_INS.iter().any(|one| path.ends_with(one)))
        {
            let text = std::fs::read_to_string(path).expect("a module is text");
            let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
            for found in code.lines().filter_map(declared) {
                declarations.entry(found.to_owned()).or_default().push(path.display().to_string());
            }
        }
        // The same type of two systems is declared twice in one file.
        let twice = declarations.iter().filter(|(_, places)| places.iter().any(|place| *place != places[0]));
        let twice: Vec<_> = twice.collect();
        assert!(twice.is_empty(), "{name}: {twice:#?}");
    }
}

#[test]
fn retired_words_stay_away() {
    for name in ["howdah", "howdah-source", "howdah-encode", "howdah-connect", "howdah-python", "howdah-cli"]
    {
        for path in files(&sources(name)) {
            let text = std::fs::read_to_string(&path).expect("a module is text");
            for (number, line) in text.lines().enumerate() {
                for word in line.split(|c: char| !c.is_ascii_alphabetic()) {
                    let retired = RETIRED.iter().find(|(retired, _)| word.eq_ignore_ascii_case(retired));
                    if let Some((retired, instead)) = retired {
                        panic!("{}:{}: `{retired}` is {instead} now", path.display(), number + 1);
                    }
                }
            }
        }
    }
}

#[test]
fn a_declaration_is_told_from_what_only_looks_like_one() {
    for (line, name) in [
        ("struct Row {", Some("Row")),
        ("pub(in crate::load) struct Row<'a>(u8);", Some("Row")),
        ("pub trait Row: Send {", Some("Row")),
        ("    type Item = u8;", None),
        ("let structure = 1;", None),
        ("/// struct Row", None),
    ] {
        assert_eq!(declared(line), name, "{line}");
    }
}
