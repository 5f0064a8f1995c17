//! Whether jsonb takes a text: JSON's grammar with jsonb's own limits, checked without recursion or allocation.

use super::numeric::{NUMERIC_INTEGER_DIGITS, NUMERIC_SCALE};

/// PostgreSQL's parser recurses until its stack is full, how deep depends on the server's settings; this is safe.
const DEPTH_LIMIT: usize = 512;

/// A jsonb value ends at 256 MiB. Text grows at most sixfold on its way there (`[1,1,…]`: two bytes become an entry
/// of four and a numeric of eight), so below this it always fits.
const LENGTH_LIMIT: usize = 16 << 20;

/// Whether `text`, valid UTF-8, is certainly one JSON value that jsonb takes; json takes it too.
pub fn is_jsonb(text: &[u8]) -> bool {
    text.len() <= LENGTH_LIMIT && Cursor { text, at: 0 }.document().is_some()
}

/// The kinds of the containers that are open, one bit each: set for an object.
struct Nesting {
    objects: [u64; DEPTH_LIMIT / 64],
    depth: usize,
}

impl Nesting {
    fn push(&mut self, object: bool) -> Option<()> {
        let word = self.objects.get_mut(self.depth / 64)?;
        let bit = 1 << (self.depth % 64);
        *word = if object { *word | bit } else { *word & !bit };
        self.depth += 1;
        Some(())
    }

    /// Whether the innermost open container is an object; `None` when none is open.
    fn innermost(&self) -> Option<bool> {
        let level = self.depth.checked_sub(1)?;
        Some(self.objects[level / 64] >> (level % 64) & 1 == 1)
    }
}

/// A place in the text. Every method moves past what it names, or answers `None`: not there.
struct Cursor<'a> {
    text: &'a [u8],
    at: usize,
}

impl Cursor<'_> {
    fn document(mut self) -> Option<()> {
        let mut open = Nesting { objects: [0; DEPTH_LIMIT / 64], depth: 0 };
        loop {
            self.space();
            match self.next()? {
                b'{' => {
                    open.push(true)?;
                    self.space();
                    if self.peek()? != b'}' {
                        self.key()?;
                        continue;
                    }
                }
                b'[' => {
                    open.push(false)?;
                    self.space();
                    if self.peek()? != b']' {
                        continue;
                    }
                }
                b'"' => self.string_rest()?,
                b't' => self.word(b"rue")?,
                b'f' => self.word(b"alse")?,
                b'n' => self.word(b"ull")?,
                first @ (b'-' | b'0'..=b'9') => self.number_rest(first)?,
                _ => return None,
            }
            // A value has ended, or an empty container is about to.
            loop {
                self.space();
                let Some(object) = open.innermost() else {
                    return (self.at == self.text.len()).then_some(());
                };
                match (self.next()?, object) {
                    (b',', true) => {
                        self.space();
                        self.key()?;
                        break;
                    }
                    (b',', false) => break,
                    (b'}', true) | (b']', false) => open.depth -= 1,
                    _ => return None,
                }
            }
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn next(&mut self) -> Option<u8> {
        let byte = self.peek()?;
        self.at += 1;
        Some(byte)
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn word(&mut self, word: &[u8]) -> Option<()> {
        self.text[self.at..].starts_with(word).then(|| self.at += word.len())
    }

    fn key(&mut self) -> Option<()> {
        self.word(b"\"")?;
        self.string_rest()?;
        self.space();
        self.word(b":")
    }

    /// A string after its opening quote. jsonb stores characters, so escapes must name some: no `\u0000`, no half of a
    /// surrogate pair.
    fn string_rest(&mut self) -> Option<()> {
        loop {
            match self.next()? {
                b'"' => return Some(()),
                b'\\' => match self.next()? {
                    b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => {}
                    b'u' => match self.hexadecimal()? {
                        0 | 0xDC00..=0xDFFF => return None,
                        0xD800..=0xDBFF => {
                            self.word(br"\u")?;
                            (0xDC00..=0xDFFF).contains(&self.hexadecimal()?).then_some(())?;
                        }
                        _ => {}
                    },
                    _ => return None,
                },
                0..0x20 => return None,
                _ => {}
            }
        }
    }

    fn hexadecimal(&mut self) -> Option<u32> {
        let mut unit = 0;
        for _ in 0..4 {
            unit = unit * 16 + char::from(self.next()?).to_digit(16)?;
        }
        Some(unit)
    }

    /// A number after its first byte; jsonb stores it as numeric, so it must have a place there once the exponent has
    /// moved the point.
    fn number_rest(&mut self, first: u8) -> Option<()> {
        let leading = if first == b'-' { self.next()? } else { first };
        let integer = match leading {
            b'0' => 1,
            b'1'..=b'9' => 1 + self.digits(),
            _ => return None,
        };
        let mut scale = 0;
        if self.word(b".").is_some() {
            scale = self.digits();
            if scale == 0 {
                return None;
            }
        }
        let mut power: isize = 0;
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            let negative = self.peek() == Some(b'-');
            self.at += usize::from(negative || self.peek() == Some(b'+'));
            let start = self.at;
            if self.digits() == 0 {
                return None;
            }
            for digit in &self.text[start..self.at] {
                power = power.saturating_mul(10).saturating_add(isize::from(digit - b'0'));
            }
            power = if negative { -power } else { power };
        }
        let fits = integer.checked_add_signed(power).is_none_or(|digits| digits <= NUMERIC_INTEGER_DIGITS)
            && scale.checked_add_signed(power.saturating_neg()).is_none_or(|digits| digits <= NUMERIC_SCALE);
        fits.then_some(())
    }

    fn digits(&mut self) -> usize {
        let start = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        self.at - start
    }
}
