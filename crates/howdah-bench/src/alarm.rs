//! Wakes tasks at a moment, to some hundredths of a millisecond: the runtime's own timers know whole milliseconds only,
//! as much as the latencies that are to be made and measured here.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use tokio::sync::Notify;

/// A thread that sleeps until the next moment asked for. It ends with the last clone of this.
#[derive(Debug, Clone)]
pub(crate) struct Alarm(Sender<Call>);

/// A bell to ring at a moment.
#[derive(Debug)]
struct Call {
    at: Instant,
    bell: Arc<Notify>,
}

impl Alarm {
    pub(crate) fn start() -> io::Result<Self> {
        let (sender, calls) = channel();
        thread::Builder::new().name("alarm".to_owned()).spawn(move || keep(&calls))?;
        Ok(Alarm(sender))
    }

    /// Rings `bell` at that moment, or at once if it has passed; never before.
    pub(crate) fn ring(&self, at: Instant, bell: &Arc<Notify>) {
        // The thread ends only when there is no sender left.
        let _ = self.0.send(Call { at, bell: Arc::clone(bell) });
    }
}

fn keep(calls: &Receiver<Call>) {
    let mut waiting: BinaryHeap<Reverse<Call>> = BinaryHeap::new();
    loop {
        let now = Instant::now();
        while waiting.peek().is_some_and(|Reverse(call)| call.at <= now) {
            if let Some(Reverse(call)) = waiting.pop() {
                call.bell.notify_one();
            }
        }
        let patience =
            waiting.peek().map_or(Duration::MAX, |Reverse(call)| call.at.saturating_duration_since(now));
        match calls.recv_timeout(patience) {
            Ok(call) => waiting.push(Reverse(call)),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

/// By the moment alone.
impl Ord for Call {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.at.cmp(&other.at)
    }
}

impl PartialOrd for Call {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Call {
    fn eq(&self, other: &Self) -> bool {
        self.at == other.at
    }
}

impl Eq for Call {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bells_ring_in_the_order_of_their_moments_and_never_early() {
        let alarm = Alarm::start().unwrap();
        let start = Instant::now();
        let bells = [30, 10, 20].map(|ms| {
            let (at, bell) = (start + Duration::from_millis(ms), Arc::new(Notify::new()));
            alarm.ring(at, &bell);
            (at, bell)
        });
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let rung = bells.map(|(at, bell)| async move {
            bell.notified().await;
            assert!(Instant::now() >= at, "rung too early");
            Instant::now()
        });
        let [third, first, second] = rung;
        let (third, first, second) = runtime.block_on(async { tokio::join!(third, first, second) });
        assert!(first <= second && second <= third);
    }
}
