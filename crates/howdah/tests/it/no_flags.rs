//! The library names options as data: how a front end spells them is not its business.

use std::path::{Path, PathBuf};

/// The crates whose messages reach programs that have no command line.
const LIBRARIES: [&str; 5] = ["howdah", "howdah-connect", "howdah-doctor", "howdah-message", "howdah-source"];

#[test]
fn no_string_of_the_library_spells_an_option_of_the_command() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut found = Vec::new();
    for library in LIBRARIES {
        let source = crates.join(library).join("src");
        for file in sources(&source) {
            let text = std::fs::read_to_string(&file).unwrap();
            for (line, literal) in strings(&text) {
                if has_flag(&literal) {
                    found.push(format!("{}:{line}: {literal:?}", file.display()));
                }
            }
        }
    }
    assert!(found.is_empty(), "name the option with a `Setting`:\n{}", found.join("\n"));
}

/// The command has a test of its own for its options.
#[test]
fn an_option_that_a_message_names_is_a_method_or_field_in_rust() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let texts: Vec<String> = ["howdah", "howdah-connect", "howdah-source", "howdah-doctor"]
        .iter()
        .flat_map(|library| sources(&crates.join(library).join("src")))
        .map(|file| std::fs::read_to_string(file).unwrap())
        .collect();
    let lines: Vec<&str> = texts.iter().flat_map(|text| text.lines().map(str::trim_start)).collect();
    for setting in howdah::message::setting::ALL {
        let name = setting.rust_name();
        let is_there = |line: &&str| {
            let line = line.strip_prefix("pub ").unwrap_or(line);
            line.strip_prefix("fn ")
                .unwrap_or(line)
                .strip_prefix(name)
                .is_some_and(|rest| rest.starts_with([':', '(']))
        };
        assert!(lines.iter().any(is_there), "{name}");
    }
}

#[test]
fn the_search_sees_flags_in_strings_and_nowhere_else() {
    let source = "// --no \"--no\"\nf('\"', \"say --yes\"); g(r#\"(--raw \"x\")\"#); /* \"--no\" */ h(\"a -- b\", b'\"')";
    let found: Vec<(usize, String)> =
        strings(source).into_iter().filter(|(_, literal)| has_flag(literal)).collect();
    assert_eq!(found, [(2, "say --yes".to_owned()), (2, "(--raw \"x\")".to_owned())]);
    assert!(!has_flag("a__b--c") && !has_flag("-- a comment of SQL") && has_flag("--mode"));
}

/// Every Rust file below `directory`.
fn sources(directory: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(directory) else { return Vec::new() };
    let mut files = Vec::new();
    for path in entries.map(|entry| entry.unwrap().path()) {
        if path.is_dir() {
            files.extend(sources(&path));
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            files.push(path);
        }
    }
    files
}

/// Whether `text` has a word that begins with two hyphens and a letter.
fn has_flag(text: &str) -> bool {
    text.match_indices("--").any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + 2..].chars().next();
        before.is_none_or(|c| !c.is_alphanumeric() && c != '-' && c != '_')
            && after.is_some_and(|c| c.is_ascii_lowercase())
    })
}

/// The string literals of Rust source, with the lines they begin on.
fn strings(source: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(rest) = source.get(at..).filter(|rest| !rest.is_empty()) {
        let line = || source[..at].matches('\n').count() + 1;
        if rest.starts_with("//") {
            at += rest.find('\n').unwrap_or(rest.len());
        } else if rest.starts_with("/*") {
            at += rest.find("*/").map_or(rest.len(), |end| end + 2);
        } else if let Some(hashes) = raw(source, at) {
            let begin = at + 2 + hashes;
            let close = format!("\"{}", "#".repeat(hashes));
            let end = begin + source[begin..].find(&close).unwrap();
            found.push((line(), source[begin..end].to_owned()));
            at = end + close.len();
        } else if let Some(literal) = rest.strip_prefix('"') {
            let length = quoted(literal, '"');
            found.push((line(), literal[..length].to_owned()));
            at += length + 2;
        } else if rest.starts_with("'\\") {
            at += quoted(&rest[1..], '\'') + 2;
        } else if rest.starts_with("'\"'") {
            at += 3;
        } else {
            at += rest.chars().next().map_or(1, char::len_utf8);
        }
    }
    found
}

/// How many hashes the raw string has that begins at `at`; `None` where none does.
fn raw(source: &str, at: usize) -> Option<usize> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    if source[..at].chars().next_back().is_some_and(|c| is_word(c) && c != 'b') {
        return None;
    }
    let rest = source[at..].strip_prefix('r')?;
    let hashes = rest.len() - rest.trim_start_matches('#').len();
    rest[hashes..].starts_with('"').then_some(hashes)
}

/// How many bytes of `text` come before the `end` that no backslash escapes.
fn quoted(text: &str, end: char) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        if c == end && !escaped {
            return at;
        }
        escaped = c == '\\' && !escaped;
    }
    text.len()
}
