//! What a literal says beyond what its column keeps. PostgreSQL rounds it away in silence; a value that had a type, and was
//! refused rather than rounded, must not lose that by having been written down as a literal.

use super::Allowed;
use crate::text::NumericLimit;
use crate::verdict::{Invalid, Loss, NotEncoded, shown};

/// Digits of a second that PostgreSQL's types keep.
const SECOND_DIGITS: usize = 6;

/// What a column keeps of a number or a time, and what may be lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Precision {
    kept: Kept,
    allowed: Allowed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kept {
    Microseconds,
    Scale(i16),
    Whole,
    Real,
}

impl Precision {
    /// Of the type with this OID (`pg_type.oid`) and modifier (`pg_attribute.atttypmod`); `None`: its literals lose nothing,
    /// or are refused by PostgreSQL where they would.
    pub fn of(type_oid: u32, typmod: i32, allowed: Allowed) -> Option<Precision> {
        let kept = match type_oid {
            1083 | 1114 | 1184 | 1266 => Kept::Microseconds,
            1700 => Kept::Scale(NumericLimit::from_typmod(typmod)?.scale),
            20 | 21 | 23 => Kept::Whole,
            700 => Kept::Real,
            _ => return None,
        };
        Some(Precision { kept, allowed })
    }

    /// The literal as it is to be read, as the value would have been that it was: nanoseconds that may be lost are cut off,
    /// towards the past, and numbers become the nearest integer, half to even.
    ///
    /// # Errors
    /// It would lose what is not allowed to be lost (SQLSTATE 22000).
    pub fn kept<'v>(&self, literal: &'v [u8], scratch: &'v mut Vec<u8>) -> Result<&'v [u8], NotEncoded> {
        match self.kept {
            Kept::Microseconds => match nanoseconds(literal) {
                None => Ok(literal),
                Some(_) if !self.allowed.nanoseconds => {
                    Err(lossy(literal, "has nanoseconds", Loss::Nanoseconds))
                }
                Some((from, to)) => {
                    scratch.clear();
                    scratch.extend_from_slice(&literal[..from]);
                    scratch.extend_from_slice(&literal[to..]);
                    Ok(scratch)
                }
            },
            Kept::Scale(scale) => {
                let fits = last_place(literal).is_none_or(|place| place >= -i64::from(scale));
                // What the value was, a decimal or a float, its literal does not tell.
                if fits || self.allowed.decimals || self.allowed.floats {
                    return Ok(literal);
                }
                let why = format!("has more than {scale} digits after the point");
                Err(lossy(literal, &why, Loss::Decimals))
            }
            Kept::Whole => match fraction(literal) {
                None => Ok(literal),
                Some(_) if !self.allowed.floats => Err(lossy(literal, "is no whole number", Loss::Floats)),
                Some(number) => {
                    *scratch = format!("{:.0}", number.round_ties_even()).into_bytes();
                    Ok(scratch)
                }
            },
            Kept::Real if self.allowed.floats || is_real(literal) => Ok(literal),
            Kept::Real => Err(lossy(literal, "is no real", Loss::Floats)),
        }
    }
}

fn lossy(literal: &[u8], why: &str, loss: Loss) -> NotEncoded {
    let reason =
        format!("{} {why} (the lossy conversion \"{}\" is not allowed)", shown(literal), loss.name());
    NotEncoded::Invalid(Box::new(Invalid { sqlstate: "22000", reason, loss: Some(loss) }))
}

/// Where the digits of a second behind the microseconds stand, if one of them counts.
fn nanoseconds(literal: &[u8]) -> Option<(usize, usize)> {
    let point = literal.iter().rposition(|byte| *byte == b'.')?;
    // A point that follows no time divides a date.
    literal[..point].contains(&b':').then_some(())?;
    let digits = literal[point + 1..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (from, to) = (point + 1 + SECOND_DIGITS, point + 1 + digits);
    let extra = literal.get(from..to)?;
    extra.iter().any(|digit| *digit != b'0').then_some((from, to))
}

/// The place of the last digit of a number that is not zero, as a power of ten; `None`: zero, or no plain number.
fn last_place(literal: &[u8]) -> Option<i64> {
    let text = str::from_utf8(literal).ok()?.trim();
    let (digits, exponent) = match text.split_once(['e', 'E']) {
        Some((digits, exponent)) => (digits, exponent.parse::<i64>().ok()?),
        None => (text, 0),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let whole = whole.trim_start_matches(['+', '-']);
    if !whole.bytes().chain(fraction.bytes()).all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let length = |digits: &str| i64::try_from(digits.len()).unwrap_or(i64::MAX);
    let fraction = fraction.trim_end_matches('0');
    let place = if fraction.is_empty() {
        let kept = whole.trim_end_matches('0');
        if kept.is_empty() {
            return None;
        }
        length(whole) - length(kept)
    } else {
        -length(fraction)
    };
    Some(place.saturating_add(exponent))
}

/// The number, if a literal is a finite one with digits behind the point that count.
fn fraction(literal: &[u8]) -> Option<f64> {
    last_place(literal).filter(|place| *place < 0)?;
    str::from_utf8(literal).ok()?.trim().parse().ok()
}

/// Whether the shortest way to write the nearest `real` says the same number.
fn is_real(literal: &[u8]) -> bool {
    let Some(text) = str::from_utf8(literal).ok().map(str::trim) else { return true };
    let (Ok(exact), Ok(real)) = (text.parse::<f64>(), text.parse::<f32>()) else { return true };
    exact.is_nan() || real.to_string().parse() == Ok(exact)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(oid: u32, typmod: i32, allowed: Allowed, literal: &str) -> Result<String, Option<Loss>> {
        let mut scratch = Vec::new();
        let precision = Precision::of(oid, typmod, allowed).unwrap();
        match precision.kept(literal.as_bytes(), &mut scratch) {
            Ok(kept) => Ok(String::from_utf8(kept.to_vec()).unwrap()),
            Err(NotEncoded::Invalid(invalid)) => Err(invalid.loss),
            Err(NotEncoded::Unsure) => panic!("it is sure"),
        }
    }

    /// `numeric(10, scale)`
    fn numeric(scale: u16) -> i32 {
        (10 << 16 | i32::from(scale)) + 4
    }

    #[test]
    fn what_a_column_cannot_keep_is_refused_and_the_rest_is_not_touched() {
        let none = Allowed::default();
        for (oid, typmod, literal, loss) in [
            (1114, -1, "2024-01-01 00:00:00.123456", None),
            (1114, -1, "2024-01-01 00:00:00.123456000", None),
            (1114, -1, "2024-01-01 00:00:00.1234567", Some(Loss::Nanoseconds)),
            (1184, -1, "2024-01-01 00:00:00.000000001+01", Some(Loss::Nanoseconds)),
            (1083, -1, "23:59:59.9999999", Some(Loss::Nanoseconds)),
            (1114, -1, "2024.01.0112345678", None),
            (1114, -1, "infinity", None),
            (1700, numeric(2), "1.25", None),
            (1700, numeric(2), "-1.250", None),
            (1700, numeric(2), "1.255", Some(Loss::Decimals)),
            (1700, numeric(2), "1255e-3", Some(Loss::Decimals)),
            (1700, numeric(2), "1.255e1", None),
            (1700, numeric(0), "100", None),
            (1700, numeric(2), "0.000", None),
            (1700, numeric(2), "NaN", None),
            (23, -1, "-17", None),
            (20, -1, "2.50", Some(Loss::Floats)),
            (700, -1, "0.1", None),
            (700, -1, "1e10", None),
            (700, -1, "0.12345678901", Some(Loss::Floats)),
            (700, -1, "Infinity", None),
        ] {
            let expected = loss.map_or(Ok(literal.to_owned()), |loss| Err(Some(loss)));
            assert_eq!(kept(oid, typmod, none, literal), expected, "{literal}");
        }
        let all = Allowed { nanoseconds: true, decimals: true, floats: true };
        let cut = "2024-01-01 00:00:00.999999+01";
        assert_eq!(kept(1184, -1, all, "2024-01-01 00:00:00.999999999+01").unwrap(), cut);
        assert_eq!(kept(1700, numeric(2), all, "1.255").unwrap(), "1.255");
        assert_eq!(kept(23, -1, all, "2.5").unwrap(), "2");
        assert_eq!(kept(21, -1, all, "-3.5").unwrap(), "-4");
        assert!(Precision::of(1700, -1, none).is_none() && Precision::of(25, -1, none).is_none());
    }
}
