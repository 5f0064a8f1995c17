//! The mapping to the columns of a table that is there.

use howdah_encode::TypeShape;
use howdah_message::{Message, setting};
use howdah_source::layout::Layouts;
use howdah_source::listing::beginning;
use tokio_postgres::types::Type;

use super::mismatch::{misfit, twice};
use super::named::{by_header, positional, refuse_names_without_header};
use super::{Mapping, also_in_input, check_file_column, check_name, finish};
use crate::catalog::table::{Column, Table};
use crate::catalog::types::FIRST_OWN_OID;
use crate::catalog::{kept, name};
use crate::error::Error;
use crate::options::{ColumnNames, LoadOptions};
use crate::plan::columns::{find_column, is_meant, mapped};
use crate::plan::header::Head;
use crate::plan::made_names;
use crate::plan::pair::Pair;

/// Maps the input's fields to the columns of `table`.
///
/// # Errors
/// One usage error that lists every mismatch.
pub(crate) fn for_existing(
    head: &Head,
    layouts: Layouts,
    table: &Table,
    options: &LoadOptions,
) -> Result<Mapping, Error> {
    check_file_column(options)?;
    let decision = head.header_of_existing(table, options)?;
    let is_header = decision.is_header();
    head.must_be_names(is_header, options)?;
    let (mut problems, mut pairs, mut empty_end) = (Vec::new(), Vec::new(), None);
    let file_column = file_column_of(table, options)?;
    let insertable = insertable(table, file_column.as_ref());
    if let Some(columns) = options.columns.column_list.as_ref().filter(|_| !head.has_keys) {
        positional(columns, &mut pairs);
    } else if is_header {
        by_header(head, options, &mut pairs, &mut problems);
        // A table that was made with that column still has it.
        let is_made =
            |end: &usize| table.columns.iter().any(|column| column.name == format!("column{}", end + 1));
        empty_end = head.empty_end().filter(|end| !is_made(end) && !is_meant(*end, &head.first, options));
    } else {
        refuse_names_without_header(options)?;
        let names: Vec<String> = insertable.iter().map(|column| column.name.clone()).collect();
        positional(&names, &mut pairs);
        // One record alone may just be wrong.
        empty_end = head.empty_end().filter(|end| *end == insertable.len() && head.has_rest);
    }
    pairs.retain(|pair| Some(pair.field) != empty_end);
    // What a load made of the whole header, when it made the table.
    let mut made = pairs.clone();
    let has_names = is_header && (head.has_keys || options.columns.column_list.is_none());
    if has_names {
        made_names::give(&mut made, head, options);
    }
    let mut added = to_columns(&mut pairs, &made, table, file_column.as_ref(), options, &mut problems);
    twice(&pairs, &mut problems);
    if !table.has_row_triggers && options.target.mode.inserts() {
        must_be_filled(&insertable, &pairs, &layouts, &mut problems);
    }
    if !problems.is_empty() {
        let cured = if is_header { found_by_friendly_names(&pairs, head, table, options) } else { 0 };
        return Err(misfit(&problems, head, table, &unnamed(&insertable, &pairs), cured, options));
    }
    let is_added = |pair: &&Pair| added.contains(&pair.target);
    let new: Vec<Pair> = pairs.iter().filter(is_added).cloned().collect();
    let made_names = if has_names { made_names::tell(&new, head, options) } else { None };
    let is_there = |name: &&String| table.columns.iter().any(|column| column.name == **name);
    added.extend(file_column.iter().find(|name| !is_there(name)).cloned());
    let mapping = finish(head, decision, pairs, layouts, file_column.as_ref(), empty_end, options)?;
    Ok(Mapping { added, made_names, ..mapping })
}

/// The columns of `table` that fields can go into.
fn insertable<'t>(table: &'t Table, file_column: Option<&String>) -> Vec<&'t Column> {
    let is_free = |column: &&Column| !column.generated && Some(&column.name) != file_column;
    table.columns.iter().filter(is_free).collect()
}

/// Gives each of `pairs` the column of `table` that it names, or that it got when the table was `made` for it. Of names that
/// stand twice, or are alike once they are friendly, the later ones mean the latter. Returns the columns that the table is to
/// get, where it may: an input of which it has no column is hardly meant for it.
fn to_columns(
    pairs: &mut [Pair],
    made: &[Pair],
    table: &Table,
    file_column: Option<&String>,
    options: &LoadOptions,
    problems: &mut Vec<Message>,
) -> Vec<String> {
    let names: Vec<String> = pairs.iter().map(|pair| pair.target.clone()).collect();
    let repeated = made_names::repeated(&names, options);
    let column = |at: usize| {
        let by_name = || find_column(table, &names[at], options.columns.column_names);
        let as_made = || table.columns.iter().find(|column| column.name == made[at].target);
        match repeated[at] {
            true => as_made().or_else(by_name),
            false => by_name().or_else(as_made),
        }
    };
    let found: Vec<Option<&Column>> = (0..pairs.len()).map(column).collect();
    let evolves = options.target.evolve && found.iter().any(Option::is_some);
    let (mut unknown, mut added) = (Vec::new(), Vec::new());
    for (at, (pair, found)) in pairs.iter_mut().zip(found).enumerate() {
        match found {
            None if evolves && !is_similar(&names[at], table, options) => {
                pair.target.clone_from(&made[at].target);
                check_name(pair, problems);
                if Some(&pair.target) == file_column {
                    problems.push(also_in_input(&pair.target).into());
                }
                added.push(pair.target.clone());
            }
            None if kept::is_missing(&pair.source) => {
                problems.push(format!("field {} has no name", pair.field + 1).into());
            }
            None => unknown.push(&*names[at]),
            Some(column) if column.generated => {
                let name = &column.name;
                problems.push(message![
                    "{name:?} is a generated column: leave it out with ",
                    setting::SKIP_COLUMNS
                ]);
            }
            Some(column) if Some(&column.name) == file_column => {
                problems.push(also_in_input(&column.name).into());
            }
            Some(column) => pair.target.clone_from(&column.name),
        }
    }
    let table = table.display();
    match &unknown[..] {
        [] => {}
        [one] => problems.push(format!("{one:?} is not a column of {table}").into()),
        several => problems.push(format!("not columns of {table}: {}", beginning(several)).into()),
    }
    added
}

/// Whether a friendly name makes a column of `table` of `name`, of which no option says that it is another.
fn is_similar(name: &String, table: &Table, options: &LoadOptions) -> bool {
    let is_meant = options.columns.map.iter().any(|(_, target)| target == name)
        || options.columns.column_list.iter().flatten().any(|listed| listed == name);
    !is_meant && find_column(table, name, ColumnNames::Snake).is_some()
}

/// Notes columns that must not be null and get no value, from any input or from one of them.
fn must_be_filled(insertable: &[&Column], pairs: &[Pair], layouts: &Layouts, problems: &mut Vec<Message>) {
    let has_no_value = |column: &&&Column| {
        column.not_null && !column.has_default && !matches!(column.shape, TypeShape::Domain { .. })
    };
    for column in insertable.iter().filter(has_no_value) {
        if !pairs.iter().any(|pair| pair.target == column.name) {
            problems.push(
                format!("column {:?} must not be null, has no default, and is not in the input", column.name)
                    .into(),
            );
        }
    }
    for pair in pairs.iter().filter(|pair| insertable.iter().any(|c| c.name == pair.target && c.not_null)) {
        for (input, _) in layouts.iter().filter(|(_, layout)| layout.sources[pair.field].is_none()) {
            problems.push(format!("column {:?} must not be null, and is not in {input}", pair.target).into());
        }
    }
}

/// For how many of `pairs` without a column friendly names would find one.
fn found_by_friendly_names(pairs: &[Pair], head: &Head, table: &Table, options: &LoadOptions) -> usize {
    let mut friendly = pairs.to_vec();
    made_names::befriend(&mut friendly, head, options);
    let is_found = |name: &str, names| find_column(table, name, names).is_some();
    let is_cured = |(pair, friendly): &(&Pair, &Pair)| {
        !is_found(&pair.target, options.columns.column_names)
            && (is_found(&pair.target, ColumnNames::Snake) || is_found(&friendly.target, ColumnNames::Keep))
    };
    pairs.iter().zip(&friendly).filter(is_cured).count()
}

/// The columns that no field names.
fn unnamed<'t>(insertable: &[&'t Column], pairs: &[Pair]) -> Vec<&'t str> {
    let is_named = |column: &&&Column| pairs.iter().any(|pair| pair.target == column.name);
    insertable.iter().filter(|column| !is_named(column)).map(|column| &*column.name).collect()
}

/// The column of an existing table that gets the file's name, or the one that it is to get for that.
fn file_column_of(table: &Table, options: &LoadOptions) -> Result<Option<String>, Error> {
    let Some(name) = &options.columns.file_column else { return Ok(None) };
    let Some(column) = find_column(table, name, options.columns.column_names) else {
        if options.target.evolve && !is_similar(name, table, options) {
            name::check(name)
                .map_err(|error| Error::usage(message![setting::FILE_COLUMN, ": ", error.message()]))?;
            return Ok(Some(name.clone()));
        }
        return Err(Error::usage(message![
            setting::FILE_COLUMN,
            " names {name:?}, which is no column of ",
            table.display()
        ])
        .with_hint(message![
            setting::EVOLVE,
            format!(" adds it; so does ALTER TABLE {} ADD {} text", table.sql(), name::quote(name))
        ]));
    };
    let texts = [Type::TEXT, Type::VARCHAR, Type::BPCHAR, Type::NAME];
    let oid = column.base_type.0;
    // What somebody made may well be text; PostgreSQL's own types are known not to be.
    if oid < FIRST_OWN_OID && !texts.iter().any(|r#type| r#type.oid() == oid) || column.generated {
        return Err(Error::usage(message![
            setting::FILE_COLUMN,
            format!(
                " names {:?}, which is {} and no column for text",
                column.name,
                if column.generated { "generated" } else { &column.type_name }
            )
        ]));
    }
    Ok(Some(column.name.clone()))
}

/// The columns that an input with `keys` does not fill, of those that it could.
pub(crate) fn unfilled<'t>(table: &'t Table, keys: &[String], options: &LoadOptions) -> Vec<&'t Column> {
    let made = made_names::of_keys(keys, options);
    let loaded = keys.iter().zip(&made).filter(|(key, _)| !options.columns.skip_columns.contains(key));
    let column = |(key, made): (&String, &String)| {
        let by_name = find_column(table, mapped(key, options), options.columns.column_names);
        by_name.or_else(|| table.columns.iter().find(|column| column.name == *made))
    };
    let filled: Vec<&Column> = loaded.filter_map(column).collect();
    let by_file = options
        .columns
        .file_column
        .as_ref()
        .and_then(|name| find_column(table, name, options.columns.column_names));
    let is_filled = |column: &Column| filled.iter().chain(&by_file).any(|other| other.name == column.name);
    table.columns.iter().filter(|column| !column.generated && !is_filled(column)).collect()
}
