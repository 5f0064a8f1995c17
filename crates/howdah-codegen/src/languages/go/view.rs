//! What the Go templates lay out: names, types, literals and expressions, all decided.

use serde::Serialize;

use crate::languages::method::Form;

use crate::languages::migrations::Migrations;

/// The file of a module.
#[derive(Debug, Serialize)]
pub(super) struct View {
    pub(super) package: String,
    pub(super) imports: Vec<String>,
    pub(super) queries: String,
    pub(super) constructor: String,
    /// What applies and what lists the steps, if there are any.
    pub(super) apply: String,
    pub(super) list: String,
    pub(super) migrations: Option<Migrations>,
    pub(super) documentation: Vec<String>,
    pub(super) choices: Vec<Choice>,
    pub(super) structs: Vec<Struct>,
    pub(super) calls: Vec<Call>,
    pub(super) codecs: Vec<Variable>,
    pub(super) row_types: Vec<RowType>,
    pub(super) texts: Vec<Variable>,
    pub(super) tables: Vec<Table>,
    pub(super) methods: Vec<Method>,
}

/// The file of the types that users defined.
#[derive(Debug, Serialize)]
pub(super) struct TypesView {
    pub(super) package: String,
    pub(super) imports: Vec<String>,
    pub(super) enums: Vec<Enum>,
    pub(super) aliases: Vec<Alias>,
    pub(super) composites: Vec<Composite>,
    pub(super) codecs: Vec<Variable>,
}

/// `name = value`.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Variable {
    pub(super) name: String,
    pub(super) value: String,
}

/// Another name of a type.
#[derive(Debug, Serialize)]
pub(super) struct Alias {
    pub(super) name: String,
    pub(super) ty: String,
    pub(super) documentation: Vec<String>,
}

#[derive(Debug, Serialize)]
pub(super) struct Enum {
    pub(super) name: String,
    pub(super) documentation: Vec<String>,
    /// Constants, in columns.
    pub(super) labels: Vec<Variable>,
    /// Their names, with commas.
    pub(super) names: String,
}

/// A struct with its fields in columns.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Struct {
    pub(super) name: String,
    pub(super) documentation: Vec<String>,
    pub(super) fields: Vec<Field>,
}

#[derive(Debug, Clone, Serialize)]
pub(super) struct Field {
    pub(super) name: String,
    /// The name with blanks behind it.
    pub(super) padded: String,
    pub(super) ty: String,
    pub(super) codec: String,
    pub(super) nullable: bool,
}

#[derive(Debug, Serialize)]
pub(super) struct Composite {
    #[serde(rename = "struct")]
    pub(super) own: Struct,
    pub(super) codec: String,
    pub(super) schema: String,
    pub(super) name: String,
}

/// What reads the rows of statements.
#[derive(Debug, Serialize)]
pub(super) struct RowType {
    pub(super) name: String,
    pub(super) ty: String,
    /// Of a struct; the only one is the value itself if `value` is set.
    pub(super) fields: Vec<Field>,
    pub(super) value: bool,
}

/// What writes the rows of a TABLE.
#[derive(Debug, Serialize)]
pub(super) struct Table {
    /// There is an append; else there are upserts only.
    pub(super) appends: bool,
    pub(super) upserts: Vec<Upsert>,
    pub(super) name: String,
    pub(super) row: String,
    pub(super) target: String,
    pub(super) columns: String,
    pub(super) fields: Vec<Field>,
    pub(super) method: String,
    pub(super) documentation: Vec<String>,
}

/// `:upsert` or `:ignore`.
#[derive(Debug, Serialize)]
pub(super) struct Upsert {
    pub(super) method: String,
    pub(super) documentation: Vec<String>,
    /// The variable with what is run.
    pub(super) name: String,
    pub(super) create: String,
    pub(super) copy: String,
    pub(super) place: String,
    pub(super) write: String,
    pub(super) drop: String,
}

/// What methods of a statement take, and what becomes of it.
#[derive(Debug, Default, Serialize)]
pub(super) struct Arguments {
    /// `, id int64`; nothing without parameters.
    pub(super) signature: String,
    /// What an item of a batch is.
    pub(super) item: String,
    /// The call with what a method is given.
    pub(super) call: String,
    /// The function that makes a call; none without parameters.
    pub(super) function: String,
}

/// A statement.
#[derive(Debug, Serialize)]
pub(super) struct Method {
    pub(super) name: String,
    pub(super) stream: String,
    pub(super) batch: String,
    pub(super) form: Form,
    pub(super) batched: bool,
    pub(super) row_type: String,
    /// What a row is.
    pub(super) row: String,
    pub(super) documentation: Vec<String>,
    #[serde(flatten)]
    pub(super) arguments: Arguments,
}

/// A function that makes a call of a statement.
#[derive(Debug, Serialize)]
pub(super) struct Call {
    pub(super) name: String,
    /// `arg AddParams`.
    pub(super) signature: String,
    pub(super) lines: Vec<String>,
}

/// Constants of which each stands for a text.
#[derive(Debug, Serialize)]
pub(super) struct Choice {
    pub(super) name: String,
    pub(super) documentation: Vec<String>,
    pub(super) labels: Vec<String>,
    /// The variable of the texts.
    pub(super) texts: String,
    /// As literals.
    pub(super) values: Vec<String>,
}
