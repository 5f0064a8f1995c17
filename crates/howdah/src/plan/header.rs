//! The start of the input: what record 1 and the fields below it look like, and whether record 1 is a header.

use howdah_message::{Message, setting};
use howdah_source::listing::beginning;
use howdah_source::open::reject_file::EMPTY_END;

use crate::catalog::inferred_type::InferredType;
use crate::catalog::kept;
use crate::catalog::table::Table;
use crate::error::Error;
use crate::options::{HeaderOption, LoadOptions, Mode};
use crate::plan::column_look::ColumnLook;
use crate::plan::columns::{are_friendly_names, are_names};
use crate::plan::header_decision::HeaderDecision;
use crate::plan::header_evidence;
use crate::plan::keys::{KeyPaths, SeenKeys};

/// The start of the input: record 1, and what the fields below it look like.
#[derive(Debug, Clone, Default)]
pub(crate) struct Head {
    pub(crate) first: Vec<String>,
    /// Record 1 alone.
    pub(crate) first_types: Vec<InferredType>,
    /// The columns of the records after it, as far as the first piece goes.
    pub(crate) below: Vec<ColumnLook>,
    pub(crate) has_rest: bool,
    /// A field of record 1 stands in its column again, further down: a name would not.
    pub(crate) recurs: bool,
    /// The line of a record that has the same fields as record 1.
    pub(crate) again: Option<u64>,
    /// Why record 1 cannot be a header although it looks like one: it is not text.
    pub(crate) fault: Option<Error>,
    /// Why record 1 cannot be read as a header at all: a quote of it takes other lines along.
    pub(crate) torn: Option<Error>,
    /// Its first line alone, without its quotes, where it has no end: what a person would take for the names.
    pub(crate) by_line: Option<Box<Head>>,
    /// Whether record 1 is a header, once that was found out.
    decision: Option<HeaderDecision>,
    /// The names are keys of JSON, and `first` has those of all records that were looked at.
    pub(crate) has_keys: bool,
    /// Which of the names are paths.
    pub(crate) paths: KeyPaths,
    /// What their values look like, where all of the input was looked at.
    pub(crate) seen: Option<SeenKeys>,
}

impl Head {
    /// The head of inputs that name their columns themselves, and may say how many rows they have.
    pub(crate) fn of_schema(names: Vec<String>, rows: Option<u64>) -> Head {
        let decision = Some(HeaderDecision::Schema { rows });
        Head { first: names, decision, ..Head::default() }
    }

    /// The head of inputs with so many fields a record, and no header.
    pub(crate) fn without_header(fields: usize) -> Head {
        let decision = Some(HeaderDecision::Nameless);
        Head { first: vec![String::new(); fields], decision, ..Head::default() }
    }

    /// Keys take the place of a header.
    pub(crate) fn of_keys(seen: SeenKeys) -> Head {
        let decision = Some(HeaderDecision::Keys);
        Head { first: seen.names, paths: seen.paths, has_keys: true, decision, ..Head::default() }
    }

    /// The head once it is found out whether record 1 is a header.
    ///
    /// # Errors
    /// It is neither clearly one nor clearly none.
    pub(crate) fn decided(self, existing: Option<&Table>, options: &LoadOptions) -> Result<Head, Error> {
        let decision = match existing {
            Some(table) => self.header_of_existing(table, options)?,
            None => self.header_of_new(options.columns.header),
        };
        Ok(Head { decision: Some(decision), ..self })
    }

    /// Whether record 1 was found to be a header.
    pub(crate) fn has_header(&self) -> bool {
        self.decision.as_ref().is_some_and(HeaderDecision::is_header)
    }

    /// The last field, where nothing but a delimiter stands before it in any record: neither a name nor a value.
    pub(crate) fn empty_end(&self) -> Option<usize> {
        let last = self.first.len().checked_sub(1).filter(|last| *last > 0 && !self.has_keys)?;
        let has_nothing = || self.below.get(last).is_some_and(|column| !column.has_text);
        (self.first[last] == EMPTY_END || self.first[last].is_empty() && has_nothing()).then_some(last)
    }

    /// What messages let options call a field: some have no name.
    pub(crate) fn called(&self) -> &'static str {
        if self.first.iter().any(|name| kept::is_missing(name)) { "NUMBER" } else { "NAME" }
    }

    /// The same head with the columns of all inputs.
    pub(crate) fn with_names(self, names: Vec<String>) -> Head {
        // What was seen are the columns of one of them.
        Head { first: names, below: Vec::new(), ..self }
    }

    /// The same head with the paths of the whole input.
    pub(crate) fn with_paths(self, paths: KeyPaths) -> Head {
        Head { paths, ..self }
    }

    /// The same head with what the whole input showed.
    pub(crate) fn with_types(self, seen: SeenKeys) -> Head {
        Head { seen: Some(seen), ..self }
    }

    /// Record 1, as the names it is to hold.
    ///
    /// # Errors
    /// It is not text, or a quote takes other lines along.
    pub(crate) fn names(self) -> Result<Vec<String>, Error> {
        self.torn.or(self.fault).map_or(Ok(self.first), Err)
    }

    /// Refuses a header that takes rows along, and names that are not text; where the columns are named nobody reads these.
    pub(crate) fn must_be_names(&self, is_header: bool, options: &LoadOptions) -> Result<(), Error> {
        let are_read = options.columns.column_list.is_none();
        let wrong = if are_read { self.wrong() } else { self.torn.as_ref() };
        wrong.filter(|_| is_header).map_or(Ok(()), |wrong| Err(wrong.clone()))
    }

    /// Why record 1 cannot be a header, if so.
    pub(crate) fn wrong(&self) -> Option<&Error> {
        self.torn.as_ref().or(self.fault.as_ref())
    }

    fn has_distinct_names(&self) -> bool {
        let names = &self.first;
        names.iter().enumerate().all(|(at, name)| !name.is_empty() && !names[..at].contains(name))
    }

    /// Whether record 1 of a new table's input is a header.
    pub(crate) fn header_of_new(&self, option: HeaderOption) -> HeaderDecision {
        if let Some(decision) = &self.decision {
            return decision.clone();
        }
        match option {
            HeaderOption::Yes => return HeaderDecision::Asked(true),
            HeaderOption::No => return HeaderDecision::Asked(false),
            HeaderOption::Auto => {}
        }
        header_evidence::judge(&self.first, &self.first_types, &self.below, self.again.is_some())
    }

    /// Whether record 1 is a header for an existing table.
    pub(crate) fn header_of_existing(
        &self,
        table: &Table,
        options: &LoadOptions,
    ) -> Result<HeaderDecision, Error> {
        if let Some(decision) = &self.decision {
            return Ok(decision.clone());
        }
        match options.columns.header {
            HeaderOption::Yes => return Ok(HeaderDecision::Asked(true)),
            HeaderOption::No => return Ok(HeaderDecision::Asked(false)),
            HeaderOption::Auto => {}
        }
        if let (Some(torn), Some(by_line), None) = (&self.torn, &self.by_line, &options.columns.column_list) {
            let decision = by_line.header_of_existing(table, options);
            return decision.ok().filter(|decision| !decision.is_header()).ok_or_else(|| torn.clone());
        }
        let mut are_names = are_names(&self.first, table, options);
        if let Some(end) = self.empty_end() {
            are_names[end] |= are_names[..end].contains(&true);
        }
        let (names, others): (Vec<_>, Vec<_>) = self.first.iter().zip(are_names).partition(|field| field.1);
        let [names, others] =
            [names, others].map(|fields| fields.into_iter().map(|field| field.0).collect::<Vec<_>>());
        let could_be_names = !self.recurs
            && self.has_distinct_names()
            && self.first_types.iter().all(|own| *own == InferredType::Text);
        if names.is_empty() && could_be_names && self.has_rest && options.columns.column_list.is_none() {
            let are_friendly = are_friendly_names(&self.first, table, options).into_iter().all(|is| is);
            let replaced = (options.target.mode == Mode::Replace && !are_friendly).then(|| table.display());
            return Ok(HeaderDecision::StrangeNames { are_friendly, replaced });
        }
        if others.is_empty() && !names.is_empty() {
            return Ok(HeaderDecision::AllColumns);
        }
        if options.columns.column_list.is_some() {
            return Ok(self.where_columns_are_listed(could_be_names, !names.is_empty()));
        }
        if names.is_empty() {
            return Ok(HeaderDecision::NoColumns);
        }
        if let Some(wrong) = self.wrong() {
            return Err(wrong.clone());
        }
        if options.target.evolve && could_be_names {
            return Ok(HeaderDecision::SomeColumns);
        }
        let are_friendly = are_friendly_names(&self.first, table, options).into_iter().all(|is| is);
        Err(unclear(&names, &others, self.called(), are_friendly, table, options))
    }
}

impl Head {
    /// Whether record 1 is a header where the caller names the columns, so that nobody reads its names: it is judged by what it
    /// looks like, and is a row where nothing tells.
    fn where_columns_are_listed(&self, could_be_names: bool, are_some_names: bool) -> HeaderDecision {
        match header_evidence::judge(&self.first, &self.first_types, &self.below, self.again.is_some()) {
            decision if decision.is_header() && decision != HeaderDecision::AllText => decision,
            _ if could_be_names && self.has_rest => HeaderDecision::Alike,
            _ if are_some_names => HeaderDecision::NotAllColumns,
            _ => HeaderDecision::NoColumns,
        }
    }
}

/// What to do about columns that are others, where a table is replaced: it keeps its own.
pub(super) fn columns_stay(table: &str, options: &LoadOptions) -> Message {
    match options.target.mode {
        Mode::Replace => message![
            setting::MODE.word("replace"),
            format!(
                " keeps the columns of the table: DROP TABLE {table} first, if the input's are to be its columns; "
            )
        ],
        _ => Message::default(),
    }
}

/// The error of a record 1 of whose fields `names` stand for columns of `table`, or are left out, and `others` do not, unless
/// friendly names make them do so.
fn unclear(
    names: &[&String],
    others: &[&String],
    called: &'static str,
    are_friendly: bool,
    table: &Table,
    options: &LoadOptions,
) -> Error {
    // What is left out, or mapped by its number, has no column's name.
    let is_column =
        |name: &&&String| !options.columns.skip_columns.contains(**name) && !name.trim().is_empty();
    let columns: Vec<&&String> = names.iter().filter(is_column).collect();
    let (table, others) = (table.display(), beginning(others));
    let detail = match columns.is_empty() {
        true => format!("not columns of {table}: {others}"),
        false => {
            format!("of record 1, columns of {table}: {}; not columns: {others}", beginning(&columns))
        }
    };
    let cure = match are_friendly {
        true => message![setting::NAMES.word("snake"), " finds columns for all; or "],
        false => Message::default(),
    };
    Error::usage("record 1 is neither clearly a header nor clearly data").with_detail(detail).with_hint(
        message![
            cure,
            columns_stay(&table, options),
            "say which: ",
            setting::HEADER.bool(true),
            " (then use ",
            setting::MAP.entry(called, "COLUMN"),
            " or ",
            setting::SKIP_COLUMNS.placeholder(called),
            " for the others), or ",
            setting::HEADER.bool(false)
        ],
    )
}
