//! SQL names: parsed from what a user typed, quoted for SQL in one place only.

use std::fmt;

pub use howdah_source::listing::display;

pub use crate::catalog::fitting::MAX_NAME_BYTES;
use crate::catalog::fitting::{Marks, fit};
use crate::error::Error;

/// A name that PostgreSQL takes: `name` itself, or a long one's beginning and end with a checksum, which no other long name gets.
pub fn fitting(name: &str) -> String {
    fit(name, &Marks { gap: "_", sum: "_" })
}

/// The columns that every table has, so that no other can have their names.
pub(crate) const SYSTEM_COLUMNS: [&str; 6] = ["cmax", "cmin", "ctid", "tableoid", "xmax", "xmin"];

/// `[schema.]table`, after folding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableName {
    /// `None`: the first schema of the search path.
    pub schema: Option<String>,
    /// The relation's name, as stored in the catalog.
    pub table: String,
}

impl TableName {
    /// Reads `schema.table` as SQL does: unquoted parts are folded to lower case, `"Quoted ""parts"""` are kept.
    ///
    /// # Errors
    /// A usage error for an empty part, an open quote, a third part, NUL, or a part above 63 bytes.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let mut parts = split_parts(text)?;
        let table = parts.pop().unwrap_or_default();
        let schema = parts.pop();
        if !parts.is_empty() {
            return Err(Error::usage(format!("{text:?} has too many parts for a table name"))
                .with_hint("use schema.table; quote a part that contains a dot: \"a.b\""));
        }
        for part in schema.iter().chain([&table]) {
            check(part)?;
        }
        Ok(TableName { schema, table })
    }

    /// The table of that very name, nothing folded.
    ///
    /// # Errors
    /// As [`check`].
    pub fn exact(table: &str) -> Result<Self, Error> {
        check(table)?;
        Ok(TableName { schema: None, table: table.to_owned() })
    }

    /// For people: quoted where needed.
    pub(crate) fn display(&self) -> String {
        let parts = self.schema.iter().chain([&self.table]);
        parts.map(|part| display(part)).collect::<Vec<_>>().join(".")
    }
}

impl fmt::Display for TableName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(schema) = &self.schema {
            write!(f, "{}.", quote(schema))?;
        }
        f.write_str(&quote(&self.table))
    }
}

/// A name as an SQL identifier, always in double quotes: safe for every keyword, case and character.
pub fn quote(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// A string as an SQL literal; also right when `standard_conforming_strings` is off.
pub fn quote_literal(text: &str) -> String {
    if text.contains('\\') {
        format!(" E'{}'", text.replace('\\', "\\\\").replace('\'', "''"))
    } else {
        format!("'{}'", text.replace('\'', "''"))
    }
}

/// Refuses what PostgreSQL would refuse or silently cut.
///
/// # Errors
/// A usage error for an empty name, a NUL byte, or more than 63 bytes.
pub fn check(name: &str) -> Result<(), Error> {
    if name.is_empty() {
        return Err(Error::usage("a name is empty").with_sqlstate("42601"));
    }
    if name.contains('\0') {
        return Err(Error::usage("a name contains a NUL byte").with_sqlstate("42602"));
    }
    if name.len() > MAX_NAME_BYTES {
        return Err(Error::usage(format!("the name {name:?} has {} bytes; PostgreSQL keeps 63", name.len()))
            .with_sqlstate("42622"));
    }
    Ok(())
}

fn split_parts(text: &str) -> Result<Vec<String>, Error> {
    let mut parts = Vec::new();
    let mut part = String::new();
    let mut chars = text.chars().peekable();
    let within = || {
        Error::usage(format!("a quote within a part of the name {text:?}"))
            .with_hint("quote the whole part: \"a \"\"b\"\"\"")
    };
    while let Some(c) = chars.next() {
        match c {
            '.' => parts.push(std::mem::take(&mut part)),
            '"' if !part.is_empty() => return Err(within()),
            '"' => loop {
                match chars.next() {
                    Some('"') if chars.peek() == Some(&'"') => {
                        chars.next();
                        part.push('"');
                    }
                    Some('"') if chars.peek().is_none_or(|next| *next == '.') => break,
                    Some('"') => return Err(within()),
                    Some(inner) => part.push(inner),
                    None => return Err(Error::usage(format!("unterminated quote in the name {text:?}"))),
                }
            },
            // PostgreSQL folds ASCII only where the encoding is multi-byte.
            other => part.push(other.to_ascii_lowercase()),
        }
    }
    parts.push(part);
    Ok(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unquoted_parts_fold_and_quoted_parts_do_not() {
        let name = TableName::parse("Public.\"My \"\"T\"\".x\"").unwrap();
        assert_eq!(name.schema.as_deref(), Some("public"));
        assert_eq!(name.table, "My \"T\".x");
        assert_eq!(name.to_string(), "\"public\".\"My \"\"T\"\".x\"");
    }

    #[test]
    fn names_that_postgresql_would_cut_or_refuse_are_refused() {
        assert!(TableName::parse(&"x".repeat(63)).is_ok());
        for bad in
            [&"x".repeat(64), "", "a.", ".a", "a.b.c", "\"open", "a\0b", "\"a\"b", "t. \"x\"", "U&\"\\0061\""]
        {
            assert!(TableName::parse(bad).is_err(), "{bad:?} was taken");
        }
    }

    #[test]
    fn literals_survive_quotes_and_backslashes() {
        assert_eq!(quote_literal("it's"), "'it''s'");
        assert_eq!(quote_literal("a\\b"), " E'a\\\\b'");
    }
}
