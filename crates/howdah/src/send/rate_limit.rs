//! The most bytes a second that a load sends, all connections together: others use the server too.

use std::time::Duration;

use bytes::Bytes;
use parking_lot::Mutex;

use tokio::time::{Instant, sleep_until};

/// What is sent at once is a second's worth divided by this: more would be a burst.
const PIECES_A_SECOND: u64 = 10;

/// Gives all that is sent its time: bytes that are sent at these times keep the rate on average, from the first second on.
pub(crate) struct RateLimit {
    bytes_per_second: f64,
    at_once: usize,
    /// When the next bytes may go.
    next: Mutex<Instant>,
}

impl RateLimit {
    /// `bytes_per_second` is at least 1.
    pub(crate) fn new(bytes_per_second: u64) -> RateLimit {
        RateLimit {
            bytes_per_second: bytes_per_second.max(1) as f64,
            at_once: usize::try_from(bytes_per_second / PIECES_A_SECOND).unwrap_or(usize::MAX).max(1),
            next: Mutex::new(Instant::now()),
        }
    }

    /// `bytes`, in pieces that may be sent at once.
    pub(crate) fn slices(&self, bytes: Bytes) -> impl Iterator<Item = Bytes> {
        let at_once = self.at_once;
        let starts = (0..bytes.len()).step_by(at_once);
        starts.map(move |start| bytes.slice(start..bytes.len().min(start.saturating_add(at_once))))
    }

    /// Waits until so many bytes may be sent.
    pub(crate) async fn admit(&self, bytes: usize) {
        let at = self.reserve(bytes, Instant::now());
        sleep_until(at).await;
    }

    /// When so many bytes may go. A time that nobody used is lost: there are no bursts behind a pause.
    fn reserve(&self, bytes: usize, now: Instant) -> Instant {
        let mut next = self.next.lock();
        let at = now.max(*next);
        *next = at + Duration::from_secs_f64(bytes as f64 / self.bytes_per_second);
        at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_of_all_connections_keep_the_rate_and_a_pause_makes_no_burst() {
        let limit = RateLimit::new(1000);
        let start = Instant::now();
        let second = Duration::from_secs(1);
        assert_eq!(limit.reserve(500, start), start);
        assert_eq!(limit.reserve(2000, start), start + second / 2);
        assert_eq!(limit.reserve(1, start), start + second / 2 + 2 * second);
        let later = start + 60 * second;
        assert_eq!((limit.reserve(1000, later), limit.reserve(1, later)), (later, later + second));
    }

    #[test]
    fn what_is_sent_at_once_is_a_tenth_of_a_second_s_worth_and_at_least_a_byte() {
        let lengths = |rate: u64, bytes: usize| {
            let limit = RateLimit::new(rate);
            limit.slices(Bytes::from(vec![7; bytes])).map(|slice| slice.len()).collect::<Vec<_>>()
        };
        assert_eq!(lengths(1000, 250), [100, 100, 50]);
        assert_eq!(lengths(1000, 100), [100]);
        assert_eq!(lengths(3, 2), [1, 1]);
        assert_eq!(lengths(u64::MAX, 5), [5]);
        assert_eq!(lengths(1000, 0), [0; 0]);
    }
}
