//! JSON's grammar (RFC 8259, as PostgreSQL reads it), checked in one pass without recursion: the members of an object, and
//! values. What is a character is somebody else's business.

use wide::u8x16;

use super::{Refusal, is_space};

/// Values are nested no deeper: PostgreSQL's own limit depends on its stack, and is higher.
pub const MOST_DEPTH: usize = 512;

/// Where text is no JSON, and what would have been.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wrong {
    pub at: usize,
    expected: Option<&'static str>,
}

impl Wrong {
    /// The refusal of the record whose text starts at `start` of what was read.
    #[cold]
    pub fn refusal(self, start: usize) -> Refusal {
        match self.expected {
            Some(expected) => Refusal {
                fault: Some((start + self.at, expected)),
                ..Refusal::new("22P02", "invalid input syntax for type json")
            },
            None => Refusal::new("54001", format!("a value is nested deeper than {MOST_DEPTH} levels")),
        }
    }
}

/// What a value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `null`
    Null,
    /// A number, `true` or `false`.
    Scalar,
    /// A string; whether it has escapes.
    String { escaped: bool },
    /// An object or an array.
    Nested,
}

/// A value as a range of the text; of a string, what is between the quotes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Value {
    pub start: usize,
    pub end: usize,
    pub kind: Kind,
}

/// A key, as a range of the text between the quotes, and its value.
#[derive(Debug, Clone, Copy)]
pub struct Member<'a> {
    pub key: &'a [u8],
    pub key_is_escaped: bool,
    pub value: Value,
}

/// The members of an object, in order.
pub struct Members<'a> {
    cursor: Cursor<'a>,
    is_first: bool,
}

impl<'a> Members<'a> {
    /// `text` is to be one object.
    pub fn of(text: &'a [u8]) -> Result<Self, Wrong> {
        let mut cursor = Cursor::new(text);
        cursor.space();
        cursor.take(b'{', "an object")?;
        Ok(Members { cursor, is_first: true })
    }

    /// The next member; `None` behind the last, when nothing follows the object.
    #[inline]
    pub fn next(&mut self) -> Result<Option<Member<'a>>, Wrong> {
        let cursor = &mut self.cursor;
        cursor.space();
        if cursor.peek() == Some(b'}') {
            cursor.at += 1;
            cursor.space();
            return if cursor.at == cursor.text.len() { Ok(None) } else { cursor.wrong("nothing more") };
        }
        if !std::mem::take(&mut self.is_first) {
            cursor.take(b',', "a comma or a closing brace")?;
            cursor.space();
        }
        cursor.take(b'"', "a key in quotes")?;
        let start = cursor.at;
        let key_is_escaped = cursor.string_rest()?;
        let key = &cursor.text[start..cursor.at - 1];
        cursor.colon()?;
        let value = cursor.value()?;
        Ok(Some(Member { key, key_is_escaped, value }))
    }
}

/// A place in the text.
pub struct Cursor<'a> {
    text: &'a [u8],
    pub at: usize,
}

/// The kinds of the brackets that are open, one bit each: set for an object.
struct Nesting {
    objects: [u64; MOST_DEPTH / 64],
    depth: usize,
}

impl Nesting {
    /// Whether there was room.
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
    pub fn new(text: &'a [u8]) -> Self {
        Cursor { text, at: 0 }
    }

    #[cold]
    fn wrong<T>(&self, expected: &'static str) -> Result<T, Wrong> {
        Err(Wrong { at: self.at, expected: Some(expected) })
    }

    #[inline]
    pub fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    #[inline]
    pub fn space(&mut self) {
        while self.peek().is_some_and(is_space) {
            self.at += 1;
        }
    }

    #[inline]
    fn take(&mut self, byte: u8, expected: &'static str) -> Result<(), Wrong> {
        if self.peek() != Some(byte) {
            return self.wrong(expected);
        }
        self.at += 1;
        Ok(())
    }

    #[inline]
    fn colon(&mut self) -> Result<(), Wrong> {
        self.space();
        self.take(b':', "a colon")?;
        self.space();
        Ok(())
    }

    /// The value that starts here.
    #[inline]
    pub fn value(&mut self) -> Result<Value, Wrong> {
        let start = self.at;
        let kind = match self.peek() {
            Some(b'"') => {
                self.at += 1;
                let escaped = self.string_rest()?;
                return Ok(Value { start: start + 1, end: self.at - 1, kind: Kind::String { escaped } });
            }
            Some(b'{' | b'[') => {
                self.nested()?;
                Kind::Nested
            }
            Some(b'n') => {
                self.word(b"null")?;
                Kind::Null
            }
            _ => {
                self.scalar()?;
                Kind::Scalar
            }
        };
        Ok(Value { start, end: self.at, kind })
    }

    /// A number, `true` or `false`.
    #[inline]
    fn scalar(&mut self) -> Result<(), Wrong> {
        match self.peek() {
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.word(b"true"),
            Some(b'f') => self.word(b"false"),
            _ => self.wrong("a value"),
        }
    }

    /// To behind the bracket that closes the one here.
    fn nested(&mut self) -> Result<(), Wrong> {
        let mut open = Nesting { objects: [0; MOST_DEPTH / 64], depth: 0 };
        loop {
            self.space();
            match self.peek() {
                Some(bracket @ (b'{' | b'[')) => {
                    let is_object = bracket == b'{';
                    if !open.push(is_object) {
                        return Err(Wrong { at: self.at, expected: None });
                    }
                    self.at += 1;
                    self.space();
                    let is_empty = self.peek() == Some(if is_object { b'}' } else { b']' });
                    if is_object && !is_empty {
                        self.key()?;
                    }
                    if !is_empty {
                        continue;
                    }
                }
                Some(b'"') => {
                    self.at += 1;
                    self.string_rest()?;
                }
                Some(b'n') => self.word(b"null")?,
                _ => self.scalar()?,
            }
            // A value has ended, or an empty container is about to.
            loop {
                let Some(is_object) = open.innermost() else { return Ok(()) };
                self.space();
                match (self.peek(), is_object) {
                    (Some(b','), _) => {
                        self.at += 1;
                        if is_object {
                            self.space();
                            self.key()?;
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

    fn key(&mut self) -> Result<(), Wrong> {
        self.take(b'"', "a key in quotes")?;
        self.string_rest()?;
        self.colon()
    }

    fn word(&mut self, word: &[u8]) -> Result<(), Wrong> {
        if !self.text[self.at..].starts_with(word) {
            return self.wrong("a value");
        }
        self.at += word.len();
        Ok(())
    }

    /// From behind the opening quote to behind the closing one; whether there are escapes.
    #[inline]
    fn string_rest(&mut self) -> Result<bool, Wrong> {
        let mut escaped = false;
        loop {
            self.at += plain_run(&self.text[self.at..]);
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(escaped);
                }
                Some(b'\\') => {
                    self.escape()?;
                    escaped = true;
                }
                Some(_) => return self.wrong("an escape instead of a progress character"),
                None => return self.wrong("a closing quote"),
            }
        }
    }

    fn escape(&mut self) -> Result<(), Wrong> {
        match self.text.get(self.at + 1) {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => self.at += 2,
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

    fn number(&mut self) -> Result<(), Wrong> {
        self.at += usize::from(self.peek() == Some(b'-'));
        let leads_with_zero = self.peek() == Some(b'0');
        let integer = self.digits()?;
        if leads_with_zero && integer > 1 {
            self.at -= integer - 1;
            return self.wrong("no digit behind a leading zero");
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            self.at += usize::from(matches!(self.peek(), Some(b'+' | b'-')));
            self.digits()?;
        }
        Ok(())
    }

    /// How many there are.
    #[inline]
    fn digits(&mut self) -> Result<usize, Wrong> {
        let start = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        if self.at == start { self.wrong("a digit") } else { Ok(self.at - start) }
    }
}

/// How many bytes a string has before a quote, a backslash or a progress character.
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
