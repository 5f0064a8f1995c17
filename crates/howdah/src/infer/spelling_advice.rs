//! What to say where columns of a new table are text that another spelling would make numbers or dates.

use howdah_message::{Mention, Message, setting};
use howdah_source::Dialect;
use howdah_source::listing::listing;
use howdah_source::spelling::date;

use crate::infer::lattice::ColumnLattice;
use crate::infer::lattice::spellings::{DATES, NAMES, NUMBERS};
use crate::options::LoadOptions;

/// A column of a new table, and what was seen of it.
#[derive(Clone, Copy)]
pub(crate) struct SeenColumn<'c> {
    pub(crate) name: &'c str,
    pub(crate) lattice: &'c ColumnLattice,
    /// The type that the user says.
    pub(crate) declared: Option<u32>,
}

/// What would make columns something else than text.
pub(crate) struct SpellingAdvice<'c> {
    pub(crate) columns: Vec<&'c str>,
    values: String,
    options: Vec<Mention>,
}

impl SpellingAdvice<'_> {
    /// The columns, and the options to type.
    pub(crate) fn message(&self) -> Message {
        let options = Message::joined(self.options.iter().map(|option| option.clone().into()), " ");
        let reads = if self.options.len() == 1 { " reads them" } else { " read them" };
        message![listing(&self.columns), ": all values are ", self.values.clone(), ": ", options, reads]
    }
}

impl SeenColumn<'_> {
    fn is_text(&self) -> bool {
        self.declared.is_none() && self.lattice.is_of_text()
    }

    /// Whether its values are read as `is_concerned` says of types.
    fn is_read(&self, is_concerned: impl Fn(u32) -> bool) -> bool {
        is_concerned(self.lattice.decide().oid()) && self.declared.is_none_or(is_concerned)
    }
}

/// At most one advice about numbers and one about dates: an option holds for all columns of a load.
pub(crate) fn of<'c>(
    columns: &[SeenColumn<'c>],
    dialect: &Dialect,
    options: &LoadOptions,
) -> Vec<SpellingAdvice<'c>> {
    [numbers(columns, dialect, options), dates(columns, options)].into_iter().flatten().collect()
}

/// The marks with which all columns that want some are numbers, and those that are numbers already stay so.
fn numbers<'c>(
    columns: &[SeenColumn<'c>],
    dialect: &Dialect,
    options: &LoadOptions,
) -> Option<SpellingAdvice<'c>> {
    let input = &options.input;
    if input.thousands.is_some() {
        return None;
    }
    let wants = |column: &&SeenColumn<'c>| {
        column.is_text() && column.lattice.spellings().number(input.decimal_comma).is_some()
    };
    let wanting: Vec<&SeenColumn<'c>> = columns.iter().filter(wants).collect();
    let chosen = (0..NUMBERS.len()).find(|&at| {
        let marks = NUMBERS[at];
        // A decimal point would be taken for a separator: 52.123 for 52123. Integers are the same in all of them.
        let stays = |column: &SeenColumn<'c>| {
            !column.is_read(|oid| marks.concern(oid))
                || column.lattice.spellings().has_number(at)
                    && (!marks.decimal_comma || column.lattice.is_of_integers())
        };
        (marks.decimal_comma || !input.decimal_comma)
            && wanting.iter().all(|column| column.lattice.spellings().has_number(at))
            && columns.iter().all(stays)
    })?;
    let marks = NUMBERS[chosen];
    let mut mentions = Vec::new();
    if marks.decimal_comma && !input.decimal_comma {
        mentions.push(setting::DECIMAL.word(","));
        if dialect.delimiter == b',' && input.dialect.delimiter.is_none() {
            mentions.push(setting::DELIMITER.text(","));
        }
    }
    mentions.extend(marks.thousands.map(|mark| mark.mention()));
    let columns: Vec<&str> = wanting.iter().map(|column| column.name).collect();
    let is_advice = !columns.is_empty() && !mentions.is_empty();
    is_advice.then(|| SpellingAdvice { columns, values: NAMES[chosen].to_owned(), options: mentions })
}

/// The format of the first column that has only one, unless other columns hold dates as PostgreSQL writes them.
fn dates<'c>(columns: &[SeenColumn<'c>], options: &LoadOptions) -> Option<SpellingAdvice<'c>> {
    if options.input.date_format.is_some() || columns.iter().any(|column| column.is_read(date::is_temporal)) {
        return None;
    }
    let formats = |column: &SeenColumn<'c>| match column.is_text() {
        true => column.lattice.spellings().dates(),
        false => Vec::new(),
    };
    let chosen = columns.iter().find_map(|column| match formats(column)[..] {
        [only] => Some(only),
        _ => None,
    })?;
    let dated = columns.iter().filter(|column| formats(column).contains(&chosen));
    let format = DATES[chosen].as_str();
    Some(SpellingAdvice {
        columns: dated.map(|column| column.name).collect(),
        values: "dates".to_owned(),
        options: vec![setting::DATE_FORMAT.text(format)],
    })
}
