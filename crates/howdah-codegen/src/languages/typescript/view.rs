//! What the TypeScript template lays out: names, types, literals and expressions, all decided.

use std::collections::BTreeSet;

use serde::Serialize;

use crate::languages::method::Form;

use crate::languages::migrations::Migrations;

/// A file.
#[derive(Debug, Serialize)]
pub(crate) struct View {
    pub(crate) documentation: String,
    pub(crate) class: String,
    /// The file mentions codecs.
    pub(crate) has_codecs: bool,
    /// Lines for the user's types.
    pub(crate) imports: BTreeSet<String>,
    pub(crate) aliases: Vec<Alias>,
    pub(crate) interfaces: Vec<Interface>,
    pub(crate) constants: Vec<Constant>,
    pub(crate) readers: Vec<Reader>,
    pub(crate) joins: Vec<Join>,
    pub(crate) methods: Vec<Method>,
    pub(crate) appenders: Vec<Appender>,
    /// There are upserts, too.
    pub(crate) upserts: bool,
    pub(crate) migrations: Option<Migrations>,
    /// The program hears of every call.
    pub(crate) observed: bool,
}

/// An enum or a domain: `export type Mood = "happy" | "sad";`.
#[derive(Debug, Serialize)]
pub(crate) struct Alias {
    pub(crate) name: String,
    pub(crate) ty: String,
    pub(crate) documentation: String,
}

/// A row, a composite value, or the parameters of a batch.
#[derive(Debug, Serialize)]
pub(crate) struct Interface {
    pub(crate) name: String,
    pub(crate) documentation: String,
    pub(crate) fields: Vec<Field>,
}

#[derive(Debug, Clone, Serialize)]
pub(crate) struct Field {
    pub(crate) name: String,
    pub(crate) ty: String,
}

/// `const NAME = value;`
#[derive(Debug, Serialize)]
pub(crate) struct Constant {
    pub(crate) name: String,
    pub(crate) value: String,
}

/// Makes a value of a row.
#[derive(Debug, Serialize)]
pub(crate) struct Reader {
    pub(crate) name: String,
    pub(crate) ty: String,
    /// `id: codec.INT8.get(row, 0, "id")`; a single expression for `:pluck`.
    pub(crate) values: Vec<String>,
    pub(crate) single: bool,
}

/// A function that joins a statement's text from constants.
#[derive(Debug, Serialize)]
pub(crate) struct Join {
    pub(crate) name: String,
    pub(crate) signature: String,
    pub(crate) lines: Vec<String>,
}

/// A statement.
#[derive(Debug, Serialize)]
pub(crate) struct Method {
    pub(crate) name: String,
    /// How observers know it: `"shop.get_user"`.
    pub(crate) label: String,
    pub(crate) stream: String,
    pub(crate) batch: String,
    /// Which of the template's forms lays it out.
    pub(crate) form: Form,
    pub(crate) streamed: bool,
    pub(crate) batched: bool,
    /// The constant with its text, or the function that joins it.
    pub(crate) text: String,
    /// The text depends on what callers give.
    pub(crate) varies: bool,
    /// `id, name`: what that function takes.
    pub(crate) arguments: String,
    /// `item.id, item.name`.
    pub(crate) item_arguments: String,
    pub(crate) documentation: Vec<String>,
    /// `id: bigint`.
    pub(crate) signature: String,
    /// `codec.INT8.set(id, "id")`.
    pub(crate) values: String,
    /// The interface of a batch's parameters.
    pub(crate) parameters: String,
    /// `codec.INT8.set(item.id, "id")`.
    pub(crate) item_values: String,
    /// What a row is.
    pub(crate) ty: String,
    pub(crate) reader: String,
}

/// What writes the rows of a TABLE.
#[derive(Debug, Serialize)]
pub(crate) struct Appender {
    /// There is an appender; else there are upserts only.
    pub(crate) appends: bool,
    pub(crate) upserts: Vec<Upsert>,
    pub(crate) row: String,
    pub(crate) target: String,
    pub(crate) copy: String,
    pub(crate) binary: bool,
    pub(crate) columns: Vec<String>,
    pub(crate) codecs: Vec<String>,
    pub(crate) puts: Vec<String>,
    pub(crate) documentation: String,
    pub(crate) create: String,
    pub(crate) insert: String,
    /// How observers know it: `"shop.users"`.
    pub(crate) label: String,
}

/// `:upsert` or `:ignore`.
#[derive(Debug, Serialize)]
pub(crate) struct Upsert {
    pub(crate) method: String,
    /// How observers know it: `"shop.upsert_users"`.
    pub(crate) label: String,
    pub(crate) documentation: [String; 2],
    /// The constant with what is run.
    pub(crate) name: String,
    pub(crate) create: String,
    pub(crate) copy: String,
    pub(crate) place: String,
    pub(crate) write: String,
    pub(crate) drop: String,
}
