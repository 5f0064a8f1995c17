//! How the options say that values are written, and which marks cannot stand beside each other.

use howdah_message::setting;
use howdah_source::spelling::{BooleanWords, NumberMarks, Thousands};
use howdah_source::{Dialect, Family, Spelling};
use tokio_postgres::types::Type;

use crate::error::Error;
use crate::options::LoadOptions;
use crate::plan::planned_column::PlanColumn;

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

/// Refuses columns whose values the server alone knows to read, where numbers are written otherwise.
///
/// # Errors
/// A usage error that names the first of them.
pub(crate) fn check_columns(spelling: &Spelling, columns: &[PlanColumn]) -> Result<(), Error> {
    let is_money = |column: &&PlanColumn| column.base_type.0 == Type::MONEY.oid();
    let Some(column) = columns.iter().find(is_money).filter(|_| spelling.numbers != NumberMarks::default())
    else {
        return Ok(());
    };
    let option = match spelling.numbers.thousands {
        Some(thousands) if !spelling.numbers.decimal_comma => thousands.mention(),
        _ => setting::DECIMAL.word(","),
    };
    Err(Error::usage(message![
        option,
        format!(" cannot hold for column {:?}: the server reads money by its own lc_monetary", column.name)
    ])
    .with_hint("load into numeric, from which money can be made: amount::money"))
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
