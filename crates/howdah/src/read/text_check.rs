//! Whether bytes are text: UTF-8 without NUL.

use howdah_source::Piece;

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
