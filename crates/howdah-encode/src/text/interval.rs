//! `interval`: months, days and microseconds from words, clocks and numbers, read from the right to the left as the
//! server reads them.

use super::designators;
use super::span::{Fault, Span, Unit};
use super::tokens::{Sign, Token, Tokens};
use crate::verdict::{NotEncoded, shown};

/// What a column's modifier says of its literals. The server applies the modifier itself to what was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IntervalRange {
    /// What a last number without a unit counts.
    last: Unit,
    /// Whether `1:2` are minutes and seconds.
    minutes_first: bool,
}

impl IntervalRange {
    /// From the modifier of a column; -1 for none.
    #[must_use]
    pub fn from_typmod(typmod: i32) -> Self {
        const MONTH: i32 = 1 << 1;
        const YEAR: i32 = 1 << 2;
        const DAY: i32 = 1 << 3;
        const HOUR: i32 = 1 << 10;
        const MINUTE: i32 = 1 << 11;
        const SECOND: i32 = 1 << 12;
        /// The bits of the fields, above those of the precision.
        const FIELDS: i32 = 0x7fff;
        let fields = if typmod < 0 { FIELDS } else { typmod >> 16 & FIELDS };
        // The smallest field of those that can be declared together.
        let last = match fields {
            YEAR => Unit::Year,
            f if f == MONTH || f == YEAR | MONTH => Unit::Month,
            DAY => Unit::Day,
            f if f == HOUR || f == DAY | HOUR => Unit::Hour,
            f if f == MINUTE || f == HOUR | MINUTE || f == DAY | HOUR | MINUTE => Unit::Minute,
            _ => Unit::Second,
        };
        IntervalRange { last, minutes_first: fields == MINUTE | SECOND }
    }
}

/// Months, days and microseconds. `sql_style` is the session's `sql_standard`: a minus in front, and no other sign,
/// negates all.
#[inline]
pub(super) fn parse_interval(
    literal: &[u8],
    range: IntervalRange,
    sql_style: bool,
) -> Result<(i32, i32, i64), NotEncoded> {
    let span = match designators::read(literal) {
        Some(answer) => answer,
        None => words(literal, range, sql_style),
    };
    let overflow = |sqlstate, reason: &str| Err(NotEncoded::invalid(sqlstate, reason.to_owned()));
    match span {
        Ok(span) => match span.fields() {
            // What these mean depends on the version: they have been the infinities since PostgreSQL 17.
            Some((i32::MAX, i32::MAX, i64::MAX) | (i32::MIN, i32::MIN, i64::MIN)) => Err(NotEncoded::Unsure),
            Some(fields) => Ok(fields),
            None => overflow("22008", "interval out of range"),
        },
        Err(Fault::Overflow) => {
            overflow("22015", &format!("interval field value out of range: \"{}\"", shown(literal)))
        }
        Err(Fault::Syntax) => {
            let reason = format!("invalid input syntax for type interval: \"{}\"", shown(literal));
            Err(NotEncoded::invalid("22007", reason))
        }
        Err(Fault::Unsure) => Err(NotEncoded::Unsure),
    }
}

/// What the number to the left of the last token counts.
#[derive(Clone, Copy)]
enum Pending {
    /// Nothing stands to the right.
    Last,
    /// The unit named to the right, or the one that comes before what stands there.
    Unit(Unit),
    /// `ago` stands to the right: the number has no unit.
    Nothing,
}

fn words(literal: &[u8], range: IntervalRange, sql_style: bool) -> Result<Span, Fault> {
    let tokens = Tokens::read(literal, range.minutes_first)?;
    let tokens = tokens.as_slice();
    let signs = tokens.iter().filter(|token| token.sign().is_some()).count();
    let negate_all = sql_style && signs == 1 && tokens[0].sign() == Some(Sign::Minus);
    let mut span = Span::default();
    let mut pending = Pending::Last;
    let mut unit_waits = false;
    let mut ago = false;
    let mut seen = 0_u16;
    for (index, token) in tokens.iter().enumerate().rev() {
        let kinds = match *token {
            Token::Clock { sign, micros } => {
                let micros = micros?;
                let negative = negate_all || sign == Some(Sign::Minus);
                span.set_clock(if negative { -micros } else { micros })?;
                pending = Pending::Unit(Unit::Day);
                unit_waits = false;
                kind(Unit::Hour) | kind(Unit::Minute) | SECONDS
            }
            Token::Number { quantity, is_year_month, .. } => {
                let mut quantity = quantity?;
                if negate_all {
                    // The other way round there is always a negative counterpart.
                    quantity.whole = quantity.whole.min(quantity.whole.wrapping_neg());
                    quantity.fraction = -quantity.fraction.abs();
                }
                let unit = match pending {
                    _ if is_year_month => Unit::Month,
                    Pending::Last => range.last,
                    Pending::Unit(unit) => unit,
                    Pending::Nothing => return Err(Fault::Syntax),
                };
                span.add(quantity, unit)?;
                // What stands before hours are days.
                pending = Pending::Unit(if unit == Unit::Hour { Unit::Day } else { unit });
                unit_waits = false;
                if unit == Unit::Second && quantity.fraction != 0.0 { SECONDS } else { kind(unit) }
            }
            // A unit without a number before it: taken by some versions.
            Token::Word(_) if unit_waits => return Err(Fault::Unsure),
            Token::Word(word) => {
                match meaning(word)? {
                    Meaning::Unit(unit) => {
                        pending = Pending::Unit(unit);
                        unit_waits = true;
                    }
                    // Older versions take it anywhere.
                    Meaning::Ago if index + 1 < tokens.len() => return Err(Fault::Unsure),
                    Meaning::Ago => {
                        pending = Pending::Nothing;
                        ago = true;
                    }
                }
                0
            }
        };
        if seen & kinds != 0 {
            return Err(Fault::Syntax);
        }
        seen |= kinds;
    }
    if seen == 0 {
        return Err(Fault::Syntax);
    }
    if unit_waits {
        return Err(Fault::Unsure);
    }
    if ago {
        span.negate()?;
    }
    Ok(span)
}

/// The bit of a unit among those that may come only once.
const fn kind(unit: Unit) -> u16 {
    1 << unit as u16
}

/// A second with a fraction counts as all units below the minute.
const SECONDS: u16 = kind(Unit::Second) | kind(Unit::Millisecond) | kind(Unit::Microsecond);

enum Meaning {
    Unit(Unit),
    Ago,
}

/// The server compares ten letters of a word.
fn meaning(word: &[u8]) -> Result<Meaning, Fault> {
    const LETTERS: usize = 10;
    let mut lower = [0; LETTERS];
    let length = word.len().min(LETTERS);
    lower[..length].copy_from_slice(&word[..length]);
    lower.make_ascii_lowercase();
    let unit = match &lower[..length] {
        b"day" | b"days" | b"d" => Unit::Day,
        b"mon" | b"mons" | b"month" | b"months" => Unit::Month,
        b"year" | b"years" | b"y" | b"yr" | b"yrs" => Unit::Year,
        b"hour" | b"hours" | b"h" | b"hr" | b"hrs" => Unit::Hour,
        b"min" | b"mins" | b"minute" | b"minutes" | b"m" => Unit::Minute,
        b"sec" | b"secs" | b"second" | b"seconds" | b"s" => Unit::Second,
        b"week" | b"weeks" | b"w" => Unit::Week,
        b"ms" | b"msec" | b"msecs" | b"msecond" | b"mseconds" | b"millisecon" => Unit::Millisecond,
        b"us" | b"usec" | b"usecs" | b"usecond" | b"useconds" | b"microsecon" => Unit::Microsecond,
        b"dec" | b"decs" | b"decade" | b"decades" => Unit::Decade,
        b"c" | b"cent" | b"century" | b"centuries" => Unit::Century,
        b"mil" | b"mils" | b"millennia" | b"millennium" => Unit::Millennium,
        b"ago" => return Ok(Meaning::Ago),
        b"at" | b"on" | b"infinity" | b"qtr" | b"quarter" | b"timezone" => return Err(Fault::Unsure),
        _ => return Err(Fault::Syntax),
    };
    Ok(Meaning::Unit(unit))
}
