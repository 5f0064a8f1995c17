//! What a statement becomes in every language: the form of its method, which others stand beside it, and what is said of it.

use serde::Serialize;

use super::{cursor, literal};
use crate::model::{Kind, Module, Statement};

/// What a method gives, by which templates lay it out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Form {
    /// The number of rows that changed.
    Exec,
    /// A row, or none.
    One,
    /// All rows.
    All,
}

impl Form {
    /// The form of a statement's method.
    pub(crate) fn of(statement: &Statement) -> Self {
        match (statement.kind, statement.one) {
            (Kind::Exec, _) => Self::Exec,
            (Kind::Query, true) => Self::One,
            (Kind::Query, false) => Self::All,
        }
    }
}

/// Whether a method that reads by a cursor of the server stands beside it.
pub(crate) fn is_streamed(statement: &Statement) -> bool {
    Form::of(statement) == Form::All && cursor::can_have_a_cursor(statement)
}

/// Whether a method for many sets of parameters stands beside it. One without parameters has nothing to repeat.
pub(crate) fn is_batched(statement: &Statement) -> bool {
    statement.batch && !statement.parameters.is_empty()
}

/// The name by which the server's views of activity and observers know it: `shop.get_user`.
pub(crate) fn label(module: &Module, name: &str) -> String {
    format!("{}.{}", literal::sql_comment(&module.name), literal::sql_comment(name))
}

/// The comment that begins its text, for those who look at a server.
pub(crate) fn opening(module: &Module, statement: &Statement) -> String {
    format!("/* {} */ ", label(module, &statement.name))
}

/// The lines above its header, and where that stands.
pub(crate) fn documentation(statement: &Statement) -> impl Iterator<Item = String> {
    let place = format!("{}:{}", statement.file, statement.line);
    let lines = statement.documentation.iter().flat_map(|line| line.split('\n')).map(str::to_owned);
    lines.chain([place])
}
