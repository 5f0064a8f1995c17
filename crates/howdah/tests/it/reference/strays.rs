//! The reference reader where stray quotes are kept to their lines: record by record, and each is looked at anew.

use super::{Dialect, Fault, LineCount, LineEnd, Reading, Record, csv_fields, csv_record_end};

const OPEN: &str = "unterminated CSV quoted field";

/// Everything in the CSV input. A record over several lines that has not `width` fields (as many as record 1 where nothing is
/// said), has text outside of a field's quotes, or an open quote, is none: its first line is a fault, and the next line is read.
pub(crate) fn read_confined(bytes: &[u8], dialect: &Dialect, width: Option<usize>) -> Vec<Reading> {
    let mut line_end = None;
    csv_record_end(bytes, 0, dialect, &mut line_end);
    // No line end outside of quotes: any other.
    line_end = line_end.or_else(|| {
        let at = bytes.iter().position(|byte| matches!(byte, b'\r' | b'\n'))?;
        Some(match &bytes[at..] {
            [b'\r', b'\n', ..] => LineEnd::Both,
            [b'\r', ..] => LineEnd::CarriageReturn,
            _ => LineEnd::Newline,
        })
    });
    let last_byte = if line_end == Some(LineEnd::CarriageReturn) { b'\r' } else { b'\n' };
    let mut width = width;
    let mut readings = Vec::new();
    let mut lines = LineCount { line: 1, counted: 0 };
    let mut start = 0;
    loop {
        let end = csv_record_end(bytes, start, dialect, &mut line_end);
        if end.data_ends && end.raw == start {
            return readings;
        }
        lines.advance(bytes, start, line_end);
        let line = lines.line;
        let raw = &bytes[start..end.raw];
        let fields = csv_fields(raw, dialect);
        let count = fields.as_ref().ok().map(Vec::len);
        let fits = count.is_some() && (width.is_none() || count == width) && !is_ragged(raw, dialect);
        let first_line = raw.iter().position(|byte| *byte == last_byte);
        if let Some(length) = first_line.filter(|_| !fits) {
            let next = start + length + 1;
            let mut raw = start..start + length;
            if line_end == Some(LineEnd::Both) && bytes[raw.clone()].ends_with(b"\r") {
                raw.end -= 1;
            }
            readings.push(Err(Fault { message: OPEN, raw, line }));
            start = next;
            continue;
        }
        if readings.is_empty() {
            width = width.or(count);
        }
        let raw = start..end.raw;
        readings.push(match (end.fault, fields) {
            (None, Ok(fields)) => Ok(Record { fields, raw, line }),
            (Some(message), _) | (None, Err(message)) => Err(Fault { message, raw, line }),
        });
        if end.data_ends {
            return readings;
        }
        start = end.next;
    }
}

/// Whether some field has text before a quote that opens, or behind one that closes.
fn is_ragged(raw: &[u8], dialect: &Dialect) -> bool {
    let (mut is_empty, mut is_quoted, mut is_closed) = (true, false, false);
    let mut at = 0;
    while at < raw.len() {
        let (byte, next) = (raw[at], raw.get(at + 1));
        at += 1;
        if is_quoted {
            if byte == dialect.escape && next.is_some_and(|n| *n == dialect.escape || *n == dialect.quote) {
                at += 1;
            } else if byte == dialect.quote {
                (is_quoted, is_closed) = (false, true);
            }
        } else if byte == dialect.delimiter {
            (is_empty, is_closed) = (true, false);
        } else if is_closed || byte == dialect.quote && !is_empty {
            return true;
        } else {
            is_empty = false;
            is_quoted = byte == dialect.quote;
        }
    }
    false
}
