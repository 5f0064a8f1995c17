//! Which results share a row type: those named alike by `:result=`, those of equal shape, and those that are a TABLE's row.

use std::collections::BTreeMap;

use crate::diagnostic::{Code, Diagnostic, Severity};
use crate::languages::about;
use crate::model::{Custom, Kind, Module, Statement, Table, TypeName, TypeRef};

/// Names, types and nullability of columns, in order. Equal shapes are the same row.
pub(crate) type Shape = Vec<(String, TypeName, bool, Option<Custom>, bool)>;

/// Whose row a statement returns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RowOf {
    /// A row named by `:result=`.
    Named(String),
    /// The row of the table with this index.
    Table(usize),
    /// Its own.
    Own,
}

/// The shape of a statement's rows.
pub(crate) fn shape(statement: &Statement) -> Shape {
    statement.columns.iter().map(|c| of_column(&c.name, &c.ty, c.nullable)).collect()
}

/// The shape of the rows that are written to a table.
pub(crate) fn table_shape(table: &Table) -> Shape {
    let written = table.columns.iter().filter(|column| column.written);
    written.map(|c| of_column(&c.name, &c.ty, c.nullable)).collect()
}

fn of_column(name: &str, ty: &TypeRef, nullable: bool) -> (String, TypeName, bool, Option<Custom>, bool) {
    (name.to_owned(), ty.name.clone(), ty.array, ty.custom, nullable)
}

/// Says whose row each statement of a module returns, in order.
///
/// # Errors
///
/// Statements that name rows of different shapes alike.
pub(crate) fn owners(module: &Module) -> Result<Vec<RowOf>, Vec<Diagnostic>> {
    let mut names = BTreeMap::<&str, (Shape, &Statement)>::new();
    let mut by_shape = BTreeMap::<Shape, &str>::new();
    let mut conflicts = Vec::new();
    for statement in rowful(module) {
        let Some(name) = statement.result.as_deref() else { continue };
        let shape = shape(statement);
        let (first_shape, first) = names.entry(name).or_insert_with(|| (shape.clone(), statement));
        if *first_shape != shape {
            let message = format!(
                "rows named {name} differ from those of {}, {}:{}",
                first.name, first.file, first.line
            );
            let block = format!("QUERY {}", statement.name);
            conflicts.push(about(
                Code::ResultConflict,
                Severity::Error,
                message,
                &statement.file,
                statement.line,
                block,
            ));
        }
        by_shape.entry(shape).or_insert(name);
    }
    if !conflicts.is_empty() {
        return Err(conflicts);
    }
    let tables = module.tables.iter().map(table_shape).collect::<Vec<_>>();
    let owner = |statement: &Statement| {
        if let Some(name) = &statement.result {
            return RowOf::Named(name.clone());
        }
        let shape = shape(statement);
        if let Some(name) = by_shape.get(&shape) {
            return RowOf::Named((*name).to_owned());
        }
        let table = tables.iter().position(|table| !table.is_empty() && *table == shape);
        table.map_or(RowOf::Own, RowOf::Table)
    };
    Ok(module.statements.iter().map(owner).collect())
}

fn rowful(module: &Module) -> impl Iterator<Item = &Statement> {
    module.statements.iter().filter(|statement| statement.kind == Kind::Query && !statement.pluck)
}
