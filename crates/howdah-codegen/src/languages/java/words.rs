//! Words that are no names in generated Java: keywords, classes that it mentions, and what every object has.

use crate::languages::names::Scope;

const KEYWORDS: &[&str] = &[
    "abstract",
    "assert",
    "boolean",
    "break",
    "byte",
    "case",
    "catch",
    "char",
    "class",
    "const",
    "continue",
    "default",
    "do",
    "double",
    "else",
    "enum",
    "extends",
    "false",
    "final",
    "finally",
    "float",
    "for",
    "goto",
    "if",
    "implements",
    "import",
    "instanceof",
    "int",
    "interface",
    "long",
    "native",
    "new",
    "null",
    "package",
    "permits",
    "private",
    "protected",
    "public",
    "record",
    "return",
    "sealed",
    "short",
    "static",
    "strictfp",
    "super",
    "switch",
    "synchronized",
    "this",
    "throw",
    "throws",
    "transient",
    "true",
    "try",
    "var",
    "void",
    "volatile",
    "while",
    "yield",
];
/// Classes that generated code mentions; a class of its own with such a name would stand for it.
const CLASSES: &[&str] = &[
    "Boolean",
    "Byte",
    "Character",
    "Class",
    "Deprecated",
    "Double",
    "Enum",
    "Error",
    "Exception",
    "Float",
    "FunctionalInterface",
    "HowdahBinary",
    "HowdahCodec",
    "HowdahCopy",
    "HowdahJdbc",
    "HowdahMigrate",
    "HowdahObserver",
    "HowdahUpsert",
    "Integer",
    "Iterable",
    "Long",
    "Number",
    "Object",
    "Override",
    "Record",
    "Short",
    "String",
    "StringBuilder",
    "System",
    "Throwable",
    "Void",
];
/// Classes that generated code imports where it mentions them.
pub(super) const IMPORTED: &[(&str, &str)] = &[
    ("BigDecimal", "java.math.BigDecimal"),
    ("Connection", "java.sql.Connection"),
    ("PreparedStatement", "java.sql.PreparedStatement"),
    ("ResultSet", "java.sql.ResultSet"),
    ("SQLException", "java.sql.SQLException"),
    ("LocalDate", "java.time.LocalDate"),
    ("LocalDateTime", "java.time.LocalDateTime"),
    ("LocalTime", "java.time.LocalTime"),
    ("OffsetDateTime", "java.time.OffsetDateTime"),
    ("OffsetTime", "java.time.OffsetTime"),
    ("ArrayList", "java.util.ArrayList"),
    ("List", "java.util.List"),
    ("Objects", "java.util.Objects"),
    ("UUID", "java.util.UUID"),
    ("Stream", "java.util.stream.Stream"),
];
const IMPORTED_NAMES: &[&str] = &[
    "BigDecimal",
    "Connection",
    "PreparedStatement",
    "ResultSet",
    "SQLException",
    "LocalDate",
    "LocalDateTime",
    "LocalTime",
    "OffsetDateTime",
    "OffsetTime",
    "ArrayList",
    "List",
    "Objects",
    "UUID",
    "Stream",
];
/// Methods of every object or record that take no arguments, or one of any type.
const OBJECT: &[&str] =
    &["clone", "equals", "finalize", "getClass", "hashCode", "notify", "notifyAll", "toString", "wait"];
/// What bodies of methods mention by these names.
const LOCAL: &[&str] = &["appender", "batch", "connection", "item", "out", "r", "row", "rows", "s"];
/// What joining texts mentions besides.
const JOINING: &[&str] = &["counts", "place", "sql"];

/// The names of classes in a file.
pub(super) fn class_scope() -> Scope {
    Scope::new(&[KEYWORDS, CLASSES, IMPORTED_NAMES])
}

/// The names of a file's constants.
pub(super) fn constant_scope() -> Scope {
    Scope::new(&[IMPORTED_NAMES])
}

/// The names of methods.
pub(super) fn method_scope() -> Scope {
    Scope::new(&[KEYWORDS, OBJECT])
}

/// The names of a record's components.
pub(super) fn component_scope() -> Scope {
    Scope::new(&[KEYWORDS, OBJECT])
}

/// The names of a method's parameters; `varies`: they decide about its text.
pub(super) fn parameter_scope(varies: bool) -> Scope {
    if varies {
        Scope::new(&[KEYWORDS, OBJECT, LOCAL, JOINING])
    } else {
        Scope::new(&[KEYWORDS, OBJECT, LOCAL])
    }
}

/// Whether a text has a word.
pub(super) fn mentions(text: &str, word: &str) -> bool {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '.')
        .any(|found| found.split('.').next() == Some(word))
}

#[cfg(test)]
mod tests {
    use super::{IMPORTED, IMPORTED_NAMES, mentions};

    #[test]
    fn what_is_imported_is_no_name() {
        assert_eq!(IMPORTED.iter().map(|(name, _)| *name).collect::<Vec<_>>(), IMPORTED_NAMES);
        assert!(mentions("new ArrayList<>(List.of())", "List") && !mentions("new ArrayList<>()", "List"));
    }
}
