//! What JSON leaves no choice about.

use howdah_message::{Mention, setting};

use crate::error::Error;
use crate::options::{HeaderOption, Inference, LoadOptions};

/// Refuses options that have no meaning for JSON.
///
/// # Errors
/// A usage error that names the option.
pub(crate) fn check(options: &LoadOptions) -> Result<(), Error> {
    let dialect = &options.input.dialect;
    let refused: [(bool, Mention, &str); 12] = [
        (dialect.delimiter.is_some(), setting::DELIMITER.into(), "JSON says itself where values end"),
        (dialect.quote.is_some(), setting::QUOTE.into(), "JSON's quotes are its own"),
        (dialect.escape.is_some(), setting::ESCAPE.into(), "JSON's escapes are its own"),
        (dialect.null.is_some(), setting::NULL.into(), "JSON has a null"),
        (
            dialect.default.is_some(),
            setting::DEFAULT.into(),
            "a column gets its default where no record has its key",
        ),
        (!options.columns.force_null.is_empty(), setting::FORCE_NULL.into(), "JSON has a null"),
        (!options.columns.force_not_null.is_empty(), setting::FORCE_NOT_NULL.into(), "JSON has a null"),
        (options.columns.header != HeaderOption::Auto, setting::HEADER.into(), "keys name the columns"),
        (options.input.decimal_comma, setting::DECIMAL.word(","), "numbers of JSON have points"),
        (options.input.thousands.is_some(), setting::THOUSANDS.into(), "numbers of JSON have digits alone"),
        (
            options.columns.infer != Inference::All,
            setting::INFER.word(options.columns.infer.name()),
            "types of keys are those that every value fits",
        ),
        (!options.input.booleans.is_empty(), setting::BOOLEANS.into(), "JSON has true and false"),
    ];
    match refused.into_iter().find(|(is_asked, ..)| *is_asked) {
        Some((_, option, why)) => Err(Error::usage(message![option, " is not for JSON"]).with_hint(why)),
        None => Ok(()),
    }
}
