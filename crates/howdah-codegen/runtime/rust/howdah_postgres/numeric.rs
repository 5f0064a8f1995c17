//! PostgreSQL's numeric: up to 147455 digits, NaN and infinities, which no number of Rust holds.

use std::fmt;
use std::str::FromStr;

use bytes::{BufMut, BytesMut};
use tokio_postgres::types::Type;

use super::codec::{Decode, Encode, Refused, Value, exactly, take};

const MOST_DIGITS: usize = 131_072;
const MOST_SCALE: usize = 16_383;
const NEGATIVE: u16 = 0x4000;
const SPECIAL: [(u16, &str); 3] = [(0xc000, "NaN"), (0xd000, "Infinity"), (0xf000, "-Infinity")];

/// A numeric, as PostgreSQL writes it: `-1.10`, `NaN`, `Infinity`. Its scale is part of it: `1.0` is not `1.00`.
///
/// Other decimals are made of its text: `number.as_str().parse::<rust_decimal::Decimal>()`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Numeric(String);

impl Numeric {
    /// Its text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Numeric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

macro_rules! from_integer {
    ($($type:ty),*) => {
        $(impl From<$type> for Numeric {
            fn from(number: $type) -> Self {
                Self(number.to_string())
            }
        })*
    };
}
from_integer!(i16, i32, i64, i128, u16, u32, u64, u128);

impl FromStr for Numeric {
    type Err = Refused;

    /// Reads decimal digits with a sign, a point and an exponent, and what is no number as PostgreSQL writes it.
    fn from_str(text: &str) -> Result<Self, Refused> {
        if SPECIAL.iter().any(|(_, name)| *name == text) {
            return Ok(Self(text.to_owned()));
        }
        let wrong = || Refused::new(format!("{text:?} is no numeric"));
        let (sign, digits) = match text.strip_prefix('-') {
            Some(digits) => ("-", digits),
            None => ("", text.strip_prefix('+').unwrap_or(text)),
        };
        let (digits, exponent) = match digits.split_once(['e', 'E']) {
            Some((digits, exponent)) => (digits, exponent.parse::<i32>().map_err(|_| wrong())?),
            None => (digits, 0),
        };
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        let all = format!("{whole}{fraction}");
        if all.is_empty() || !all.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(wrong());
        }
        let too_long = || {
            Refused::new("a numeric has 131072 digits before the point and 16383 behind it at most")
        };
        let point = i64::try_from(whole.len()).map_err(|_| too_long())? + i64::from(exponent);
        if point.unsigned_abs() > 2 * (MOST_DIGITS as u64) {
            return Err(too_long());
        }
        let point = isize::try_from(point).map_err(|_| too_long())?;
        let zeros = usize::try_from(-point).unwrap_or(0);
        let all = "0".repeat(zeros) + &all;
        let point = usize::try_from(point).unwrap_or(0);
        let all = all.clone() + &"0".repeat(point.saturating_sub(all.len()));
        let (whole, fraction) = all.split_at(point);
        let whole = whole.trim_start_matches('0');
        if whole.len() > MOST_DIGITS || fraction.len() > MOST_SCALE {
            return Err(too_long());
        }
        let zero = whole.is_empty() && fraction.bytes().all(|byte| byte == b'0');
        let sign = if zero { "" } else { sign };
        let whole = if whole.is_empty() { "0" } else { whole };
        let point = if fraction.is_empty() { "" } else { "." };
        Ok(Self(format!("{sign}{whole}{point}{fraction}")))
    }
}

impl Value for Numeric {
    fn accepts(ty: &Type) -> bool {
        *ty == Type::NUMERIC
    }

    fn built_in() -> Option<Type> {
        Some(Type::NUMERIC)
    }
}

impl Encode for Numeric {
    fn binary(&self, _: &Type, out: &mut BytesMut) -> Result<(), Refused> {
        if let Some((sign, _)) = SPECIAL.iter().find(|(_, name)| *name == self.0) {
            out.put_u64(u64::from(*sign) << 16);
            return Ok(());
        }
        let (sign, digits) = match self.0.strip_prefix('-') {
            Some(digits) => (NEGATIVE, digits),
            None => (0, self.0.as_str()),
        };
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        // Digits go in groups of four, counted from the point.
        let whole = format!("{}{whole}", "0".repeat((4 - whole.len() % 4) % 4));
        let groups = format!(
            "{whole}{fraction}{}",
            "0".repeat((4 - fraction.len() % 4) % 4)
        );
        let groups = groups.as_bytes().chunks(4).map(|group| {
            group
                .iter()
                .fold(0_i16, |number, digit| number * 10 + i16::from(digit - b'0'))
        });
        let mut groups = groups.collect::<Vec<_>>();
        let leading = groups.iter().take_while(|group| **group == 0).count();
        groups.drain(..leading);
        groups.truncate(
            groups
                .iter()
                .rposition(|group| *group != 0)
                .map_or(0, |last| last + 1),
        );
        let too_long = |_| Refused::new("it has too many digits");
        let weight = i32::try_from(whole.len() / 4).map_err(too_long)?
            - i32::try_from(leading).map_err(too_long)?
            - 1;
        let weight = if groups.is_empty() { 0 } else { weight };
        out.put_u16(u16::try_from(groups.len()).map_err(too_long)?);
        out.put_i16(i16::try_from(weight).map_err(too_long)?);
        out.put_u16(sign);
        out.put_u16(u16::try_from(fraction.len()).map_err(too_long)?);
        for group in groups {
            out.put_i16(group);
        }
        Ok(())
    }

    fn literal(&self, _: &Type, out: &mut String) -> Result<(), Refused> {
        out.push_str(&self.0);
        Ok(())
    }
}

impl Decode for Numeric {
    fn decode(_: &Type, mut bytes: &[u8]) -> Result<Self, Refused> {
        let mut number = || Ok::<_, Refused>(u16::from_be_bytes(exactly(take(&mut bytes, 2)?)?));
        let (count, weight) = (number()?, number()?.cast_signed());
        let (sign, scale) = (number()?, usize::from(number()?));
        if let Some((_, name)) = SPECIAL.iter().find(|(number, _)| *number == sign) {
            return Ok(Self((*name).to_owned()));
        }
        let groups = take(&mut bytes, 2 * usize::from(count))?;
        let group = |place: i32| {
            let index = usize::try_from(i32::from(weight) - place).ok();
            let group = index.and_then(|index| groups.chunks_exact(2).nth(index));
            group.map_or(0, |group| u16::from_be_bytes([group[0], group[1]]))
        };
        let mut text = String::with_capacity(4 * usize::from(count) + scale % 4 + 6);
        if sign == NEGATIVE {
            text.push('-');
        }
        let start = text.len();
        for place in (0..=i32::from(weight)).rev() {
            push_group(&mut text, group(place));
        }
        let digits = text[start..].trim_start_matches('0').len();
        text.drain(start..text.len() - digits);
        if digits == 0 {
            text.push('0');
        }
        if scale > 0 {
            text.push('.');
            let end = text.len() + scale;
            for place in (1..).take(scale.div_ceil(4)) {
                push_group(&mut text, group(-place));
            }
            text.truncate(end);
        }
        Ok(Self(text))
    }
}

/// Four digits.
fn push_group(text: &mut String, group: u16) {
    for divisor in [1000, 100, 10, 1] {
        text.extend(char::from_digit(u32::from(group / divisor % 10), 10));
    }
}
