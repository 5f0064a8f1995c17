//! What a project means, as a server described it: plain data that knows no language and no server.
//!
//! It is a contract of its own: `--emit model` prints it as JSON, users' templates and plugins read it. The same project
//! gives the same model on every machine and on every version of the server: it has no OIDs, times or absolute paths.

mod statement;
mod types;

pub use statement::{
    Column, Fragment, Kind, Migration, Origin, Parameter, Role, Statement, Table, TableColumn, UniqueKey,
};
pub use types::{Custom, Definition, Field, TypeKind, TypeName, TypeRef};

use serde::{Deserialize, Serialize};

/// The number of the model's format.
pub const FORMAT: u32 = 1;

/// All that languages need of a project.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Model {
    /// [`FORMAT`].
    pub model: u32,
    /// Whose SQL it is: `postgresql`.
    pub engine: String,
    /// The project's name, which scopes its migrations.
    pub project: String,
    /// A group of SQL files each, in the configuration's order.
    pub modules: Vec<Module>,
    /// The types that are not built in and that columns, parameters or fields mention, by name.
    pub types: Vec<Definition>,
}

/// SQL files that become one file of code.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Module {
    /// Its name in the configuration, or the stem of its first file.
    pub name: String,
    /// The files, as the configuration names them, with `/`.
    pub files: Vec<String>,
    /// QUERY and EXEC, in the order of the files.
    pub statements: Vec<Statement>,
    /// TABLE, in the order of the files.
    pub tables: Vec<Table>,
    /// MIGRATE, in the order of the files.
    pub migrations: Vec<Migration>,
}
