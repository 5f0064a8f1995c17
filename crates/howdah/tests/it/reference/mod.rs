//! A reader of COPY's CSV and text formats that is slow, plain, and the measure for the fast one.
//!
//! It walks a byte at a time through the two passes that PostgreSQL makes: the first finds where a record ends, the
//! second, knowing nothing of the first, splits the record into fields. Its answers were compared with those of a
//! PostgreSQL 18.6 server. What the bytes mean in an encoding is not looked at, nor how many fields a record has.

pub(crate) mod hostile;
pub(crate) mod strays;

use std::ops::Range;

/// Which of COPY's grammars.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Grammar {
    /// `FORMAT csv`
    Csv,
    /// `FORMAT text`
    Text,
}

/// COPY's options of the same names; `quote` and `escape` mean nothing in text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Dialect {
    pub(crate) format: Grammar,
    pub(crate) delimiter: u8,
    pub(crate) quote: u8,
    pub(crate) escape: u8,
    pub(crate) null: Vec<u8>,
}

impl Dialect {
    pub(crate) fn csv() -> Self {
        Self { format: Grammar::Csv, delimiter: b',', quote: b'"', escape: b'"', null: Vec::new() }
    }

    pub(crate) fn text() -> Self {
        Self { format: Grammar::Text, delimiter: b'\t', null: br"\N".to_vec(), ..Self::csv() }
    }
}

/// One record of the input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Record {
    /// Decoded; `None` is NULL.
    pub(crate) fields: Vec<Option<Vec<u8>>>,
    /// Where it lies in the input, without its line end.
    pub(crate) raw: Range<usize>,
    /// The physical line on which it starts, from 1. Lines are counted by the input's own line end: carriage returns
    /// where a lone one ends records, newlines everywhere else.
    pub(crate) line: u64,
}

/// Why a record is not what the dialect says, in PostgreSQL's words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) message: &'static str,
    /// Where the record lies in the input, without its line end.
    pub(crate) raw: Range<usize>,
    /// The physical line on which the record starts.
    pub(crate) line: u64,
}

/// A record, or why it is none.
pub(crate) type Reading = Result<Record, Fault>;

/// Everything in the input. PostgreSQL stops at the first fault; beyond it the rule is ours: a record at fault ends where
/// its line does, at the next last byte of the input's line end that would end a record, or with the input.
pub(crate) fn read(bytes: &[u8], dialect: &Dialect) -> Vec<Reading> {
    let mut readings = Vec::new();
    let mut line_end = None;
    let mut lines = LineCount { line: 1, counted: 0 };
    let mut start = 0;
    loop {
        let end = match dialect.format {
            Grammar::Csv => csv_record_end(bytes, start, dialect, &mut line_end),
            Grammar::Text => text_record_end(bytes, start, &mut line_end),
        };
        if end.data_ends && end.raw == start {
            return readings;
        }
        lines.advance(bytes, start, line_end);
        let (raw, line) = (start..end.raw, lines.line);
        let fields = match (end.fault, dialect.format) {
            (Some(message), _) => Err(message),
            (None, Grammar::Csv) => csv_fields(&bytes[raw.clone()], dialect),
            (None, Grammar::Text) => Ok(text_fields(&bytes[raw.clone()], dialect)),
        };
        readings.push(match fields {
            Ok(fields) => Ok(Record { fields, raw, line }),
            Err(message) => Err(Fault { message, raw, line }),
        });
        if end.data_ends {
            return readings;
        }
        start = end.next;
    }
}

/// What ends the records of an input; the first record decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LineEnd {
    Newline,
    CarriageReturn,
    Both,
}

/// Where a record ends.
struct RecordEnd {
    /// The end of its bytes.
    raw: usize,
    /// Where the next one starts.
    next: usize,
    /// Nothing follows: the input is over, or its end marker was read.
    data_ends: bool,
    /// The first thing in it that is none of the dialect.
    fault: Option<&'static str>,
}

/// The physical line up to which bytes were counted.
struct LineCount {
    line: u64,
    counted: usize,
}

impl LineCount {
    /// Counts on to `at`. Called before the first record ends too, at offset 0, when nothing is to be counted yet.
    fn advance(&mut self, bytes: &[u8], at: usize, line_end: Option<LineEnd>) {
        let ends_line = if line_end == Some(LineEnd::CarriageReturn) { b'\r' } else { b'\n' };
        for byte in &bytes[self.counted..at] {
            if *byte == ends_line {
                self.line += 1;
            }
        }
        self.counted = at;
    }
}

/// The end of the CSV record that starts at `start`: the first line end outside quotes.
fn csv_record_end(
    bytes: &[u8],
    start: usize,
    dialect: &Dialect,
    line_end: &mut Option<LineEnd>,
) -> RecordEnd {
    // An escape that is the quote is no escape here: two quotes in a row leave and enter again.
    let escape = (dialect.escape != dialect.quote).then_some(dialect.escape);
    let mut quoted = false;
    let mut escaped = false;
    let mut fault = None;
    let mut at = start;
    while at < bytes.len() {
        let byte = bytes[at];
        if quoted && Some(byte) == escape {
            escaped = !escaped;
        }
        if byte == dialect.quote && !escaped {
            quoted = !quoted;
        }
        if Some(byte) != escape {
            escaped = false;
        }
        if !quoted && (byte == b'\r' || byte == b'\n') {
            match after_line_end(bytes, at, line_end) {
                LineBreak::Ends(next) => return RecordEnd { raw: at, next, data_ends: false, fault },
                LineBreak::Unexpected { ends } => {
                    let reason = match byte {
                        b'\r' => "unquoted carriage return found in data",
                        _ => "unquoted newline found in data",
                    };
                    fault.get_or_insert(reason);
                    if ends {
                        return RecordEnd { raw: at, next: at + 1, data_ends: false, fault };
                    }
                }
            }
        }
        at += 1;
    }
    RecordEnd { raw: at, next: at, data_ends: true, fault }
}

/// The end of the text record that starts at `start`: the first line end without a backslash before it.
fn text_record_end(bytes: &[u8], start: usize, line_end: &mut Option<LineEnd>) -> RecordEnd {
    let mut fault = None;
    let mut at = start;
    while at < bytes.len() {
        let byte = bytes[at];
        if byte == b'\r' || byte == b'\n' {
            match after_line_end(bytes, at, line_end) {
                LineBreak::Ends(next) => return RecordEnd { raw: at, next, data_ends: false, fault },
                LineBreak::Unexpected { ends } => {
                    let reason = match byte {
                        b'\r' => "literal carriage return found in data",
                        _ => "literal newline found in data",
                    };
                    fault.get_or_insert(reason);
                    if ends {
                        return RecordEnd { raw: at, next: at + 1, data_ends: false, fault };
                    }
                }
            }
        }
        if byte == b'\\' && at + 1 < bytes.len() {
            if bytes[at + 1] == b'.' {
                match end_marker(bytes, start, at, *line_end) {
                    Ok(()) => return RecordEnd { raw: start, next: start, data_ends: true, fault: None },
                    Err(reason) => fault.get_or_insert(reason),
                };
            }
            // Whatever follows a backslash is data.
            at += 1;
        }
        at += 1;
    }
    RecordEnd { raw: at, next: at, data_ends: true, fault }
}

/// What a carriage return or newline outside quotes is.
enum LineBreak {
    /// A line end; the next record starts there.
    Ends(usize),
    /// Of another kind than the first record's line end; it may be the last byte of that all the same.
    Unexpected { ends: bool },
}

/// Looks at the line end at `at`; the first one of the input says what all others must be.
fn after_line_end(bytes: &[u8], at: usize, line_end: &mut Option<LineEnd>) -> LineBreak {
    let newline_follows = bytes.get(at + 1) == Some(&b'\n');
    match (bytes[at], *line_end) {
        (b'\n', None | Some(LineEnd::Newline)) => {
            *line_end = Some(LineEnd::Newline);
            LineBreak::Ends(at + 1)
        }
        (b'\n', Some(LineEnd::Both)) => LineBreak::Unexpected { ends: true },
        (b'\n', Some(LineEnd::CarriageReturn)) => LineBreak::Unexpected { ends: false },
        (_, None | Some(LineEnd::Both)) if newline_follows => {
            *line_end = Some(LineEnd::Both);
            LineBreak::Ends(at + 2)
        }
        // A lone carriage return settles nothing about a newline after it: that is looked at in its own right.
        (_, None | Some(LineEnd::CarriageReturn)) => {
            *line_end = Some(LineEnd::CarriageReturn);
            LineBreak::Ends(at + 1)
        }
        (_, Some(LineEnd::Newline | LineEnd::Both)) => LineBreak::Unexpected { ends: false },
    }
}

/// Checks `\.`, whose backslash is at `at`: it must be alone on its line, and its line must end like the others.
fn end_marker(bytes: &[u8], start: usize, at: usize, line_end: Option<LineEnd>) -> Result<(), &'static str> {
    const NOT_ALONE: &str = "end-of-copy marker is not alone on its line";
    const OTHER_STYLE: &str = "end-of-copy marker does not match previous newline style";
    let mut after = at + 2;
    if line_end == Some(LineEnd::Both) {
        match bytes.get(after) {
            Some(b'\r') => after += 1,
            Some(b'\n') => return Err(OTHER_STYLE),
            _ => return Err(NOT_ALONE),
        }
    }
    match (bytes.get(after), line_end) {
        (Some(b'\n'), None | Some(LineEnd::Newline | LineEnd::Both)) => {}
        (Some(b'\r'), None | Some(LineEnd::CarriageReturn)) => {}
        (Some(b'\r' | b'\n'), _) => return Err(OTHER_STYLE),
        _ => return Err(NOT_ALONE),
    }
    if at > start { Err(NOT_ALONE) } else { Ok(()) }
}

/// Splits a CSV record.
fn csv_fields(raw: &[u8], dialect: &Dialect) -> Result<Vec<Option<Vec<u8>>>, &'static str> {
    let mut fields = Vec::new();
    let mut field = Vec::new();
    let mut field_start = 0;
    let mut quoted = false;
    let mut had_quote = false;
    let mut at = 0;
    while at < raw.len() {
        let byte = raw[at];
        at += 1;
        if quoted {
            if byte == dialect.escape
                && let Some(&next) = raw.get(at)
                && (next == dialect.escape || next == dialect.quote)
            {
                field.push(next);
                at += 1;
            } else if byte == dialect.quote {
                quoted = false;
            } else {
                field.push(byte);
            }
        } else if byte == dialect.delimiter {
            let is_null = !had_quote && raw[field_start..at - 1] == dialect.null;
            fields.push((!is_null).then(|| std::mem::take(&mut field)));
            field.clear();
            field_start = at;
            had_quote = false;
        } else if byte == dialect.quote {
            quoted = true;
            had_quote = true;
        } else {
            field.push(byte);
        }
    }
    if quoted {
        return Err("unterminated CSV quoted field");
    }
    let is_null = !had_quote && raw[field_start..] == dialect.null;
    fields.push((!is_null).then_some(field));
    Ok(fields)
}

/// Splits a text record and takes its backslashes away.
fn text_fields(raw: &[u8], dialect: &Dialect) -> Vec<Option<Vec<u8>>> {
    let mut fields = Vec::new();
    let mut field = Vec::new();
    let mut field_start = 0;
    // Where the field ends as far as the comparison with NULL goes.
    let mut field_end = raw.len();
    let mut at = 0;
    while at < raw.len() {
        let byte = raw[at];
        at += 1;
        if byte == dialect.delimiter {
            let is_null = raw[field_start..at - 1] == dialect.null;
            fields.push((!is_null).then(|| std::mem::take(&mut field)));
            field.clear();
            field_start = at;
        } else if byte != b'\\' {
            field.push(byte);
        } else if at == raw.len() {
            // A backslash before the end of the input stands for nothing.
            field_end = at - 1;
        } else {
            let (value, length) = text_escape(&raw[at..]);
            field.push(value);
            at += length;
        }
    }
    let is_null = raw[field_start..field_end] == dialect.null;
    fields.push((!is_null).then_some(field));
    fields
}

/// The byte that an escape stands for, and how many bytes it has after its backslash; there is at least one.
fn text_escape(escape: &[u8]) -> (u8, usize) {
    match escape[0] {
        b'b' => (8, 1),
        b'f' => (12, 1),
        b'n' => (b'\n', 1),
        b'r' => (b'\r', 1),
        b't' => (b'\t', 1),
        b'v' => (11, 1),
        b'0'..=b'7' => number(escape, 8, 3),
        b'x' if escape.get(1).is_some_and(u8::is_ascii_hexdigit) => {
            let (value, digits) = number(&escape[1..], 16, 2);
            (value, digits + 1)
        }
        other => (other, 1),
    }
}

/// The value of at most `most` leading digits, its low eight bits, and how many digits there were.
fn number(text: &[u8], radix: u32, most: usize) -> (u8, usize) {
    let mut value: u32 = 0;
    let mut digits = 0;
    while digits < most
        && let Some(digit) = text.get(digits).and_then(|byte| char::from(*byte).to_digit(radix))
    {
        value = value * radix + digit;
        digits += 1;
    }
    (value.to_le_bytes()[0], digits)
}
