//! Dates and times of day in every shape that is decided here: what the fast paths of the types leave over.

use super::fixed::{DateLiteral, DateTime};
use super::float;
use super::space::{is_space, trimmed};
use crate::civil::{MICROS_PER_DAY, MICROS_PER_SECOND, days_of};
use crate::verdict::{NotEncoded, shown};

/// Reads every shape that is decided here; the fast paths of the types come first.
#[cold]
pub(super) fn read(literal: &[u8], type_name: &str) -> Result<DateLiteral, NotEncoded> {
    let text = trimmed(literal);
    match text {
        [] => return Err(bad_syntax(literal, type_name)),
        [b'i' | b'I' | b'-' | b'e' | b'E', ..] => {
            let is = |name: &[u8]| text.eq_ignore_ascii_case(name);
            return match () {
                () if is(b"infinity") => Ok(DateLiteral::Infinity),
                () if is(b"-infinity") => Ok(DateLiteral::NegativeInfinity),
                () if is(b"epoch") => Ok(DateLiteral::Epoch),
                () => Err(NotEncoded::Unsure),
            };
        }
        _ => {}
    }
    let shape = LiteralFields::read(text).ok_or(NotEncoded::Unsure)?;
    let (moment, offset) = (shape.date_and_time(), shape.clock.offset());
    if shape.before_christ && (moment.is_none() || offset.is_err()) {
        return Err(NotEncoded::Unsure);
    }
    match (moment, offset) {
        (Some((days, micros)), Ok(offset)) => Ok(DateLiteral::DateTime(DateTime { days, micros, offset })),
        _ => Err(out_of_range(literal, moment.is_none(), offset.is_err())),
    }
}

/// Microseconds since midnight and seconds east of UTC of a time of day without a date.
#[cold]
pub(super) fn read_clock(literal: &[u8], type_name: &str) -> Result<(i64, Option<i32>), NotEncoded> {
    let text = trimmed(literal);
    if text.is_empty() {
        return Err(bad_syntax(literal, type_name));
    }
    let clock = Clock::alone(text).ok_or(NotEncoded::Unsure)?;
    match (clock.micros(), clock.offset()) {
        (Some(micros), Ok(offset)) => Ok((micros, offset)),
        (micros, offset) => Err(out_of_range(literal, micros.is_none(), offset.is_err())),
    }
}

#[cold]
fn bad_syntax(literal: &[u8], type_name: &str) -> NotEncoded {
    let reason = format!("invalid input syntax for type {type_name}: \"{}\"", shown(literal));
    NotEncoded::invalid("22007", reason)
}

#[cold]
fn out_of_range(literal: &[u8], field: bool, offset: bool) -> NotEncoded {
    let (sqlstate, what) = match (field, offset) {
        (true, false) => ("22008", "date/time field value"),
        (false, true) => ("22009", "time zone displacement"),
        // Which of two complaints comes first is the server's choice.
        _ => return NotEncoded::Unsure,
    };
    NotEncoded::invalid(sqlstate, format!("{what} out of range: \"{}\"", shown(literal)))
}

/// The fields of a literal, not yet checked against the calendar.
struct LiteralFields {
    year: i32,
    month: u32,
    day: u32,
    clock: Clock,
    before_christ: bool,
}

impl LiteralFields {
    /// `YYYY-MM-DD`, then perhaps ` ` or `T` and `HH:MM[:SS[.fraction]]` with perhaps a zone, then perhaps ` BC`.
    fn read(text: &[u8]) -> Option<LiteralFields> {
        let mut cursor = Scanner(text);
        let year = cursor.number(4)?;
        let month = cursor.after(b'-')?.short_number()?;
        let day = cursor.after(b'-')?.short_number()?;
        let spaced = cursor.skip_spaces();
        let time_follows = match cursor.0 {
            [b'T' | b't', b'0'..=b'9', ..] if !spaced => {
                cursor.0 = &cursor.0[1..];
                true
            }
            [b'0'..=b'9', ..] => spaced,
            _ => false,
        };
        let mut clock = Clock::default();
        if time_follows {
            clock = Clock::read(&mut cursor)?;
            cursor.skip_spaces();
        }
        let before_christ = match cursor.0 {
            [] => false,
            [b'b' | b'B', b'c' | b'C'] if text[text.len() - 3] == b' ' => true,
            _ => return None,
        };
        Some(LiteralFields { year: i32::try_from(year).ok()?, month, day, clock, before_christ })
    }

    /// Days and microseconds; `None` when a field is out of its range.
    fn date_and_time(&self) -> Option<(i32, i64)> {
        /// Before it the server's calendar begins within a year.
        const EARLIEST_BC: i32 = 4713;
        let micros = self.clock.micros()?;
        let year = match self.before_christ {
            true => (1..=EARLIEST_BC).contains(&self.year).then_some(1 - self.year)?,
            false => (self.year > 0).then_some(self.year)?,
        };
        Some((days_of(year, self.month, self.day)?, micros))
    }
}

/// A time of day, not yet checked.
#[derive(Default)]
struct Clock {
    hour: u32,
    minute: u32,
    second: u32,
    /// Microseconds, up to a whole second when the fraction was rounded up.
    fraction: i64,
    /// Whether it counts westwards; hours, minutes, seconds.
    zone: Option<(bool, [u32; 3])>,
    /// The half of the day, where the literal names it.
    half: Option<Half>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Half {
    Morning,
    Afternoon,
}

impl Clock {
    /// `H:MM[:SS[.fraction]]` with perhaps a zone.
    fn read(cursor: &mut Scanner<'_>) -> Option<Clock> {
        let mut clock = Clock { hour: cursor.short_number()?, ..Clock::default() };
        clock.minute = cursor.after(b':')?.short_number()?;
        if cursor.0.first() == Some(&b':') {
            clock.second = cursor.after(b':')?.short_number()?;
            if cursor.0.first() == Some(&b'.') {
                let digits = cursor.0[1..].iter().take_while(|byte| byte.is_ascii_digit()).count();
                clock.fraction = fraction_micros(&cursor.0[..=digits])?;
                cursor.0 = &cursor.0[1 + digits..];
            }
        }
        let spaced = cursor.skip_spaces();
        match cursor.0 {
            [b'Z' | b'z', rest @ ..] => {
                cursor.0 = rest;
                clock.zone = Some((false, [0; 3]));
            }
            [sign @ (b'+' | b'-'), rest @ ..] => {
                cursor.0 = rest;
                let mut parts = [cursor.number(2)?, 0, 0];
                if cursor.0.first() == Some(&b':') {
                    parts[1] = cursor.after(b':')?.number(2)?;
                    if cursor.0.first() == Some(&b':') {
                        parts[2] = cursor.after(b':')?.number(2)?;
                    }
                } else if cursor.0.first().is_some_and(u8::is_ascii_digit) {
                    parts[1] = cursor.number(2)?;
                }
                clock.zone = Some((*sign == b'-', parts));
            }
            [] => return Some(clock),
            _ => return spaced.then_some(clock),
        }
        (cursor.0.is_empty() || is_space(cursor.0[0])).then_some(clock)
    }

    /// A time of day that is all there is, with a zone or with `AM` or `PM`.
    fn alone(text: &[u8]) -> Option<Clock> {
        let (time, half) = match text {
            [time @ .., a, b'm' | b'M'] => match a.to_ascii_lowercase() {
                b'a' => (trimmed(time), Some(Half::Morning)),
                b'p' => (trimmed(time), Some(Half::Afternoon)),
                _ => return None,
            },
            _ => (text, None),
        };
        let mut cursor = Scanner(time);
        let clock = Clock::read(&mut cursor)?;
        let decided = cursor.0.is_empty() && (half.is_none() || clock.zone.is_none());
        decided.then_some(Clock { half, ..clock })
    }

    /// Since midnight. A second of 60 is the next minute, 24:00:00 the next day; no moment lies beyond that.
    fn micros(&self) -> Option<i64> {
        const NOON: u32 = 12;
        let hour = match self.half {
            None => self.hour,
            Some(_) if self.hour > NOON => return None,
            Some(Half::Morning) => self.hour % NOON,
            Some(Half::Afternoon) => self.hour % NOON + NOON,
        };
        let seconds = (hour * 60 + self.minute) * 60 + self.second;
        let micros = i64::from(seconds) * MICROS_PER_SECOND + self.fraction;
        (hour <= 24 && self.minute <= 59 && self.second <= 60 && micros <= MICROS_PER_DAY).then_some(micros)
    }

    /// Seconds east; an error when the server's limits are passed.
    fn offset(&self) -> Result<Option<i32>, ()> {
        let Some((west, [hours, minutes, seconds])) = self.zone else { return Ok(None) };
        if hours > 15 || minutes > 59 || seconds > 59 {
            return Err(());
        }
        let east = (hours * 3600 + minutes * 60 + seconds).cast_signed();
        Ok(Some(if west { -east } else { east }))
    }
}

struct Scanner<'a>(&'a [u8]);

impl Scanner<'_> {
    /// Exactly `digits` digits.
    fn number(&mut self, digits: usize) -> Option<u32> {
        let (number, rest) = self.0.split_at_checked(digits)?;
        self.0 = rest;
        number
            .iter()
            .try_fold(0, |value, byte| byte.is_ascii_digit().then(|| value * 10 + u32::from(byte - b'0')))
    }

    /// One digit or two, and no third.
    fn short_number(&mut self) -> Option<u32> {
        let digits = self.0.iter().take_while(|byte| byte.is_ascii_digit()).count();
        if digits > 2 { None } else { self.number(digits.max(1)) }
    }

    fn after(&mut self, byte: u8) -> Option<&mut Self> {
        self.0 = self.0.strip_prefix(&[byte])?;
        Some(self)
    }

    fn skip_spaces(&mut self) -> bool {
        let before = self.0.len();
        while let [first, rest @ ..] = self.0
            && is_space(*first)
        {
            self.0 = rest;
        }
        self.0.len() < before
    }
}

/// Microseconds of a fraction with its point. The server reads it as a double and rounds the product to even, which
/// shows from the seventh digit on.
pub(super) fn fraction_micros(fraction: &[u8]) -> Option<i64> {
    /// Digits that are certainly read alike and fit the server's buffers.
    const DIGITS: usize = 20;
    if !(2..=DIGITS + 1).contains(&fraction.len()) {
        return None;
    }
    let value = float::parse_f64(fraction).ok()?;
    let micros = (value * 1e6).round_ties_even();
    #[expect(clippy::cast_possible_truncation, reason = "between 0 and a million")]
    let micros = micros as i64;
    Some(micros)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fraction_is_rounded_as_the_server_rounds_it() {
        assert_eq!(fraction_micros(b".5"), Some(500_000));
        assert_eq!(fraction_micros(b".0000005"), Some(0));
        assert_eq!(fraction_micros(b".0000015"), Some(2));
        assert_eq!(fraction_micros(b".9999995"), Some(1_000_000));
        assert_eq!(fraction_micros(b".123456789"), Some(123_457));
        for micros in 0..1_000_000 {
            if micros % 7 == 0 {
                assert_eq!(fraction_micros(format!(".{micros:06}").as_bytes()), Some(micros));
            }
        }
        assert_eq!(fraction_micros(b"."), None);
    }
}
