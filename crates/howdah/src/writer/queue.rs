//! The queue between a program and the senders: bounded in rows and bytes, handed out in batches when they are due.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use tokio::sync::Notify;

use super::ack::{Ack, Fate, Group};
use super::adaptive::Decision;
use super::arrivals::{Arrivals, Arrived};
use super::options::WriterOptions;
use super::statistics::Reason;
use crate::error::{Error, ErrorKind};
use crate::rows::OpenField;

/// Rows that share a [`Group`], at the most: few enough that a batch can be cut where it is due, many enough that a row
/// costs no allocation.
const SEGMENT_ROWS: usize = 64;
// A group has a bit for each.
const _: () = assert!(SEGMENT_ROWS <= u64::BITS as usize);

/// So many bytes end a segment too.
const SEGMENT_BYTES: usize = 256 * 1024;

/// Rows that were written one after the other, and are settled together.
pub(super) struct Segment {
    id: u64,
    pub(super) bytes: Vec<u8>,
    /// Where each row ends in `bytes`.
    pub(super) ends: Vec<usize>,
    /// Literals that the server has to read, by the row's number.
    pub(super) open: Vec<(usize, OpenField)>,
    pub(super) group: Arc<Group>,
    pub(super) first: Instant,
    pub(super) last: Instant,
}

impl Segment {
    fn new(id: u64, now: Instant) -> Segment {
        let (bytes, ends, open) = (Vec::new(), Vec::new(), Vec::new());
        Segment { id, bytes, ends, open, group: Arc::default(), first: now, last: now }
    }

    pub(super) fn rows(&self) -> usize {
        self.ends.len()
    }
}

/// What one transaction is made of.
pub(super) struct Batch {
    pub(super) segments: Vec<Segment>,
    pub(super) reason: Reason,
}

impl Batch {
    pub(super) fn rows(&self) -> usize {
        self.segments.iter().map(Segment::rows).sum()
    }

    pub(super) fn bytes(&self) -> usize {
        self.segments.iter().map(|segment| segment.bytes.len()).sum()
    }

    /// Each row by itself, without copying.
    pub(super) fn split(self) -> (Vec<Bytes>, Vec<Settling>) {
        let mut rows = Vec::with_capacity(self.rows());
        let mut settling = Vec::with_capacity(self.segments.len());
        for segment in self.segments {
            let (whole, mut start) = (Bytes::from(segment.bytes), 0);
            settling.push(Settling {
                id: segment.id,
                rows: segment.ends.len(),
                bytes: whole.len(),
                group: segment.group,
                first: segment.first,
                last: segment.last,
            });
            for end in segment.ends {
                rows.push(whole.slice(start..end));
                start = end;
            }
        }
        (rows, settling)
    }
}

/// A segment of which only the end is awaited.
pub(super) struct Settling {
    id: u64,
    pub(super) rows: usize,
    pub(super) bytes: usize,
    pub(super) group: Arc<Group>,
    pub(super) first: Instant,
    pub(super) last: Instant,
}

/// What the dispatcher does next.
pub(super) enum Next {
    Take(Batch),
    /// A batch is due, and every sender is busy. There may be `wanted` of them.
    NoSender {
        wanted: usize,
    },
    /// Nothing is due before, unless it is told.
    Wait(Option<Instant>),
    /// Closed, and empty.
    Over,
}

/// How the queue ends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Open,
    /// What is in it is still written.
    Closing,
    /// Nothing more is.
    Ended,
}

pub(super) struct Queue {
    state: Mutex<State>,
    max_bytes: usize,
    max_age: Duration,
    queue_rows: usize,
    queue_bytes: usize,
    /// The dispatcher's ear.
    changed: Notify,
    /// Whoever waits for room.
    room: Notify,
    room_for_threads: Condvar,
}

struct State {
    stage: Stage,
    full: VecDeque<Segment>,
    filling: Option<Segment>,
    /// In `full` and `filling`.
    waiting: Load,
    /// Those, and what is under way.
    unsettled: Load,
    groups: BTreeMap<u64, Arc<Group>>,
    /// The first failure of which only a flush can tell.
    unheard: Option<Error>,
    next_id: u64,
    flights: usize,
    arrivals: Arrivals,
    decision: Decision,
    /// Segments before this one do not wait for company.
    hurried: u64,
    /// At so many waiting rows the dispatcher is told.
    wake_at: usize,
}

/// How much of something there is.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub(super) struct Load {
    pub(super) rows: usize,
    pub(super) bytes: usize,
}

/// How much there is in a queue, and what came.
pub(super) struct Loads {
    pub(super) waiting: Load,
    /// That, and what is under way.
    pub(super) unsettled: Load,
    pub(super) arrived: Arrived,
}

impl Queue {
    pub(super) fn new(options: &WriterOptions, decision: Decision) -> Queue {
        Queue {
            state: Mutex::new(State {
                stage: Stage::Open,
                full: VecDeque::new(),
                filling: None,
                waiting: Load::default(),
                unsettled: Load::default(),
                groups: BTreeMap::new(),
                unheard: None,
                next_id: 0,
                flights: 0,
                arrivals: Arrivals::new(Instant::now()),
                decision,
                hurried: 0,
                wake_at: 1,
            }),
            max_bytes: options.max_bytes,
            max_age: options.max_age,
            queue_rows: options.queue_rows,
            queue_bytes: options.queue_bytes,
            changed: Notify::new(),
            room: Notify::new(),
            room_for_threads: Condvar::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn has_room(&self, state: &State, bytes: usize) -> bool {
        let load = state.unsettled;
        load.rows == 0
            || load.rows < self.queue_rows.min(state.decision.queue_rows)
                && load.bytes.saturating_add(bytes) <= self.queue_bytes
    }

    /// Adds a row, if there is room.
    ///
    /// # Errors
    /// The queue is full (`None` as the error), or takes no rows any more.
    fn add(
        &self,
        state: &mut State,
        row: &[u8],
        open: &[OpenField],
        wants_ack: bool,
    ) -> Result<Option<Ack>, Option<Error>> {
        if state.stage != Stage::Open {
            return Err(Some(closed()));
        }
        if !self.has_room(state, row.len()) {
            return Err(None);
        }
        let now = Instant::now();
        let segment = match &mut state.filling {
            Some(segment) => segment,
            none => {
                let segment = none.insert(Segment::new(state.next_id, now));
                state.next_id += 1;
                state.groups.insert(segment.id, segment.group.clone());
                segment
            }
        };
        let number = segment.ends.len();
        segment.bytes.extend_from_slice(row);
        segment.ends.push(segment.bytes.len());
        segment.open.extend(open.iter().map(|field| (number, *field)));
        segment.last = now;
        // Segments have at most SEGMENT_ROWS rows.
        let in_group = u32::try_from(number).unwrap_or(u32::MAX);
        if !wants_ack {
            segment.group.leave_unheard(in_group);
        }
        let ack = wants_ack.then(|| Ack::new(segment.group.clone(), in_group));
        let is_full = number + 1 >= (state.decision.batch_rows / 4).clamp(1, SEGMENT_ROWS)
            || segment.bytes.len() >= SEGMENT_BYTES.min(self.max_bytes);
        if is_full {
            state.full.extend(state.filling.take());
        }
        for load in [&mut state.waiting, &mut state.unsettled] {
            load.rows += 1;
            load.bytes += row.len();
        }
        let has_room = self.has_room(state, row.len());
        state.arrivals.row(now, has_room);
        if state.waiting.rows >= state.wake_at
            || state.waiting.bytes >= self.max_bytes && state.wake_at < usize::MAX
        {
            state.wake_at = usize::MAX;
            self.changed.notify_one();
        }
        Ok(ack)
    }

    /// Adds a row without waiting.
    ///
    /// # Errors
    /// The queue is full, or takes no rows any more.
    pub(super) fn try_add(
        &self,
        row: &[u8],
        open: &[OpenField],
        wants_ack: bool,
    ) -> Result<Option<Ack>, Error> {
        self.add(&mut self.lock(), row, open, wants_ack).map_err(|error| error.unwrap_or_else(full))
    }

    /// Adds a row as soon as there is room.
    ///
    /// # Errors
    /// The queue takes no rows any more.
    pub(super) async fn add_when_free(
        &self,
        row: &[u8],
        open: &[OpenField],
        wants_ack: bool,
    ) -> Result<Option<Ack>, Error> {
        let added = self.add(&mut self.lock(), row, open, wants_ack);
        let Err(None) = added else { return added.map_err(|error| error.unwrap_or_else(full)) };
        loop {
            let freed = self.room.notified();
            tokio::pin!(freed);
            freed.as_mut().enable();
            let added = self.add(&mut self.lock(), row, open, wants_ack);
            match added {
                Err(None) => freed.await,
                Ok(ack) => {
                    // As many are woken as rows were settled; of small rows more may fit.
                    self.room.notify_one();
                    return Ok(ack);
                }
                Err(Some(error)) => return Err(error),
            }
        }
    }

    /// The same for threads that are no tasks.
    ///
    /// # Errors
    /// The queue takes no rows any more, or had no room until `deadline`.
    pub(super) fn add_blocking(
        &self,
        row: &[u8],
        open: &[OpenField],
        wants_ack: bool,
        deadline: Option<Instant>,
    ) -> Result<Option<Ack>, Error> {
        let mut state = self.lock();
        loop {
            match self.add(&mut state, row, open, wants_ack) {
                Ok(ack) => return Ok(ack),
                Err(Some(error)) => return Err(error),
                Err(None) => {}
            }
            state = match deadline.map(|deadline| deadline.saturating_duration_since(Instant::now())) {
                None => self.room_for_threads.wait(state).unwrap_or_else(PoisonError::into_inner),
                Some(Duration::ZERO) => return Err(full()),
                Some(left) => {
                    self.room_for_threads.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
    }

    /// What is due now, if there are `senders` senders. A batch that is handed out counts as a flight until it is settled.
    pub(super) fn next(&self, now: Instant, senders: usize) -> Next {
        let mut state = self.lock();
        let state = &mut *state;
        if state.stage != Stage::Open && state.waiting.rows == 0 && state.flights == 0 {
            return Next::Over;
        }
        state.wake_at = usize::MAX;
        let oldest = state.full.front().or(state.filling.as_ref()).map(|segment| (segment.id, segment.first));
        let Some((id, first)) = oldest else {
            state.wake_at = 1;
            return Next::Wait(None);
        };
        let decision = state.decision;
        // Whoever lands looks again.
        if state.flights >= decision.connections {
            return Next::Wait(None);
        }
        let ripe = first + self.max_age;
        let reason = if state.stage != Stage::Open {
            Reason::Close
        } else if id < state.hurried {
            Reason::Flush
        } else if state.waiting.rows >= decision.batch_rows {
            Reason::Rows
        } else if state.waiting.bytes >= self.max_bytes {
            Reason::Bytes
        } else if state.flights == 0 {
            Reason::Idle
        } else if ripe <= now {
            Reason::Age
        } else {
            state.wake_at = decision.batch_rows;
            return Next::Wait(Some(ripe));
        };
        if state.flights >= senders {
            return Next::NoSender { wanted: decision.connections };
        }
        Next::Take(Batch { segments: self.take(state), reason })
    }

    /// Whole segments up to the bounds of a batch, at least one.
    fn take(&self, state: &mut State) -> Vec<Segment> {
        let mut segments: Vec<Segment> = Vec::new();
        let mut load = Load::default();
        while let Some(segment) = state.full.front().or(state.filling.as_ref()) {
            let (rows, bytes) = (load.rows + segment.rows(), load.bytes + segment.bytes.len());
            if !segments.is_empty() && (rows > state.decision.batch_rows || bytes > self.max_bytes) {
                break;
            }
            load = Load { rows, bytes };
            segments.extend(state.full.pop_front().or_else(|| state.filling.take()));
        }
        state.waiting.rows -= load.rows;
        state.waiting.bytes -= load.bytes;
        state.flights += 1;
        segments
    }

    /// A flight is over, with such a failure of which no acknowledgement tells.
    pub(super) fn settled(&self, settling: &[Settling], unheard: Option<Error>, decision: Option<Decision>) {
        let mut state = self.lock();
        state.flights -= 1;
        state.unheard = state.unheard.take().or(unheard);
        for segment in settling {
            state.unsettled.rows -= segment.rows;
            state.unsettled.bytes -= segment.bytes;
            state.groups.remove(&segment.id);
        }
        if let Some(decision) = decision {
            state.decision = decision;
        }
        let has_room = self.has_room(&state, 0);
        state.arrivals.room(Instant::now(), has_room);
        drop(state);
        // No more tasks are woken than there may be room for: thousands may wait.
        for _ in 0..settling.iter().map(|segment| segment.rows).sum() {
            self.room.notify_one();
        }
        self.room_for_threads.notify_all();
    }

    fn wake_everybody(&self) {
        self.room.notify_waiters();
        self.room_for_threads.notify_all();
    }

    /// Resolves when something may have become due.
    pub(super) async fn changed(&self) {
        self.changed.notified().await;
    }

    /// From here on nothing that waits does so for company; everything that is not settled yet.
    pub(super) fn hurry(&self) -> Vec<Arc<Group>> {
        let mut state = self.lock();
        state.hurried = state.next_id;
        let State { full, filling, .. } = &mut *state;
        full.extend(filling.take());
        self.changed.notify_one();
        state.groups.values().cloned().collect()
    }

    /// The first failure since the last time of which no acknowledgement told.
    pub(super) fn take_unheard(&self) -> Option<Error> {
        self.lock().unheard.take()
    }

    /// Takes no more rows; whether it did until now.
    pub(super) fn close(&self) -> bool {
        let mut state = self.lock();
        let was_open = state.stage == Stage::Open;
        if was_open {
            state.stage = Stage::Closing;
        }
        drop(state);
        self.changed.notify_one();
        self.wake_everybody();
        was_open
    }

    /// Ends at once: rows that were not sent get one error, those under way another. How many they are.
    pub(super) fn end(&self, unsent: &Error, under_way: &Error) -> usize {
        let (unsent_groups, groups, rows) = {
            let mut state = self.lock();
            state.stage = Stage::Ended;
            let filling = state.filling.take();
            let waiting: Vec<_> = state.full.drain(..).chain(filling).map(|segment| segment.group).collect();
            state.waiting = Load::default();
            (waiting, std::mem::take(&mut state.groups), std::mem::take(&mut state.unsettled).rows)
        };
        let fail = |group: &Group, error: &Error| {
            let fate = Fate { all_failed: Some(error.clone()), ..Fate::default() };
            if let Some(unheard) = group.unheard_failure(&fate) {
                self.lock().unheard.get_or_insert(unheard);
            }
            group.resolve(fate);
        };
        unsent_groups.iter().for_each(|group| fail(group, unsent));
        // Those that were not sent are resolved already, and hear nothing of this.
        groups.values().for_each(|group| fail(group, under_way));
        self.wake_everybody();
        rows
    }

    /// What is in it, and what is not settled yet.
    pub(super) fn load(&self) -> Loads {
        let state = self.lock();
        let arrived = state.arrivals.until(Instant::now());
        Loads { waiting: state.waiting, unsettled: state.unsettled, arrived }
    }
}

pub(super) fn full() -> Error {
    Error::new(ErrorKind::QueueFull, "the writer's queue is full")
        .with_hint("the server takes rows more slowly than they come: wait (on_full), or write less")
}

fn closed() -> Error {
    Error::new(ErrorKind::Closed, "the writer is closed")
}
