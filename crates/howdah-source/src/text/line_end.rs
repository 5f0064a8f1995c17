//! The kind of line end that an input has.

use crate::dialect::{Dialect, Eol, Family};
use crate::json;
use crate::text::quote_scan::QuoteScan;

/// The kind of the first record end in `bytes`, which start a record; `None` when more bytes are needed to tell.
pub fn first_eol(bytes: &[u8], dialect: &Dialect, eof: bool) -> Option<Eol> {
    if dialect.family.is_json() {
        return json::form(bytes, dialect.family == Family::Ndjson, eof);
    }
    let mut scan = QuoteScan::default();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        match dialect.family {
            Family::Csv => scan.step(byte, dialect),
            Family::Text if byte == b'\\' => {
                at += 2;
                continue;
            }
            _ => {}
        }
        if !scan.in_quote {
            match (byte, bytes.get(at + 1)) {
                (b'\n', _) => return Some(Eol::Nl),
                (b'\r', Some(b'\n')) => return Some(Eol::CrNl),
                (b'\r', Some(_)) => return Some(Eol::Cr),
                (b'\r', None) => return eof.then_some(Eol::Cr),
                _ => {}
            }
        }
        at += 1;
    }
    None
}

/// The kind of the first line end in `bytes`, within quotes or not.
pub(super) fn first_line_end(bytes: &[u8]) -> Option<Eol> {
    let at = memchr::memchr2(b'\n', b'\r', bytes)?;
    Some(match (bytes[at], bytes.get(at + 1)) {
        (b'\n', _) => Eol::Nl,
        (_, Some(b'\n')) => Eol::CrNl,
        _ => Eol::Cr,
    })
}
