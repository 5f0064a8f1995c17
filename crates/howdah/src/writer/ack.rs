//! Acknowledgements: what became of a row, for whoever asks. Rows that were gathered together share one record.

use parking_lot::{Condvar, Mutex};
use std::collections::BTreeMap;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use super::returned::ReturnedRow;
use super::unreported::UnreportedFailures;
use crate::error::Error;

/// What became of a row. It resolves when the row is durably committed, or with the row's own error; it never hangs: a
/// writer that ends resolves what is left with an error. Any executor can await it.
///
/// It may be dropped: the row is written all the same. If it was not asked before, the row's failure is an error of
/// [`Writer::close`](super::Writer::close), or of a flush before that.
#[must_use = "a row's own failure is told here; `send` is for rows of which nobody wants to know"]
pub struct Ack {
    group: Arc<Group>,
    row: usize,
    /// Somebody knows what became of the row, or will.
    is_taken: AtomicBool,
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

    /// The stored values of the columns that were asked for. `None` where none were, where the row was ignored for one in
    /// the table (`on_conflict`), where a trigger dropped it, where its key has a NULL
    /// (such a row meets no other, and is in), and where the connection broke after the commit and before the values came.
    pub fn returned(&self) -> Option<&ReturnedRow> {
        self.returned.as_ref()
    }
}

/// What became of the rows of a group, by their numbers. A row that is not named is in.
#[derive(Default)]
pub(super) struct GroupOutcome {
    /// None of them is in.
    pub(super) all_failed: Option<Error>,
    pub(super) failed: BTreeMap<usize, Error>,
    pub(super) returned: BTreeMap<usize, Written>,
}

impl GroupOutcome {
    fn of(&self, row: usize) -> Result<Written, Error> {
        match self.all_failed.as_ref().or_else(|| self.failed.get(&row)) {
            Some(error) => Err(error.clone()),
            None => Ok(self.returned.get(&row).cloned().unwrap_or_default()),
        }
    }
}

/// The shared record of some rows, 64 at the most.
#[derive(Default)]
pub(super) struct Group {
    state: Mutex<GroupState>,
    resolved: Condvar,
    /// A bit for each row of which nobody has an acknowledgement, and that is not counted among the unreported failures yet.
    unclaimed: AtomicU64,
    /// A bit for each row of whose failure a flush has told.
    told: AtomicU64,
    unreported: Arc<UnreportedFailures>,
}

enum GroupState {
    Open(Vec<Listener>),
    Resolved(Arc<GroupOutcome>),
}

impl Default for GroupState {
    fn default() -> Self {
        GroupState::Open(Vec::new())
    }
}

/// Somebody who wants to know.
struct Listener {
    row: usize,
    tell: Tell,
}

enum Tell {
    Wake(Waker),
    Call(Box<dyn FnOnce(Result<Written, Error>) + Send>),
}

impl Group {
    /// Of a writer that tells of failures of which nobody hears otherwise.
    pub(super) fn new(unreported: Arc<UnreportedFailures>) -> Group {
        Group { unreported, ..Group::default() }
    }

    /// Says what became of the rows, once: who comes second is not heard.
    pub(super) fn resolve(&self, outcome: GroupOutcome) {
        let outcome = Arc::new(outcome);
        let waiting = {
            let mut state = self.state.lock();
            let GroupState::Open(waiting) = &mut *state else { return };
            let waiting = std::mem::take(waiting);
            self.count_unreported(&outcome);
            *state = GroupState::Resolved(outcome.clone());
            waiting
        };
        self.resolved.notify_all();
        for Listener { row, tell } in waiting {
            match tell {
                Tell::Wake(waker) => waker.wake(),
                Tell::Call(call) => call(outcome.of(row)),
            }
        }
    }

    /// Nobody gets an acknowledgement of this row.
    pub(super) fn leave_unclaimed(&self, row: usize) {
        self.unclaimed.fetch_or(1 << row, Ordering::Relaxed);
    }

    /// Counts the failures of which no acknowledgement will tell, now that this becomes of the rows; each once.
    pub(super) fn count_unreported(&self, outcome: &GroupOutcome) {
        let unclaimed = self.unclaimed.swap(0, Ordering::Relaxed);
        if let Some(error) = outcome.all_failed.as_ref().filter(|_| unclaimed != 0) {
            return self.unreported.add(unclaimed.count_ones(), error);
        }
        for (_, error) in outcome.failed.iter().filter(|(row, _)| unclaimed >> **row & 1 == 1) {
            self.unreported.add(1, error);
        }
    }

    /// Nobody will ask the acknowledgement of this row any more.
    fn forget(&self, row: usize) {
        let outcome = match &*self.state.lock() {
            GroupState::Open(_) => return self.leave_unclaimed(row),
            GroupState::Resolved(outcome) => outcome.clone(),
        };
        let is_told = self.told.load(Ordering::Relaxed) >> row & 1 == 1;
        if !is_told && let Err(error) = outcome.of(row) {
            self.unreported.add(1, &error);
        }
    }

    fn outcome(&self) -> Option<Arc<GroupOutcome>> {
        match &*self.state.lock() {
            GroupState::Resolved(outcome) => Some(outcome.clone()),
            GroupState::Open(_) => None,
        }
    }

    /// Waits until the rows are settled.
    pub(super) async fn settled(&self) {
        // Any row will do: they resolve together.
        poll_fn(|context| self.poll(usize::MAX, context)).await;
    }

    /// What became of the rows; if it is not known yet, whoever asks for `row` is woken then.
    fn poll(&self, row: usize, context: &Context<'_>) -> Poll<Arc<GroupOutcome>> {
        match &mut *self.state.lock() {
            GroupState::Resolved(outcome) => Poll::Ready(outcome.clone()),
            GroupState::Open(waiting) => {
                let new = context.waker();
                let knows =
                    |waiting: &Listener| matches!(&waiting.tell, Tell::Wake(waker) if waker.will_wake(new));
                if !waiting.iter().any(|waiting| waiting.row == row && knows(waiting)) {
                    waiting.push(Listener { row, tell: Tell::Wake(new.clone()) });
                }
                Poll::Pending
            }
        }
    }

    /// The same, blocking the thread until `deadline`; whether they are settled.
    pub(super) fn settled_blocking(&self, deadline: Option<Instant>) -> bool {
        self.wait_until(deadline).is_some()
    }

    /// The first failure among the rows, once they are settled: whoever asks is told of it.
    pub(super) fn tell_first_failure(&self) -> Option<Error> {
        let outcome = self.outcome()?;
        let (rows, error) = match &outcome.all_failed {
            Some(error) => (u64::MAX, error),
            None => outcome.failed.first_key_value().map(|(row, error)| (1 << row, error))?,
        };
        self.told.fetch_or(rows, Ordering::Relaxed);
        Some(error.clone())
    }

    fn wait_until(&self, deadline: Option<Instant>) -> Option<Arc<GroupOutcome>> {
        let mut state = self.state.lock();
        loop {
            if let GroupState::Resolved(outcome) = &*state {
                return Some(outcome.clone());
            }
            match deadline {
                None => self.resolved.wait(&mut state),
                Some(deadline) if deadline <= Instant::now() => return None,
                Some(deadline) => _ = self.resolved.wait_until(&mut state, deadline),
            }
        }
    }
}

impl Ack {
    pub(super) fn new(group: Arc<Group>, row: usize) -> Ack {
        Ack { group, row, is_taken: AtomicBool::new(false) }
    }

    /// Somebody is told.
    fn taken(&self, outcome: &GroupOutcome) -> Result<Written, Error> {
        self.is_taken.store(true, Ordering::Relaxed);
        outcome.of(self.row)
    }

    /// Blocks the thread until it resolves. Not for tasks of an executor: they await.
    ///
    /// # Errors
    /// The row's own: it is not in the table.
    pub fn wait(self) -> Result<Written, Error> {
        self.group.wait_until(None).map_or_else(|| Ok(Written::default()), |outcome| self.taken(&outcome))
    }

    /// Waits until the row is settled, for `patience` at the most; `None`: it is not settled yet.
    pub fn wait_for(&self, patience: Duration) -> Option<Result<Written, Error>> {
        let outcome = self.group.wait_until(Instant::now().checked_add(patience))?;
        Some(self.taken(&outcome))
    }

    /// What is known now; `None`: nothing yet.
    pub fn try_get(&self) -> Option<Result<Written, Error>> {
        self.group.outcome().map(|outcome| self.taken(&outcome))
    }

    /// Whether it is known what became of the row. Who asks no more than this is not told of a failure.
    pub fn is_resolved(&self) -> bool {
        self.group.outcome().is_some()
    }

    /// What became of the row, if it is known, for showing it: nobody counts as told of a failure.
    pub fn peek(&self) -> Option<Result<Written, Error>> {
        self.group.outcome().map(|outcome| outcome.of(self.row))
    }

    /// Calls `call` when it resolves, on the writer's thread, which must not be kept; at once where it has.
    pub fn on_resolved(self, call: impl FnOnce(Result<Written, Error>) + Send + 'static) {
        self.is_taken.store(true, Ordering::Relaxed);
        let outcome = match &mut *self.group.state.lock() {
            GroupState::Resolved(outcome) => outcome.clone(),
            GroupState::Open(waiting) => {
                waiting.push(Listener { row: self.row, tell: Tell::Call(Box::new(call)) });
                return;
            }
        };
        call(outcome.of(self.row));
    }
}

impl Future for Ack {
    type Output = Result<Written, Error>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.group.poll(self.row, context).map(|outcome| self.taken(&outcome))
    }
}

impl Drop for Ack {
    fn drop(&mut self) {
        if !*self.is_taken.get_mut() {
            self.group.forget(self.row);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_a_group_learn_their_own_outcome_and_only_the_first_word_counts() {
        let group = Arc::new(Group::default());
        let (told, hears) = std::sync::mpsc::channel();
        Ack::new(group.clone(), 1).on_resolved(move |result| told.send(result.is_err()).unwrap());
        assert!(Ack::new(group.clone(), 0).try_get().is_none());
        assert!(Ack::new(group.clone(), 0).wait_for(Duration::from_millis(1)).is_none());
        let refused = BTreeMap::from([(1, Error::usage("bad"))]);
        group.resolve(GroupOutcome { failed: refused, ..GroupOutcome::default() });
        group.resolve(GroupOutcome { all_failed: Some(Error::usage("too late")), ..GroupOutcome::default() });
        assert!(hears.recv().unwrap());
        assert!(Ack::new(group.clone(), 0).wait().is_ok());
        assert_eq!(Ack::new(group.clone(), 1).wait().unwrap_err().message(), "bad");
        let (told, hears) = std::sync::mpsc::channel();
        Ack::new(group, 0).on_resolved(move |result| told.send(result.is_ok()).unwrap());
        assert!(hears.recv().unwrap());
    }

    #[test]
    fn failures_are_told_once_to_whoever_asks_or_else_to_the_writer() {
        let unreported = Arc::new(UnreportedFailures::default());
        let group = Arc::new(Group::new(unreported.clone()));
        let ack = |row| Ack::new(group.clone(), row);
        let (asked, shown, forgotten_late) = (ack(0), ack(1), ack(2));
        drop(ack(3));
        drop(ack(4));
        group.leave_unclaimed(5);
        ack(6).on_resolved(drop);
        let failed =
            (0..4).chain([5, 6]).map(|row| (row, Error::usage(format!("bad {}", row / 2)))).collect();
        let outcome = GroupOutcome { failed, ..GroupOutcome::default() };
        group.count_unreported(&outcome);
        group.resolve(outcome);
        assert!(asked.try_get().unwrap().is_err());
        assert!(shown.is_resolved() && shown.peek().unwrap().is_err());
        drop(asked);
        let told = unreported.take(1).unwrap();
        assert_eq!(
            told.message(),
            "2 rows are not in the table, and nobody took their acknowledgements: bad 1"
        );
        assert_eq!(told.detail(), Some("bad 1; bad 2"));
        assert!(unreported.take(1).is_none());
        drop((shown, forgotten_late));
        assert!(unreported.take(0).unwrap().message().starts_with("2 rows are not in the table"));
        let held = ack(0);
        assert_eq!(group.tell_first_failure().unwrap().message(), "bad 0");
        drop(held);
        assert!(unreported.take(0).is_none(), "a flush has told it");
    }
}
