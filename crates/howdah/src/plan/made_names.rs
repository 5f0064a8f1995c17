//! The names of a new table's columns: the input's as they are or friendly ones, and what is made where it has none, has one twice,
//! or has one that is too long.

use howdah_message::{Message, setting};

use crate::catalog::name::{self, MAX_NAME_BYTES};
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

/// What to say of columns that could not get the input's name.
pub(super) fn tell(pairs: &[Pair], head: &Head, options: &LoadOptions) -> Option<Message> {
    let is_friendly = options.columns.column_names == ColumnNames::Snake;
    let is_long = |name: &str| match is_friendly {
        true => snake::is_long(name),
        false => name.len() > MAX_NAME_BYTES,
    };
    let (mut nameless, mut twice, mut long) = (Vec::new(), Vec::new(), Vec::new());
    let made = pairs.iter().filter(|pair| !pair.is_file_name && !is_mapped(pair, head, options));
    for pair in made {
        let is_repeated = head.first[..pair.field].contains(&pair.source);
        let told = format!("field {} is {}", pair.field + 1, name::display(&pair.target));
        if kept::is_missing(&pair.source) {
            nameless.push(told);
        } else if is_long(&pair.source) {
            long.push(told);
        } else if is_repeated {
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
