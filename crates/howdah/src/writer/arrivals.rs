//! How many rows came to a queue, and for how long it had room for them.

use std::time::{Duration, Instant};

/// Counts rows while they come, and the time in which they could.
pub(super) struct Arrivals {
    rows: u64,
    /// Until `open_since`, or until there was no more room.
    open: Duration,
    open_since: Option<Instant>,
}

/// What came until now.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Arrived {
    pub(super) rows: u64,
    /// So long there was room.
    pub(super) open: Duration,
}

impl Arrivals {
    pub(super) fn new(now: Instant) -> Arrivals {
        Arrivals { rows: 0, open: Duration::ZERO, open_since: Some(now) }
    }

    /// A row came, after which there is room for others or is none.
    pub(super) fn row(&mut self, now: Instant, has_room: bool) {
        self.rows += 1;
        self.room(now, has_room);
    }

    /// There is room from now on, or none.
    pub(super) fn room(&mut self, now: Instant, has_room: bool) {
        if has_room {
            self.open_since.get_or_insert(now);
        } else if let Some(since) = self.open_since.take() {
            self.open += now.saturating_duration_since(since);
        }
    }

    pub(super) fn until(&self, now: Instant) -> Arrived {
        let open = self.open_since.map_or(Duration::ZERO, |since| now.saturating_duration_since(since));
        Arrived { rows: self.rows, open: self.open + open }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_without_room_does_not_count() {
        let start = Instant::now();
        let at = |milliseconds| start + Duration::from_millis(milliseconds);
        let mut arrivals = Arrivals::new(start);
        arrivals.row(at(5), true);
        arrivals.row(at(10), false);
        arrivals.room(at(20), false);
        assert_eq!(arrivals.until(at(50)), Arrived { rows: 2, open: Duration::from_millis(10) });
        arrivals.room(at(60), true);
        arrivals.room(at(65), true);
        arrivals.row(at(70), true);
        assert_eq!(arrivals.until(at(75)), Arrived { rows: 3, open: Duration::from_millis(25) });
    }
}
