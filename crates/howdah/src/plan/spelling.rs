//! How the options say that values are written, and which marks cannot stand beside each other.

use howdah_message::setting;
use howdah_source::spelling::{BooleanWords, NumberMarks, Thousands};
use howdah_source::{Dialect, Family, Spelling};

use crate::error::Error;
use crate::options::LoadOptions;

/// How values are written.
///
/// # Errors
/// A usage error: a mark or a word with two meanings.
pub(crate) fn of(options: &LoadOptions) -> Result<Spelling, Error> {
    let input = &options.input;
    let numbers = NumberMarks { decimal_comma: input.decimal_comma, thousands: input.thousands };
    numbers.check()?;
    let booleans = BooleanWords::new(&input.booleans)?;
    Ok(Spelling { numbers, dates: input.date_format.clone(), booleans })
}

/// Refuses what would make every number two fields, or the beginning of a quoted one.
///
/// # Errors
/// A usage error: the delimiter is a decimal comma, or the quote separates thousands.
pub(crate) fn check(options: &LoadOptions, dialect: &Dialect) -> Result<(), Error> {
    // Where the user says that commas delimit, numbers stand in quotes.
    let is_said = options.input.dialect.delimiter.is_some();
    if options.input.decimal_comma && dialect.delimiter == b',' && !is_said {
        return Err(Error::usage(message![
            setting::DECIMAL.word(","),
            " needs another delimiter than the comma"
        ])
        .with_hint(message![
            "name it, for example ",
            setting::DELIMITER.text(";"),
            "; or say that it is one where numbers stand in quotes: ",
            setting::DELIMITER.text(",")
        ]));
    }
    if let Some(mark @ Thousands::Apostrophe) = options.input.thousands
        && dialect.family == Family::Csv
        && dialect.quote == b'\''
    {
        return Err(Error::usage(message![mark.mention(), " needs another quote than the apostrophe"])
            .with_hint(message!["name it, for example ", setting::QUOTE.text("\"")]));
    }
    Ok(())
}
