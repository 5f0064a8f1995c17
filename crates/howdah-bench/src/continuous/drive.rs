//! The generator: offers rows as an [`Offer`] says, and enters what becomes of each. One thread offers all of them, which
//! is enough where rows are made beforehand; the control that writes nothing shows how far it is from the figures.

use std::cell::Cell;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use futures_util::future::try_join_all;

use super::ledger::{Ledger, Observed};
use super::options::Offer;
use super::pace::RowSchedule;
use crate::error::Error;

/// How long no row may be acknowledged.
const PATIENCE: Duration = Duration::from_secs(60);
/// Rows that follow each other more closely are offered together: to wake up for each of them, and to wake the writer, would
/// take much of a core, which is for the server. Their latency counts from when they were due all the same. Measured at
/// 120,000 rows a second: with a fifth of a millisecond the client needs 4.5 µs a row, where it is 2.3 when rows are
/// taken as fast as there is room.
const BEAT: Duration = Duration::from_millis(1);

/// Takes rows: the writer that is measured, or one of a test's.
pub trait Taker {
    /// Takes the row of that number, once there is room for it; `settled` is called, on whatever thread, once it is known
    /// what became of it.
    ///
    /// # Errors
    /// It was not taken; `settled` is not called then.
    fn take<F>(&self, row: u64, settled: F) -> Result<(), Error>
    where
        F: FnOnce(Result<(), String>) + Send + 'static;

    /// Takes a row whose acknowledgement is not asked for.
    ///
    /// # Errors
    /// It was not taken.
    fn take_unasked(&self, row: u64) -> Result<(), Error>;

    /// Says that no row comes for now, and waits for all that were taken.
    ///
    /// # Errors
    /// One of them was refused.
    fn flush(&self) -> Result<(), Error>;
}

/// Offers the rows 0 to `rows`, without waiting for what becomes of them.
///
/// # Errors
/// A row was not taken, was refused, or was never settled.
pub fn drive(taker: &impl Taker, rows: u64, offer: &Offer) -> Result<Observed, Error> {
    match offer {
        Offer::Full => full(taker, rows),
        Offer::Unasked => unasked(taker, rows),
        Offer::Paced { steps } => paced(taker, rows, &RowSchedule::new(steps)?),
        Offer::OfPeak { .. } => Err(Error::Usage("the peak is not known".to_owned())),
        Offer::Waiting { .. } => Err(Error::Usage("producers that wait are tasks".to_owned())),
    }
}

/// Lets `producers` producers offer the rows 0 to `rows`, each of which waits for its row before it offers the next: tasks of
/// one thread, as those of a service are. `write` ends when its row is acknowledged.
///
/// # Errors
/// A row was not taken, or was refused.
pub async fn waiting(
    rows: u64,
    producers: u32,
    write: impl AsyncFn(u64) -> Result<(), Error>,
) -> Result<Observed, Error> {
    let (ledger, next) = (Ledger::new(false), Cell::new(0));
    let produce = |_| async {
        while next.get() < rows {
            let row = next.replace(next.get() + 1);
            let begin = Instant::now();
            write(row).await?;
            ledger.enter(begin, Ok(()));
        }
        Ok::<(), Error>(())
    };
    try_join_all((0..producers.max(1)).map(produce)).await?;
    Ok(ledger.close(None))
}

/// Times begin before a row is offered, as in the study: they hold the waiting for room.
fn full(taker: &impl Taker, rows: u64) -> Result<Observed, Error> {
    let ledger = Arc::new(Ledger::new(false));
    for row in 0..rows {
        offer(taker, row, Instant::now(), &ledger)?;
    }
    finish(taker, rows, &ledger, None)
}

fn paced(taker: &impl Taker, rows: u64, pace: &RowSchedule) -> Result<Observed, Error> {
    let ledger = Arc::new(Ledger::new(true));
    for row in 0..rows {
        let due = ledger.start() + pace.moment(row);
        await_moment(due);
        offer(taker, row, due, &ledger)?;
    }
    finish(taker, rows, &ledger, Some(pace))
}

fn unasked(taker: &impl Taker, rows: u64) -> Result<Observed, Error> {
    let start = Instant::now();
    for row in 0..rows {
        taker.take_unasked(row)?;
    }
    taker.flush()?;
    Ok(Observed { rows, seconds: start.elapsed().as_secs_f64(), ..Observed::default() })
}

fn offer(taker: &impl Taker, row: u64, begin: Instant, ledger: &Arc<Ledger>) -> Result<(), Error> {
    let ledger = Arc::clone(ledger);
    taker.take(row, move |result| ledger.enter(begin, result))
}

fn finish(
    taker: &impl Taker,
    rows: u64,
    ledger: &Ledger,
    pace: Option<&RowSchedule>,
) -> Result<Observed, Error> {
    taker.flush()?;
    ledger.wait_for(rows, PATIENCE)?;
    Ok(ledger.close(pace))
}

/// Rows that are due already are offered at once, one after the other; nothing is offered early.
fn await_moment(due: Instant) {
    let left = due.saturating_duration_since(Instant::now());
    if !left.is_zero() {
        thread::sleep(left.max(BEAT));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::sync::mpsc::{Sender, channel};

    use super::super::options::Peak;
    use super::super::pace::Step;
    use super::*;

    type Settle = Box<dyn FnOnce(Result<(), String>) + Send>;

    /// Settles rows in order, as soon as it can; `stall` rows come in the way of a long pause.
    struct Slow {
        rows: Sender<(u64, Settle)>,
        settled: Arc<AtomicU64>,
        most_under_way: Cell<u64>,
    }

    impl Slow {
        #[expect(clippy::disallowed_methods, reason = "this module starts threads: see ARCHITECTURE")]
        fn new(each: Duration, stall: Option<(u64, Duration)>, refuse: Option<u64>) -> Slow {
            let (sender, rows) = channel::<(u64, Settle)>();
            let settled = Arc::new(AtomicU64::new(0));
            let count = Arc::clone(&settled);
            thread::spawn(move || {
                for (row, settle) in rows {
                    thread::sleep(each);
                    if let Some((at, pause)) = stall
                        && at == row
                    {
                        thread::sleep(pause);
                    }
                    count.fetch_add(1, Ordering::SeqCst);
                    settle(if refuse == Some(row) { Err("23505".to_owned()) } else { Ok(()) });
                }
            });
            Slow { rows: sender, settled, most_under_way: Cell::new(0) }
        }
    }

    impl Taker for Slow {
        fn take<F>(&self, row: u64, settled: F) -> Result<(), Error>
        where
            F: FnOnce(Result<(), String>) + Send + 'static,
        {
            let under_way = row + 1 - self.settled.load(Ordering::SeqCst);
            self.most_under_way.set(self.most_under_way.get().max(under_way));
            self.rows
                .send((row, Box::new(settled)))
                .map_err(|_| Error::Wrong("rows are no longer taken".to_owned()))
        }

        fn take_unasked(&self, row: u64) -> Result<(), Error> {
            self.take(row, |_| {})
        }

        fn flush(&self) -> Result<(), Error> {
            Ok(())
        }
    }

    #[test]
    fn a_producer_that_does_not_wait_is_far_ahead_and_hears_of_every_row() {
        let taker = Slow::new(Duration::from_micros(200), None, None);
        let seen = drive(&taker, 60, &Offer::Full).unwrap();
        assert_eq!((seen.rows, seen.counts.iter().map(|(_, count)| count).sum()), (60, 60_u64));
        assert!(taker.most_under_way.get() > 10, "{:?}", taker.most_under_way);
        // 60 sleeps.
        assert!(seen.seconds > 0.012, "{}", seen.seconds);
    }

    #[test]
    fn producers_that_wait_have_one_row_under_way_each() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let (under_way, most) = (Cell::new(0), Cell::new(0));
        let write = async |row: u64| {
            under_way.set(under_way.get() + 1);
            most.set(most.get().max(under_way.get()));
            tokio::time::sleep(Duration::from_millis(2)).await;
            under_way.set(under_way.get() - 1);
            if row == 90 { Err(Error::Wrong("23505".to_owned())) } else { Ok(()) }
        };
        let seen = runtime.block_on(waiting(60, 3, &write)).unwrap();
        assert_eq!((seen.rows, most.get(), under_way.get()), (60, 3, 0));
        let latency = seen.latency.unwrap();
        assert!(latency.p50_ms >= 2.0 && seen.seconds >= 0.04, "{seen:?}");
        assert!(runtime.block_on(waiting(100, 3, &write)).is_err());
    }

    #[test]
    fn a_stall_counts_for_every_row_that_was_due_meanwhile() {
        let stall = Some((100, Duration::from_millis(400)));
        let taker = Slow::new(Duration::ZERO, stall, None);
        let steps = vec![Step { rows_per_s: 1_000.0, seconds: 1.0 }];
        let seen = drive(&taker, 1_000, &Offer::Paced { steps }).unwrap();
        let latency = seen.latency.unwrap();
        // Two in five rows were due during the stall, a tenth within its first quarter.
        assert!(latency.p90_ms > 250.0, "{latency:?}");
        assert!(latency.p50_ms < 100.0, "{latency:?}");
        assert!(seen.seconds > 0.99, "no row is offered early: {}", seen.seconds);
        assert!(seen.course.len() >= 4, "{:?}", seen.course);
        assert_eq!(seen.course.iter().map(|moment| moment.rows).sum::<u64>(), 1_000);
        assert!(seen.course[0].latency.p99_ms > 300.0 && seen.course[0].offered_rows_per_s == 1_000.0);
    }

    #[test]
    fn a_refused_row_fails_the_run_and_is_not_a_time() {
        let taker = Slow::new(Duration::ZERO, None, Some(5));
        let error = drive(&taker, 20, &Offer::Full).unwrap_err().to_string();
        assert!(error.contains("23505"), "{error}");
        let taker = Slow::new(Duration::ZERO, None, None);
        assert!(
            drive(&taker, 1, &Offer::OfPeak { peak: Peak::Own, shares: vec![1.0], seconds: 1.0 }).is_err()
        );
    }
}
