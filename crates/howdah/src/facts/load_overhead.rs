//! What a load takes beside what its rows take in a small table that is filled again and again: estimates.

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_is_far_away_takes_longer_to_begin() {
        assert!(load_start_s(0.0) > 0.0);
        assert!((1.1..1.3).contains(&load_start_s(0.05)), "{}", load_start_s(0.05));
    }
}
