//! The fields of one input among several whose columns differ: which of them belongs to which field of the load.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::Field;

/// What is peculiar about inputs, by their names. An input that is not in it has the fields of the load, in order.
pub type Layouts = BTreeMap<Arc<str>, Layout>;

/// An input's name, and the names in its record 1.
pub type Header = (Arc<str>, Vec<String>);

/// One input's fields.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    /// Its header.
    pub header: Vec<String>,
    /// For every field of the load, which of the input's it is; `None`: the input lacks it.
    pub sources: Vec<Option<usize>>,
}

impl Layout {
    /// The fields of a record in the load's order, with what is not in the record: NULL for what the input lacks, and the place
    /// of the file's name behind them all.
    pub fn complete(
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
    pub fn places(&self) -> Vec<Option<usize>> {
        (0..self.header.len()).map(|at| self.place_of(at)).collect()
    }

    /// Which field of the load the input's field `at` is.
    pub fn place_of(&self, at: usize) -> Option<usize> {
        self.sources.iter().position(|source| *source == Some(at))
    }
}

/// The columns of all inputs, each once, in the order in which they appear, and the layouts of the inputs whose headers are not
/// the same list. `names` has what the columns of each are called, and `same` says whether two names mean one column.
pub fn unite(
    headers: &[Header],
    names: &[Vec<String>],
    same: fn(&str, &str) -> bool,
) -> (Vec<String>, Layouts) {
    let mut union: Vec<String> = Vec::new();
    let mut places = Vec::with_capacity(headers.len());
    for header in names {
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
        let headers = headers(&[&["a", "b"], &["B", "c", "a"], &["a", "A"], &["a", "b", "c", "A"]]);
        let names: Vec<Vec<String>> = headers.iter().map(|(_, header)| header.clone()).collect();
        let (union, layouts) = unite(&headers, &names, same);
        assert_eq!(union, ["a", "b", "c", "A"]);
        let sources = |at: &str| layouts.get(at).map(|layout| layout.sources.clone());
        assert_eq!(sources("0"), Some(vec![Some(0), Some(1), None, None]));
        assert_eq!(sources("1"), Some(vec![Some(2), Some(0), Some(1), None]));
        assert_eq!(sources("2"), Some(vec![Some(0), None, None, Some(1)]));
        assert_eq!(sources("3"), None);
    }

    #[test]
    fn a_file_whose_columns_are_called_otherwise_than_in_its_header_has_a_layout() {
        let headers = headers(&[&["", "n"], &["column1", "n"]]);
        let names = [&headers[1].1; 2].map(Clone::clone);
        let (union, layouts) = unite(&headers, &names, |one, other| one == other);
        assert_eq!(union, ["column1", "n"]);
        assert_eq!(layouts["0"], Layout { header: headers[0].1.clone(), sources: vec![Some(0), Some(1)] });
        assert!(!layouts.contains_key("1"));
    }
}
