//! What the Rust template lays out: names, types, literals and lines, all decided.

use serde::Serialize;

use super::{layout, literal};

/// A file.
#[derive(Debug, Serialize)]
pub(super) struct View {
    pub(super) documentation: String,
    /// It mentions howdah's own client.
    pub(super) runtime: bool,
    /// What it uses of the program's, a line each.
    pub(super) imports: Vec<String>,
    pub(super) mappings: Vec<Mapping>,
    pub(super) enums: Vec<Enum>,
    pub(super) composites: Vec<Composite>,
    pub(super) structs: Vec<Struct>,
    pub(super) constants: Vec<String>,
    pub(super) functions: Vec<Function>,
    pub(super) appenders: Vec<Appender>,
    pub(super) migrations: Option<Steps>,
}

/// The steps of a module.
#[derive(Debug, Serialize)]
pub(super) struct Steps {
    /// The constant that holds them.
    pub(super) lines: Vec<String>,
    /// The function that applies them, up to the brace, and what it calls.
    pub(super) head: String,
    pub(super) call: String,
}

/// How a type of the user's stands for another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Mapping {
    pub(super) name: String,
    pub(super) own: String,
    pub(super) base: String,
    /// What makes one of a `value`, and the other of one.
    pub(super) decode: String,
    pub(super) encode: String,
}

/// A type of the database, or what callers choose of.
#[derive(Debug, Serialize)]
pub(super) struct Enum {
    pub(super) name: String,
    pub(super) documentation: String,
    /// `pub const ALL …`.
    pub(super) all: String,
    pub(super) labels: Vec<Label>,
    /// `const NAME …`, the name of its type in the database, if it has one there.
    pub(super) constant: Option<String>,
}

impl Enum {
    pub(super) fn new(
        name: String,
        documentation: String,
        labels: Vec<Label>,
        constant: Option<String>,
    ) -> Self {
        let values = labels.iter().map(|label| format!("Self::{}", label.name)).collect::<Vec<_>>();
        let all = layout::array("    pub const ALL: &'static [Self] = &[", &values, "];");
        Self { name, documentation, all, labels, constant }
    }
}

#[derive(Debug, Serialize)]
pub(super) struct Label {
    pub(super) name: String,
    /// `Self::Happy => "happy",`.
    pub(super) arm: String,
}

impl Label {
    pub(super) fn new(name: String, text: &str) -> Self {
        Self { arm: layout::arm(&format!("Self::{name}"), &literal::word(text)), name }
    }
}

/// A composite type.
#[derive(Debug, Serialize)]
pub(super) struct Composite {
    pub(super) declared: Struct,
    /// `const NAME …`, its type's name.
    pub(super) constant: String,
    pub(super) binary: bool,
    pub(super) readable: bool,
    pub(super) made: String,
}

/// A struct.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Struct {
    pub(super) name: String,
    pub(super) documentation: String,
    pub(super) fields: Vec<Field>,
    /// What makes it of a row, if rows are read: `Ok(Self { … })`.
    pub(super) made: Option<String>,
}

#[derive(Debug, Clone, Serialize)]
pub(super) struct Field {
    pub(super) name: String,
    /// `pub id: i64,`.
    pub(super) line: String,
}

impl Field {
    pub(super) fn new(name: String, ty: &str) -> Self {
        Self { line: layout::field(&name, ty), name }
    }
}

/// A function that runs a statement.
#[derive(Debug, Serialize)]
pub(super) struct Function {
    pub(super) documentation: Vec<String>,
    /// Up to the brace.
    pub(super) head: String,
    pub(super) body: Vec<String>,
}

/// What writes the rows of a TABLE.
#[derive(Debug, Serialize)]
pub(super) struct Appender {
    /// The driver appends.
    pub(super) appends: bool,
    pub(super) runtime: Option<Runtime>,
    pub(super) upserts: Vec<Upsert>,
    pub(super) row: String,
    pub(super) copy: String,
    pub(super) select: String,
    pub(super) binary: bool,
    pub(super) puts: Vec<String>,
    pub(super) documentation: String,
    pub(super) create_head: String,
    pub(super) append_head: String,
}

/// What writes rows by howdah's own client.
#[derive(Debug, Serialize)]
pub(super) struct Runtime {
    /// `const TABLE …` and `const NAMES …`.
    pub(super) table: String,
    pub(super) names: String,
    pub(super) puts: Vec<String>,
    /// The functions that make an appender and that append all rows, up to the brace.
    pub(super) appends: Option<[String; 2]>,
    /// The function that opens a writer, up to the brace.
    pub(super) writer: Option<String>,
}

/// `:upsert` or `:ignore`.
#[derive(Debug, Serialize)]
pub(super) struct Upsert {
    /// The constant with what is run, and its fields.
    pub(super) name: String,
    pub(super) fields: Vec<String>,
    pub(super) documentation: [String; 3],
    pub(super) head: String,
    pub(super) call: String,
}
