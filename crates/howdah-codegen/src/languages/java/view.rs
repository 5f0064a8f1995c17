//! What the Java template lays out: names, types, literals and expressions, all decided.

use serde::Serialize;

use crate::languages::method::Form;

use crate::languages::migrations::Migrations;

/// What stands in a file behind its imports.
#[derive(Debug, Serialize)]
pub(crate) struct View {
    pub(crate) class: String,
    pub(crate) documentation: String,
    pub(crate) enums: Vec<EnumClass>,
    /// Enums whose labels are SQL.
    pub(crate) choices: Vec<EnumClass>,
    pub(crate) records: Vec<Record>,
    pub(crate) constants: Vec<Constant>,
    pub(crate) readers: Vec<Reader>,
    pub(crate) binders: Vec<Binder>,
    pub(crate) joiners: Vec<Joiner>,
    pub(crate) methods: Vec<Method>,
    pub(crate) appenders: Vec<Appender>,
    pub(crate) migrations: Option<Migrations>,
    /// The program hears of every call.
    pub(crate) observed: bool,
}

#[derive(Debug, Serialize)]
pub(crate) struct EnumClass {
    pub(crate) name: String,
    pub(crate) documentation: String,
    pub(crate) labels: Vec<Label>,
}

#[derive(Debug, Serialize)]
pub(crate) struct Label {
    pub(crate) name: String,
    pub(crate) literal: String,
}

/// A row, a composite value, or the parameters of a batch.
#[derive(Debug, Serialize)]
pub(crate) struct Record {
    pub(crate) name: String,
    pub(crate) documentation: String,
    pub(crate) fields: Vec<Field>,
}

#[derive(Debug, Clone, Serialize)]
pub(crate) struct Field {
    pub(crate) name: String,
    /// With its annotation.
    pub(crate) declared: String,
    /// Null is refused when it is made.
    pub(crate) required: bool,
}

/// `private static final T NAME = value;`
#[derive(Debug, Serialize)]
pub(crate) struct Constant {
    pub(crate) ty: String,
    pub(crate) name: String,
    pub(crate) value: String,
}

/// Makes a value of the row on which a `ResultSet` stands.
#[derive(Debug, Serialize)]
pub(crate) struct Reader {
    pub(crate) name: String,
    pub(crate) ty: String,
    pub(crate) value: String,
}

/// Gives a statement its parameters.
#[derive(Debug, Serialize)]
pub(crate) struct Binder {
    pub(crate) name: String,
    /// `, long id`.
    pub(crate) signature: String,
    pub(crate) statements: Vec<String>,
}

/// Joins the text of a statement.
#[derive(Debug, Serialize)]
pub(crate) struct Joiner {
    pub(crate) name: String,
    pub(crate) signature: String,
    pub(crate) statements: Vec<String>,
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
    /// pgjdbc's batches refuse statements that return rows: these run one after the other.
    pub(crate) looped: bool,
    /// Its text depends on its parameters.
    pub(crate) varies: bool,
    /// A constant, or a call that joins some.
    pub(crate) text: String,
    /// The same, of the parameters of a batch.
    pub(crate) item_text: String,
    /// The call that prepares it, up to the text.
    pub(crate) prepare: &'static str,
    pub(crate) documentation: Vec<String>,
    /// `long id`.
    pub(crate) signature: String,
    pub(crate) bind: String,
    /// `, id`: what is bound.
    pub(crate) arguments: String,
    /// An item of a batch: a record of parameters, or the only one.
    pub(crate) parameters: String,
    /// `, item.id()`.
    pub(crate) item_arguments: String,
    /// What a row is, without primitives.
    pub(crate) ty: String,
    /// What one row is, with its annotation.
    pub(crate) declared: String,
    pub(crate) reader: String,
}

/// What those need that write a TABLE's rows.
#[derive(Debug, Serialize)]
pub(crate) struct Appender {
    /// There is an appender; else there are upserts only.
    pub(crate) appends: bool,
    pub(crate) upserts: Vec<Upsert>,
    pub(crate) row: String,
    pub(crate) target: String,
    pub(crate) target_value: String,
    pub(crate) columns: Vec<String>,
    pub(crate) codecs: Vec<String>,
    pub(crate) encode: String,
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
    pub(crate) documentation: String,
    /// The constant of its texts.
    pub(crate) name: String,
    pub(crate) create: String,
    pub(crate) copy: String,
    pub(crate) place: String,
    pub(crate) write: String,
    pub(crate) drop: String,
}
