//! White space as C's `isspace` knows it, which PostgreSQL's input functions skip.

/// The literal without white space at both ends.
pub(crate) fn trimmed(mut literal: &[u8]) -> &[u8] {
    while let [first, rest @ ..] = literal
        && is_space(*first)
    {
        literal = rest;
    }
    while let [rest @ .., last] = literal
        && is_space(*last)
    {
        literal = rest;
    }
    literal
}

/// Whether a byte is white space to C's `isspace`, as far as it is ASCII. Rust's notion lacks the vertical tab.
#[inline]
pub(crate) fn is_space(byte: u8) -> bool {
    byte == b' ' || byte.wrapping_sub(9) <= 4
}
