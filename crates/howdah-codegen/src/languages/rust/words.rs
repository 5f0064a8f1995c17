//! Words that are no names in generated Rust: keywords, types of the prelude, and what bodies of functions mention.

use crate::languages::names::Scope;

pub(super) const KEYWORDS: &[&str] = &[
    "Self", "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "crate", "do",
    "dyn", "else", "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let", "loop",
    "macro", "match", "mod", "move", "mut", "override", "priv", "pub", "ref", "return", "self", "static",
    "struct", "super", "trait", "true", "try", "type", "typeof", "unsafe", "unsized", "use", "virtual",
    "where", "while", "yield",
];
/// Types and traits that generated code, its derives and its macros mention.
const TYPES: &[&str] = &[
    "Box",
    "Clone",
    "Copy",
    "Debug",
    "Eq",
    "Err",
    "FnOnce",
    "Future",
    "Hash",
    "IntoIterator",
    "Iterator",
    "None",
    "Ok",
    "Option",
    "Ord",
    "PartialEq",
    "PartialOrd",
    "Result",
    "Send",
    "Some",
    "String",
    "Sync",
    "ToOwned",
    "ToString",
    "Vec",
];
/// Macros are in no scope of names; the names of primitive types are, of types.
const MENTIONED: &[&str] =
    &["batch", "db", "fields", "item", "joined", "parameters", "row", "rows", "statement", "statements"];

/// The names of a file's types.
pub(super) fn type_scope() -> Scope {
    Scope::new(&[KEYWORDS, TYPES])
}

/// The names of a file's functions, and of a struct's fields.
pub(super) fn value_scope() -> Scope {
    Scope::new(&[KEYWORDS])
}

/// The labels of an enum.
pub(super) fn label_scope() -> Scope {
    Scope::new(&[KEYWORDS])
}

/// The names of a function's parameters.
pub(super) fn parameter_scope() -> Scope {
    Scope::new(&[KEYWORDS, MENTIONED])
}
