//! The field splitter alone, on any bytes with any line end: records and fields cover the piece, a record means the
//! same wherever it stands, and what was read can be written and read again.
#![no_main]

#[expect(dead_code, reason = "the reader is for the target of the cutter; here its files are seeds")]
#[path = "../../crates/howdah/tests/it/reference/mod.rs"]
mod reference;

use howdah::source::split::value;
use howdah::source::{Dialect, Eol, Family, Field, Form, Splitter};
use howdah_encode::copy_text;
use howdah_fuzz::write_seed;
use libfuzzer_sys::fuzz_target;
use reference::{Grammar, hostile};

fuzz_target!(
    init: write_seeds(),
    |data: &[u8]| {
        let [dialect, eol, piece @ ..] = data else { return };
        let dialect = dialect_of(usize::from(*dialect));
        let (eol, end) = match eol % 3 {
            0 => (Eol::Nl, &b"\n"[..]),
            1 => (Eol::Cr, &b"\r"[..]),
            _ => (Eol::CrNl, &b"\r\n"[..]),
        };
        let mut splitter = Splitter::new(piece, &dialect, eol);
        let (mut fields, mut values) = (Vec::new(), Vec::new());
        let mut position = 0;
        while let Ok(Some(span)) = splitter.next_record(&mut fields) {
            assert_eq!(span.start, position, "a record starts where the last one ended");
            position = splitter.position();
            assert!(span.start <= span.end && span.end <= position && position <= piece.len());
            assert!(span.end == piece.len() || piece[span.end..position] == *end, "only a line end is passed over");
            let newlines = piece[..span.start].iter().filter(|byte| Some(*byte) == end.last()).count();
            assert_eq!(span.lines_before as usize, newlines, "lines are counted");
            expect_cover(&piece[span.start..span.end], span.start, &fields, &dialect);
            let read = values_of(&fields, piece, &dialect);
            let mut alone = Splitter::new(&piece[span.start..position], &dialect, eol);
            let mut fields_alone = Vec::new();
            alone.next_record(&mut fields_alone).expect("the record was read").expect("the record was read");
            assert_eq!(read, values_of(&fields_alone, &piece[span.start..position], &dialect), "read otherwise alone");
            values.push(read);
        }
        expect_written_values_read(&values, &dialect);
    }
);

type Values = Vec<Option<Vec<u8>>>;

fn values_of(fields: &[Field], piece: &[u8], dialect: &Dialect) -> Values {
    let mut scratch = Vec::new();
    fields.iter().map(|field| value(*field, piece, dialect, &mut scratch).map(<[u8]>::to_vec)).collect()
}

/// Between two fields stands one delimiter, and quotes where the field says so.
fn expect_cover(record: &[u8], start: usize, fields: &[Field], dialect: &Dialect) {
    assert!(!fields.is_empty(), "a record has a field");
    let mut at = 0;
    for (n, field) in fields.iter().enumerate() {
        let quotes = usize::from(field.form() == Form::Quoted);
        let range = field.range();
        if n > 0 {
            assert!(dialect.delimiter == record[at], "fields are parted by the delimiter");
            at += 1;
        }
        assert_eq!(range.start - start, at + quotes, "a field starts behind the delimiter");
        at = range.end - start + quotes;
    }
    // A backslash at the very end of the piece stands for nothing.
    let rest = &record[at..];
    assert!(rest.is_empty() || (dialect.family == Family::Text && rest == b"\\"), "fields cover the record");
}

/// Writes the values as the dialect's own quoting has it, and reads them.
fn expect_written_values_read(records: &[Values], dialect: &Dialect) {
    let mut written = Vec::new();
    // Where NULL is nothing, the text format has no way to write an empty value.
    let unwritable =
        |value: &Option<Vec<u8>>| dialect.null.is_empty() && value.as_ref().is_some_and(Vec::is_empty);
    if dialect.family == Family::Text && records.iter().flatten().any(unwritable) {
        return;
    }
    for values in records {
        for (n, value) in values.iter().enumerate() {
            if n > 0 {
                written.extend_from_slice(dialect.delimiter.as_bytes());
            }
            match (value, dialect.family) {
                (None, _) => written.extend_from_slice(&dialect.null),
                (Some(value), Family::Text) => put_text(&mut written, value, dialect),
                (Some(value), Family::Csv) => {
                    written.push(dialect.quote);
                    for byte in value {
                        if *byte == dialect.quote || *byte == dialect.escape {
                            written.push(dialect.escape);
                        }
                        written.push(*byte);
                    }
                    written.push(dialect.quote);
                }
            }
        }
        written.push(b'\n');
    }
    let mut splitter = Splitter::new(&written, dialect, Eol::Nl);
    let mut fields = Vec::new();
    for values in records {
        splitter.next_record(&mut fields).expect("it was just written").expect("it was just written");
        assert_eq!(*values, values_of(&fields, &written, dialect), "written and read, it is another");
    }
    assert_eq!(splitter.next_record(&mut fields), Ok(None));
}

/// Escaped as COPY writes it; the delimiter, and a value that looks like NULL, by a backslash too.
fn put_text(written: &mut Vec<u8>, value: &[u8], dialect: &Dialect) {
    let mut escaped = Vec::new();
    copy_text::put_field(&mut escaped, value);
    if escaped == dialect.null {
        written.push(b'\\');
    }
    for byte in escaped {
        if dialect.delimiter == byte {
            written.push(b'\\');
        }
        written.push(byte);
    }
}

fn dialect_of(n: usize) -> Dialect {
    let dialects = hostile::dialects();
    let slow = &dialects[n % dialects.len()];
    Dialect {
        family: if slow.format == Grammar::Csv { Family::Csv } else { Family::Text },
        delimiter: slow.delimiter.into(),
        quote: slow.quote,
        escape: slow.escape,
        null: slow.null.clone(),
        default: None,
    }
}

fn write_seeds() {
    let dialects = hostile::dialects();
    let handwritten = hostile::handwritten().into_iter().map(|(dialect, bytes)| (dialect, bytes.to_vec()));
    for (n, (dialect, bytes)) in hostile::files(1, 300).into_iter().chain(handwritten).enumerate() {
        let at = dialects.iter().position(|known| *known == dialect).unwrap_or(0);
        for eol in 0..3 {
            let head = [u8::try_from(at).unwrap_or(0), eol];
            write_seed("splitting", &format!("{n}-{eol}"), &[&head[..], &bytes].concat());
        }
    }
}
