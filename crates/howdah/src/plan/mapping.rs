//! Which field goes into which column: by header name or by position. Pure; all mismatches are reported at once.

mod existing;
mod mismatch;
mod named;
mod new;

pub(crate) use existing::{for_existing, unfilled};
use howdah_message::{Message, setting};
use howdah_source::layout::Layouts;
use howdah_source::text::sniff::Fit;
pub(crate) use new::for_new;

use crate::catalog::name::{self, SYSTEM_COLUMNS};
use crate::catalog::table::{Column, Table};
use crate::error::Error;
use crate::options::{HeaderOption, LoadOptions};
use crate::plan::columns::are_names;
use crate::plan::header::Head;
use crate::plan::header_decision::HeaderDecision;
use crate::plan::keys::{KeyPaths, SeenKeys};
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
    /// The columns among them that the table is yet to get.
    pub(crate) added: Vec<String>,
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
    let names_columns = |table: &Table| {
        let mut are_names = are_names(first, table, options).into_iter();
        if options.target.evolve {
            are_names.any(|is_name| is_name)
        } else {
            are_names.all(|is_name| is_name)
        }
    };
    if may_be_header && existing.is_some_and(names_columns) {
        return Fit::Names;
    }
    let is_file_column = |column: &Column| options.columns.file_column.as_ref() == Some(&column.name);
    let insertable = |table: &Table| {
        table.columns.iter().filter(|column| !column.generated && !is_file_column(column)).count()
    };
    let expected = options.columns.column_list.as_ref().map(Vec::len).or(existing.map(insertable));
    if expected == Some(first.len()) { Fit::Count } else { Fit::Unknown }
}

/// Refuses the name of a column that every table has.
fn check_file_column(options: &LoadOptions) -> Result<(), Error> {
    let name = options.columns.file_column.as_deref().filter(|name| SYSTEM_COLUMNS.contains(name));
    name.map_or(Ok(()), |name| {
        let error = message![setting::FILE_COLUMN, format!(": every table has a column {name} of its own")];
        Err(Error::usage(error).with_hint("it holds nothing of the input: choose another name"))
    })
}

/// What is said where the input brings the column that is to get the file's name.
fn also_in_input(name: &str) -> String {
    format!("{name:?} is to get the file's name and is in the input too")
}

/// Notes a name that no column of a table can have.
fn check_name(pair: &Pair, problems: &mut Vec<Message>) {
    let Pair { field, target, .. } = pair;
    if let Err(error) = name::check(target) {
        problems.push(format!("field {}: {}", field + 1, error.message()).into());
    } else if SYSTEM_COLUMNS.contains(&&**target) {
        problems.push(format!("field {}: every table has a column {target} of its own", field + 1).into());
    }
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
    let (added, made_names) = (Vec::new(), None);
    Ok(Mapping { header, decision, fields, pairs, added, layouts, keys, made_names, empty_end, again })
}
