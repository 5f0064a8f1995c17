//! Code from a model: a view of names, types and literals, made here, and templates that only lay it out.

mod cursor;
mod custom;
mod delimiter;
mod dynamic;
mod go;
mod java;
mod literal;
mod method;
mod migrations;
mod names;
mod python;
mod rows;
mod rust;
pub(crate) mod template;
mod typescript;
mod upsert;
pub(crate) mod writers;

pub use custom::CustomType;
pub use template::Template;

use crate::diagnostic::{Code, Diagnostic, Place, Severity};
use crate::model::{Model, Module};

/// A file of code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    /// Below the folder of the output, with `/`.
    pub path: String,
    /// All of it.
    pub text: String,
}

/// What a generator makes of a module.
#[derive(Debug, Clone, PartialEq)]
pub struct Generated {
    /// The module's file, and those that modules share.
    pub files: Vec<File>,
    /// What the user should know of them, such as names that had to be changed.
    pub warnings: Vec<Diagnostic>,
}

/// What code is generated, for which driver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Generator {
    /// `python/postgres/psycopg`: Python 3.11 and psycopg 3.
    PythonPsycopg,
    /// `java/postgres/jdbc`: Java 17 and pgjdbc.
    JavaJdbc,
    /// `typescript/postgres/pg`: TypeScript on Node.js 20 and node-postgres.
    TypescriptPg,
    /// `go/postgres/pgx`: Go 1.25 and pgx 5.
    GoPgx,
    /// `rust/postgres/tokio-postgres`: Rust 2024 and tokio-postgres.
    RustTokioPostgres,
}

impl Generator {
    /// Finds the generator of a name as configurations write it; the driver may be left out.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "python/postgres" | "python/postgres/psycopg" => Some(Self::PythonPsycopg),
            "java/postgres" | "java/postgres/jdbc" => Some(Self::JavaJdbc),
            "typescript/postgres" | "typescript/postgres/pg" => Some(Self::TypescriptPg),
            "go/postgres" | "go/postgres/pgx" => Some(Self::GoPgx),
            "rust/postgres" | "rust/postgres/tokio-postgres" => Some(Self::RustTokioPostgres),
            _ => None,
        }
    }

    /// Its whole name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::PythonPsycopg => "python/postgres/psycopg",
            Self::JavaJdbc => "java/postgres/jdbc",
            Self::TypescriptPg => "typescript/postgres/pg",
            Self::GoPgx => "go/postgres/pgx",
            Self::RustTokioPostgres => "rust/postgres/tokio-postgres",
        }
    }

    /// `runtime: howdah` means something: there is a client of howdah's in the language.
    #[must_use]
    pub fn has_runtime(self) -> bool {
        matches!(self, Self::PythonPsycopg | Self::RustTokioPostgres)
    }

    /// What is wrong with types of the user's in this language, whatever they stand for.
    #[must_use]
    pub fn refused(self, types: &[CustomType]) -> Vec<Diagnostic> {
        types.iter().filter_map(|ty| custom::refused(self, ty)).collect()
    }

    /// The template of a module's file, as a start of the user's own.
    #[must_use]
    pub fn template(self) -> String {
        match self {
            Self::PythonPsycopg => python::TEMPLATES.whole(),
            Self::JavaJdbc => java::TEMPLATES.whole(),
            Self::TypescriptPg => typescript::TEMPLATES.whole(),
            Self::GoPgx => go::TEMPLATES.whole(),
            Self::RustTokioPostgres => rust::TEMPLATES.whole(),
        }
    }
}

/// What a configuration says of a generator.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Options {
    /// The package that the files are part of: `app.db`.
    pub package: Option<String>,
    /// The code applies the module's migrations.
    pub migrations: bool,
    /// Lays the module's file out instead of ours.
    pub template: Option<Template>,
    /// The program hears of every call.
    pub observer: bool,
    /// Rows are appended and written by howdah's own client.
    pub runtime: bool,
    /// A timestamptz is a text instead of the language's own type, which holds less.
    pub text_timestamps: bool,
    /// Types of the user's own that stand for some of the server's.
    pub types: Vec<CustomType>,
}

/// Generates a module's code.
///
/// # Errors
///
/// All that keeps this module from becoming code in this language.
pub fn generate(
    model: &Model,
    module: &Module,
    generator: Generator,
    options: &Options,
) -> Result<Generated, Vec<Diagnostic>> {
    without_writers(module, generator, options)?;
    let (model, module) = &custom::applied(model, module, &options.types)?;
    match generator {
        Generator::PythonPsycopg => python::generate(model, module, options),
        Generator::JavaJdbc => java::generate(model, module, options),
        Generator::TypescriptPg => typescript::generate(model, module, options),
        Generator::GoPgx => go::generate(model, module, options),
        Generator::RustTokioPostgres => rust::generate(model, module, options),
    }
}

/// Refuses tables that are to have a writer where there is none.
fn without_writers(module: &Module, generator: Generator, options: &Options) -> Result<(), Vec<Diagnostic>> {
    let Some((message, help)) = writers::refusal(generator, options.runtime) else { return Ok(()) };
    let tables = module.tables.iter().filter(|table| table.writer);
    let errors = tables.map(|table| {
        let block = format!("TABLE {}", table.name);
        let error =
            about(Code::NotSupported, Severity::Error, message.clone(), &table.file, table.line, block);
        error.help(help.clone())
    });
    let errors = errors.collect::<Vec<_>>();
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

/// A message about a block.
fn about(
    code: Code,
    severity: Severity,
    message: String,
    file: &str,
    line: usize,
    block: String,
) -> Diagnostic {
    Diagnostic {
        severity,
        code,
        message,
        suggestion: None,
        place: Some(Place { file: file.to_owned(), line, column: 1, length: 1 }),
        block: Some(block),
        sqlstate: None,
    }
}
