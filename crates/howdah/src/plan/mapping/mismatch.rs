//! What does not fit between the input and the table: all of it in one error.

use howdah_message::{Message, setting};
use howdah_source::listing::beginning;

use crate::catalog::kept;
use crate::catalog::table::Table;
use crate::error::Error;
use crate::options::LoadOptions;
use crate::plan::header::{Head, columns_stay};
use crate::plan::pair::Pair;

/// All that does not fit between the input and `table`, with the columns that are `left` and what the input has; for `cured`
/// fields friendly names would find a column.
pub(super) fn misfit(
    problems: &[Message],
    head: &Head,
    table: &Table,
    left: &[&str],
    cured: usize,
    options: &LoadOptions,
) -> Error {
    let (what, hint) = if head.has_keys {
        (
            "keys",
            message![
                setting::MAP.entry("KEY", "COLUMN"),
                " renames, ",
                setting::SKIP_COLUMNS.placeholder("KEY"),
                " leaves out, ",
                setting::COLUMNS.list(&["a", "b", "…"]),
                " names the keys to load"
            ],
        )
    } else {
        (
            "record 1",
            message![
                setting::MAP.entry(head.called(), "COLUMN"),
                " renames, ",
                setting::SKIP_COLUMNS.placeholder(head.called()),
                " leaves out, ",
                setting::COLUMNS.list(&["a", "b", "…"]),
                " maps by position"
            ],
        )
    };
    let has = format!("{what}: {}", beginning(&head.first));
    let detail = match left {
        [] => has,
        left => {
            format!("columns of {} that are not in the input: {}; {has}", table.display(), beginning(left))
        }
    };
    let cure = match cured {
        0 => Message::default(),
        1 => message![setting::NAMES.word("snake"), " finds a column for 1 of them, "],
        some => message![setting::NAMES.word("snake"), format!(" finds columns for {some} of them, ")],
    };
    let stay = columns_stay(&table.display(), options);
    mismatch(problems).with_detail(detail).with_hint(message![cure, stay, hint])
}

pub(super) fn twice(pairs: &[Pair], problems: &mut Vec<Message>) {
    for (at, pair) in pairs.iter().enumerate() {
        let is_there = || pairs[..at].iter().any(|earlier| earlier.target == pair.target);
        if !kept::is_missing(&pair.target) && is_there() {
            problems.push(format!("column {:?} is named twice", pair.target).into());
        }
    }
}

/// So many mismatches are listed: whoever mends these sees what is wrong with the others.
const SHOWN: usize = 20;

pub(super) fn mismatch(problems: &[Message]) -> Error {
    match problems {
        [one] => Error::usage(one.clone()),
        many => Error::usage(message![
            many.len().to_string(),
            " mismatches between the input and the table:\n  - ",
            Message::joined(many.iter().take(SHOWN).cloned(), "\n  - "),
            match many.len().saturating_sub(SHOWN) {
                0 => String::new(),
                more => format!("\n  - and {more} more"),
            }
        ]),
    }
}
