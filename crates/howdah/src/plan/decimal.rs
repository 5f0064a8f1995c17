//! The option `decimal_comma`: numbers whose decimal point is a comma. Comma and point change places, so that a point, which may have meant
//! thousands, is refused instead of being taken for a decimal point.

use tokio_postgres::types::Type;

use crate::error::Error;
use crate::message::setting;
use crate::options::LoadOptions;
use crate::source::Dialect;

/// Refuses what would make every number two fields.
///
/// # Errors
/// A usage error: the delimiter is a comma.
pub(crate) fn check(options: &LoadOptions, dialect: &Dialect) -> Result<(), Error> {
    if options.decimal_comma && dialect.delimiter == b',' {
        return Err(Error::usage(message![
            setting::DECIMAL.word(","),
            " needs another delimiter than the comma"
        ])
        .with_hint(message!["name it, for example ", setting::DELIMITER.text(";")]));
    }
    Ok(())
}

/// Whether values of the type have decimal points.
pub(crate) fn is_decimal(oid: u32) -> bool {
    [Type::NUMERIC, Type::FLOAT4, Type::FLOAT8].iter().any(|r#type| r#type.oid() == oid)
}

/// `value` with comma and point exchanged.
pub(crate) fn swapped<'v>(value: &[u8], scratch: &'v mut Vec<u8>) -> &'v [u8] {
    scratch.clear();
    scratch.extend(value.iter().map(|byte| match byte {
        b',' => b'.',
        b'.' => b',',
        other => *other,
    }));
    scratch
}

/// What a value looks like to somebody who looks for numbers: points in timestamps and texts stay what they are.
pub(crate) fn as_number<'v>(value: &'v [u8], scratch: &'v mut Vec<u8>) -> &'v [u8] {
    let is_part = |byte: &u8| matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b',' | b'e' | b'E');
    if value.iter().all(is_part) { swapped(value, scratch) } else { value }
}

/// A refusal that quotes the value as it stands in the input.
pub(crate) fn as_written(reason: &str) -> String {
    let (Some(from), Some(to)) = (reason.find('"'), reason.rfind('"')) else { return reason.to_owned() };
    let mut scratch = Vec::new();
    let literal = swapped(&reason.as_bytes()[from..to], &mut scratch);
    [&reason[..from], &String::from_utf8_lossy(literal), &reason[to..]].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_numbers_change_when_looked_at_and_reasons_quote_the_input() {
        let mut scratch = Vec::new();
        for (given, seen) in [
            ("1,5", "1.5"),
            ("-1.234,5e3", "-1,234.5e3"),
            ("2024-01-01 00:00:00.5", "2024-01-01 00:00:00.5"),
            ("a.b", "a.b"),
        ] {
            assert_eq!(as_number(given.as_bytes(), &mut scratch), seen.as_bytes());
        }
        assert_eq!(as_written("invalid, for type numeric: \"1,5\""), "invalid, for type numeric: \"1.5\"");
        assert_eq!(as_written("numeric field overflow"), "numeric field overflow");
    }
}
