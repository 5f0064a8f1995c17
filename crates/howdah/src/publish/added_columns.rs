//! Columns that a load adds to a table which is there: the input has them, and the table has not.

use crate::catalog::name::quote;
use crate::catalog::table::Column;
use crate::publish::creation::Compression;

/// The columns, each with what follows its name in ADD COLUMN.
#[derive(Debug, Clone)]
pub(crate) struct AddedColumns(Vec<(String, String)>);

impl AddedColumns {
    /// These `columns`, in their order.
    pub(crate) fn new(columns: &[Column], compression: Option<&Compression>) -> AddedColumns {
        let definition = |column: &Column| {
            let clause = compression.map(|of| of.clause(&column.name)).unwrap_or_default();
            (column.name.clone(), format!("{}{clause}", column.type_name))
        };
        AddedColumns(columns.iter().map(definition).collect())
    }

    /// Adds them at the end of `relation` (quoted): nullable, and without a default, so that no row is written anew.
    pub(crate) fn sql(&self, relation: &str) -> String {
        let add = |(name, definition): &(String, String)| format!("ADD COLUMN {} {definition}", quote(name));
        let clauses: Vec<String> = self.0.iter().map(add).collect();
        format!("ALTER TABLE {relation} {}", clauses.join(", "))
    }
}
