//! Acknowledgements: what became of a row, for whoever asks. Rows that were gathered together share one record.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use super::returned::ReturnedRow;
use crate::error::Error;

/// What became of a row. It resolves when the row is durably committed, or with the row's own error; it never hangs: a
/// writer that ends resolves what is left with an error. Any executor can await it; dropping it changes nothing.
#[must_use = "a row's failure is told here only; `send` is for rows of which nobody wants to know"]
pub struct Ack {
    group: Arc<Group>,
    row: u32,
}

/// A row that is in the table, for good.
#[derive(Debug, Clone, Default)]
pub struct Written {
    returned: Option<ReturnedRow>,
}

impl Written {
    pub(super) fn returning(row: ReturnedRow) -> Written {
        Written { returned: Some(row) }
    }

    /// The stored values of the columns that were asked for. `None` where none were, where the row gave way to one in the
    /// table (`on_conflict`), and where the connection broke after the commit and before the values came.
    pub fn returned(&self) -> Option<&ReturnedRow> {
        self.returned.as_ref()
    }
}

/// What became of the rows of a group, by their numbers. A row that is not named is in.
#[derive(Default)]
pub(super) struct Fate {
    /// None of them is in.
    pub(super) all_failed: Option<Error>,
    pub(super) failed: BTreeMap<u32, Error>,
    pub(super) returned: BTreeMap<u32, Written>,
}

impl Fate {
    fn of(&self, row: u32) -> Result<Written, Error> {
        match self.all_failed.as_ref().or_else(|| self.failed.get(&row)) {
            Some(error) => Err(error.clone()),
            None => Ok(self.returned.get(&row).cloned().unwrap_or_default()),
        }
    }

    fn first_failure(&self) -> Option<&Error> {
        self.all_failed.as_ref().or_else(|| self.failed.values().next())
    }
}

/// The shared record of some rows, 64 at the most.
#[derive(Default)]
pub(super) struct Group {
    state: Mutex<State>,
    resolved: Condvar,
    /// A bit for each row of which nobody has an acknowledgement.
    unheard: AtomicU64,
}

enum State {
    Open(Vec<Waiting>),
    Resolved(Arc<Fate>),
}

impl Default for State {
    fn default() -> Self {
        State::Open(Vec::new())
    }
}

/// Somebody who wants to know.
struct Waiting {
    row: u32,
    tell: Tell,
}

enum Tell {
    Wake(Waker),
    Call(Box<dyn FnOnce(Result<Written, Error>) + Send>),
}

impl Group {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Says what became of the rows, once: who comes second is not heard.
    pub(super) fn resolve(&self, fate: Fate) {
        let fate = Arc::new(fate);
        let waiting = {
            let mut state = self.lock();
            let State::Open(waiting) = &mut *state else { return };
            let waiting = std::mem::take(waiting);
            *state = State::Resolved(fate.clone());
            waiting
        };
        self.resolved.notify_all();
        for Waiting { row, tell } in waiting {
            match tell {
                Tell::Wake(waker) => waker.wake(),
                Tell::Call(call) => call(fate.of(row)),
            }
        }
    }

    /// Nobody gets an acknowledgement of this row.
    pub(super) fn leave_unheard(&self, row: u32) {
        self.unheard.fetch_or(1 << row, Ordering::Relaxed);
    }

    /// The first failure of which no acknowledgement would tell, if this became of the rows.
    pub(super) fn unheard_failure(&self, fate: &Fate) -> Option<Error> {
        let unheard = self.unheard.load(Ordering::Relaxed);
        let failed = fate.failed.iter().find(|(row, _)| unheard >> **row & 1 == 1).map(|(_, error)| error);
        fate.all_failed.as_ref().filter(|_| unheard != 0).or(failed).cloned()
    }

    fn fate(&self) -> Option<Arc<Fate>> {
        match &*self.lock() {
            State::Resolved(fate) => Some(fate.clone()),
            State::Open(_) => None,
        }
    }

    /// Waits until the rows are settled; the first failure among them.
    pub(super) async fn settled(self: Arc<Group>) -> Option<Error> {
        // Any row will do: they resolve together.
        let _ = Ack::new(self.clone(), u32::MAX).await;
        self.fate().and_then(|fate| fate.first_failure().cloned())
    }

    /// The same, blocking the thread until `deadline`; `None`: not settled by then.
    pub(super) fn settled_blocking(&self, deadline: Option<Instant>) -> Option<Option<Error>> {
        let fate = self.wait_until(deadline)?;
        Some(fate.first_failure().cloned())
    }

    fn wait_until(&self, deadline: Option<Instant>) -> Option<Arc<Fate>> {
        let mut state = self.lock();
        loop {
            if let State::Resolved(fate) = &*state {
                return Some(fate.clone());
            }
            state = match deadline.map(|deadline| deadline.saturating_duration_since(Instant::now())) {
                None => self.resolved.wait(state).unwrap_or_else(PoisonError::into_inner),
                Some(Duration::ZERO) => return None,
                Some(left) => {
                    self.resolved.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
    }
}

impl Ack {
    pub(super) fn new(group: Arc<Group>, row: u32) -> Ack {
        Ack { group, row }
    }

    /// Blocks the thread until it resolves. Not for tasks of an executor: they await.
    ///
    /// # Errors
    /// The row's own: it is not in the table.
    pub fn wait(self) -> Result<Written, Error> {
        self.group.wait_until(None).map_or_else(|| Ok(Written::default()), |fate| fate.of(self.row))
    }

    /// Waits until the row is settled, for `patience` at the most; `None`: it is not settled yet.
    pub fn wait_for(&self, patience: Duration) -> Option<Result<Written, Error>> {
        let fate = self.group.wait_until(Instant::now().checked_add(patience))?;
        Some(fate.of(self.row))
    }

    /// What is known now; `None`: nothing yet.
    pub fn try_get(&self) -> Option<Result<Written, Error>> {
        self.group.fate().map(|fate| fate.of(self.row))
    }

    /// Calls `call` when it resolves, on the writer's thread, which must not be kept; at once where it has.
    pub fn on_resolved(self, call: impl FnOnce(Result<Written, Error>) + Send + 'static) {
        let fate = match &mut *self.group.lock() {
            State::Resolved(fate) => fate.clone(),
            State::Open(waiting) => {
                waiting.push(Waiting { row: self.row, tell: Tell::Call(Box::new(call)) });
                return;
            }
        };
        call(fate.of(self.row));
    }
}

impl Future for Ack {
    type Output = Result<Written, Error>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let row = self.row;
        match &mut *self.group.lock() {
            State::Resolved(fate) => Poll::Ready(fate.of(row)),
            State::Open(waiting) => {
                let new = context.waker();
                let knows =
                    |waiting: &Waiting| matches!(&waiting.tell, Tell::Wake(waker) if waker.will_wake(new));
                if !waiting.iter().any(|waiting| waiting.row == row && knows(waiting)) {
                    waiting.push(Waiting { row, tell: Tell::Wake(new.clone()) });
                }
                Poll::Pending
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_a_group_learn_their_own_fate_and_only_the_first_word_counts() {
        let group = Arc::new(Group::default());
        let (told, hears) = std::sync::mpsc::channel();
        Ack::new(group.clone(), 1).on_resolved(move |result| told.send(result.is_err()).unwrap());
        assert!(Ack::new(group.clone(), 0).try_get().is_none());
        assert!(Ack::new(group.clone(), 0).wait_for(Duration::from_millis(1)).is_none());
        let refused = BTreeMap::from([(1, Error::usage("bad"))]);
        group.resolve(Fate { failed: refused, ..Fate::default() });
        group.resolve(Fate { all_failed: Some(Error::usage("too late")), ..Fate::default() });
        assert!(hears.recv().unwrap());
        assert!(Ack::new(group.clone(), 0).wait().is_ok());
        assert_eq!(Ack::new(group.clone(), 1).wait().unwrap_err().message(), "bad");
        let (told, hears) = std::sync::mpsc::channel();
        Ack::new(group, 0).on_resolved(move |result| told.send(result.is_ok()).unwrap());
        assert!(hears.recv().unwrap());
    }
}
