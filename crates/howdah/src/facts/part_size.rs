//! How many rows go together: the loader ends its parts by this, and estimates count with it.

use howdah_source::PIECE_BYTES;

/// The chunks of one COPY statement. The server reports a bad row when the COPY ends, so a part bounds what is sent in vain
/// (16 MiB of input), and what a worker must remember to trace an error back to its line.
pub(crate) const PART_CHUNKS: usize = 32;

/// The rows after which a part that is sorted ends: beside each stand 60 bytes of keys and places.
pub(crate) const SORTED_ROWS: u64 = 256 * 1024;

/// Rows that a load sorts together, if each takes so many bytes of the input.
#[must_use]
pub fn sorted_rows(row_bytes: f64) -> f64 {
    ((PART_CHUNKS * PIECE_BYTES) as f64 / row_bytes.max(1.0)).min(SORTED_ROWS as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_so_large_or_has_so_many_rows() {
        assert_eq!(sorted_rows(10.0), 262_144.0);
        assert_eq!(sorted_rows(1024.0), 16_384.0);
    }
}
