//! Statements, tables and migrations of a module.

use serde::{Deserialize, Serialize};

use super::TypeRef;

/// A QUERY or an EXEC.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Statement {
    /// Its name in the file.
    pub name: String,
    /// QUERY returns rows, EXEC the number of rows that it changed.
    pub kind: Kind,
    /// At most one row is wanted (`:one`).
    pub one: bool,
    /// The only column is wanted, not a row (`:pluck`).
    pub pluck: bool,
    /// Also for many sets of parameters at once (`:batch`).
    pub batch: bool,
    /// The name that rows share (`:result=Name`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
    /// The comments directly above the header, a line each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub documentation: Vec<String>,
    /// The file, as the configuration names it.
    pub file: String,
    /// The header's line, from 1.
    pub line: usize,
    /// The statement without its last semicolon: texts with parameters between them.
    pub sql: Vec<Fragment>,
    /// In the order in which callers give them.
    pub parameters: Vec<Parameter>,
    /// Of the result; none for an EXEC.
    pub columns: Vec<Column>,
}

/// The two kinds of statements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Returns rows.
    Query,
    /// Returns a number of rows.
    Exec,
}

/// A piece of a statement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Fragment {
    /// SQL as it stands in the file.
    Text(String),
    /// Where a parameter stands: its index in [`Statement::parameters`].
    Parameter(usize),
}

/// A value that a caller gives.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Parameter {
    /// Its name in the file.
    pub name: String,
    /// As the server described it.
    #[serde(rename = "type")]
    pub ty: TypeRef,
    /// Callers may give null.
    pub nullable: bool,
    /// Why, for people: `tested by IS NULL`.
    pub why: String,
}

/// A column of a result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Column {
    /// Its name in the result.
    pub name: String,
    /// As the server described it.
    #[serde(rename = "type")]
    pub ty: TypeRef,
    /// It can be null as far as is known.
    pub nullable: bool,
    /// Why, for people: `right side of LEFT JOIN posts`.
    pub why: String,
    /// The table's column that it shows unchanged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
}

/// A column of a table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// The table's schema.
    pub schema: String,
    /// The table.
    pub table: String,
    /// The column.
    pub column: String,
}

/// A TABLE: a row type and what writes rows of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Table {
    /// Its name in the file.
    pub name: String,
    /// The table's schema.
    pub schema: String,
    /// The table.
    pub table: String,
    /// The comments directly above the header, a line each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub documentation: Vec<String>,
    /// The file, as the configuration names it.
    pub file: String,
    /// The header's line, from 1.
    pub line: usize,
    /// Rows are appended by binary COPY (`:appender`).
    pub appender: bool,
    /// All columns that the table has, in its order.
    pub columns: Vec<TableColumn>,
}

/// A column of a [`Table`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TableColumn {
    /// Its name.
    pub name: String,
    /// Its type.
    #[serde(rename = "type")]
    pub ty: TypeRef,
    /// It takes null.
    pub nullable: bool,
    /// Rows have it: not an identity, a sequence's default or a generated column, or named by `:appender(…)`.
    pub written: bool,
}

/// A MIGRATE.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Migration {
    /// Its name in the file, which databases remember.
    pub id: String,
    /// The SQL, as it stands in the file, without variables.
    pub sql: String,
    /// The statements of the SQL, which run one after the other.
    #[serde(default)]
    pub statements: Vec<String>,
    /// SHA-256 of the SQL with line ends `\n`, in hexadecimal.
    pub checksum: String,
    /// It runs outside of a transaction (`:no_transaction`).
    pub no_transaction: bool,
    /// The file, as the configuration names it.
    pub file: String,
    /// The header's line, from 1.
    pub line: usize,
}
