//! JSON's grammar, checked in one pass without recursion: values, and the members of an object.
//!
//! The invariants of the pass:
//!
//! - The cursor's position never passes the end of the text, and every method that succeeds leaves it behind the token
//!   that it is named for; after an error it is of no use any more.
//! - The brackets that are open are a stack of bits ([`Nesting`]), so that depth costs neither the call stack nor memory.
//!   One more than [`MAX_DEPTH`] is an error, not a truncated stack.
//! - Strings are skipped sixteen bytes at a time ([`plain_run`]); only a quote, a backslash or a control character ends a
//!   run. Bytes outside ASCII are not looked at: whether the text is UTF-8 is decided elsewhere.
//! - What a caller demands beyond the grammar is a type parameter ([`Limits`]), so that readers which demand nothing pay
//!   nothing.

use std::fmt;
use std::ops::Range;

use wide::u8x16;

use super::is_space;

/// The deepest nesting of arrays and objects that is read. PostgreSQL's own limit depends on `max_stack_depth`, and is
/// higher.
pub const MAX_DEPTH: usize = 512;

/// Where a text stops being JSON, and what would have been JSON there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SyntaxError {
    position: usize,
    expected: Option<&'static str>,
}

impl SyntaxError {
    /// Offset in bytes of the first byte that cannot be read.
    #[must_use]
    pub fn position(&self) -> usize {
        self.position
    }

    /// What could have stood there, as a noun phrase; `None` where the nesting is deeper than [`MAX_DEPTH`].
    #[must_use]
    pub fn expected(&self) -> Option<&'static str> {
        self.expected
    }
}

impl fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.expected {
            Some(expected) => write!(f, "no JSON at byte {}: expected {expected}", self.position),
            None => write!(f, "a value at byte {} is nested deeper than {MAX_DEPTH} levels", self.position),
        }
    }
}

impl std::error::Error for SyntaxError {}

/// The kinds of JSON values that readers treat differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueKind {
    /// `null`
    Null,
    /// A number, `true` or `false`.
    Scalar,
    /// A string.
    String {
        /// Whether a backslash stands between the quotes.
        is_escaped: bool,
    },
    /// An object or an array.
    Container,
}

/// A value, as a range of the text that it was read from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Value {
    /// Offset of the first byte; of a string, the one behind the opening quote.
    pub start: usize,
    /// Offset behind the last byte; of a string, the one of the closing quote.
    pub end: usize,
    /// What the value is.
    pub kind: ValueKind,
}

impl Value {
    /// The bytes from [`start`](Value::start) to [`end`](Value::end).
    #[inline]
    #[must_use]
    pub fn range(&self) -> Range<usize> {
        self.start..self.end
    }
}

/// A key of an object, and its value.
#[derive(Debug, Clone, Copy)]
pub struct Member<'a> {
    /// What stands between the quotes of the key, escapes included.
    pub key: &'a [u8],
    /// Whether a backslash stands in the key.
    pub key_is_escaped: bool,
    /// The value, as a range of the text of the whole object.
    pub value: Value,
}

/// Demands on tokens beyond JSON's grammar.
pub(super) trait Limits {
    /// Whether there are any. Where there are none, nothing is computed for them.
    const ARE_SOME: bool;

    /// Whether a number is acceptable.
    fn take_number(number: Number) -> bool;

    /// Bytes of the `\u` escape that `text` starts with, including the second half of a pair; `None` where it is not
    /// acceptable.
    fn take_unicode_escape(text: &[u8]) -> Option<usize>;
}

/// What demands on numbers look at.
#[derive(Clone, Copy)]
pub(super) struct Number {
    /// Digits before the point.
    pub(super) integer_digits: usize,
    /// Digits behind the point.
    pub(super) fraction_digits: usize,
    /// The exponent, saturated; 0 for none.
    pub(super) exponent: isize,
}

/// The grammar alone.
struct NoLimits;

impl Limits for NoLimits {
    const ARE_SOME: bool = false;

    #[inline(always)]
    fn take_number(_number: Number) -> bool {
        true
    }

    #[inline(always)]
    fn take_unicode_escape(_text: &[u8]) -> Option<usize> {
        None
    }
}

/// Reads the members of one object in order.
#[derive(Debug)]
pub struct Members<'a> {
    cursor: Cursor<'a>,
    is_first: bool,
}

impl<'a> Members<'a> {
    /// Starts reading `text`, which is one object with perhaps white space around it.
    ///
    /// # Errors
    /// The text does not start with an opening brace.
    #[inline]
    pub fn of(text: &'a [u8]) -> Result<Self, SyntaxError> {
        let mut cursor = Cursor::new(text);
        cursor.skip_space();
        cursor.take(b'{', "an object")?;
        Ok(Members { cursor, is_first: true })
    }

    /// Reads the next member; `None` behind the last one, when nothing follows the object.
    ///
    /// # Errors
    /// The text is not JSON from here on. The members before are then not those of an object.
    #[expect(clippy::should_implement_trait, reason = "an iterator of results would go on after an error")]
    #[inline]
    pub fn next(&mut self) -> Result<Option<Member<'a>>, SyntaxError> {
        let cursor = &mut self.cursor;
        cursor.skip_space();
        if cursor.peek() == Some(b'}') {
            cursor.at += 1;
            cursor.skip_space();
            return if cursor.at == cursor.text.len() { Ok(None) } else { cursor.wrong("nothing more") };
        }
        if !std::mem::take(&mut self.is_first) {
            cursor.take(b',', "a comma or a closing brace")?;
            cursor.skip_space();
        }
        cursor.take(b'"', "a key in quotes")?;
        let start = cursor.at;
        let key_is_escaped = cursor.string_rest::<NoLimits>()?;
        let key = &cursor.text[start..cursor.at - 1];
        cursor.colon()?;
        let value = cursor.value()?;
        Ok(Some(Member { key, key_is_escaped, value }))
    }
}

/// Reads values from a text, one after the other.
#[derive(Debug, Clone)]
pub struct Cursor<'a> {
    text: &'a [u8],
    at: usize,
}

/// The kinds of the brackets that are open, one bit each: set for an object.
struct Nesting {
    objects: [u64; MAX_DEPTH / 64],
    depth: usize,
}

impl Nesting {
    /// Opens a bracket; `false` where it would be one too many.
    fn push(&mut self, is_object: bool) -> bool {
        let Some(word) = self.objects.get_mut(self.depth / 64) else { return false };
        let bit = 1 << (self.depth % 64);
        *word = if is_object { *word | bit } else { *word & !bit };
        self.depth += 1;
        true
    }

    /// Whether the innermost open bracket is an object's; `None` when none is open.
    fn innermost(&self) -> Option<bool> {
        let level = self.depth.checked_sub(1)?;
        Some(self.objects[level / 64] >> (level % 64) & 1 == 1)
    }
}

impl<'a> Cursor<'a> {
    /// Starts at the first byte of `text`.
    #[inline]
    #[must_use]
    pub fn new(text: &'a [u8]) -> Self {
        Cursor { text, at: 0 }
    }

    /// Offset of the next byte.
    #[inline]
    #[must_use]
    pub fn position(&self) -> usize {
        self.at
    }

    /// The next byte, which stays the next one; `None` at the end of the text.
    #[inline]
    #[must_use]
    pub fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    /// Moves behind the next byte, if there is one, and returns it.
    #[inline]
    pub fn advance(&mut self) -> Option<u8> {
        let byte = self.peek()?;
        self.at += 1;
        Some(byte)
    }

    /// Moves to the next byte that is not white space.
    #[inline]
    pub fn skip_space(&mut self) {
        while self.peek().is_some_and(is_space) {
            self.at += 1;
        }
    }

    /// Reads the value that starts at the next byte.
    ///
    /// # Errors
    /// No JSON value starts here, or it is nested deeper than [`MAX_DEPTH`].
    #[inline]
    pub fn value(&mut self) -> Result<Value, SyntaxError> {
        self.limited_value::<NoLimits>()
    }

    #[cold]
    fn wrong<T>(&self, expected: &'static str) -> Result<T, SyntaxError> {
        Err(SyntaxError { position: self.at, expected: Some(expected) })
    }

    #[inline]
    fn take(&mut self, byte: u8, expected: &'static str) -> Result<(), SyntaxError> {
        if self.peek() != Some(byte) {
            return self.wrong(expected);
        }
        self.at += 1;
        Ok(())
    }

    #[inline]
    fn colon(&mut self) -> Result<(), SyntaxError> {
        self.skip_space();
        self.take(b':', "a colon")?;
        self.skip_space();
        Ok(())
    }

    /// Like [`Cursor::value`], but with demands on its tokens.
    #[inline]
    pub(super) fn limited_value<L: Limits>(&mut self) -> Result<Value, SyntaxError> {
        let start = self.at;
        let kind = match self.peek() {
            Some(b'"') => {
                self.at += 1;
                let is_escaped = self.string_rest::<L>()?;
                return Ok(Value {
                    start: start + 1,
                    end: self.at - 1,
                    kind: ValueKind::String { is_escaped },
                });
            }
            Some(b'{' | b'[') => {
                self.nested::<L>()?;
                ValueKind::Container
            }
            Some(b'n') => {
                self.word(b"null")?;
                ValueKind::Null
            }
            _ => {
                self.scalar::<L>()?;
                ValueKind::Scalar
            }
        };
        Ok(Value { start, end: self.at, kind })
    }

    /// A number, `true` or `false`.
    #[inline]
    fn scalar<L: Limits>(&mut self) -> Result<(), SyntaxError> {
        match self.peek() {
            Some(b'-' | b'0'..=b'9') => self.number::<L>(),
            Some(b't') => self.word(b"true"),
            Some(b'f') => self.word(b"false"),
            _ => self.wrong("a value"),
        }
    }

    /// From an opening bracket to behind the one that closes it.
    fn nested<L: Limits>(&mut self) -> Result<(), SyntaxError> {
        let mut open = Nesting { objects: [0; MAX_DEPTH / 64], depth: 0 };
        loop {
            self.skip_space();
            match self.peek() {
                Some(bracket @ (b'{' | b'[')) => {
                    let is_object = bracket == b'{';
                    if !open.push(is_object) {
                        return Err(SyntaxError { position: self.at, expected: None });
                    }
                    self.at += 1;
                    self.skip_space();
                    let is_empty = self.peek() == Some(if is_object { b'}' } else { b']' });
                    if is_object && !is_empty {
                        self.key::<L>()?;
                    }
                    if !is_empty {
                        continue;
                    }
                }
                Some(b'"') => {
                    self.at += 1;
                    self.string_rest::<L>()?;
                }
                Some(b'n') => self.word(b"null")?,
                _ => self.scalar::<L>()?,
            }
            // A value has ended, or an empty container is about to.
            loop {
                let Some(is_object) = open.innermost() else { return Ok(()) };
                self.skip_space();
                match (self.peek(), is_object) {
                    (Some(b','), _) => {
                        self.at += 1;
                        if is_object {
                            self.skip_space();
                            self.key::<L>()?;
                        }
                        break;
                    }
                    (Some(b'}'), true) | (Some(b']'), false) => {
                        self.at += 1;
                        open.depth -= 1;
                    }
                    (_, true) => return self.wrong("a comma or a closing brace"),
                    (_, false) => return self.wrong("a comma or a closing bracket"),
                }
            }
        }
    }

    fn key<L: Limits>(&mut self) -> Result<(), SyntaxError> {
        self.take(b'"', "a key in quotes")?;
        self.string_rest::<L>()?;
        self.colon()
    }

    fn word(&mut self, word: &[u8]) -> Result<(), SyntaxError> {
        if !self.text[self.at..].starts_with(word) {
            return self.wrong("a value");
        }
        self.at += word.len();
        Ok(())
    }

    /// From behind the opening quote to behind the closing one; returns whether there are escapes.
    #[inline]
    fn string_rest<L: Limits>(&mut self) -> Result<bool, SyntaxError> {
        let mut is_escaped = false;
        loop {
            self.at += plain_run(&self.text[self.at..]);
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(is_escaped);
                }
                Some(b'\\') => {
                    self.escape::<L>()?;
                    is_escaped = true;
                }
                Some(_) => return self.wrong("an escape instead of a control character"),
                None => return self.wrong("a closing quote"),
            }
        }
    }

    fn escape<L: Limits>(&mut self) -> Result<(), SyntaxError> {
        match self.text.get(self.at + 1) {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => self.at += 2,
            Some(b'u') if L::ARE_SOME => match L::take_unicode_escape(&self.text[self.at..]) {
                Some(length) => self.at += length,
                None => return self.wrong("an escape that names a character"),
            },
            Some(b'u') => {
                let digits = self.text.get(self.at + 2..self.at + 6);
                if !digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit)) {
                    return self.wrong("four hexadecimal digits behind \\u");
                }
                self.at += 6;
            }
            _ => return self.wrong("one of \" \\ / b f n r t u behind a backslash"),
        }
        Ok(())
    }

    fn number<L: Limits>(&mut self) -> Result<(), SyntaxError> {
        self.at += usize::from(self.peek() == Some(b'-'));
        let leads_with_zero = self.peek() == Some(b'0');
        let integer = self.digits()?;
        if leads_with_zero && integer > 1 {
            self.at -= integer - 1;
            return self.wrong("no digit behind a leading zero");
        }
        let mut fraction = 0;
        if self.peek() == Some(b'.') {
            self.at += 1;
            fraction = self.digits()?;
        }
        let mut exponent = 0;
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            let is_negative = self.peek() == Some(b'-');
            self.at += usize::from(is_negative || self.peek() == Some(b'+'));
            let start = self.at;
            self.digits()?;
            if L::ARE_SOME {
                exponent = saturated(&self.text[start..self.at]);
                exponent = if is_negative { -exponent } else { exponent };
            }
        }
        if L::ARE_SOME {
            let number = Number { integer_digits: integer, fraction_digits: fraction, exponent };
            if !L::take_number(number) {
                return self.wrong("a number within the limits of numeric");
            }
        }
        Ok(())
    }

    /// Skips at least one digit; returns how many there were.
    #[inline]
    fn digits(&mut self) -> Result<usize, SyntaxError> {
        let start = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        if self.at == start { self.wrong("a digit") } else { Ok(self.at - start) }
    }
}

/// The number that digits say, at most `isize::MAX`.
fn saturated(digits: &[u8]) -> isize {
    digits
        .iter()
        .fold(0_isize, |number, digit| number.saturating_mul(10).saturating_add(isize::from(digit - b'0')))
}

/// The number of bytes of a string before a quote, a backslash or a control character.
#[inline]
fn plain_run(text: &[u8]) -> usize {
    let (lanes, rest) = text.as_chunks::<16>();
    for (number, lane) in lanes.iter().enumerate() {
        let lane = u8x16::new(*lane);
        let is_control = lane.simd_eq(lane.min(u8x16::splat(0x1F)));
        let special = lane.simd_eq(u8x16::splat(b'"')) | lane.simd_eq(u8x16::splat(b'\\')) | is_control;
        let mask = special.to_bitmask();
        if mask != 0 {
            return 16 * number + mask.trailing_zeros() as usize;
        }
    }
    let special = |byte: &u8| matches!(byte, b'"' | b'\\' | 0..0x20);
    text.len() - rest.len() + rest.iter().position(special).unwrap_or(rest.len())
}

#[cfg(test)]
mod tests;
