//! The words, numbers and clocks of an interval. Only what cannot be taken for a date or a zone is told apart here.

use super::float;
use super::interval_sum::{IntervalError, Quantity};
use super::iso::fraction_micros;
use super::space::is_space;
use crate::civil::MICROS_PER_SECOND;

/// Bytes of a literal that fit the server's work space whatever they are.
pub(super) const LONGEST: usize = 100;
/// The server's limit of tokens.
const MOST: usize = 25;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sign {
    Plus,
    Minus,
}

/// What is wrong with a number is told when its turn comes: the server complains of the last token first.
#[derive(Debug, Clone, Copy)]
pub(super) enum Token<'a> {
    Word(&'a [u8]),
    /// `4:05:06.7`, in microseconds without their sign.
    Clock {
        sign: Option<Sign>,
        micros: Result<i64, IntervalError>,
    },
    /// A number, or `1-2` for years and months, which are then counted together.
    Number {
        sign: Option<Sign>,
        quantity: Result<Quantity, IntervalError>,
        is_year_month: bool,
    },
}

impl Token<'_> {
    pub(super) fn sign(&self) -> Option<Sign> {
        match self {
            Token::Word(_) => None,
            Token::Clock { sign, .. } | Token::Number { sign, .. } => *sign,
        }
    }
}

/// The tokens of a literal from left to right.
pub(super) struct Tokens<'a> {
    tokens: [Token<'a>; MOST],
    count: usize,
}

impl<'a> Tokens<'a> {
    /// # Errors
    /// `Unsure` for everything that the server may divide otherwise.
    pub(super) fn read(literal: &'a [u8]) -> Result<Self, IntervalError> {
        let mut tokens = Tokens { tokens: [Token::Word(b""); MOST], count: 0 };
        // What starts like a designator is read again by other rules where these refuse it.
        if literal.len() > LONGEST || literal.first() == Some(&b'P') {
            return Err(IntervalError::Unsure);
        }
        let mut rest = literal;
        while let Some(first) = rest.first() {
            let token;
            (token, rest) = match first {
                b'@' | b',' => {
                    rest = &rest[1..];
                    continue;
                }
                space if is_space(*space) => {
                    rest = &rest[1..];
                    continue;
                }
                b'a'..=b'z' | b'A'..=b'Z' => word(rest)?,
                b'0'..=b'9' | b'.' => number(rest, None)?,
                b'+' => number(after_spaces(&rest[1..]), Some(Sign::Plus))?,
                b'-' => number(after_spaces(&rest[1..]), Some(Sign::Minus))?,
                _ => return Err(IntervalError::Unsure),
            };
            *tokens.tokens.get_mut(tokens.count).ok_or(IntervalError::Unsure)? = token;
            tokens.count += 1;
        }
        Ok(tokens)
    }

    pub(super) fn as_slice(&self) -> &[Token<'a>] {
        &self.tokens[..self.count]
    }
}

fn after_spaces(mut text: &[u8]) -> &[u8] {
    while let [first, rest @ ..] = text
        && is_space(*first)
    {
        text = rest;
    }
    text
}

/// Words that the server does not take for the start of a name when a number follows at once: `1h30m`.
const ABBREVIATIONS: [&[u8]; 6] = [b"d", b"h", b"m", b"mon", b"s", b"y"];

fn word(text: &[u8]) -> Result<(Token<'_>, &[u8]), IntervalError> {
    let length = text.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
    let (word, rest) = text.split_at(length);
    match rest.first() {
        Some(b'-' | b'/' | b'.' | 0x80..) => Err(IntervalError::Unsure),
        Some(b'+' | b'0'..=b'9') if !ABBREVIATIONS.iter().any(|known| word.eq_ignore_ascii_case(known)) => {
            Err(IntervalError::Unsure)
        }
        _ => Ok((Token::Word(word), rest)),
    }
}

/// A clock, years and months, or a number with perhaps a fraction.
fn number(text: &[u8], sign: Option<Sign>) -> Result<(Token<'_>, &[u8]), IntervalError> {
    let (whole, rest) = digits(text);
    match rest {
        [b':', ..] if !whole.is_empty() => clock(whole, rest, sign),
        [b'-', ..] if !whole.is_empty() => year_month(whole, rest, sign),
        _ => {
            let (fraction, rest) = fraction(rest)?;
            // A sign asks for a digit behind it.
            if whole.is_empty() && (fraction.is_empty() || sign.is_some()) {
                return Err(IntervalError::Unsure);
            }
            let quantity = match signed(whole, sign) {
                Some(whole) => {
                    let value = if fraction.is_empty() {
                        0.0
                    } else {
                        float::parse_f64(fraction).map_err(|_| IntervalError::Unsure)?
                    };
                    let fraction = if sign == Some(Sign::Minus) { -value } else { value };
                    Ok(Quantity { whole, fraction })
                }
                None => Err(IntervalError::Overflow),
            };
            ends(rest, Token::Number { sign, quantity, is_year_month: false })
        }
    }
}

/// `4:05`, `4:05:06`, `4:05:06.7`, and `5:06.7` for minutes and seconds; `rest` starts at the first colon.
fn clock<'a>(
    first: &[u8],
    rest: &'a [u8],
    sign: Option<Sign>,
) -> Result<(Token<'a>, &'a [u8]), IntervalError> {
    let (second, mut rest) = digits(&rest[1..]);
    let mut third: &[u8] = b"";
    if let [b':', tail @ ..] = rest {
        (third, rest) = digits(tail);
        if third.is_empty() {
            return Err(IntervalError::Unsure);
        }
    }
    let fraction;
    (fraction, rest) = self::fraction(rest)?;
    if second.is_empty() || rest.first() == Some(&b':') {
        return Err(IntervalError::Unsure);
    }
    let hours_first = !third.is_empty() || fraction.is_empty();
    let fraction =
        if fraction.is_empty() { 0 } else { fraction_micros(fraction).ok_or(IntervalError::Unsure)? };
    let parts = match hours_first {
        true => clock_micros(first, second, third, fraction),
        false => clock_micros(b"", first, second, fraction),
    };
    let micros = parts.ok_or(match (sign, signed(first, sign)) {
        // With a sign the server goes on to read a number, and stops at the colon.
        (Some(_), Some(_)) => IntervalError::Syntax,
        _ => IntervalError::Overflow,
    });
    ends(rest, Token::Clock { sign, micros })
}

/// `None` beyond the limits of a field or of all.
fn clock_micros(hours: &[u8], minutes: &[u8], seconds: &[u8], fraction: i64) -> Option<i64> {
    const MINUTES: std::ops::RangeInclusive<i64> = 0..=59;
    /// A leap second is taken.
    const SECONDS: std::ops::RangeInclusive<i64> = 0..=60;
    let (hours, minutes, seconds) = (signed(hours, None)?, signed(minutes, None)?, signed(seconds, None)?);
    if !MINUTES.contains(&minutes) || !SECONDS.contains(&seconds) {
        return None;
    }
    let micros = (minutes * 60 + seconds) * MICROS_PER_SECOND + fraction;
    hours.checked_mul(3600 * MICROS_PER_SECOND)?.checked_add(micros)
}

/// `1-2`: `rest` starts at the hyphen.
fn year_month<'a>(
    years: &[u8],
    rest: &'a [u8],
    sign: Option<Sign>,
) -> Result<(Token<'a>, &'a [u8]), IntervalError> {
    let (months, rest) = digits(&rest[1..]);
    if months.is_empty() {
        return Err(IntervalError::Unsure);
    }
    let months = signed(months, sign).filter(|months| months.abs() < 12);
    let all = signed(years, sign).and_then(|years| years.checked_mul(12)?.checked_add(months?));
    let quantity = all.map(|whole| Quantity { whole, fraction: 0.0 }).ok_or(IntervalError::Overflow);
    ends(rest, Token::Number { sign, quantity, is_year_month: true })
}

/// A token made of digits, unless what follows could belong to it.
fn ends<'a>(rest: &'a [u8], token: Token<'a>) -> Result<(Token<'a>, &'a [u8]), IntervalError> {
    match rest.first() {
        Some(b'-' | b'.' | b':' | b'/' | 0x80..) => Err(IntervalError::Unsure),
        _ => Ok((token, rest)),
    }
}

fn digits(text: &[u8]) -> (&[u8], &[u8]) {
    text.split_at(text.iter().take_while(|byte| byte.is_ascii_digit()).count())
}

/// A point with digits, or nothing.
fn fraction(text: &[u8]) -> Result<(&[u8], &[u8]), IntervalError> {
    if text.first() != Some(&b'.') {
        return Ok((b"", text));
    }
    match digits(&text[1..]).0.len() {
        // Versions and C libraries differ on a lone point.
        0 => Err(IntervalError::Unsure),
        length => Ok(text.split_at(1 + length)),
    }
}

/// The value of digits; 0 for none, `None` beyond 64 bits.
fn signed(digits: &[u8], sign: Option<Sign>) -> Option<i64> {
    let negative = sign == Some(Sign::Minus);
    digits.iter().try_fold(0_i64, |value, byte| {
        let digit = i64::from(byte - b'0');
        let value = value.checked_mul(10)?;
        if negative { value.checked_sub(digit) } else { value.checked_add(digit) }
    })
}
