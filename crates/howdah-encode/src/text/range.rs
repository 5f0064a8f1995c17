//! Ranges and multiranges: `[1,5)`, `empty`, `{[1,2],(5,)}`.
//!
//! A range is sent as it was written: the server makes it canonical, and joins the ranges of a multirange, after
//! reading text and binary alike. What is decided here is whether it can.

use std::cmp::Ordering;

use super::TextCodec;
use super::order::{Order, signed};
use super::part::{Part, part};
use super::space::is_space;
use crate::shape::Steps;
use crate::verdict::{NotEncoded, Verdict};
use crate::wire;

/// Bits of the byte that starts a range.
const EMPTY: u8 = 0x01;
const LOWER_INCLUSIVE: u8 = 0x02;
const UPPER_INCLUSIVE: u8 = 0x04;
const LOWER_INFINITE: u8 = 0x08;
const UPPER_INFINITE: u8 = 0x10;

/// What stands for the range without values.
const EMPTY_WORD: &[u8] = b"empty";

/// The last day, 5874897-12-31.
const LAST_DAY: i64 = 2_145_031_948;

/// How to read the ranges of one type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Range {
    bound: TextCodec,
    order: Order,
    steps: Steps,
}

impl Range {
    pub(super) fn new(bound: TextCodec, steps: Steps) -> Self {
        Range { order: Order::of(&bound), bound, steps }
    }

    pub(super) fn with_parts(&self, part: impl Fn(&TextCodec) -> TextCodec) -> Self {
        Range { bound: part(&self.bound), ..*self }
    }

    /// Appends the range as a field; whether it may hold values.
    pub(super) fn put(&self, literal: &[u8], out: &mut Vec<u8>) -> Result<bool, NotEncoded> {
        let mut holds_values = false;
        wire::framed(out, |out| {
            holds_values = self.put_value(literal, out)?;
            Ok(())
        })?;
        Ok(holds_values)
    }

    /// The whole literal is taken apart before the bounds are read, as in the server.
    fn put_value(&self, literal: &[u8], out: &mut Vec<u8>) -> Result<bool, NotEncoded> {
        let fault = |detail| NotEncoded::malformed_in_locale("range", literal, detail);
        let mut at = literal.iter().take_while(|&&byte| is_space(byte)).count();
        let is_rest_blank = |at: usize| literal[at..].iter().all(|&byte| is_space(byte));
        if starts_with_empty(&literal[at..]) {
            if !is_rest_blank(at + EMPTY_WORD.len()) {
                return Err(fault("Junk after \"empty\" key word."));
            }
            out.push(EMPTY);
            return Ok(false);
        }
        let mut flags = match literal.get(at) {
            Some(b'[') => LOWER_INCLUSIVE,
            Some(b'(') => 0,
            _ => return Err(fault("Missing left parenthesis or bracket.")),
        };
        at += 1;
        let ends = |byte| matches!(byte, b',' | b')' | b']');
        let (mut unescaped, mut unescaped_upper) = (Vec::new(), Vec::new());
        let end_of_input = || fault("Unexpected end of input.");
        let lower = part(literal, &mut at, ends, &mut unescaped).ok_or_else(end_of_input)?;
        if literal.get(at) != Some(&b',') {
            return Err(fault("Missing comma after lower bound."));
        }
        at += 1;
        let upper = part(literal, &mut at, ends, &mut unescaped_upper).ok_or_else(end_of_input)?;
        match literal.get(at) {
            Some(b']') => flags |= UPPER_INCLUSIVE,
            Some(b')') => {}
            _ => return Err(fault("Too many commas.")),
        }
        if !is_rest_blank(at + 1) {
            return Err(fault("Junk after right parenthesis or bracket."));
        }
        let start = out.len();
        out.push(0);
        match lower {
            Part::Absent => flags |= LOWER_INFINITE,
            Part::Text(text) => self.bound.encode(text, out)?,
        }
        let middle = out.len();
        match upper {
            Part::Absent => flags |= UPPER_INFINITE,
            Part::Text(text) => self.bound.encode(text, out)?,
        }
        out[start] = flags;
        self.judge(flags, out[start + 1..middle].get(4..), out[middle..].get(4..))
    }

    /// Whether a range with these bounds can be, and holds values.
    fn judge(&self, flags: u8, lower: Option<&[u8]>, upper: Option<&[u8]>) -> Result<bool, NotEncoded> {
        if let (Some(lower), Some(upper)) = (lower, upper) {
            match self.order.compare(lower, upper).ok_or(NotEncoded::Unsure)? {
                Ordering::Greater => {
                    let reason = "range lower bound must be less than or equal to range upper bound";
                    return Err(NotEncoded::invalid("22000", reason.to_owned()));
                }
                Ordering::Equal if flags & LOWER_INCLUSIVE == 0 || flags & UPPER_INCLUSIVE == 0 => {
                    return Ok(false);
                }
                _ => {}
            }
        }
        if self.steps == Steps::Whole {
            // What is written `(` becomes `[` one step later, and `]` becomes `)`.
            let lower = lower.filter(|_| flags & LOWER_INCLUSIVE == 0);
            let upper = upper.filter(|_| flags & UPPER_INCLUSIVE != 0);
            for bound in [lower, upper].into_iter().flatten() {
                self.check_next(bound)?;
            }
        }
        Ok(true)
    }

    /// Whether there is a value behind a bound.
    fn check_next(&self, bound: &[u8]) -> Verdict {
        let value = signed(bound).ok_or(NotEncoded::Unsure)?;
        let out_of_range = |name| Err(NotEncoded::invalid("22003", format!("{name} out of range")));
        match self.bound {
            TextCodec::Int4 if value == i64::from(i32::MAX) => out_of_range("integer"),
            TextCodec::Int8 if value == i64::MAX => out_of_range("bigint"),
            TextCodec::Int4 | TextCodec::Int8 => Ok(()),
            // Infinite days stay what they are.
            TextCodec::Date if value != LAST_DAY => Ok(()),
            _ => Err(NotEncoded::Unsure),
        }
    }

    /// Appends the multirange without the length in front. Ranges are judged as they come, as the server does, and
    /// empty ones left out, as it does before it sorts.
    pub(super) fn put_many(&self, literal: &[u8], out: &mut Vec<u8>) -> Verdict {
        let fault = |detail| NotEncoded::malformed_in_locale("multirange", literal, detail);
        let skip_space = |at: &mut usize| {
            while literal.get(*at).is_some_and(|&byte| is_space(byte)) {
                *at += 1;
            }
        };
        let start = out.len();
        out.extend_from_slice(&[0; 4]);
        let mut at = 0;
        skip_space(&mut at);
        if literal.get(at) != Some(&b'{') {
            return Err(fault("Missing left brace."));
        }
        at += 1;
        let mut count = 0_u32;
        let mut is_first = true;
        loop {
            skip_space(&mut at);
            match literal.get(at) {
                None => return Err(fault("Unexpected end of input.")),
                Some(b'}') if is_first => break,
                Some(b'[' | b'(') => {
                    let end = at + range_length(&literal[at..], fault)?;
                    let before = out.len();
                    if self.put(&literal[at..end], out)? {
                        count += 1;
                    } else {
                        out.truncate(before);
                    }
                    at = end;
                }
                Some(_) if starts_with_empty(&literal[at..]) => at += EMPTY_WORD.len(),
                Some(_) => return Err(fault("Expected range start.")),
            }
            is_first = false;
            skip_space(&mut at);
            match literal.get(at) {
                Some(b',') => at += 1,
                Some(b'}') => break,
                Some(_) => return Err(fault("Expected comma or end of multirange.")),
                None => return Err(fault("Unexpected end of input.")),
            }
        }
        at += 1;
        skip_space(&mut at);
        if at < literal.len() {
            return Err(fault("Junk after closing right brace."));
        }
        out[start..start + 4].copy_from_slice(&count.to_be_bytes());
        Ok(())
    }
}

fn starts_with_empty(text: &[u8]) -> bool {
    text.get(..EMPTY_WORD.len()).is_some_and(|start| start.eq_ignore_ascii_case(EMPTY_WORD))
}

/// How far the range at the start of `text` reaches, as the server's reader of multiranges sees it. That reader skips
/// white space everywhere, even behind a backslash, where the reader of ranges does not.
fn range_length(text: &[u8], fault: impl Fn(&'static str) -> NotEncoded) -> Result<usize, NotEncoded> {
    let mut quoted = false;
    let mut at = 1;
    loop {
        match *text.get(at..).unwrap_or_default() {
            [] | [b'\\'] => return Err(fault("Unexpected end of input.")),
            [b'\\', next, ..] if is_space(next) || !next.is_ascii() => return Err(NotEncoded::Unsure),
            [b'\\', _, ..] => at += 2,
            [b'"', b'"', ..] if quoted => at += 2,
            [b'"', ..] => {
                quoted = !quoted;
                at += 1;
            }
            [b']' | b')', ..] if !quoted => return Ok(at + 1),
            _ => at += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn int4() -> Range {
        Range::new(TextCodec::Int4, Steps::Whole)
    }

    fn read(range: &Range, literal: &str) -> Result<Vec<u8>, NotEncoded> {
        let mut out = b"row".to_vec();
        let verdict = range.put(literal.as_bytes(), &mut out);
        if verdict.is_err() {
            assert_eq!(out, b"row", "{literal} left bytes behind");
        }
        verdict.map(|_| out.split_off(7))
    }

    fn field(number: i32) -> Vec<u8> {
        [&[0, 0, 0, 4][..], &number.to_be_bytes()].concat()
    }

    fn invalid<T>(sqlstate: &'static str, reason: &str) -> Result<T, NotEncoded> {
        Err(NotEncoded::invalid(sqlstate, reason.to_owned()))
    }

    #[test]
    fn bounds_are_sent_as_they_are_written() {
        assert_eq!(read(&int4(), "[1,5)"), Ok([vec![0x02], field(1), field(5)].concat()));
        assert_eq!(read(&int4(), " ( 1,\"5\" ] "), Ok([vec![0x04], field(1), field(5)].concat()));
        assert_eq!(read(&int4(), "[,5]"), Ok([vec![0x0e], field(5)].concat()));
        assert_eq!(read(&int4(), "(1,)"), Ok([vec![0x10], field(1)].concat()));
        assert_eq!(read(&int4(), "(,)"), Ok(vec![0x18]));
        assert_eq!(read(&int4(), " Empty "), Ok(vec![0x01]));
    }

    #[test]
    fn broken_ranges_are_refused_in_the_servers_words() {
        for (literal, detail) in [
            ("", "Missing left parenthesis or bracket."),
            ("1,2", "Missing left parenthesis or bracket."),
            ("emptyx", "Junk after \"empty\" key word."),
            ("[1]", "Missing comma after lower bound."),
            ("[1,2", "Unexpected end of input."),
            ("[1,2,3]", "Too many commas."),
            ("[x,2]x", "Junk after right parenthesis or bracket."),
        ] {
            let reason = format!("malformed range literal: \"{literal}\": {detail}");
            assert_eq!(read(&int4(), literal), invalid("22P02", &reason));
        }
        let order = "range lower bound must be less than or equal to range upper bound";
        assert_eq!(read(&int4(), "[2,1]"), invalid("22000", order));
        assert_eq!(read(&int4(), "[x,1]"), invalid("22P02", "invalid input syntax for type integer: \"x\""));
    }

    #[test]
    fn a_bound_without_a_successor_is_refused() {
        assert_eq!(read(&int4(), "[1,2147483647]"), invalid("22003", "integer out of range"));
        assert_eq!(read(&int4(), "(2147483647,)"), invalid("22003", "integer out of range"));
        assert!(read(&int4(), "(2147483647,2147483647]").is_ok(), "is empty before it has a successor");
        assert!(read(&int4(), "[2147483647,)").is_ok());
        let int8 = Range::new(TextCodec::Int8, Steps::Whole);
        assert_eq!(read(&int8, "[,9223372036854775807]"), invalid("22003", "bigint out of range"));
        let days = Range::new(TextCodec::Date, Steps::Whole);
        assert!(read(&days, "(-infinity,infinity]").is_ok());
    }

    #[test]
    fn bounds_that_only_the_server_can_compare_are_left_to_it() {
        let texts = Range::new(TextCodec::Text, Steps::None);
        assert_eq!(read(&texts, "[a,b]"), Err(NotEncoded::Unsure));
        assert!(read(&texts, "[a,)").is_ok());
        assert!(read(&texts, "[a,a]").is_ok());
        assert_eq!(read(&int4(), "\u{a0}[1,2]"), Err(NotEncoded::Unsure));
    }

    fn read_many(range: &Range, literal: &str) -> Result<Vec<u8>, NotEncoded> {
        let mut out = Vec::new();
        range.put_many(literal.as_bytes(), &mut out).map(|()| out)
    }

    #[test]
    fn empty_ranges_of_a_multirange_are_left_out() {
        let one = [vec![0, 0, 0, 17, 0x02], field(1), field(5)].concat();
        let many = |ranges: &[&[u8]]| {
            let count = u32::try_from(ranges.len()).unwrap().to_be_bytes();
            Ok([&count[..], &ranges.concat()].concat())
        };
        assert_eq!(read_many(&int4(), "{}"), many(&[]));
        assert_eq!(read_many(&int4(), " { [1,5) } "), many(&[&one]));
        assert_eq!(read_many(&int4(), "{[1,5),empty,[3,3), [1,5)}"), many(&[&one, &one]));
        assert_eq!(read_many(&int4(), "{[1,\"5\"),[\"1\",5)}"), many(&[&one, &one]));
    }

    #[test]
    fn broken_multiranges_are_refused_in_the_servers_words() {
        for (literal, detail) in [
            ("[1,2]", "Missing left brace."),
            ("{[1,2]", "Unexpected end of input."),
            ("{[1,2", "Unexpected end of input."),
            ("{1,2}", "Expected range start."),
            ("{[1,2],}", "Expected range start."),
            ("{[1,2][3,4]}", "Expected comma or end of multirange."),
            ("{}x", "Junk after closing right brace."),
        ] {
            let reason = format!("malformed multirange literal: \"{literal}\": {detail}");
            assert_eq!(read_many(&int4(), literal), invalid("22P02", &reason));
        }
        // The first fault counts.
        let order = "range lower bound must be less than or equal to range upper bound";
        assert_eq!(read_many(&int4(), "{[2,1],"), invalid("22000", order));
        assert_eq!(read_many(&int4(), "{[1,\\ 2]}"), Err(NotEncoded::Unsure));
    }
}
