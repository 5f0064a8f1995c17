//! The options `decimal` and `thousands`: numbers whose decimal point is a comma, and numbers in groups of three digits.
//!
//! With a decimal comma, comma and point change places, so that a point, which may have meant thousands, is refused instead of
//! being taken for a decimal point. With a separator of thousands only whole groups are taken: `1,5` is no fifteen.

use howdah_message::setting;
use tokio_postgres::types::Type;

use super::thousands::Thousands;
use crate::error::Error;

/// What stands in numbers beside digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct NumberMarks {
    /// The decimal point is a comma.
    pub decimal_comma: bool,
    /// What stands between thousands; `None`: nothing does.
    pub thousands: Option<Thousands>,
}

impl NumberMarks {
    /// Refuses one mark with two meanings.
    ///
    /// # Errors
    /// A usage error that names the options.
    pub fn check(self) -> Result<(), Error> {
        match (self.thousands, self.decimal_comma) {
            (Some(mark @ Thousands::Comma), true) => Err(Error::usage(message![
                mark.mention(),
                " does not go with ",
                setting::DECIMAL.word(","),
                ": a comma cannot mean both"
            ])),
            (Some(mark @ Thousands::Point), false) => Err(Error::usage(message![
                mark.mention(),
                " needs ",
                setting::DECIMAL.word(","),
                ": a point cannot mean both"
            ])),
            _ => Ok(()),
        }
    }

    /// Whether values of the type are written with them.
    pub fn concern(self, oid: u32) -> bool {
        const DECIMALS: [Type; 3] = [Type::NUMERIC, Type::FLOAT4, Type::FLOAT8];
        const INTEGERS: [Type; 3] = [Type::INT2, Type::INT4, Type::INT8];
        let is_any = |types: &[Type]| types.iter().any(|r#type| r#type.oid() == oid);
        (self.decimal_comma || self.thousands.is_some()) && is_any(&DECIMALS)
            || self.thousands.is_some() && is_any(&INTEGERS)
    }

    /// The number as PostgreSQL spells it; `None` where its digits are not in groups of three. What has no separator is passed on,
    /// whatever it is.
    pub fn read<'v>(self, value: &[u8], out: &'v mut Vec<u8>) -> Option<&'v [u8]> {
        out.clear();
        let number = value.trim_ascii_start();
        let number = number.strip_prefix(b"-").or_else(|| number.strip_prefix(b"+")).unwrap_or(number);
        out.extend_from_slice(&value[..value.len() - number.len()]);
        let mut rest = number;
        if let Some(thousands) = self.thousands {
            let mut group = digits(rest);
            while let Some(behind) = thousands.strip(&rest[group..]) {
                if thousands == Thousands::Space && behind.trim_ascii().is_empty() {
                    // White space behind the number.
                    break;
                }
                let is_first = rest.len() == number.len();
                if group == 0 && is_first {
                    // No number, or one that begins with its decimal point.
                    break;
                }
                let is_whole = if is_first { group <= 3 && rest[0] != b'0' } else { group == 3 };
                if !is_whole {
                    return None;
                }
                out.extend_from_slice(&rest[..group]);
                rest = behind;
                group = digits(rest);
            }
            let has_separator = rest.len() < number.len();
            if has_separator {
                let is_end = match rest.get(group) {
                    None | Some(b'e' | b'E') => true,
                    Some(mark) if *mark == self.decimal_mark() => true,
                    Some(other) => other.is_ascii_whitespace(),
                };
                if group != 3 || !is_end {
                    return None;
                }
            }
        }
        if self.decimal_comma {
            swap(rest, out);
        } else {
            out.extend_from_slice(rest);
        }
        Some(out)
    }

    /// What a value looks like to somebody who looks for numbers: points in timestamps and texts stay what they are.
    pub fn as_number<'v>(self, value: &'v [u8], out: &'v mut Vec<u8>) -> &'v [u8] {
        if !self.is_of_parts(value) {
            return value;
        }
        // What is in no groups might be a number without the option.
        self.read(value, out).unwrap_or(b"no number")
    }

    /// Whether nothing stands in the value but what numbers consist of.
    fn is_of_parts(self, value: &[u8]) -> bool {
        let mut rest = value;
        while let [first, behind @ ..] = rest {
            rest = match first {
                b'0'..=b'9' | b'+' | b'-' | b'.' | b',' | b'e' | b'E' => behind,
                _ => match self.thousands.and_then(|thousands| thousands.strip(rest)) {
                    Some(behind) => behind,
                    None => return false,
                },
            };
        }
        true
    }

    fn decimal_mark(self) -> u8 {
        if self.decimal_comma { b',' } else { b'.' }
    }

    /// How numbers are written, for one that is written otherwise; `None`: as PostgreSQL does.
    pub fn described(self) -> Option<String> {
        let example = match (self.thousands?, self.decimal_comma) {
            (Thousands::Comma, _) => "1,234.5",
            (Thousands::Point, _) => "1.234,5",
            (Thousands::Apostrophe, false) => "1'234.5",
            (Thousands::Apostrophe, true) => "1'234,5",
            (Thousands::Space, false) => "1 234.5",
            (Thousands::Space, true) => "1 234,5",
        };
        Some(format!("the numbers of this load are written \"{example}\", in groups of three digits"))
    }

    /// A refusal of what was read that quotes the value as it stands in the input, but for its separators.
    pub fn as_written(self, reason: &str) -> String {
        let ends = (reason.find('"'), reason.rfind('"'));
        let (true, (Some(from), Some(to))) = (self.decimal_comma, ends) else { return reason.to_owned() };
        let mut literal = Vec::new();
        swap(&reason.as_bytes()[from..to], &mut literal);
        [&reason[..from], &String::from_utf8_lossy(&literal), &reason[to..]].concat()
    }
}

/// How many digits `text` begins with.
fn digits(text: &[u8]) -> usize {
    text.iter().take_while(|byte| byte.is_ascii_digit()).count()
}

/// Appends `value` with comma and point exchanged.
fn swap(value: &[u8], out: &mut Vec<u8>) {
    out.extend(value.iter().map(|byte| match byte {
        b',' => b'.',
        b'.' => b',',
        other => *other,
    }));
}

#[cfg(test)]
mod tests {
    use super::*;

    const COMMA: NumberMarks = NumberMarks { decimal_comma: true, thousands: None };

    fn marks(thousands: &str, decimal_comma: bool) -> NumberMarks {
        NumberMarks { decimal_comma, thousands: Some(Thousands::parse(thousands).unwrap()) }
    }

    fn read(marks: NumberMarks, value: &str) -> Option<String> {
        let mut out = Vec::new();
        marks.read(value.as_bytes(), &mut out).map(|read| String::from_utf8(read.to_vec()).unwrap())
    }

    #[test]
    fn only_numbers_change_when_looked_at_and_reasons_quote_the_input() {
        let mut scratch = Vec::new();
        for (given, seen) in [
            ("1,5", "1.5"),
            ("-1.234,5e3", "-1,234.5e3"),
            ("2024-01-01 00:00:00.5", "2024-01-01 00:00:00.5"),
            ("a.b", "a.b"),
        ] {
            assert_eq!(COMMA.as_number(given.as_bytes(), &mut scratch), seen.as_bytes());
        }
        let written = |reason| COMMA.as_written(reason);
        assert_eq!(written("invalid, for type numeric: \"1,5\""), "invalid, for type numeric: \"1.5\"");
        assert_eq!(written("numeric field overflow"), "numeric field overflow");
        let grouped = marks(".", true);
        for (given, seen) in
            [("1.234,5", "1234.5"), ("1.5", "no number"), ("1,5", "1.5"), ("12", "12"), ("v1.234", "v1.234")]
        {
            assert_eq!(grouped.as_number(given.as_bytes(), &mut scratch), seen.as_bytes());
        }
    }

    #[test]
    fn groups_of_three_digits_are_one_number() {
        for (separator, decimal_comma, value, number) in [
            (",", false, "1,234.50", "1234.50"),
            (",", false, "-12,345,678", "-12345678"),
            (",", false, "+999", "+999"),
            (",", false, "1234.5", "1234.5"),
            (",", false, ".5", ".5"),
            (",", false, "1,000e3", "1000e3"),
            (",", false, " 1,000 ", " 1000 "),
            (",", false, "NaN", "NaN"),
            (",", false, "1,234.", "1234."),
            (".", true, "1.682,97", "1682.97"),
            (".", true, "1,5", "1.5"),
            (".", true, "1.234.567", "1234567"),
            ("'", false, "1'234.5", "1234.5"),
            ("'", true, "1’234’567,5", "1234567.5"),
            ("space", false, "1 234\u{a0}567\u{202f}890.1", "1234567890.1"),
            ("space", true, "- 1 ", "- 1 "),
            ("space", true, "-1 234,5 ", "-1234.5 "),
        ] {
            assert_eq!(read(marks(separator, decimal_comma), value).as_deref(), Some(number), "{value:?}");
        }
    }

    #[test]
    fn other_groups_and_separators_in_other_places_are_refused_or_left_to_be_refused() {
        for (separator, decimal_comma, value) in [
            (",", false, "1,5"),
            (",", false, "1,23,456"),
            (",", false, "1234,567"),
            (",", false, "1,2345"),
            (",", false, "1,234,"),
            (",", false, "1,,234"),
            (",", false, "0,123"),
            (",", false, "1,234x"),
            (".", true, "1.5"),
            (".", true, "1."),
            ("space", false, "12 34"),
            ("space", false, "1 234 5"),
        ] {
            assert_eq!(read(marks(separator, decimal_comma), value), None, "{value:?}");
        }
        // No number afterwards, either.
        for (separator, decimal_comma, value, passed_on) in [
            (",", false, ",123", ",123"),
            (",", false, "1.234,567", "1.234,567"),
            (".", true, ".123", ",123"),
            (".", true, "1,234.567", "1.234,567"),
            ("'", false, "'1", "'1"),
        ] {
            assert_eq!(read(marks(separator, decimal_comma), value).as_deref(), Some(passed_on), "{value:?}");
        }
        assert_eq!(read(COMMA, "1.5").as_deref(), Some("1,5"));
    }

    #[test]
    fn one_mark_has_one_meaning() {
        assert!(marks(",", true).check().unwrap_err().message().contains("cannot mean both"));
        assert!(marks(".", false).check().unwrap_err().message().contains("needs decimal"));
        for good in [COMMA, marks(".", true), marks(",", false), marks("'", true), marks("space", false)] {
            assert!(good.check().is_ok(), "{good:?}");
        }
    }
}
