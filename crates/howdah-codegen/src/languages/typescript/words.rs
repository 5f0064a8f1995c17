//! Words that are no names in generated TypeScript: those of the language, and what its code mentions.

use crate::languages::names::Scope;

/// No variable, parameter or class can have these names in a module.
const KEYWORDS: &[&str] = &[
    "arguments",
    "async",
    "await",
    "break",
    "case",
    "catch",
    "class",
    "const",
    "continue",
    "debugger",
    "default",
    "delete",
    "do",
    "else",
    "enum",
    "eval",
    "export",
    "extends",
    "false",
    "finally",
    "for",
    "function",
    "if",
    "implements",
    "import",
    "in",
    "instanceof",
    "interface",
    "let",
    "new",
    "null",
    "of",
    "package",
    "private",
    "protected",
    "public",
    "return",
    "static",
    "super",
    "switch",
    "this",
    "throw",
    "true",
    "try",
    "typeof",
    "undefined",
    "var",
    "void",
    "while",
    "with",
    "yield",
];
/// What methods mention besides.
const MENTIONED: &[&str] = &[
    "batch", "codec", "copy", "item", "joined", "migrate", "observed", "options", "pg", "row", "rows",
    "shop", "staged",
];
/// Types that the file mentions or that readers know.
const TYPES: &[&str] = &[
    "Array",
    "AsyncGenerator",
    "AsyncIterable",
    "BigInt",
    "Boolean",
    "Buffer",
    "Date",
    "Error",
    "Function",
    "Iterable",
    "Json",
    "Map",
    "Number",
    "Object",
    "Pool",
    "Promise",
    "Set",
    "String",
    "Symbol",
];
/// A class is no promise: `await` would call `then`.
const MEMBERS: &[&str] = &["constructor", "then"];

/// The names of the file.
pub(super) fn file_scope() -> Scope {
    Scope::new(&[KEYWORDS, MENTIONED, TYPES])
}

/// The names of a method's parameters.
pub(super) fn parameter_scope() -> Scope {
    Scope::new(&[KEYWORDS, MENTIONED])
}

/// The names of the class's methods.
pub(super) fn member_scope() -> Scope {
    Scope::new(&[MEMBERS])
}

/// The names of an object's properties: any word can be one.
pub(super) fn property_scope() -> Scope {
    Scope::new(&[])
}
