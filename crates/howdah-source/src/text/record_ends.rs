//! Where records end: the last one in a window, the end of the data of COPY's text, and how long one can be.

use crate::dialect::{Dialect, Eol, Family};
use crate::json;
use crate::text::quote_scan::QuoteScan;

/// PostgreSQL holds a COPY line, and any value, in one allocation below 1 GiB (`MaxAllocSize`).
pub const MAX_RECORD_BYTES: usize = 0x3FFF_FFFF;

/// How many of `bytes` are `byte`.
pub(super) fn count(byte: u8, bytes: &[u8]) -> u64 {
    memchr::memchr_iter(byte, bytes).count() as u64
}

/// One past the last record end in `window`, which starts a record.
pub fn last_record_end(window: &[u8], dialect: &Dialect, eol: Eol) -> Option<usize> {
    let line_end = eol.last_byte();
    match dialect.family {
        Family::Json | Family::Ndjson => json::last_record_end(window, eol),
        Family::Text => {
            // A line end behind an odd number of backslashes belongs to the field.
            let mut before = window.len();
            while let Some(at) = memchr::memrchr(line_end, &window[..before]) {
                if backslashes_before(window, at).is_multiple_of(2) {
                    return Some(at + 1);
                }
                before = at;
            }
            None
        }
        Family::Csv if dialect.escape == dialect.quote => {
            // Every quote toggles, so their number tells where the window's end stands; from there it is a few bytes back.
            let mut in_quote = count(dialect.quote, window) % 2 == 1;
            let mut before = window.len();
            while let Some(at) = memchr::memrchr2(dialect.quote, line_end, &window[..before]) {
                if window[at] == dialect.quote {
                    in_quote = !in_quote;
                } else if !in_quote {
                    return Some(at + 1);
                }
                before = at;
            }
            None
        }
        Family::Csv => {
            let mut scan = QuoteScan::default();
            let mut end = None;
            for (at, &byte) in window.iter().enumerate() {
                scan.step(byte, dialect);
                if byte == line_end && !scan.in_quote {
                    end = Some(at + 1);
                }
            }
            end
        }
    }
}

fn backslashes_before(bytes: &[u8], at: usize) -> usize {
    bytes[..at].iter().rev().take_while(|byte| **byte == b'\\').count()
}

/// Start of the line `\.` that ends the data of a COPY text file.
pub fn end_of_data(bytes: &[u8], eol: Eol) -> Option<usize> {
    let line_end = eol.last_byte();
    memchr::memmem::find_iter(bytes, b"\\.").find(|&at| {
        let starts_line =
            at == 0 || bytes[at - 1] == line_end && backslashes_before(bytes, at - 1).is_multiple_of(2);
        let alone = match (eol, bytes.get(at + 2), bytes.get(at + 3)) {
            (Eol::CrNl, Some(b'\r'), Some(b'\n')) => true,
            (Eol::Nl | Eol::Cr, Some(next), _) => *next == line_end,
            _ => false,
        };
        starts_line && alone
    })
}
