//! Line ends within quotes: the first of some records, found at the speed of counting quotes.

use wide::u8x16;

use crate::dialect::{Dialect, Eol};
use crate::text::quote_scan::QuoteScan;

const BLOCK: usize = 64;

/// Where the first line end within quotes stands in `bytes`, which start a record.
pub(super) fn first(bytes: &[u8], dialect: &Dialect, eol: Eol) -> Option<usize> {
    // Nothing before the first quote stands within quotes.
    let quote = memchr::memchr(dialect.quote, bytes)?;
    let quoted = &bytes[quote..];
    let found = if dialect.escape == dialect.quote {
        by_blocks(quoted, dialect.quote, eol.last_byte())
    } else {
        let mut scan = QuoteScan::default();
        quoted.iter().position(|&byte| {
            scan.step(byte, dialect);
            byte == eol.last_byte() && scan.in_quote
        })
    };
    found.map(|at| quote + at)
}

/// The same where every quote toggles.
fn by_blocks(bytes: &[u8], quote: u8, line_end: u8) -> Option<usize> {
    let wanted = [quote, line_end].map(u8x16::splat);
    // All bits are set where a block starts within quotes.
    let mut carried = 0;
    let (blocks, rest) = bytes.as_chunks::<BLOCK>();
    for (n, block) in blocks.iter().enumerate() {
        if let Some(at) = in_block(block, wanted, &mut carried) {
            return Some(n * BLOCK + at);
        }
    }
    // Padded with a byte that is neither: both are ASCII.
    let mut padded = [0xFF; BLOCK];
    padded[..rest.len()].copy_from_slice(rest);
    in_block(&padded, wanted, &mut carried).map(|at| blocks.len() * BLOCK + at)
}

#[inline]
fn in_block(block: &[u8; BLOCK], [quote, line_end]: [u8x16; 2], carried: &mut u64) -> Option<usize> {
    let (mut quotes, mut line_ends) = (0, 0);
    let (lanes, _) = block.as_chunks::<16>();
    for (n, lane) in lanes.iter().enumerate() {
        let lane = u8x16::new(*lane);
        quotes |= u64::from(lane.simd_eq(quote).to_bitmask()) << (16 * n);
        line_ends |= u64::from(lane.simd_eq(line_end).to_bitmask()) << (16 * n);
    }
    // Every bit becomes the parity of the quotes up to it.
    let mut within = quotes;
    for step in [1, 2, 4, 8, 16, 32] {
        within ^= within << step;
    }
    within ^= *carried;
    *carried = if within >> 63 == 1 { u64::MAX } else { 0 };
    let found = within & line_ends;
    (found != 0).then(|| found.trailing_zeros() as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_end_within_quotes_is_found_wherever_it_stands() {
        for escape in [b'"', b'\\'] {
            let dialect = Dialect { escape, ..Dialect::default() };
            for before in 0..200 {
                let mut bytes = b"\"ab\",c\n".repeat(before / 7 + 1);
                bytes.extend(std::iter::repeat_n(b'x', before % 7));
                assert_eq!(first(&bytes, &dialect, Eol::Nl), None, "{before}");
                bytes.extend_from_slice(b",\"d");
                bytes.extend(std::iter::repeat_n(b'y', before));
                let expected = bytes.len();
                bytes.extend_from_slice(b"\n\n\"\n");
                assert_eq!(first(&bytes, &dialect, Eol::Nl), Some(expected), "{before}");
            }
        }
    }
}
