//! What a load takes that brings hardly any rows: an estimate for the time of one that brings more.

/// Seconds of the program and of the server, with the first connection.
const OURS: f64 = 0.025;
/// Answers for which it waits, one after the other: connecting, looking at the table, beginning and committing. Counted with a
/// server that is 50 ms away, into a table of five columns with and without a key.
const ROUND_TRIPS: f64 = 23.0;

/// Seconds of a load beside what its rows take, where a statement and its answer take `round_trip` seconds.
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
