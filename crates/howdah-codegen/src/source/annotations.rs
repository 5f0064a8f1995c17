//! A header's modifiers and YAML: what they mean, and for which kinds of blocks.

use std::ops::Range;

use super::block::{Block, BlockKind, Modifier, Override};
use super::header::{HeaderParts, ModifierParts};
use super::{choices, lexer};
use crate::diagnostic::Lines;
use crate::diagnostic::{Code, Diagnostic, Severity, nearest};
use crate::yaml::{self, YamlOrigin, YamlReader, YamlValue};

/// What stands behind a modifier.
#[derive(Debug, Clone, Copy, PartialEq)]
enum ModifierValue {
    Nothing,
    /// `=value`.
    YamlValue,
    /// `=value` or not.
    MaybeValue,
    /// `(a, b)` or not.
    MaybeColumns,
}

/// A modifier, what it takes, and where it has a meaning.
struct KnownModifier {
    name: &'static str,
    takes: ModifierValue,
    kinds: &'static [BlockKind],
}

const fn known(name: &'static str, takes: ModifierValue, kinds: &'static [BlockKind]) -> KnownModifier {
    KnownModifier { name, takes, kinds }
}

const KNOWN: [KnownModifier; 11] = [
    known("one", ModifierValue::Nothing, &[BlockKind::Query]),
    known("all", ModifierValue::Nothing, &[BlockKind::Query]),
    known("pluck", ModifierValue::Nothing, &[BlockKind::Query]),
    known("result", ModifierValue::YamlValue, &[BlockKind::Query]),
    known("batch", ModifierValue::Nothing, &[BlockKind::Query, BlockKind::Exec]),
    known("source", ModifierValue::YamlValue, &[BlockKind::Baseline]),
    known("no_transaction", ModifierValue::Nothing, &[BlockKind::Migrate]),
    known("appender", ModifierValue::MaybeColumns, &[BlockKind::Table]),
    known("upsert", ModifierValue::MaybeValue, &[BlockKind::Table]),
    known("ignore", ModifierValue::MaybeValue, &[BlockKind::Table]),
    known("writer", ModifierValue::Nothing, &[BlockKind::Table]),
];

/// Reads the modifiers of a header that begins at an offset of its file.
pub(crate) fn modifiers(
    said: &HeaderParts,
    comment: &str,
    offset: usize,
    block: &mut Block,
    lines: &Lines<'_>,
    diagnostics: &mut Vec<Diagnostic>,
) {
    let file = block.place.file.clone();
    for shape in &said.modifiers {
        let at = |range: &Range<usize>| offset + range.start..offset + range.end;
        let place = lines.place(&file, at(&shape.whole));
        let name = &comment[shape.name.clone()];
        let arguments = shape.arguments.clone().map(|range| columns(&comment[range]));
        let read = Modifier {
            name: name.to_owned(),
            value: shape.value.clone().map(|range| comment[range].to_owned()),
            arguments: arguments.clone().map(Option::unwrap_or_default),
            place: place.clone(),
        };
        let wrong = |message: String| Diagnostic::error(Code::InvalidModifier, place.clone(), message);
        let Some(known) = KNOWN.iter().find(|known| known.name == name) else {
            let possible = KNOWN.iter().filter(|known| known.kinds.contains(&block.kind));
            let list = possible.clone().map(|known| format!(":{}", known.name)).collect::<Vec<_>>();
            let help = match nearest(name, KNOWN.iter().map(|known| known.name)) {
                Some(near) => format!("perhaps you meant `:{near}`"),
                None => format!("{} takes {}", block.kind.word(), list.join(", ")),
            };
            diagnostics.push(wrong(format!("there is no modifier `:{name}`")).help(help));
            continue;
        };
        if let Some(error) = shape_error(known, shape, &arguments) {
            diagnostics.push(wrong(error));
            continue;
        }
        if !known.kinds.contains(&block.kind) {
            let kinds = known.kinds.iter().map(|kind| kind.word()).collect::<Vec<_>>().join(" and ");
            let message = format!("`:{name}` means nothing for {}", block.kind.word());
            let mut diagnostic = wrong(message).help(format!("it belongs to {kinds}"));
            // SQG passes over its own where they mean nothing, except `:source`.
            if !matches!(name, "source" | "no_transaction" | "upsert" | "ignore" | "writer") {
                diagnostic.severity = Severity::Warning;
            }
            diagnostics.push(diagnostic);
            continue;
        }
        if name == "source" {
            let source = read.value.as_deref().unwrap_or_default();
            let help = format!("write the BASELINE without it: `-- BASELINE {}`", block.name);
            let message = format!(
                "`:source={source}` names a database that DuckDB reads, and there is only PostgreSQL"
            );
            diagnostics.push(wrong(message).help(help));
        }
        let contradicts = |before: &&Modifier| {
            before.name == name
                || matches!(
                    (before.name.as_str(), name),
                    ("one", "all") | ("all", "one") | ("result", "pluck") | ("pluck", "result")
                )
        };
        if let Some(before) = block.modifiers.iter().find(contradicts) {
            let message = if before.name == name {
                format!("`:{name}` is there twice")
            } else {
                format!("`:{name}` contradicts `:{}`", before.name)
            };
            diagnostics.push(wrong(message));
            continue;
        }
        block.modifiers.push(read);
    }
}

/// What is wrong with how a modifier is written.
fn shape_error(
    known: &KnownModifier,
    shape: &ModifierParts,
    arguments: &Option<Option<Vec<String>>>,
) -> Option<String> {
    let name = known.name;
    let takes = known.takes;
    if takes == ModifierValue::YamlValue && shape.value.is_none() {
        return Some(format!("`:{name}` needs a value: `:{name}=Name`"));
    }
    if shape.value.is_some() && !matches!(takes, ModifierValue::YamlValue | ModifierValue::MaybeValue) {
        return Some(format!("`:{name}` takes no value"));
    }
    match arguments {
        Some(_) if takes != ModifierValue::MaybeColumns => Some(format!("`:{name}` takes no columns")),
        Some(None) => Some(format!("`:{name}(…)` names columns, with a comma between them")),
        _ => None,
    }
}

/// The names between parentheses, as the server reads them.
fn columns(text: &str) -> Option<Vec<String>> {
    let tokens = lexer::lex(text);
    let mut names = Vec::new();
    let mut wants_name = true;
    for token in tokens.iter().filter(|token| !token.is_trivia()) {
        let word = token.text(text);
        match token.kind {
            lexer::TokenKind::Word if wants_name => names.push(word.to_lowercase()),
            lexer::TokenKind::QuotedName if wants_name && token.closed && word.starts_with('"') => {
                names.push(word[1..word.len() - 1].replace("\"\"", "\""));
            }
            lexer::TokenKind::Other if !wants_name && word == "," => {}
            _ => return None,
        }
        wants_name = !wants_name;
    }
    (!wants_name).then_some(names)
}

/// Reads a header's YAML, which stands at a range of the file.
pub(crate) fn overrides(
    text: &str,
    range: Range<usize>,
    block: &mut Block,
    lines: &Lines<'_>,
    diagnostics: &mut Vec<Diagnostic>,
) {
    let file = block.place.file.clone();
    let first = lines.place(&file, range.clone());
    // Padded, so that its columns are those of the file.
    let padded = format!("{}{}", " ".repeat(first.column - 1), &text[range]);
    let node = match yaml::read(&padded, YamlOrigin { file: &file, line: first.line - 1 }) {
        Ok(node) => node,
        Err(error) => return diagnostics.push(*error),
    };
    let mut reader = YamlReader { diagnostics };
    // SQG passes over other keys, and files have them.
    let known = ["params", "result", "choices"];
    let [params, result, chosen] = reader.keys_and(node, "a header", known, Severity::Warning);
    let kinds = [
        ("params", &params, block.kind.has_parameters()),
        ("result", &result, block.kind == BlockKind::Query),
        ("choices", &chosen, block.kind.has_parameters()),
    ];
    for (key, node, has) in kinds {
        if let (Some(node), false) = (node, has) {
            let message = format!("`{key}` means nothing for {}", block.kind.word());
            let place = node.place.clone();
            reader.diagnostics.push(Diagnostic::warning(Code::ConfigValidationError, place, message));
        }
    }
    block.params = types(&mut reader, params, "`params`");
    block.result = types(&mut reader, result, "`result`");
    block.choices = choices::read(&mut reader, chosen);
}

fn types(reader: &mut YamlReader<'_>, node: Option<yaml::YamlNode>, what: &str) -> Vec<Override> {
    let mut read = Vec::new();
    for (name, node) in reader.names(node, what) {
        let text = match node.value {
            YamlValue::Null => "null".to_owned(),
            YamlValue::Scalar(text, _) => text,
            _ => String::new(),
        };
        match override_of(&text) {
            Some((ty, nullable)) => read.push(Override { name, ty, nullable, place: node.place }),
            None => {
                let message = format!("`{name}` is given no type");
                reader.wrong(&node.place, message).suggestion =
                    Some(format!("write `{name}: bigint not null`, `{name}: not null` or `{name}: null`"));
            }
        }
    }
    read
}

/// `bigint not null`, `bigint null`, `bigint`, `not null` or `null`.
fn override_of(text: &str) -> Option<(Option<String>, Option<bool>)> {
    let mut words = text.split_whitespace().collect::<Vec<_>>();
    let is = |word: Option<&&str>, meant: &str| word.is_some_and(|word| word.eq_ignore_ascii_case(meant));
    let mut nullable = None;
    if is(words.last(), "null") {
        words.pop();
        nullable = Some(true);
        if is(words.last(), "not") {
            words.pop();
            nullable = Some(false);
        }
    }
    let ty = (!words.is_empty()).then(|| words.join(" "));
    (ty.is_some() || nullable.is_some()).then_some((ty, nullable))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_override_is_a_type_or_nullability_or_both() {
        let ty = |name: &str| Some(name.to_owned());
        assert_eq!(override_of("numeric(10, 2) NOT NULL"), Some((ty("numeric(10, 2)"), Some(false))));
        assert_eq!(override_of("text null"), Some((ty("text"), Some(true))));
        assert_eq!(override_of(" text[] "), Some((ty("text[]"), None)));
        assert_eq!(override_of("not null"), Some((None, Some(false))));
        assert_eq!(override_of("null"), Some((None, Some(true))));
        assert_eq!(override_of(" "), None);
    }

    #[test]
    fn columns_are_names_of_sql() {
        assert_eq!(columns("a, B,\"C \"\"d\""), Some(vec!["a".into(), "b".into(), "C \"d".into()]));
        assert_eq!(columns(""), None);
        assert_eq!(columns("a b"), None);
        assert_eq!(columns("a,"), None);
    }
}
