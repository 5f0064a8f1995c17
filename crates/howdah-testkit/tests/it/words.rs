//! One word for one thing: a type's name stands once in a crate, and words that were given up for the field's own stay away.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Words that the field does not have, and what is said instead.
const RETIRED: [(&str, &str); 12] = [
    ("fate", "state, outcome"),
    ("fates", "states, outcomes"),
    ("ghost", "an abandoned session"),
    ("ghosts", "abandoned sessions"),
    ("farewell", "the end"),
    ("hurried", "flushed"),
    ("nuller", "an outer join"),
    ("nullers", "outer joins"),
    ("surroundings", "the program's host"),
    ("trouble", "an error"),
    ("unheard", "unclaimed"),
    ("untold", "unreported"),
];

/// The same in generators of code alone; elsewhere these words are used in their usual sense.
const RETIRED_IN_CODEGEN: [(&str, &str); 8] = [
    ("judge", "analyse, describe"),
    ("judged", "analysed, described"),
    ("judges", "analyses, describes"),
    ("verdict", "nullability"),
    ("verdicts", "nullability"),
    ("leftout", "skipped"),
    ("wish", "a requested parameter"),
    ("wishes", "requested parameters"),
];

/// What users read calls a bad record *rejected*: neither ignored nor refused.
const NOT_REJECTED: [&str; 8] = [
    "record was ignored",
    "records were ignored",
    "ignored record",
    "record was refused",
    "records were refused",
    "record is refused",
    "records are refused",
    "refused record",
];

/// Folders whose files say the same in another language: each has the names that the others have.
const MIRRORS: [&str; 5] =
    ["languages/go/", "languages/java/", "languages/python/", "languages/rust/", "languages/typescript/"];

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
        "howdah-codegen",
        "howdah-connect",
        "howdah-doctor",
        "howdah-encode",
        "howdah-message",
        "howdah-python",
        "howdah-server",
        "howdah-source",
    ] {
        let mut declarations: BTreeMap<(Option<&str>, String), Vec<String>> = BTreeMap::new();
        for path in
            files(&sources(name)).iter().filter(|path| !STAND_INS.iter().any(|one| path.ends_with(one)))
        {
            let text = std::fs::read_to_string(path).expect("a module is text");
            let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
            let shown = path.display().to_string();
            let mirror = MIRRORS.into_iter().find(|folder| shown.contains(folder));
            for found in code.lines().filter_map(declared) {
                declarations.entry((mirror, found.to_owned())).or_default().push(shown.clone());
            }
        }
        // The same type of two systems is declared twice in one file.
        let twice = declarations.iter().filter(|(_, places)| places.iter().any(|place| *place != places[0]));
        let twice: Vec<_> = twice.collect();
        assert!(twice.is_empty(), "{name}: {twice:#?}");
    }
}

/// The first word of a text that was given up, with its line.
fn retired<'t>(text: &'t str, words: &[(&str, &'t str)]) -> Option<(usize, &'t str, &'t str)> {
    text.lines().enumerate().find_map(|(index, line)| {
        line.split(|c: char| !c.is_ascii_alphabetic()).find_map(|word| {
            let (_, instead) = words.iter().find(|(retired, _)| word.eq_ignore_ascii_case(retired))?;
            Some((index + 1, word, *instead))
        })
    })
}

#[test]
fn retired_words_stay_away() {
    for name in [
        "howdah",
        "howdah-cli",
        "howdah-codegen",
        "howdah-connect",
        "howdah-doctor",
        "howdah-encode",
        "howdah-python",
        "howdah-source",
    ] {
        for path in files(&sources(name)) {
            let text = std::fs::read_to_string(&path).expect("a module is text");
            let own: &[_] = if name == "howdah-codegen" { &RETIRED_IN_CODEGEN } else { &[] };
            for words in [&RETIRED[..], own] {
                if let Some((line, word, instead)) = retired(&text, words) {
                    panic!("{}:{line}: `{word}` is {instead} now", path.display());
                }
            }
        }
    }
}

#[test]
fn a_bad_record_is_rejected_wherever_users_read_of_it() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut pages = vec![root.join("README.md")];
    for (folder, kind) in [("docs", "md"), ("docs/codegen", "md"), ("python/howdah", "py")] {
        let entries = std::fs::read_dir(root.join(folder)).expect("a folder of the project can be listed");
        pages.extend(
            entries
                .map(|entry| entry.expect("an entry can be read").path())
                .filter(|path| path.extension().is_some_and(|extension| extension == kind)),
        );
    }
    for name in ["howdah", "howdah-cli", "howdah-python"] {
        pages.extend(files(&sources(name)));
    }
    for path in pages {
        let text = std::fs::read_to_string(&path).expect("a page is text").to_lowercase();
        // A sentence may be broken between two lines.
        let flat =
            text.split_whitespace().filter(|word| !word.starts_with("//")).collect::<Vec<_>>().join(" ");
        for phrase in NOT_REJECTED {
            assert!(!flat.contains(phrase), "{}: a bad record is rejected, not `{phrase}`", path.display());
        }
    }
}

#[test]
fn a_retired_word_is_found_in_any_case_and_not_in_others() {
    assert_eq!(retired("a\nstruct Trouble;", &RETIRED), Some((2, "Trouble", "an error")));
    assert_eq!(retired("troubles troublesome", &RETIRED), None);
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
