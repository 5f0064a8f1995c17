//! Words that are no names in generated Python: keywords, and what its code mentions or imports.

use crate::languages::custom::imports;
use crate::languages::names::Scope;

const KEYWORDS: &[&str] = &[
    "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue", "def",
    "del", "elif", "else", "except", "finally", "for", "from", "global", "if", "import", "in", "is",
    "lambda", "nonlocal", "not", "or", "pass", "raise", "return", "try", "while", "with", "yield",
];
/// What hints mention by these names.
const HINTED: &[&str] =
    &["bool", "bytes", "dict", "dt", "float", "int", "list", "object", "pg", "str", "tuple"];
/// What bodies of methods mention by these names.
const MENTIONED: &[&str] = &["batch", "cursor", "fetch_size", "items", "max", "result", "self"];
/// What joining texts mentions besides.
const JOINING: &[&str] = &["changed", "rows", "sql"];
/// Whether no file, variable or class can have a name.
pub(super) fn is_keyword(name: &str) -> bool {
    KEYWORDS.contains(&name)
}

/// The names of a module: classes, and constants.
pub(super) fn module_scope() -> Scope {
    let mut scope = Scope::new(&[KEYWORDS, HINTED]);
    scope.avoid(imports::PYTHON.iter().map(|(name, _)| (*name).to_owned()).collect());
    scope
}

/// The names of a class's methods.
pub(super) fn member_scope() -> Scope {
    Scope::new(&[KEYWORDS, &["__init__"]])
}

/// The names of a class's fields.
pub(super) fn field_scope() -> Scope {
    Scope::new(&[KEYWORDS, HINTED])
}

/// The names of a method's parameters; `varies`: they decide about its text.
pub(super) fn parameter_scope(varies: bool) -> Scope {
    if varies {
        Scope::new(&[KEYWORDS, HINTED, MENTIONED, JOINING])
    } else {
        Scope::new(&[KEYWORDS, HINTED, MENTIONED])
    }
}
