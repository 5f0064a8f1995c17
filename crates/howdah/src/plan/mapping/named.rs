//! The fields that are loaded, and the columns that they name, by position or by a header with what options say of it.

use howdah_message::{Message, setting};
use howdah_source::json::Path;

use crate::error::Error;
use crate::options::{HeaderOption, LoadOptions};
use crate::plan::columns::{is_skipped, mapped, mapped_field};
use crate::plan::header::Head;
use crate::plan::pair::Pair;

pub(super) fn positional(names: &[String], pairs: &mut Vec<Pair>) {
    for (field, target) in names.iter().enumerate() {
        pairs.push(Pair {
            field,
            source: format!("field {}", field + 1),
            target: target.clone(),
            is_file_name: false,
        });
    }
}

pub(super) fn by_header(
    head: &Head,
    options: &LoadOptions,
    pairs: &mut Vec<Pair>,
    problems: &mut Vec<Message>,
) {
    let header = &head.first;
    for (field, source) in header.iter().enumerate() {
        let is_left_out = match head.has_keys {
            true => options.columns.skip_columns.contains(source),
            false => is_skipped(field, header, options),
        };
        if !is_left_out {
            let by_number = || mapped_field(field, header, options).filter(|_| !head.has_keys);
            let target = by_number().unwrap_or_else(|| mapped(source, options)).to_owned();
            pairs.push(Pair { field, source: source.clone(), target, is_file_name: false });
        }
    }
    mapped_twice(head, options, problems);
    let asked = options
        .columns
        .map
        .iter()
        .map(|(source, _)| (setting::MAP, source))
        .chain(options.columns.skip_columns.iter().map(|s| (setting::SKIP_COLUMNS, s)));
    // A key may be in no record. Those of a corrected reject file are known beforehand, and it may have none with some of them.
    let may_lack =
        |option| head.has_keys && (option != setting::MAP || options.columns.header == HeaderOption::Yes);
    for (option, source) in asked {
        let is_field = |number: &usize| (1..=header.len()).contains(number);
        let is_number = !head.has_keys && source.parse().ok().as_ref().is_some_and(is_field);
        if !header.contains(source) && !is_number && !may_lack(option) {
            let where_not = match head.has_keys {
                true if Path::parse(source).is_some() && options.columns.column_list.is_none() => {
                    "no key, and no path at whose end a record has something"
                }
                true => "not among the keys",
                false => "not in the header",
            };
            problems.push(message![option, " names {source:?}, which is {where_not}"]);
        }
    }
}

/// Notes names that options map to two columns, of which only one would be filled.
fn mapped_twice(head: &Head, options: &LoadOptions, problems: &mut Vec<Message>) {
    let header = &head.first;
    // A field of a header has a number, too.
    let field = |source: &str| {
        let by_number = || source.parse().ok().filter(|number| (1..=header.len()).contains(number));
        let by_name = header.iter().position(|name| name == source);
        by_name.or_else(|| by_number().filter(|_| !head.has_keys).map(|number: usize| number - 1))
    };
    let map = &options.columns.map;
    for (at, (source, _)) in map.iter().enumerate() {
        let is_same =
            |other: &str| other == source || field(source).is_some_and(|one| field(other) == Some(one));
        if map[..at].iter().any(|(other, _)| is_same(other)) {
            problems.push(message![setting::MAP, " maps {source:?} twice"]);
        }
    }
}

pub(super) fn refuse_names_without_header(options: &LoadOptions) -> Result<(), Error> {
    if options.columns.map.is_empty() && options.columns.skip_columns.is_empty() {
        return Ok(());
    }
    Err(Error::usage(message![
        setting::MAP,
        " and ",
        setting::SKIP_COLUMNS,
        " name columns of a header, and record 1 is not one"
    ])
    .with_hint(message![
        setting::HEADER.bool(true),
        " takes record 1 as the header; ",
        setting::COLUMNS.list(&["a", "b", "…"]),
        " maps by position"
    ]))
}
