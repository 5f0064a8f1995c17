//! The mapping to the columns of a table that is yet to be made.

use howdah_message::setting;
use howdah_source::layout::Layouts;

use super::mismatch::{mismatch, twice};
use super::named::{by_header, positional, refuse_names_without_header};
use super::{Mapping, also_in_input, check_file_column, check_name, finish};
use crate::catalog::name;
use crate::error::Error;
use crate::options::LoadOptions;
use crate::plan::columns::is_meant;
use crate::plan::header::Head;
use crate::plan::made_names;

/// Names the columns of a table that does not exist yet.
///
/// # Errors
/// One usage error that lists every name that cannot be a column.
pub(crate) fn for_new(head: &Head, layouts: Layouts, options: &LoadOptions) -> Result<Mapping, Error> {
    if head.first.is_empty() {
        if let Some(wrong) = head.wrong() {
            return Err(wrong.clone());
        }
        let hint = if head.has_keys {
            "create the table first, or name a file with at least one object that has a key"
        } else {
            "create the table first, or name a file with at least a header"
        };
        return Err(Error::usage("the input is empty: there is nothing to make a table from").with_hint(hint));
    }
    check_file_column(options)?;
    let decision = head.header_of_new(options.columns.header);
    let is_header = decision.is_header();
    head.must_be_names(is_header, options)?;
    let (mut problems, mut pairs, mut told, mut empty_end) = (Vec::new(), Vec::new(), None, None);
    if let Some(columns) = options.columns.column_list.as_ref().filter(|_| !head.has_keys) {
        positional(columns, &mut pairs);
        if columns.len() != head.first.len() {
            let (named, found) = (columns.len(), head.first.len());
            problems.push(message![setting::COLUMNS, " names {named} columns, record 1 has {found} fields"]);
        }
    } else if is_header {
        by_header(head, options, &mut pairs, &mut problems);
        empty_end = head.empty_end().filter(|end| !is_meant(*end, &head.first, options));
        pairs.retain(|pair| Some(pair.field) != empty_end);
        made_names::give(&mut pairs, head, options);
        told = made_names::tell(&pairs, head, options);
    } else {
        refuse_names_without_header(options)?;
        let names: Vec<String> = (1..=head.first.len()).map(|n| format!("column{n}")).collect();
        positional(&names, &mut pairs);
    }
    if let Some(name) =
        options.columns.file_column.as_ref().filter(|name| pairs.iter().any(|pair| pair.target == **name))
    {
        problems.push(also_in_input(name).into());
    }
    if let Some(Err(error)) = options.columns.file_column.as_deref().map(name::check) {
        problems.push(message![setting::FILE_COLUMN, ": ", error.message()]);
    }
    pairs.iter().for_each(|pair| check_name(pair, &mut problems));
    twice(&pairs, &mut problems);
    if !problems.is_empty() {
        return Err(mismatch(&problems).with_hint(if head.has_keys {
            message![
                setting::MAP.entry("KEY", "COLUMN"),
                " renames one, ",
                setting::SKIP_COLUMNS.placeholder("KEY"),
                " leaves it out, ",
                setting::NAMES.word("snake"),
                " makes friendly names of all"
            ]
        } else {
            message![
                setting::COLUMNS.list(&["a", "b", "…"]),
                " names the columns by position, ",
                setting::MAP.entry("NAME", "COLUMN"),
                " renames one, ",
                setting::MAP.entry("1", "COLUMN"),
                " the first field, ",
                setting::NAMES.word("snake"),
                " makes friendly names of all, ",
                setting::HEADER.bool(false),
                " takes record 1 as data"
            ]
        }));
    }
    let file_column = options.columns.file_column.as_ref();
    let mapping = finish(head, decision, pairs, layouts, file_column, empty_end, options)?;
    Ok(Mapping { made_names: told, ..mapping })
}
