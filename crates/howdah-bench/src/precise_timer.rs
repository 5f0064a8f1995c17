//! Timers that are exact to some hundredths of a millisecond. Those of the runtime know whole milliseconds only, which is
//! as much as the latencies that are made and measured here.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use tokio::sync::Notify;

/// A thread that sleeps until the next moment asked for, and ends with the last clone of this.
#[derive(Debug, Clone)]
pub(crate) struct PreciseTimer(Sender<Request>);

/// A task to notify at a moment.
#[derive(Debug)]
struct Request {
    at: Instant,
    notify: Arc<Notify>,
}

impl PreciseTimer {
    #[expect(clippy::disallowed_methods, reason = "this module starts threads: see ARCHITECTURE")]
    pub(crate) fn start() -> io::Result<Self> {
        let (sender, requests) = channel();
        thread::Builder::new().name("timer".to_owned()).spawn(move || keep(&requests))?;
        Ok(PreciseTimer(sender))
    }

    /// Notifies at that moment, or at once if it has passed; never before.
    pub(crate) fn notify_at(&self, at: Instant, notify: &Arc<Notify>) {
        // The thread ends only when there is no sender left.
        let _ = self.0.send(Request { at, notify: Arc::clone(notify) });
    }
}

fn keep(requests: &Receiver<Request>) {
    let mut waiting: BinaryHeap<Reverse<Request>> = BinaryHeap::new();
    loop {
        let now = Instant::now();
        while waiting.peek().is_some_and(|Reverse(request)| request.at <= now) {
            if let Some(Reverse(request)) = waiting.pop() {
                request.notify.notify_one();
            }
        }
        let patience = waiting
            .peek()
            .map_or(Duration::MAX, |Reverse(request)| request.at.saturating_duration_since(now));
        match requests.recv_timeout(patience) {
            Ok(request) => waiting.push(Reverse(request)),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

/// Requests compare by their moments alone.
impl Ord for Request {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.at.cmp(&other.at)
    }
}

impl PartialOrd for Request {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Request {
    fn eq(&self, other: &Self) -> bool {
        self.at == other.at
    }
}

impl Eq for Request {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_are_notified_in_the_order_of_their_moments_and_never_early() {
        let timer = PreciseTimer::start().unwrap();
        let start = Instant::now();
        let tasks = [30, 10, 20].map(|ms| {
            let (at, notify) = (start + Duration::from_millis(ms), Arc::new(Notify::new()));
            timer.notify_at(at, &notify);
            (at, notify)
        });
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let woken = tasks.map(|(at, notify)| async move {
            notify.notified().await;
            assert!(Instant::now() >= at, "notified too early");
            Instant::now()
        });
        let [third, first, second] = woken;
        let (third, first, second) = runtime.block_on(async { tokio::join!(third, first, second) });
        assert!(first <= second && second <= third);
    }
}
