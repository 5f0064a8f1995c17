//! The records of a piece of JSON as ranges of bytes: lines, objects, or what stands between the commas of an array.

use super::forms::element_start;
use super::skip_space;
use super::walk::{Walk, closing};
use crate::dialect::Eol;
use crate::span::{Fault, FaultReason, Span};

/// Reads the records of one piece in order.
pub struct Regions<'a> {
    bytes: &'a [u8],
    form: Eol,
    at: usize,
    /// Line ends up to `counted`.
    lines: u32,
    counted: usize,
    /// The first element was looked for.
    has_begun: bool,
    /// The array was closed, or there is nothing left of it.
    is_over: bool,
    ends_input: bool,
}

impl<'a> Regions<'a> {
    /// `bytes` are whole records of at most 1 GiB, the start of a piece or of one of its records.
    pub fn new(bytes: &'a [u8], form: Eol) -> Self {
        Regions {
            bytes,
            form,
            at: 0,
            lines: 0,
            counted: 0,
            has_begun: false,
            is_over: false,
            ends_input: false,
        }
    }

    /// Nothing follows the bytes: an array must be closed in them.
    pub fn ending_input(mut self, ends: bool) -> Self {
        self.ends_input = ends;
        self
    }

    /// Offset of the first byte that belongs to no record returned so far.
    pub fn position(&self) -> usize {
        self.at
    }

    /// The next record; `None` at the end. Whether it is JSON is not looked at.
    ///
    /// # Errors
    /// A [`Fault`] where there is none although there should be, or something that should not be there.
    #[inline]
    pub fn next_record(&mut self) -> Result<Option<Span>, Fault> {
        match self.form {
            Eol::Element => self.next_element(),
            Eol::Value => Ok(self.next_value()),
            _ => Ok(self.next_line()),
        }
    }

    fn next_line(&mut self) -> Option<Span> {
        while self.at < self.bytes.len() {
            let start = self.at;
            let length = memchr::memchr(b'\n', &self.bytes[start..]);
            let mut end = length.map_or(self.bytes.len(), |length| start + length);
            self.at = (end + 1).min(self.bytes.len());
            if self.bytes[start..end].last() == Some(&b'\r') {
                end -= 1;
            }
            let span = Span { start, end, lines_before: self.lines };
            self.lines += u32::from(length.is_some());
            if skip_space(&self.bytes[..end], start) < end {
                return Some(span);
            }
        }
        None
    }

    /// From a bracket to the one that closes it; what is neither an object nor an array goes to the next of them, or to the
    /// end of its line.
    fn next_value(&mut self) -> Option<Span> {
        let start = skip_space(self.bytes, self.at);
        let end = match self.bytes.get(start)? {
            b'{' | b'[' => closing(self.bytes, start),
            _ => {
                let mut walk = Walk::new(self.bytes, start);
                std::iter::from_fn(|| walk.next())
                    .find(|(_, byte)| matches!(byte, b'{' | b'[' | b'\n'))
                    .map(|(at, _)| at)
            }
        };
        self.at = end.unwrap_or(self.bytes.len());
        Some(self.span(start, self.at))
    }

    fn next_element(&mut self) -> Result<Option<Span>, Fault> {
        if self.is_over {
            return Ok(None);
        }
        let opener = skip_space(self.bytes, self.at);
        let start = match (self.bytes.get(opener), std::mem::replace(&mut self.has_begun, true)) {
            (None, _) => return self.end_without_bracket(),
            (Some(b']'), true) => return self.end_array(opener),
            (Some(_), true) => opener + 1,
            (Some(_), false) => element_start(self.bytes),
        };
        let (end, terminator) = self.element_end(start);
        self.at = end;
        let span = self.span(start, end);
        if span.start < span.end {
            return Ok(Some(span));
        }
        match terminator {
            Some(b']') if self.bytes[opener] == b'[' => self.end_array(end),
            None if self.ends_input => self.end_without_bracket(),
            // Without an end to the input, the piece was cut before a comma.
            _ => Err(Fault { span, reason: FaultReason::NoJsonValue }),
        }
    }

    /// Where the element ends that starts at `start`, and with what.
    fn element_end(&self, start: usize) -> (usize, Option<u8>) {
        let mut walk = Walk::new(self.bytes, start);
        let mut depth = 0_usize;
        while let Some((at, byte)) = walk.next() {
            match byte {
                b'{' | b'[' => depth += 1,
                b'}' | b']' if depth > 0 => depth -= 1,
                b',' | b']' if depth == 0 => return (at, Some(byte)),
                _ => {}
            }
        }
        (self.bytes.len(), None)
    }

    /// The array ends with the bracket at `bracket`.
    #[cold]
    fn end_array(&mut self, bracket: usize) -> Result<Option<Span>, Fault> {
        self.is_over = true;
        self.at = self.bytes.len();
        let rest = self.span(bracket + 1, self.bytes.len());
        if rest.start < rest.end {
            Err(Fault { span: rest, reason: FaultReason::BehindJsonArray })
        } else {
            Ok(None)
        }
    }

    #[cold]
    fn end_without_bracket(&mut self) -> Result<Option<Span>, Fault> {
        self.is_over = true;
        let end = self.bytes.len();
        self.at = end;
        if self.ends_input {
            Err(Fault { span: self.span(end, end), reason: FaultReason::JsonCutOff })
        } else {
            Ok(None)
        }
    }

    /// The range without white space at its ends.
    fn span(&mut self, start: usize, end: usize) -> Span {
        let start = skip_space(&self.bytes[..end], start);
        let space = self.bytes[start..end].iter().rev().take_while(|byte| super::is_space(**byte)).count();
        // A piece has at most 1 GiB, so its line ends can be counted.
        let lines = memchr::memchr_iter(b'\n', &self.bytes[self.counted..start]).count();
        self.lines += u32::try_from(lines).unwrap_or(u32::MAX);
        self.counted = start;
        Span { start, end: end - space, lines_before: self.lines }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn records(text: &str, form: Eol) -> Vec<(&str, u32, bool)> {
        let mut regions = Regions::new(text.as_bytes(), form).ending_input(true);
        std::iter::from_fn(|| match regions.next_record() {
            Ok(None) => None,
            Ok(Some(span)) => Some((span, true)),
            Err(fault) => Some((fault.span, false)),
        })
        .map(|(span, good)| (&text[span.start..span.end], span.lines_before, good))
        .collect()
    }

    #[test]
    fn lines_are_records_and_empty_ones_are_not() {
        assert_eq!(
            records("{\"a\":1}\r\n\n \t\n x \n{}", Eol::Nl),
            [("{\"a\":1}", 0, true), (" x ", 3, true), ("{}", 4, true)]
        );
        assert!(records("\n\n", Eol::Nl).is_empty());
    }

    #[test]
    fn objects_end_with_their_brackets_and_what_is_none_with_its_line() {
        assert_eq!(
            records("{\n\"a\":1}{} , \"{\"\nx{\"b\": {}}\n{\"c\":", Eol::Value),
            [
                ("{\n\"a\":1}", 0, true),
                ("{}", 1, true),
                (", \"{\"", 1, true),
                ("x", 2, true),
                ("{\"b\": {}}", 2, true),
                ("{\"c\":", 3, true)
            ]
        );
    }

    #[test]
    fn elements_stand_between_commas_and_what_an_array_lacks_is_said() {
        assert_eq!(
            records("[ {\"a\":[1,2]} ,\n3 x, {}\n]\n", Eol::Element),
            [("{\"a\":[1,2]}", 0, true), ("3 x", 1, true), ("{}", 1, true)]
        );
        assert!(records(" [ ]\n", Eol::Element).is_empty());
        assert_eq!(records(", {}]", Eol::Element), [("{}", 0, true)]);
        assert_eq!(records("[{},]", Eol::Element), [("{}", 0, true), ("", 0, false)]);
        assert_eq!(records("[,{}]", Eol::Element), [("", 0, false), ("{}", 0, true)]);
        assert_eq!(records("[{}] {}", Eol::Element), [("{}", 0, true), ("{}", 0, false)]);
        for cut_off in ["[{}", "[{} ,", "[{},\n"] {
            let found = records(cut_off, Eol::Element);
            assert_eq!((found.len(), found[0].2, found[1].2), (2, true, false), "{cut_off}");
        }
        assert_eq!(records("[", Eol::Element), [("", 0, false)]);
    }

    #[test]
    fn a_piece_that_does_not_end_the_input_need_not_close_its_array() {
        let mut regions = Regions::new(b"[{}, {}", Eol::Element);
        assert!(matches!(regions.next_record(), Ok(Some(_))));
        assert!(matches!(regions.next_record(), Ok(Some(_))));
        assert_eq!(regions.next_record(), Ok(None));
    }
}
