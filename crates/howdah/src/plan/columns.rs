//! Which column of a table a name in the input means.

use crate::catalog::kept;
use crate::catalog::snake::{self, snake};
use crate::catalog::table::{Column, Table};
use crate::options::{ColumnNames, LoadOptions};

/// Whether a field of record 1 names a column.
pub(crate) fn is_name(field: &String, table: &Table, options: &LoadOptions) -> bool {
    // A field without a name can only be meant by its number; that is judged when all are known.
    let mut named = options.columns.map.iter().map(|(from, _)| from).chain(&options.columns.skip_columns);
    if field.trim().is_empty() && named.any(|name| name.parse::<usize>().is_ok()) {
        return true;
    }
    find_column(table, mapped(field, options), options.columns.column_names).is_some()
        || options.columns.skip_columns.contains(field)
        || options.columns.column_list.as_deref().unwrap_or_default().contains(field)
}

/// Which fields of record 1 name a column. The names that a load makes depend on the whole header: what a long one shares with
/// others, and how often one stands there.
pub(crate) fn are_names(first: &[String], table: &Table, options: &LoadOptions) -> Vec<bool> {
    let made = match options.columns.column_names {
        ColumnNames::Snake => snake::distinct(first.iter().map(String::as_str), &[]),
        ColumnNames::Keep => kept::distinct(first, &[]),
    };
    let is_column = |name: &String| table.columns.iter().any(|column| column.name == *name);
    let plainly = |at: usize| {
        is_name(&first[at], table, options) || !kept::is_missing(&first[at]) && is_column(&made[at])
    };
    // A field without a name may be a NULL, unless the others are names.
    let has_names = (0..first.len()).any(|at| !kept::is_missing(&first[at]) && plainly(at));
    (0..first.len()).map(|at| plainly(at) || has_names && is_column(&made[at])).collect()
}

/// The same with friendly names, whether or not the user asks for them.
pub(crate) fn are_friendly_names(first: &[String], table: &Table, options: &LoadOptions) -> Vec<bool> {
    are_names(first, table, &options.clone().column_names(ColumnNames::Snake))
}

/// The column that the field `source` goes to by the options: another one where they say so.
pub(crate) fn mapped<'a>(source: &'a str, options: &'a LoadOptions) -> &'a str {
    options.columns.map.iter().find(|(from, _)| from == source).map_or(source, |(_, to)| to.as_str())
}

/// The column that field `at` of `header` is mapped to.
pub(crate) fn mapped_field<'a>(at: usize, header: &[String], options: &'a LoadOptions) -> Option<&'a str> {
    let to =
        |wanted: &str| options.columns.map.iter().find(|(from, _)| from == wanted).map(|(_, to)| to.as_str());
    called(at, header).find_map(|called| to(&called))
}

/// Whether field `at` of `header` is left out.
pub(crate) fn is_skipped(at: usize, header: &[String], options: &LoadOptions) -> bool {
    called(at, header).any(|called| options.columns.skip_columns.contains(&called))
}

/// Whether options say what becomes of field `at` of `header`.
pub(crate) fn is_meant(at: usize, header: &[String], options: &LoadOptions) -> bool {
    mapped_field(at, header, options).is_some() || is_skipped(at, header, options)
}

/// What options may call field `at` of `header`: its name and, where no name is that number, its number from 1.
fn called(at: usize, header: &[String]) -> impl Iterator<Item = String> {
    let number = Some((at + 1).to_string()).filter(|number| !header.contains(number));
    std::iter::once(header[at].clone()).chain(number)
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
