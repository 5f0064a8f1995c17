//! What the Python template lays out: names, hints, literals and expressions, all decided.

use serde::Serialize;

use crate::languages::method::Form;

use crate::languages::migrations::Migrations;

/// A file.
#[derive(Debug, Serialize)]
pub(crate) struct View {
    pub(crate) documentation: String,
    pub(crate) imports: Vec<String>,
    pub(crate) enums: Vec<EnumClass>,
    pub(crate) aliases: Vec<Alias>,
    pub(crate) composites: Vec<Class>,
    pub(crate) rows: Vec<Class>,
    pub(crate) codecs: Vec<Assigned>,
    pub(crate) converters: Vec<Converter>,
    pub(crate) texts: Vec<Assigned>,
    pub(crate) choices: Vec<Choice>,
    pub(crate) builders: Vec<Builder>,
    pub(crate) makers: Vec<Maker>,
    pub(crate) appenders: Vec<Appender>,
    pub(crate) migrations: Option<Migrations>,
    pub(crate) faces: Vec<Face>,
    pub(crate) methods: Vec<Method>,
    /// The program hears of every call.
    pub(crate) observed: bool,
}

/// `NAME = value`.
#[derive(Debug, Serialize)]
pub(crate) struct Assigned {
    pub(crate) name: String,
    pub(crate) value: String,
}

/// The SQL of the members of a class.
#[derive(Debug, Serialize)]
pub(crate) struct Choice {
    pub(crate) name: String,
    pub(crate) class: String,
    pub(crate) pairs: Vec<Assigned>,
}

/// A function that joins the text of a statement.
#[derive(Debug, Serialize)]
pub(crate) struct Builder {
    pub(crate) name: String,
    /// `role: str | None`.
    pub(crate) signature: String,
    pub(crate) lines: Vec<String>,
}

/// A function between a type of the user's and that for which it stands.
#[derive(Debug, Serialize)]
pub(crate) struct Converter {
    pub(crate) name: String,
    /// The hint of what it takes.
    pub(crate) of: String,
    pub(crate) hint: String,
    pub(crate) value: String,
}

/// A domain.
#[derive(Debug, Serialize)]
pub(crate) struct Alias {
    pub(crate) name: String,
    pub(crate) hint: String,
    pub(crate) documentation: String,
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

/// A dataclass.
#[derive(Debug, Serialize)]
pub(crate) struct Class {
    pub(crate) name: String,
    pub(crate) documentation: String,
    pub(crate) fields: Vec<Field>,
}

#[derive(Debug, Serialize)]
pub(crate) struct Field {
    pub(crate) name: String,
    pub(crate) hint: String,
}

/// A function that makes a row of what psycopg read.
#[derive(Debug, Serialize)]
pub(crate) struct Maker {
    pub(crate) name: String,
    pub(crate) hint: String,
    pub(crate) value: String,
}

/// What those need that write a TABLE's rows.
#[derive(Debug, Serialize)]
pub(crate) struct Appender {
    /// There is an appender; else there are upserts only.
    pub(crate) appends: bool,
    /// Howdah's own client appends, where nothing is asynchronous.
    pub(crate) runtime: bool,
    /// The method that opens a writer.
    pub(crate) writer: Option<String>,
    pub(crate) upserts: Vec<Upsert>,
    /// The name of the appender's type.
    pub(crate) name: String,
    pub(crate) table: String,
    pub(crate) values: String,
    pub(crate) columns: String,
    pub(crate) row: String,
    pub(crate) literal: String,
    pub(crate) pairs: Vec<Assigned>,
    pub(crate) expression: String,
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
    /// `("pg_temp", "…")`.
    pub(crate) stage: String,
    pub(crate) place: String,
    pub(crate) create: String,
    pub(crate) write: String,
    pub(crate) drop: String,
}

/// The synchronous or the asynchronous class: the words in which they differ.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Face {
    pub(crate) name: String,
    pub(crate) documentation: String,
    pub(crate) connection: &'static str,
    pub(crate) cursor: &'static str,
    pub(crate) appender: &'static str,
    pub(crate) writer: &'static str,
    /// What writes rows by a key.
    pub(crate) staged: &'static str,
    pub(crate) iterator: &'static str,
    pub(crate) stream: &'static str,
    /// What applies migrations.
    pub(crate) runner: &'static str,
    /// What makes one transaction of the statements of a batch.
    pub(crate) together: &'static str,
    pub(crate) asynchronous: &'static str,
    /// The name of its kind of decorators.
    pub(crate) observed: &'static str,
    pub(crate) wait: &'static str,
}

/// A statement.
#[derive(Debug, Serialize)]
pub(crate) struct Method {
    pub(crate) name: String,
    /// How observers know it: `"shop.get_user"`.
    pub(crate) label: String,
    pub(crate) raw: String,
    pub(crate) stream: String,
    pub(crate) batch: String,
    /// Which of the template's macros lays it out.
    pub(crate) form: Form,
    pub(crate) streamed: bool,
    pub(crate) batched: bool,
    /// Its text depends on its parameters.
    pub(crate) varies: bool,
    pub(crate) has_raw: bool,
    /// A constant, or a call that joins some.
    pub(crate) text: String,
    pub(crate) documentation: Vec<String>,
    /// `, id: int`.
    pub(crate) signature: String,
    /// The same, up to parameters by name only.
    pub(crate) streams: String,
    /// `{"id": id}`.
    pub(crate) values: String,
    /// `tuple[int, str]`.
    pub(crate) batch_hint: String,
    /// `id, name,`.
    pub(crate) batch_names: String,
    /// What a row is.
    pub(crate) hint: String,
    pub(crate) maker: String,
    /// The same, or none.
    pub(crate) row_or_none: String,
    pub(crate) raw_hint: String,
    pub(crate) raw_or_none: String,
    pub(crate) raw_maker: String,
}

/// The synchronous or the asynchronous runner of migrations: the words in which they differ.
#[derive(Debug, Serialize)]
pub(crate) struct Runner {
    pub(crate) name: &'static str,
    pub(crate) connection: &'static str,
    pub(crate) def: &'static str,
    pub(crate) with: &'static str,
    pub(crate) wait: &'static str,
    /// What work gives.
    pub(crate) work: &'static str,
    pub(crate) pause: &'static str,
}
