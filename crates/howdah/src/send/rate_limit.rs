//! The most bytes a second that a load sends, all connections together: others use the server too.

use parking_lot::Mutex;
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

/// Gives each chunk its time: chunks that are sent at these times keep the rate on average, from the first second on.
pub(crate) struct RateLimit {
    bytes_per_second: f64,
    /// When the next chunk may go.
    next: Mutex<Instant>,
}

impl RateLimit {
    /// `bytes_per_second` is at least 1.
    pub(crate) fn new(bytes_per_second: u64) -> RateLimit {
        RateLimit { bytes_per_second: bytes_per_second.max(1) as f64, next: Mutex::new(Instant::now()) }
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
}
