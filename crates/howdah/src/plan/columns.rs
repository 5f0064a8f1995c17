//! Which column of a table a name in the input means.

use crate::catalog::snake::snake;
use crate::catalog::table::{Column, Table};
use crate::options::{ColumnNames, LoadOptions};

/// Whether a field of record 1 names a column.
pub(crate) fn is_name(field: &String, table: &Table, options: &LoadOptions) -> bool {
    find_column(table, mapped(field, options), options.columns.column_names).is_some()
        || options.columns.skip_columns.contains(field)
        || options.columns.column_list.as_deref().unwrap_or_default().contains(field)
}

/// The column that the field `source` goes to by the options: another one where they say so.
pub(crate) fn mapped<'a>(source: &'a str, options: &'a LoadOptions) -> &'a str {
    options.columns.map.iter().find(|(from, _)| from == source).map_or(source, |(_, to)| to.as_str())
}

/// Exact, then unique without regard to case, then, where friendly names are asked for, unique by these.
pub(crate) fn find_column<'a>(table: &'a Table, name: &str, names: ColumnNames) -> Option<&'a Column> {
    if let Some(column) = table.columns.iter().find(|column| column.name == name) {
        return Some(column);
    }
    let only = |similar: &dyn Fn(&str) -> bool| {
        let mut similar = table.columns.iter().filter(|column| similar(&column.name));
        similar.next().filter(|_| similar.next().is_none())
    };
    let lower = name.to_lowercase();
    only(&|column| column.to_lowercase() == lower).or_else(|| {
        let friendly =
            Some(snake(name)).filter(|friendly| names == ColumnNames::Snake && !friendly.is_empty())?;
        only(&|column| snake(column) == friendly)
    })
}
