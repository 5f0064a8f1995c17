//! How a load differs from filling a small table again and again: what it takes beside its rows, and how many of them it sorts
//! together.

/// Bytes and rows after which a part that is sorted ends, as `send::part`, a room above this one, has them.
const SORTED_BYTES: f64 = 16.0 * 1024.0 * 1024.0;
const SORTED_ROWS: f64 = 256.0 * 1024.0;

/// Seconds more for each byte that is sent: pages of the table, of the operating system's memory and of the log are new. From loads
/// of 300 MB into tables with triggers, CHECKs and without either, beside copies of a few megabytes, on two shared cores.
pub const FRESH_BYTE_S: f64 = 1.7e-9;

/// Seconds of the program and of the server, with the first connection.
const OURS: f64 = 0.025;
/// Answers for which it waits, one after the other: connecting, looking at the table, beginning and committing. Counted with a
/// server that is 50 ms away, into a table of five columns with and without a key.
const ROUND_TRIPS: f64 = 23.0;

/// Seconds of a load that brings hardly any rows, where a statement and its answer take `round_trip` seconds.
#[must_use]
pub fn load_start_s(round_trip: f64) -> f64 {
    OURS + ROUND_TRIPS * round_trip
}

/// Rows that a load sorts together, if each takes so many bytes.
#[must_use]
pub fn sorted_rows(row_bytes: f64) -> f64 {
    (SORTED_BYTES / row_bytes.max(1.0)).min(SORTED_ROWS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_is_far_away_takes_longer_to_begin() {
        assert!(load_start_s(0.0) > 0.0);
        assert!((1.1..1.3).contains(&load_start_s(0.05)), "{}", load_start_s(0.05));
    }

    #[test]
    fn a_part_is_so_large_or_has_so_many_rows() {
        assert_eq!(sorted_rows(10.0), 262_144.0);
        assert_eq!(sorted_rows(1024.0), 16_384.0);
    }
}
