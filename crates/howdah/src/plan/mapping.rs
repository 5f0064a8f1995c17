//! Which field goes into which column: by header name or by position. Pure; all mismatches are reported at once.

use howdah_encode::TypeShape;
use howdah_message::{Message, setting};
use howdah_source::json::Path;
use howdah_source::layout::Layouts;
use howdah_source::listing::beginning;
use howdah_source::text::sniff::Fit;
use tokio_postgres::types::Type;

use crate::catalog::table::{Column, Table};
use crate::catalog::types::FIRST_OWN_OID;
use crate::catalog::{kept, name};
use crate::error::Error;
use crate::options::{ColumnNames, HeaderOption, LoadOptions};
use crate::plan::columns::{are_names, find_column, is_meant, is_skipped, mapped, mapped_field};
use crate::plan::header::{Head, columns_stay};
use crate::plan::header_decision::HeaderDecision;
use crate::plan::keys::{KeyPaths, SeenKeys};
use crate::plan::made_names;
use crate::plan::pair::Pair;

/// The fields of a record and where they go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mapping {
    /// The header's names, when record 1 is one.
    pub(crate) header: Option<Vec<String>>,
    /// Whether record 1 is a header, and why.
    pub(crate) decision: HeaderDecision,
    /// Fields every record must have.
    pub(crate) fields: usize,
    /// In the order of the input.
    pub(crate) pairs: Vec<Pair>,
    /// The inputs whose fields are others.
    pub(crate) layouts: Layouts,
    /// In JSON, where fields are found by their keys: what is known of these.
    pub(crate) keys: Option<KnownKeys>,
    /// What is to be said of columns that could not get the input's name.
    pub(crate) made_names: Option<Message>,
    /// The last field of every record, if it is no column: nothing stands behind the delimiter before it.
    pub(crate) empty_end: Option<usize>,
    /// The line where the header stands once more.
    pub(crate) again: Option<u64>,
}

/// The keys of JSON records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KnownKeys {
    /// Of every field.
    pub(crate) names: Vec<String>,
    /// Which of them are paths.
    pub(crate) paths: KeyPaths,
    /// Those that are not loaded.
    pub(crate) skipped: Vec<String>,
    /// Neither are any others; otherwise they are errors.
    pub(crate) passes_over: bool,
    /// What the whole input showed, where it was looked at for types.
    pub(crate) seen: Option<SeenKeys>,
}

impl Mapping {
    /// What is to be said of it: what was decided of record 1 and of the names in it is one note.
    pub(crate) fn notices(&self) -> impl Iterator<Item = Message> {
        let doubt = self.decision.doubt();
        let doubt = doubt.map(|doubt| message![self.decision.to_string(), " (", doubt, ")"]);
        let of_names: Vec<Message> = doubt.into_iter().chain(self.made_names.clone()).collect();
        let of_names = (!of_names.is_empty()).then(|| Message::joined(of_names, "; "));
        let of_end = self.empty_end.map(|end| {
            message![
                format!(
                    "nothing stands behind the last delimiter of a record: field {} is no column (",
                    end + 1
                ),
                setting::MAP.entry_of((end + 1).to_string(), "COLUMN"),
                " makes it one)"
            ]
        });
        let again = self.again.map(|line| {
            message![
                format!("line {line} is the header once more, and is read as a record ("),
                setting::HEADER.bool(false),
                " if record 1 is one, too)"
            ]
        });
        of_names
            .into_iter()
            .chain(of_end)
            .chain(again)
            .chain(self.keys.iter().flat_map(|keys| keys.paths.notices()))
    }
}

/// How well a record 1 fits the target.
pub(crate) fn fit(first: &[String], existing: Option<&Table>, options: &LoadOptions) -> Fit {
    let may_be_header = options.columns.header != HeaderOption::No && !first.is_empty();
    if may_be_header
        && existing.is_some_and(|table| are_names(first, table, options).into_iter().all(|is_name| is_name))
    {
        return Fit::Names;
    }
    let is_file_column = |column: &Column| options.columns.file_column.as_ref() == Some(&column.name);
    let insertable = |table: &Table| {
        table.columns.iter().filter(|column| !column.generated && !is_file_column(column)).count()
    };
    let expected = options.columns.column_list.as_ref().map(Vec::len).or(existing.map(insertable));
    if expected == Some(first.len()) { Fit::Count } else { Fit::Unknown }
}

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
    let decision = head.header_of_existing(table, options)?;
    let is_header = decision.is_header();
    head.must_be_text(is_header, options)?;
    let (mut problems, mut pairs, mut empty_end) = (Vec::new(), Vec::new(), None);
    let file_column = file_column_of(table, options)?;
    let insertable = insertable(table, file_column);
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
    if is_header && (head.has_keys || options.columns.column_list.is_none()) {
        made_names::give(&mut made, head, options);
    }
    to_columns(&mut pairs, &made, table, file_column, options, &mut problems);
    twice(&pairs, &mut problems);
    if !table.has_row_triggers && options.target.mode.inserts() {
        must_be_filled(&insertable, &pairs, &layouts, &mut problems);
    }
    if !problems.is_empty() {
        let cured = if is_header { found_by_friendly_names(&pairs, head, table, options) } else { 0 };
        return Err(misfit(&problems, head, table, &unnamed(&insertable, &pairs), cured, options));
    }
    finish(head, decision, pairs, layouts, file_column, empty_end, options)
}

/// The columns of `table` that fields can go into.
fn insertable<'t>(table: &'t Table, file_column: Option<&String>) -> Vec<&'t Column> {
    let is_free = |column: &&Column| !column.generated && Some(&column.name) != file_column;
    table.columns.iter().filter(is_free).collect()
}

/// Gives each of `pairs` the column of `table` that it names, or that it got when the table was `made` for it. Of names that
/// stand twice, or are alike once they are friendly, the later ones mean the latter.
fn to_columns(
    pairs: &mut [Pair],
    made: &[Pair],
    table: &Table,
    file_column: Option<&String>,
    options: &LoadOptions,
    problems: &mut Vec<Message>,
) {
    let names: Vec<String> = pairs.iter().map(|pair| pair.target.clone()).collect();
    let repeated = made_names::repeated(&names, options);
    let mut unknown = Vec::new();
    for (at, (pair, made)) in pairs.iter_mut().zip(made).enumerate() {
        let by_name = || find_column(table, &names[at], options.columns.column_names);
        let as_made = || table.columns.iter().find(|column| column.name == made.target);
        let found = match repeated[at] {
            true => as_made().or_else(by_name),
            false => by_name().or_else(as_made),
        };
        match found {
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
                problems.push(
                    format!("{:?} is to get the file's name and is in the input too", column.name).into(),
                );
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

/// All that does not fit between the input and `table`, with the columns that are `left` and what the input has; for `cured`
/// fields friendly names would find a column.
fn misfit(
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

/// The column of an existing table that gets the file's name.
fn file_column_of<'t>(table: &'t Table, options: &LoadOptions) -> Result<Option<&'t String>, Error> {
    let Some(name) = &options.columns.file_column else { return Ok(None) };
    let Some(column) = find_column(table, name, options.columns.column_names) else {
        return Err(Error::usage(message![
            setting::FILE_COLUMN,
            " names {name:?}, which is no column of ",
            table.display()
        ])
        .with_hint(format!(
            "add it first: ALTER TABLE {} ADD {} text",
            table.sql(),
            name::quote(name)
        )));
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
    Ok(Some(&column.name))
}

/// Names the columns of a table that does not exist yet.
///
/// # Errors
/// One usage error that lists every name that cannot be a column.
pub(crate) fn for_new(head: &Head, layouts: Layouts, options: &LoadOptions) -> Result<Mapping, Error> {
    if head.first.is_empty() {
        if let Some(fault) = &head.fault {
            return Err(fault.clone());
        }
        let hint = if head.has_keys {
            "create the table first, or name a file with at least one object that has a key"
        } else {
            "create the table first, or name a file with at least a header"
        };
        return Err(Error::usage("the input is empty: there is nothing to make a table from").with_hint(hint));
    }
    let decision = head.header_of_new(options.columns.header);
    let is_header = decision.is_header();
    head.must_be_text(is_header, options)?;
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
        problems.push(format!("{name:?} is to get the file's name and is in the input too").into());
    }
    if let Some(Err(error)) = options.columns.file_column.as_deref().map(name::check) {
        problems.push(message![setting::FILE_COLUMN, ": ", error.message()]);
    }
    for pair in &pairs {
        let Pair { field, target, .. } = pair;
        if let Err(error) = name::check(target) {
            problems.push(format!("field {}: {}", field + 1, error.message()).into());
        } else if name::SYSTEM_COLUMNS.contains(&&**target) {
            problems
                .push(format!("field {}: every table has a column {target} of its own", field + 1).into());
        }
    }
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

fn finish(
    head: &Head,
    decision: HeaderDecision,
    mut pairs: Vec<Pair>,
    layouts: Layouts,
    file_column: Option<&String>,
    empty_end: Option<usize>,
    options: &LoadOptions,
) -> Result<Mapping, Error> {
    if pairs.is_empty() {
        return Err(Error::usage("no column is left to load"));
    }
    let is_header = decision.is_header();
    let by_name = is_header && (head.has_keys || options.columns.column_list.is_none());
    let fields = if by_name { head.first.len() } else { pairs.len() + usize::from(empty_end.is_some()) };
    let keys = head.has_keys.then(|| KnownKeys {
        names: head.first.clone(),
        paths: head.paths.clone(),
        skipped: options.columns.skip_columns.clone(),
        passes_over: options.columns.column_list.is_some(),
        seen: head.seen.clone(),
    });
    if let Some(name) = file_column {
        let (source, target) = ("the file's name".to_owned(), name.clone());
        pairs.push(Pair { field: fields, source, target, is_file_name: true });
    }
    let header = (is_header && !head.has_keys).then(|| head.first.clone());
    let again = head.again.filter(|_| header.is_some());
    Ok(Mapping { header, decision, fields, pairs, layouts, keys, made_names: None, empty_end, again })
}

fn positional(names: &[String], pairs: &mut Vec<Pair>) {
    for (field, target) in names.iter().enumerate() {
        pairs.push(Pair {
            field,
            source: format!("field {}", field + 1),
            target: target.clone(),
            is_file_name: false,
        });
    }
}

fn by_header(head: &Head, options: &LoadOptions, pairs: &mut Vec<Pair>, problems: &mut Vec<Message>) {
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

fn refuse_names_without_header(options: &LoadOptions) -> Result<(), Error> {
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

/// The columns that an input with `keys` does not fill, of those that it could.
pub(crate) fn unfilled<'t>(table: &'t Table, keys: &[String], options: &LoadOptions) -> Vec<&'t Column> {
    let loaded = keys.iter().filter(|key| !options.columns.skip_columns.contains(key));
    let filled: Vec<&Column> = loaded
        .filter_map(|key| find_column(table, mapped(key, options), options.columns.column_names))
        .collect();
    let by_file = options
        .columns
        .file_column
        .as_ref()
        .and_then(|name| find_column(table, name, options.columns.column_names));
    let is_filled = |column: &Column| filled.iter().chain(&by_file).any(|other| other.name == column.name);
    table.columns.iter().filter(|column| !column.generated && !is_filled(column)).collect()
}

fn twice(pairs: &[Pair], problems: &mut Vec<Message>) {
    for (at, pair) in pairs.iter().enumerate() {
        let is_there = || pairs[..at].iter().any(|earlier| earlier.target == pair.target);
        if !kept::is_missing(&pair.target) && is_there() {
            problems.push(format!("column {:?} is named twice", pair.target).into());
        }
    }
}

/// So many mismatches are listed: whoever mends these sees what is wrong with the others.
const SHOWN: usize = 20;

fn mismatch(problems: &[Message]) -> Error {
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
