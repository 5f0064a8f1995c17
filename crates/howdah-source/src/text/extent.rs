//! How far a record of CSV goes, field by field, and whether one over several lines is a record at all.

use crate::dialect::{Dialect, Eol};

/// How records are written, and how many fields they have, if that is known.
#[derive(Clone, Copy)]
pub(super) struct RecordForm<'d> {
    pub(super) dialect: &'d Dialect,
    pub(super) eol: Eol,
    pub(super) width: Option<usize>,
}

/// What stands where a record begins.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Extent {
    /// A record: one past its line end, and its fields. One line may be a bad one.
    Record { end: usize, fields: usize },
    /// Lines that are no record: a quote of the first one, which ends before `next_line`, is a stray.
    Stray { next_line: usize },
    /// The window ends before that is known; `next_line`, if it goes over several lines. `is_quoted`: nothing but a quote or an
    /// escape can change that.
    Open { next_line: Option<usize>, is_quoted: bool },
}

/// The record that starts at `start`. `is_end`: the input ends where `window` does.
pub(super) fn extent(window: &[u8], start: usize, form: RecordForm<'_>, is_end: bool) -> Extent {
    let mut walk =
        FieldWalk { window, form, is_end, at: start, fields: 0, next_line: None, is_ragged: false };
    loop {
        walk.fields += 1;
        match walk.field() {
            Ok(FieldEnd::Delimiter) => {}
            Ok(FieldEnd::Record) => return walk.ended(),
            Err(extent) => return extent,
        }
    }
}

enum FieldEnd {
    Delimiter,
    Record,
}

struct FieldWalk<'w> {
    window: &'w [u8],
    form: RecordForm<'w>,
    is_end: bool,
    at: usize,
    fields: usize,
    /// Where the record's second line begins.
    next_line: Option<usize>,
    /// Text stands before a quote that opens, or behind one that closes.
    is_ragged: bool,
}

impl FieldWalk<'_> {
    /// Reads one field and what ends it.
    fn field(&mut self) -> Result<FieldEnd, Extent> {
        let RecordForm { dialect, eol, .. } = self.form;
        let delimiter = dialect.delimiter.as_bytes();
        self.check()?;
        if self.window.get(self.at) == Some(&dialect.quote) {
            self.quoted()?;
            self.is_ragged |= !self.is_at_field_end()?;
            self.check()?;
        }
        loop {
            let rest = &self.window[self.at..];
            let Some(found) = memchr::memchr3(delimiter[0], dialect.quote, eol.last_byte(), rest) else {
                self.at = self.window.len();
                return if self.is_end { Ok(FieldEnd::Record) } else { Err(self.open()) };
            };
            self.at += found;
            let rest = &rest[found..];
            if rest[0] == eol.last_byte() {
                self.at += 1;
                return Ok(FieldEnd::Record);
            } else if rest[0] == dialect.quote {
                self.is_ragged = true;
                self.quoted()?;
            } else if rest.starts_with(delimiter) {
                self.at += delimiter.len();
                return Ok(FieldEnd::Delimiter);
            } else if rest.len() < delimiter.len() && !self.is_end {
                return Err(self.open());
            } else {
                self.at += 1;
            }
        }
    }

    /// Goes from the quote that opens to behind the one that closes.
    fn quoted(&mut self) -> Result<(), Extent> {
        let Dialect { quote, escape, .. } = *self.form.dialect;
        let line_end = self.form.eol.last_byte();
        self.at += 1;
        loop {
            let rest = &self.window[self.at..];
            let found = match self.next_line {
                None => memchr::memchr3(quote, escape, line_end, rest),
                Some(_) => memchr::memchr2(quote, escape, rest),
            };
            let Some(found) = found else {
                self.at = self.window.len();
                self.is_ragged = true;
                let within = Extent::Open { next_line: self.next_line, is_quoted: true };
                return Err(if self.is_end { self.ended() } else { within });
            };
            self.at += found;
            let (byte, next) = (rest[found], rest.get(found + 1));
            self.at += 1;
            if byte == line_end {
                self.next_line = Some(self.at);
                self.check()?;
            } else if byte == quote && escape != quote {
                return Ok(());
            } else if next.is_none() && !self.is_end {
                return Err(self.open());
            } else if next.is_some_and(|next| *next == quote || *next == escape) {
                self.at += 1;
            } else if byte == quote {
                return Ok(());
            }
        }
    }

    /// Whether the field ends here, right behind a quote.
    fn is_at_field_end(&self) -> Result<bool, Extent> {
        let RecordForm { dialect, eol, .. } = self.form;
        let (rest, delimiter) = (&self.window[self.at..], dialect.delimiter.as_bytes());
        let ends = [delimiter, eol.bytes(), &[eol.last_byte()]].into_iter().any(|end| rest.starts_with(end));
        if !ends && !self.is_end && rest.len() < delimiter.len().max(eol.bytes().len()) {
            return Err(self.open());
        }
        Ok(ends || rest.is_empty())
    }

    /// What goes over several lines and cannot be a record any more is none.
    fn check(&self) -> Result<(), Extent> {
        let is_wider = self.form.width.is_some_and(|width| self.fields > width);
        match self.next_line {
            Some(next_line) if self.is_ragged || is_wider => Err(Extent::Stray { next_line }),
            _ => Ok(()),
        }
    }

    fn ended(&self) -> Extent {
        let fits = !self.is_ragged && self.form.width.is_none_or(|width| self.fields == width);
        match self.next_line {
            Some(next_line) if !fits => Extent::Stray { next_line },
            _ => Extent::Record { end: self.at, fields: self.fields },
        }
    }

    fn open(&self) -> Extent {
        Extent::Open { next_line: self.next_line, is_quoted: false }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(text: &str, dialect: &Dialect, eol: Eol, is_end: bool) -> Extent {
        extent(text.as_bytes(), 0, RecordForm { dialect, eol, width: Some(3) }, is_end)
    }

    #[test]
    fn a_record_over_several_lines_has_all_its_fields_and_text_only_within_quotes() {
        let record = |end| Extent::Record { end, fields: 3 };
        let stray = |next_line| Extent::Stray { next_line };
        let csv = Dialect::default();
        for (text, expected) in [
            ("1,\"a\nb\",c\nx", record(10)),
            ("1,\"a\n\"\"b\"\"\",c\nx", record(14)),
            ("1,2,\"a\nb\"", record(9)),
            ("1,2,\"a\nb\"\r\nx", stray(7)),
            // Too few, too many.
            ("1,\"a\nb\"\nx", stray(5)),
            ("1,\"a\nb\",c,d\nx", stray(5)),
            // Text behind a quote, before one.
            ("1,\"a\nb\"c,d\n", stray(5)),
            ("1,a\"b\nc\",d\n", stray(6)),
            ("1,\"a\"b\"\n\",d\n", stray(8)),
            // Never closed.
            ("1,\"a\nb,c\n", stray(5)),
            ("1,2,\"a\n", stray(7)),
            // One line is a record, if a bad one.
            ("1,a\"b\"c,d\nx", record(10)),
            ("1,2,\"a", record(6)),
        ] {
            assert_eq!(find(text, &csv, Eol::Nl, true), expected, "{text:?}");
        }
        assert_eq!(find("1,2,\"a\nb\"\r\nx", &csv, Eol::CrNl, true), record(11));
        let escaped =
            Dialect { escape: b'\\', delimiter: crate::Delimiter::new("||").unwrap(), ..Dialect::default() };
        assert_eq!(find("1||\"a\\\"\n|\\\\\"||c\nx", &escaped, Eol::Nl, true), record(16));
        assert_eq!(find("1||\"a\\\"\n|\\\\\"|c||d\nx", &escaped, Eol::Nl, true), stray(8));
    }

    #[test]
    fn what_is_said_of_a_part_holds_for_the_whole() {
        let dialects = [Dialect::default(), Dialect { escape: b'\\', ..Dialect::default() }];
        for text in
            ["1,\"a\r\nb\",c\r\nx", "1,\"a\r\n\"\"\\\"b\",c\r\nx", "1,\"a\r\nb\"x,c\r\n", "1,2,\"\r\n\"\r\n"]
        {
            for dialect in &dialects {
                let whole = find(text, dialect, Eol::CrNl, true);
                for end in 0..text.len() {
                    match find(&text[..end], dialect, Eol::CrNl, false) {
                        Extent::Open { .. } => {}
                        part => assert_eq!(part, whole, "{:?}", &text[..end]),
                    }
                }
            }
        }
    }
}
