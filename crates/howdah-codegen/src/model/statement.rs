//! Statements, tables and migrations of a module.

use serde::{Deserialize, Serialize};

use super::{TypeName, TypeRef};

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
///
/// The text that runs is that of all pieces joined, in order, where an [`Optional`](Self::Optional) that is not there is
/// nothing. All of it is constant: what callers give decides which constants are joined, and is never among them. A piece of
/// SQL needs no blank around it to be joined.
///
/// What runs has a place for each [`Parameter`](Self::Parameter) that is there, and only for those: a driver with numbered
/// places counts while it joins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Fragment {
    /// SQL as it stands in the file.
    Text(String),
    /// Where a value stands: its index in [`Statement::parameters`], where its role is [`Role::Value`].
    Parameter(usize),
    /// Where the text that callers pick stands: its index in [`Statement::parameters`], where its role is [`Role::Choice`].
    Choice(usize),
    /// Pieces that are there only while callers want them.
    ///
    /// Several can name one parameter: they come and go together. There is none in another one.
    Optional {
        /// What decides, as an index in [`Statement::parameters`]: a [`Role::Switch`] that is true, or a [`Role::Value`] or
        /// [`Role::Choice`] that is not null, whose [`Parameter::nullable`] is true then.
        parameter: usize,
        /// Texts, parameters and choices.
        sql: Vec<Fragment>,
    },
}

/// What a caller gives.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Parameter {
    /// Its name in the file.
    pub name: String,
    /// As the server described it; `boolean` of a switch and `text` of a choice, which the server never gets.
    #[serde(rename = "type")]
    pub ty: TypeRef,
    /// What becomes of it.
    #[serde(default, skip_serializing_if = "Role::is_value")]
    pub role: Role,
    /// Callers may give null.
    pub nullable: bool,
    /// Why, for people: `tested by IS NULL`.
    pub why: String,
    /// The only table's column that it is written to or compared with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
}

/// What becomes of what a caller gives.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// It is sent to the server, wherever it stands in the text that runs.
    #[default]
    Value,
    /// True or false: the pieces that name it are there or not. It is not sent.
    Switch,
    /// One of these texts is joined where it stands. It is not sent.
    Choice {
        /// Constant SQL of the file, in its order; no two are the same.
        options: Vec<String>,
    },
}

impl Role {
    /// It is sent to the server.
    #[must_use]
    pub fn is_value(&self) -> bool {
        *self == Self::Value
    }
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
    /// The domain that the column has. Its values have the type below it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub domain: Option<TypeName>,
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
    /// Rows are written, those that are there already too (`:upsert`): by the key, the row that is there gets the values of the
    /// columns that are neither [`UniqueKey::columns`] nor [`TableColumn::always`], or nothing where there are no others.
    ///
    /// Of several rows with one key the last counts. The method gives the number of rows that were inserted or updated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upsert: Option<UniqueKey>,
    /// Rows are written that are not there yet (`:ignore`): a row whose key is there already is left out.
    ///
    /// Of several rows with one key the first counts. The method gives the number of rows that were inserted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ignore: Option<UniqueKey>,
    /// Rows are written all day, each acknowledged, by howdah's own client (`:writer`).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub writer: bool,
    /// All columns that the table has, in its order.
    pub columns: Vec<TableColumn>,
}

impl Table {
    /// Something writes rows of it, so that they have a type.
    #[must_use]
    pub fn takes_rows(&self) -> bool {
        self.appender || self.writer || self.upserts()
    }

    /// Something writes rows of it by a key.
    #[must_use]
    pub fn upserts(&self) -> bool {
        self.upsert.is_some() || self.ignore.is_some()
    }
}

/// By what two rows of a [`Table`] are the same: a primary key, a unique constraint or a unique index. It is checked at once,
/// for all rows of the table, and compares as the columns' types do by themselves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UniqueKey {
    /// The name of its index, which is that of its constraint if it has one.
    pub name: String,
    /// The columns, in its order. Rows have all of them.
    pub columns: Vec<String>,
    /// A row with a null in one of the columns is the same as no other one.
    ///
    /// It is false where nulls are equal to each other (NULLS NOT DISTINCT), and where no column takes null.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub nulls_distinct: bool,
}

/// A column of a [`Table`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TableColumn {
    /// Its name.
    pub name: String,
    /// Its type.
    #[serde(rename = "type")]
    pub ty: TypeRef,
    /// The domain that it has; the server describes it by the type below it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub domain: Option<TypeName>,
    /// It takes null.
    pub nullable: bool,
    /// Rows have it: not an identity, a sequence's default or a generated column, or named by `:appender(…)`.
    pub written: bool,
    /// It is GENERATED ALWAYS AS IDENTITY: where rows have it, an INSERT says OVERRIDING SYSTEM VALUE, and no UPDATE sets it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub always: bool,
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
