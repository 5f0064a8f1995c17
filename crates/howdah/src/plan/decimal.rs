//! Numbers with a decimal comma need another delimiter.

use howdah_message::setting;
use howdah_source::Dialect;

use crate::error::Error;
use crate::options::LoadOptions;

/// Refuses what would make every number two fields.
///
/// # Errors
/// A usage error: the delimiter is a comma.
pub(crate) fn check(options: &LoadOptions, dialect: &Dialect) -> Result<(), Error> {
    if options.input.decimal_comma && dialect.delimiter == b',' {
        return Err(Error::usage(message![
            setting::DECIMAL.word(","),
            " needs another delimiter than the comma"
        ])
        .with_hint(message!["name it, for example ", setting::DELIMITER.text(";")]));
    }
    Ok(())
}
