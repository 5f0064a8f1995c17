//! The names of a new table's columns: the input's as they are or friendly ones, and what is made where it has none, has one twice,
//! or has one that PostgreSQL does not take.

use std::collections::HashSet;

use howdah_message::{Message, setting};

use crate::catalog::name::{self, MAX_NAME_BYTES, SYSTEM_COLUMNS};
use crate::catalog::{kept, snake};
use crate::options::{ColumnNames, LoadOptions};
use crate::plan::columns::mapped_field;
use crate::plan::header::Head;
use crate::plan::pair::Pair;

/// Gives the columns the names that a new table's would have, but for those that are mapped.
pub(super) fn give(pairs: &mut [Pair], head: &Head, options: &LoadOptions) {
    if options.columns.column_names == ColumnNames::Snake {
        return befriend(pairs, head, options);
    }
    let taken: Vec<&str> = options.columns.map.iter().map(|(_, target)| &**target).collect();
    let names = kept::distinct(&head.first, &taken);
    for pair in pairs.iter_mut().filter(|pair| !is_mapped(pair, head, options)) {
        pair.target.clone_from(&names[pair.field]);
    }
}

/// What a new table's columns for `keys` would be called, but for those that are mapped.
pub(super) fn of_keys(keys: &[String], options: &LoadOptions) -> Vec<String> {
    let taken: Vec<&str> = options.columns.map.iter().map(|(_, target)| &**target).collect();
    match options.columns.column_names {
        ColumnNames::Keep => kept::distinct(keys, &taken),
        ColumnNames::Snake => snake::distinct(keys.iter().map(String::as_str), &taken),
    }
}

/// Gives the columns friendly names, but for those that are mapped.
pub(super) fn befriend(pairs: &mut [Pair], head: &Head, options: &LoadOptions) {
    let is_mapped = |pair: &Pair| is_mapped(pair, head, options);
    let taken: Vec<&str> = options.columns.map.iter().map(|(_, target)| &**target).collect();
    let free: Vec<&str> = pairs.iter().filter(|pair| !is_mapped(pair)).map(|pair| &*pair.source).collect();
    let names = snake::distinct(free.into_iter(), &taken);
    for (pair, name) in pairs.iter_mut().filter(|pair| !is_mapped(pair)).zip(names) {
        pair.target = name;
    }
}

fn is_mapped(pair: &Pair, head: &Head, options: &LoadOptions) -> bool {
    if head.has_keys {
        return options.columns.map.iter().any(|(source, _)| *source == pair.source);
    }
    mapped_field(pair.field, &head.first, options).is_some()
}

/// Which of `names` would be the column's of one before them, but for a number.
pub(super) fn repeated(names: &[String], options: &LoadOptions) -> Vec<bool> {
    let mut seen = HashSet::new();
    let is_friendly = options.columns.column_names == ColumnNames::Snake;
    let friendly =
        |name: &String| Some(snake::snake(name)).filter(|friendly| is_friendly && !friendly.is_empty());
    let column = |name: &String| friendly(name).unwrap_or_else(|| name.clone());
    names.iter().map(|name| !seen.insert(column(name))).collect()
}

/// What to say of columns that could not get the input's name.
pub(super) fn tell(pairs: &[Pair], head: &Head, options: &LoadOptions) -> Option<Message> {
    let is_friendly = options.columns.column_names == ColumnNames::Snake;
    let is_long = |name: &str| match is_friendly {
        true => snake::is_long(name),
        false => name.len() > MAX_NAME_BYTES,
    };
    let is_system = |name: &str| match is_friendly {
        true => SYSTEM_COLUMNS.contains(&&*snake::snake(name)),
        false => SYSTEM_COLUMNS.contains(&name),
    };
    let (mut nameless, mut twice, mut long, mut system) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let repeated = repeated(&head.first, options);
    let made = pairs.iter().filter(|pair| !pair.is_file_name && !is_mapped(pair, head, options));
    for pair in made {
        let told = format!("field {} is {}", pair.field + 1, name::display(&pair.target));
        if kept::is_missing(&pair.source) {
            nameless.push(told);
        } else if is_long(&pair.source) {
            long.push(told);
        } else if is_system(&pair.source) {
            system.push(told);
        } else if repeated[pair.field] {
            twice.push(told);
        }
    }
    let by_name = nameless.is_empty() && twice.is_empty();
    let count =
        |number: usize| if number == 1 { "1 name is".to_owned() } else { format!("{number} names are") };
    let mut parts = Vec::new();
    if !nameless.is_empty() {
        let fields = if nameless.len() == 1 {
            "1 field has".to_owned()
        } else {
            format!("{} fields have", nameless.len())
        };
        parts.push(format!("{fields} no name: {}", some(&nameless)));
    }
    if !twice.is_empty() {
        parts.push(format!("{} there already: {}", count(twice.len()), some(&twice)));
    }
    if !system.is_empty() {
        parts.push(format!("{} PostgreSQL's own: {}", count(system.len()), some(&system)));
    }
    if !long.is_empty() {
        let what = "longer than PostgreSQL's 63 bytes and shortened";
        parts.push(format!("{} {what}: {}", count(long.len()), long.join(", ")));
    }
    let option =
        if by_name { setting::MAP.entry("NAME", "COLUMN") } else { setting::MAP.entry("NUMBER", "COLUMN") };
    (!parts.is_empty()).then(|| message![parts.join("; "), "; ", option, " gives another"])
}

/// The first few, and how many more there are.
fn some(told: &[String]) -> String {
    const SHOWN: usize = 10;
    match told.len().saturating_sub(SHOWN) {
        0 => told.join(", "),
        more => format!("{} and {more} more", told[..SHOWN].join(", ")),
    }
}
