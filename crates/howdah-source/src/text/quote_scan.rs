//! Quotes read byte by byte, as PostgreSQL's two readers do: that of lines, and that of fields.

use crate::dialect::Dialect;

/// Where PostgreSQL's line reader stands in regard to quotes when ESCAPE may differ from QUOTE.
#[derive(Default, Clone, Copy)]
pub(super) struct QuoteScan {
    /// Inside quotes.
    pub(super) in_quote: bool,
    last_was_escape: bool,
}

impl QuoteScan {
    /// Reads one byte.
    #[inline]
    pub(super) fn step(&mut self, byte: u8, dialect: &Dialect) {
        let is_escape = byte == dialect.escape && dialect.escape != dialect.quote;
        if self.in_quote && is_escape {
            self.last_was_escape = !self.last_was_escape;
        }
        if byte == dialect.quote && !self.last_was_escape {
            self.in_quote = !self.in_quote;
        }
        if !is_escape {
            self.last_was_escape = false;
        }
    }
}

/// The end of the field at `start` of a line without its end, and how many quotes were seen; `None` when a quote stays open.
pub(super) fn field_end(line: &[u8], start: usize, dialect: &Dialect) -> Option<(usize, usize)> {
    let mut at = start;
    let mut quotes = 0;
    let mut in_quote = false;
    while let Some(&byte) = line.get(at) {
        let next = line.get(at + 1);
        if in_quote
            && byte == dialect.escape
            && next.is_some_and(|n| *n == dialect.escape || *n == dialect.quote)
        {
            at += 1;
        } else if byte == dialect.quote {
            in_quote = !in_quote;
            quotes += 1;
        } else if !in_quote && line[at..].starts_with(dialect.delimiter.as_bytes()) {
            return Some((at, quotes));
        }
        at += 1;
    }
    (!in_quote).then_some((line.len(), quotes))
}
