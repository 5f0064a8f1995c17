//! Whether bytes are text: UTF-8 without NUL.

use howdah_source::{Dialect, Fault, Field, Piece, Span, Splitter};

use crate::options::OnNul;

/// Whether some byte of the piece is not text.
pub(crate) fn is_suspect(piece: &Piece) -> bool {
    bad_sequence(piece.bytes()).is_some()
}

/// Where the first bytes stand that are not UTF-8 or are NUL, and how many they are.
fn bad_sequence(bytes: &[u8]) -> Option<(usize, usize)> {
    let nul = memchr::memchr(0, bytes).map(|at| (at, 1));
    [nul, not_utf8(bytes)].into_iter().flatten().min()
}

/// The same where NULs may be dropped.
pub(super) fn not_allowed(bytes: &[u8], on_nul: OnNul) -> Option<(usize, usize)> {
    match on_nul {
        OnNul::Error => bad_sequence(bytes),
        OnNul::Strip => not_utf8(bytes),
    }
}

/// Where the first bytes stand that are not UTF-8, and how many they are.
fn not_utf8(bytes: &[u8]) -> Option<(usize, usize)> {
    if simdutf8::basic::from_utf8(bytes).is_ok() {
        return None;
    }
    let error = std::str::from_utf8(bytes).err()?;
    let at = error.valid_up_to();
    Some((at, error.error_len().unwrap_or(bytes.len() - at)))
}

/// Splits the record at `span` as if its NULs had not been there, where they are to be dropped. Returns the bytes in which `fields`
/// lie: the piece, or `stripped`.
///
/// # Errors
/// Without them it is no record.
pub(crate) fn without_nuls<'r>(
    piece: &'r Piece,
    span: Span,
    dialect: &Dialect,
    on_nul: OnNul,
    fields: &mut Vec<Field>,
    stripped: &'r mut Vec<u8>,
) -> Result<&'r [u8], Fault> {
    let raw = &piece.bytes()[span.start..span.end];
    if on_nul == OnNul::Error || memchr::memchr(0, raw).is_none() {
        return Ok(piece.bytes());
    }
    stripped.clear();
    stripped.extend(raw.iter().filter(|byte| **byte != 0));
    let split = Splitter::new(stripped, dialect, piece.eol).next_record(fields);
    split.map_err(|fault| Fault { span, ..fault })?;
    Ok(stripped)
}
