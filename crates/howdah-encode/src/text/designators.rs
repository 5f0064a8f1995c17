//! Intervals with ISO 8601's designators: `P1Y2M3DT4H5M6.789S`.

use super::float;
use super::interval_sum::{IntervalError, IntervalSum, Quantity, Unit};
use super::tokens::LONGEST;

/// The sum of the parts, `None` when the literal has another form. Forms without designators are the server's.
#[inline]
pub(super) fn read(literal: &[u8]) -> Option<Result<IntervalSum, IntervalError>> {
    let (b'P', parts) = literal.split_first()? else { return None };
    // Of these characters the server's own form is never made; blanks in front or behind are not taken.
    let plain = parts.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-'));
    // PM is a word of times.
    let is_word = matches!(parts, [b'M' | b'm', ..]);
    (plain && !is_word && literal.len() <= LONGEST).then(|| sum(parts))
}

fn sum(mut parts: &[u8]) -> Result<IntervalSum, IntervalError> {
    if parts.is_empty() {
        return Err(IntervalError::Syntax);
    }
    let mut span = IntervalSum::default();
    let mut in_time = false;
    while let Some(first) = parts.first() {
        if *first == b'T' {
            in_time = true;
            parts = &parts[1..];
            continue;
        }
        let (quantity, rest) = quantity(parts)?;
        let unit = match (in_time, rest.first()) {
            (false, Some(b'Y')) => Unit::Year,
            (false, Some(b'M')) => Unit::Month,
            (false, Some(b'W')) => Unit::Week,
            (false, Some(b'D')) => Unit::Day,
            (true, Some(b'H')) => Unit::Hour,
            (true, Some(b'M')) => Unit::Minute,
            (true, Some(b'S')) => Unit::Second,
            // A date, or a number that goes on: `1e3`, `0x1f`, `1.`.
            (false, Some(b'T')) | (_, None | Some(b'-' | b'.' | b'e' | b'E' | b'x' | b'X')) => {
                return Err(IntervalError::Unsure);
            }
            _ => return Err(IntervalError::Syntax),
        };
        span.add(quantity, unit)?;
        parts = &rest[1..];
    }
    Ok(span)
}

/// A number in front and what follows it.
fn quantity(text: &[u8]) -> Result<(Quantity, &[u8]), IntervalError> {
    /// Digits of a whole number that a double says exactly, with room for a fraction.
    const EXACT_DIGITS: usize = 15;
    let unsigned = text.strip_prefix(b"-").unwrap_or(text);
    let whole = leading_digits(unsigned);
    if whole == 0 && !matches!(text, [b'-' | b'.', ..]) {
        return Err(IntervalError::Syntax);
    }
    if whole == 0 || whole > EXACT_DIGITS {
        return Err(IntervalError::Unsure);
    }
    let places = match &unsigned[whole..] {
        [b'.', fraction @ ..] => 1 + leading_digits(fraction),
        _ => 0,
    };
    let length = text.len() - unsigned.len() + whole + places;
    if places == 1 {
        return Err(IntervalError::Unsure);
    }
    let value = float::parse_f64(&text[..length]).map_err(|_| IntervalError::Unsure)?;
    #[expect(clippy::cast_possible_truncation, reason = "at most fifteen digits")]
    let quantity = Quantity { whole: value.trunc() as i64, fraction: value - value.trunc() };
    Ok((quantity, &text[length..]))
}

fn leading_digits(text: &[u8]) -> usize {
    text.iter().take_while(|byte| byte.is_ascii_digit()).count()
}
