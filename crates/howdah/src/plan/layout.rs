//! The fields of one input among several whose columns differ: which of them belongs to which field of the load.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::catalog::snake::snake;
use crate::catalog::table::Table;
use crate::error::Error;
use crate::message::setting;
use crate::options::{LoadOptions, Names};
use crate::plan::mapping::{is_name, listing};
use crate::source::Field;

/// What is peculiar about inputs, by their names. An input that is not in it has the fields of the load, in order.
pub(crate) type Layouts = BTreeMap<Arc<str>, Layout>;

/// An input's name, and the names in its record 1.
pub(crate) type Header = (Arc<str>, Vec<String>);

/// One input's fields.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Layout {
    /// Its header.
    pub(crate) header: Vec<String>,
    /// For every field of the load, which of the input's it is; `None`: the input lacks it.
    pub(crate) sources: Vec<Option<usize>>,
}

impl Layout {
    /// The fields of a record in the load's order, with what is not in the record: NULL for what the input lacks, and the place
    /// of the file's name behind them all.
    pub(crate) fn complete(
        layout: Option<&Layout>,
        fields: &[Field],
        has_file_column: bool,
        arranged: &mut Vec<Field>,
    ) {
        arranged.clear();
        match layout {
            Some(layout) => {
                arranged
                    .extend(layout.sources.iter().map(|source| source.map_or(Field::NULL, |at| fields[at])));
            }
            None => arranged.extend_from_slice(fields),
        }
        if has_file_column {
            arranged.push(Field::NULL);
        }
    }

    /// Which fields of the load the input's fields are.
    pub(crate) fn places(&self) -> Vec<Option<usize>> {
        (0..self.header.len()).map(|at| self.place_of(at)).collect()
    }

    /// Which field of the load the input's field `at` is.
    pub(crate) fn place_of(&self, at: usize) -> Option<usize> {
        self.sources.iter().position(|source| *source == Some(at))
    }
}

/// The columns of all inputs, each once, in the order in which they appear, and the layouts of the inputs whose headers are not
/// the same list. `same` says whether two names mean one column.
pub(crate) fn unite(headers: &[Header], same: &dyn Fn(&str, &str) -> bool) -> (Vec<String>, Layouts) {
    let mut union: Vec<String> = Vec::new();
    let mut places = Vec::with_capacity(headers.len());
    for (_, header) in headers {
        let mut taken = vec![false; union.len()];
        let mut found: Vec<Option<usize>> =
            header.iter().map(|name| union.iter().position(|u| u == name)).collect();
        for at in found.iter().flatten() {
            taken[*at] = true;
        }
        for (name, place) in header.iter().zip(&mut found).filter(|(_, place)| place.is_none()) {
            let mut similar = (0..taken.len()).filter(|at| !taken[*at] && same(&union[*at], name));
            *place = match (similar.next(), similar.next()) {
                (Some(at), None) => Some(at),
                _ => None,
            };
            if let Some(at) = place {
                taken[*at] = true;
            }
        }
        for (name, place) in header.iter().zip(&mut found) {
            place.get_or_insert_with(|| {
                union.push(name.clone());
                union.len() - 1
            });
        }
        places.push(found);
    }
    let mut layouts = Layouts::new();
    for ((input, header), places) in headers.iter().zip(places) {
        let sources: Vec<Option<usize>> =
            (0..union.len()).map(|at| places.iter().position(|place| *place == Some(at))).collect();
        if *header != union {
            layouts.insert(input.clone(), Layout { header: header.clone(), sources });
        }
    }
    (union, layouts)
}

/// Whether two headers mean the same column.
pub(crate) fn is_same_name(one: &str, other: &str, names: Names) -> bool {
    one.to_lowercase() == other.to_lowercase()
        || names == Names::Snake && !snake(one).is_empty() && snake(one) == snake(other)
}

/// Refuses inputs whose record 1 cannot be a header of the same table: it names nothing that the first names, nor the table's
/// columns, or one thing twice.
///
/// # Errors
/// A usage error that names the input.
pub(crate) fn check_kinship(
    headers: &[Header],
    existing: Option<&Table>,
    options: &LoadOptions,
) -> Result<(), Error> {
    let Some((first_input, first)) = headers.first() else { return Ok(()) };
    for (input, header) in headers {
        let is_known = |name: &&String| {
            first.iter().any(|other| is_same_name(name, other, options.names))
                || existing.is_some_and(|table| is_name(name, table, options))
        };
        if let Some(twice) = header.iter().enumerate().find(|(at, name)| header[..*at].contains(name)) {
            return Err(Error::usage(format!("the header of {input} names {:?} twice", twice.1)));
        }
        if !header.iter().any(|name| is_known(&name)) {
            return Err(Error::usage(format!(
                "record 1 of {input} names none of the columns of {first_input}"
            ))
            .with_detail(format!("there: {}; here: {}", listing(first), listing(header)))
            .with_hint(message![
                "files without a header need ",
                setting::HEADER.bool(false),
                ", or ",
                setting::COLUMNS.list(&["a", "b", "…"]),
                " for all; others a run of their own"
            ]));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(lists: &[&[&str]]) -> Vec<Header> {
        let owned = |list: &&[&str]| list.iter().map(|name| (*name).to_owned()).collect();
        lists.iter().enumerate().map(|(at, list)| (Arc::from(at.to_string()), owned(list))).collect()
    }

    #[test]
    fn columns_unite_in_order_of_appearance_and_every_field_finds_its_own() {
        let same = |a: &str, b: &str| a.eq_ignore_ascii_case(b);
        let (union, layouts) =
            unite(&headers(&[&["a", "b"], &["B", "c", "a"], &["a", "A"], &["a", "b", "c", "A"]]), &same);
        assert_eq!(union, ["a", "b", "c", "A"]);
        let sources = |at: &str| layouts.get(at).map(|layout| layout.sources.clone());
        assert_eq!(sources("0"), Some(vec![Some(0), Some(1), None, None]));
        assert_eq!(sources("1"), Some(vec![Some(2), Some(0), Some(1), None]));
        assert_eq!(sources("2"), Some(vec![Some(0), None, None, Some(1)]));
        assert_eq!(sources("3"), None);
    }
}
