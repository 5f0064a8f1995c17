//! Headers: what one looks like, and what it says.

use std::ops::Range;

use super::block::BlockKind;

impl BlockKind {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Query, Self::Exec, Self::Migrate, Self::Baseline, Self::Testdata, Self::Table];

    /// The word of its header.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Query => "QUERY",
            Self::Exec => "EXEC",
            Self::Migrate => "MIGRATE",
            Self::Baseline => "BASELINE",
            Self::Testdata => "TESTDATA",
            Self::Table => "TABLE",
        }
    }

    fn of(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.word() == word)
    }
}

/// A byte of the name of a block or variable.
pub(crate) fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// The kind of a comment that is a header, and the length of what stands before its name.
pub(crate) fn opening(comment: &str) -> Option<(BlockKind, usize)> {
    let block = comment.starts_with("/*");
    let blank = |c: char| c == ' ' || c == '\t' || (block && (c == '\n' || c == '\r'));
    let word = comment[2..].trim_start_matches(blank);
    let length = word.find(|c: char| !c.is_ascii_alphabetic())?;
    let (word, behind) = word.split_at(length);
    let kind = BlockKind::of(word)?;
    let name = behind.trim_start_matches(blank);
    (name.len() < behind.len()).then(|| (kind, comment.len() - name.len()))
}

/// Where the next line begins, behind an offset, that looks like a header.
pub(crate) fn next_line(text: &str, from: usize) -> Option<usize> {
    let mut at = from;
    loop {
        at += text[at..].find(['\n', '\r'])? + 1;
        if looks(&text[at..]) {
            return Some(at);
        }
    }
}

/// Whether a text begins with a line that is a header.
pub(crate) fn looks(text: &str) -> bool {
    let line = text.trim_start_matches([' ', '\t']);
    if !line.starts_with("--") && !line.starts_with("/*") {
        return false;
    }
    let line = line.split(['\n', '\r']).next().unwrap_or_default();
    opening(line).is_some_and(|(_, length)| line[length..].bytes().next().is_some_and(is_name))
}

/// What a comment probably wants to be that is no header; what to write instead.
pub(crate) fn almost(comment: &str) -> Option<String> {
    let line = comment.strip_prefix("--")?.trim();
    // sqlc's, and those of aiosql and HugSQL.
    if let Some(rest) = line.strip_prefix("name:") {
        let name = rest.trim().split([' ', '\t']).next().unwrap_or_default();
        let kind = if rest.contains(":exec") { "EXEC" } else { "QUERY" };
        let one = if rest.contains(":one") { " :one" } else { "" };
        return name.bytes().next().is_some_and(is_name).then(|| format!("write `-- {kind} {name}{one}`"));
    }
    let mut words = line.split_ascii_whitespace();
    let first = words.next()?;
    let word = first.trim_end_matches(':');
    let upper = word.to_ascii_uppercase();
    let kind = crate::diagnostic::nearest(&upper, BlockKind::ALL.map(BlockKind::word))?;
    let Some(name) = words.next() else {
        return (upper == kind && word == upper).then(|| format!("write `-- {kind} name`"));
    };
    let shaped = name.bytes().all(is_name) && words.all(|word| word.starts_with(':'));
    let certain = name.contains('_') || line.contains(" :") || word == upper;
    (shaped && certain && first != kind).then(|| format!("write `-- {kind} {name}`"))
}

/// What stands behind a header's word, by offsets in the comment.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct HeaderParts {
    pub(crate) name: Range<usize>,
    pub(crate) modifiers: Vec<ModifierParts>,
    /// Where YAML begins, or what does not belong there.
    pub(crate) rest: usize,
}

/// A modifier's parts.
#[derive(Debug, PartialEq)]
pub(crate) struct ModifierParts {
    pub(crate) whole: Range<usize>,
    pub(crate) name: Range<usize>,
    pub(crate) value: Option<Range<usize>>,
    /// What stands between the parentheses.
    pub(crate) arguments: Option<Range<usize>>,
}

/// Reads name and modifiers of a comment from an offset on, as far as they go.
pub(crate) fn read(comment: &str, from: usize) -> HeaderParts {
    let bytes = comment.as_bytes();
    let word = |from: usize| {
        from..bytes[from..]
            .iter()
            .position(|byte| !is_name(*byte))
            .map_or(bytes.len(), |length| from + length)
    };
    let blanks = |from: usize| {
        from + bytes[from..].iter().take_while(|byte| **byte == b' ' || **byte == b'\t').count()
    };
    let name = word(from);
    let mut said = HeaderParts { rest: name.end, name, modifiers: Vec::new() };
    loop {
        let start = blanks(said.rest);
        if bytes.get(start) != Some(&b':') || word(start + 1).is_empty() {
            return said;
        }
        let name = word(start + 1);
        let mut shape =
            ModifierParts { whole: start..name.end, name: name.clone(), value: None, arguments: None };
        let mut end = name.end;
        if bytes.get(end) == Some(&b'=') && !word(end + 1).is_empty() {
            let value = word(end + 1);
            end = value.end;
            shape.value = Some(value);
        }
        if bytes.get(end) == Some(&b'(')
            && let Some(length) = comment[end..].find(')')
        {
            shape.arguments = Some(end + 1..end + length);
            end += length + 1;
        }
        shape.whole.end = end;
        said.rest = end;
        said.modifiers.push(shape);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_a_word_a_blank_and_a_name() {
        assert_eq!(opening("-- QUERY a"), Some((BlockKind::Query, 9)));
        assert_eq!(opening("--EXEC\ta"), Some((BlockKind::Exec, 7)));
        assert_eq!(opening("/*\n  TABLE\n a */"), Some((BlockKind::Table, 12)));
        assert_eq!(opening("-- TABLE-like helper"), None);
        assert_eq!(opening("-- QUERY"), None);
        assert_eq!(opening("-- query a"), None);
    }

    #[test]
    fn what_is_almost_a_header_is_told_what_to_be() {
        assert_eq!(almost("-- name: GetUser :one").as_deref(), Some("write `-- QUERY GetUser :one`"));
        assert_eq!(almost("-- query get_user").as_deref(), Some("write `-- QUERY get_user`"));
        assert_eq!(almost("-- QEURY users :one").as_deref(), Some("write `-- QUERY users`"));
        assert_eq!(almost("-- QUERY: users").as_deref(), Some("write `-- QUERY users`"));
        assert_eq!(almost("-- Query plans are slow"), None);
        assert_eq!(almost("-- table users"), None);
        assert_eq!(almost("-- a comment"), None);
    }
}
