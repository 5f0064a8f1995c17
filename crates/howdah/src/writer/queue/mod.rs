//! The queue between a program and the senders: bounded in rows and bytes, handed out in batches when they are due.

mod batch;

use parking_lot::{Condvar, Mutex};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::Notify;

pub(super) use batch::{Batch, NewRow, SentSegment};
use batch::{SEGMENT_BYTES, SEGMENT_ROWS, Segment};

use super::ack::{Ack, Group, GroupOutcome};
use super::adaptive::Decision;
use super::arrivals::{Arrivals, Arrived};
use super::lanes::Lane;
use super::options::WriterOptions;
use super::statistics::Reason;
use super::unreported::UnreportedFailures;
use crate::error::{Error, ErrorKind};

/// What the dispatcher does next.
pub(super) enum DispatchStep {
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
    state: Mutex<QueueState>,
    max_bytes: usize,
    max_age: Duration,
    queue_rows: usize,
    queue_bytes: usize,
    /// A lane has one batch under way at the most.
    is_ordered: bool,
    unreported: Arc<UnreportedFailures>,
    /// The dispatcher's ear.
    changed: Notify,
    /// Whoever waits for room.
    room: Notify,
    room_for_threads: Condvar,
}

struct QueueState {
    stage: Stage,
    lanes: Vec<LaneRows>,
    /// Rows go over the first lane only from now on, and not before the others are empty: one came that belongs to none.
    is_narrow: bool,
    /// In all lanes.
    waiting: Volume,
    /// Those, and what is under way.
    unsettled: Volume,
    groups: BTreeMap<u64, Arc<Group>>,
    next_id: u64,
    flights: usize,
    arrivals: Arrivals,
    decision: Decision,
    /// Segments before this one do not wait for company.
    flushed_before: u64,
    /// At so many waiting rows the dispatcher is told.
    wake_at: usize,
}

/// Rows of a lane that wait.
#[derive(Default)]
struct LaneRows {
    full: VecDeque<Segment>,
    filling: Option<Segment>,
    /// In both.
    load: Volume,
    flights: usize,
}

impl LaneRows {
    /// The oldest segment.
    fn first(&self) -> Option<&Segment> {
        self.full.front().or(self.filling.as_ref())
    }

    fn is_idle(&self) -> bool {
        self.flights == 0 && self.load.rows == 0
    }
}

/// How much of something there is.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub(super) struct Volume {
    pub(super) rows: usize,
    pub(super) bytes: usize,
}

/// How much there is in a queue, and what came.
pub(super) struct QueueVolumes {
    pub(super) waiting: Volume,
    /// That, and what is under way.
    pub(super) unsettled: Volume,
    pub(super) arrived: Arrived,
}

impl Queue {
    /// With so many lanes; `is_ordered`, each of them has one batch under way at the most.
    pub(super) fn new(
        options: &WriterOptions,
        decision: Decision,
        lanes: usize,
        is_ordered: bool,
        unreported: Arc<UnreportedFailures>,
    ) -> Queue {
        Queue {
            is_ordered,
            unreported,
            state: Mutex::new(QueueState {
                stage: Stage::Open,
                lanes: (0..lanes.max(1)).map(|_| LaneRows::default()).collect(),
                is_narrow: false,
                waiting: Volume::default(),
                unsettled: Volume::default(),
                groups: BTreeMap::new(),
                next_id: 0,
                flights: 0,
                arrivals: Arrivals::new(Instant::now()),
                decision,
                flushed_before: 0,
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

    fn has_room(&self, state: &QueueState, bytes: usize) -> bool {
        let load = state.unsettled;
        load.rows == 0
            || load.rows < self.queue_rows.min(state.decision.queue_rows)
                && load.bytes.saturating_add(bytes) <= self.queue_bytes
    }

    /// Adds a row, if there is room.
    ///
    /// # Errors
    /// The queue is full (`None` as the error), or takes no rows any more.
    fn add(&self, state: &mut QueueState, row: &NewRow<'_>) -> Result<Option<Ack>, Option<Error>> {
        if state.stage != Stage::Open {
            return Err(Some(closed()));
        }
        let bytes = row.bytes.len();
        if !self.has_room(state, bytes) {
            return Err(None);
        }
        let now = Instant::now();
        state.is_narrow |= row.lane == Lane::Unknown;
        let number = match row.lane {
            Lane::Number(number) if !state.is_narrow => number,
            _ => 0,
        };
        let lane = &mut state.lanes[number];
        let segment = match &mut lane.filling {
            Some(segment) => segment,
            none => {
                let segment = none.insert(Segment::new(state.next_id, number, now, self.unreported.clone()));
                state.next_id += 1;
                state.groups.insert(segment.id, segment.group.clone());
                segment
            }
        };
        let number = segment.ends.len();
        segment.bytes.extend_from_slice(row.bytes);
        segment.ends.push(segment.bytes.len());
        segment.open.extend(row.open.iter().map(|field| (number, *field)));
        segment.tags.extend(row.tag.clone());
        segment.last = now;
        if !row.wants_ack {
            segment.group.leave_unclaimed(number);
        }
        let ack = row.wants_ack.then(|| Ack::new(segment.group.clone(), number));
        let is_full = number + 1 >= (state.decision.batch_rows / 4).clamp(1, SEGMENT_ROWS)
            || segment.bytes.len() >= SEGMENT_BYTES.min(self.max_bytes);
        if is_full {
            lane.full.extend(lane.filling.take());
        }
        for load in [&mut lane.load, &mut state.waiting, &mut state.unsettled] {
            load.rows += 1;
            load.bytes += bytes;
        }
        // Whoever lands looks again at what waits for that.
        let can_go = !self.is_ordered || lane.flights == 0;
        let is_awaited = lane.load.rows >= state.wake_at
            || lane.load.bytes >= self.max_bytes && state.wake_at < usize::MAX;
        let has_room = self.has_room(state, bytes);
        state.arrivals.row(now, has_room);
        if can_go && is_awaited {
            state.wake_at = usize::MAX;
            self.changed.notify_one();
        }
        Ok(ack)
    }

    /// Adds a row without waiting.
    ///
    /// # Errors
    /// The queue is full, or takes no rows any more.
    pub(super) fn try_add(&self, row: &NewRow<'_>) -> Result<Option<Ack>, Error> {
        self.add(&mut self.state.lock(), row).map_err(|error| error.unwrap_or_else(full))
    }

    /// Adds a row as soon as there is room.
    ///
    /// # Errors
    /// The queue takes no rows any more.
    pub(super) async fn add_when_free(&self, row: &NewRow<'_>) -> Result<Option<Ack>, Error> {
        let added = self.add(&mut self.state.lock(), row);
        let Err(None) = added else { return added.map_err(|error| error.unwrap_or_else(full)) };
        loop {
            let freed = self.room.notified();
            tokio::pin!(freed);
            freed.as_mut().enable();
            let added = self.add(&mut self.state.lock(), row);
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
        row: &NewRow<'_>,
        deadline: Option<Instant>,
    ) -> Result<Option<Ack>, Error> {
        let mut state = self.state.lock();
        loop {
            match self.add(&mut state, row) {
                Ok(ack) => return Ok(ack),
                Err(Some(error)) => return Err(error),
                Err(None) => {}
            }
            match deadline {
                None => self.room_for_threads.wait(&mut state),
                Some(deadline) if deadline <= Instant::now() => return Err(full()),
                Some(deadline) => _ = self.room_for_threads.wait_until(&mut state, deadline),
            }
        }
    }

    /// What is due now, if there are `senders` senders. A batch that is handed out counts as a flight until it is settled.
    pub(super) fn next(&self, now: Instant, senders: usize) -> DispatchStep {
        let mut state = self.state.lock();
        let state = &mut *state;
        if state.stage != Stage::Open && state.waiting.rows == 0 && state.flights == 0 {
            return DispatchStep::Over;
        }
        state.wake_at = usize::MAX;
        let mut due: Vec<(u64, Instant, usize)> = (0..state.lanes.len())
            .filter(|lane| self.is_free(state, *lane))
            .filter_map(|lane| state.lanes[lane].first().map(|segment| (segment.id, segment.first, lane)))
            .collect();
        due.sort_unstable_by_key(|(id, ..)| *id);
        if due.is_empty() {
            state.wake_at = 1;
            return DispatchStep::Wait(None);
        }
        // Whoever lands looks again.
        if state.flights >= state.decision.connections {
            return DispatchStep::Wait(None);
        }
        let chosen = due.iter().find_map(|(id, first, lane)| {
            let reason = self.reason(state, *id, *first, state.lanes[*lane].load, now)?;
            Some((*lane, reason))
        });
        let Some((lane, reason)) = chosen else {
            state.wake_at = state.decision.batch_rows;
            return DispatchStep::Wait(due.iter().map(|(_, first, _)| *first + self.max_age).min());
        };
        if state.flights >= senders {
            return DispatchStep::NoSender { wanted: state.decision.connections };
        }
        DispatchStep::Take(Batch { segments: self.take(state, lane), reason })
    }

    /// Whether rows of a lane may go.
    fn is_free(&self, state: &QueueState, lane: usize) -> bool {
        let is_single = !state.is_narrow || lane > 0 || state.lanes[1..].iter().all(LaneRows::is_idle);
        is_single && (!self.is_ordered || state.lanes[lane].flights == 0)
    }

    /// Why a batch of a lane goes now, if it does: its oldest segment, since when that waits, and how much does.
    fn reason(
        &self,
        state: &QueueState,
        id: u64,
        first: Instant,
        load: Volume,
        now: Instant,
    ) -> Option<Reason> {
        let reason = if state.stage != Stage::Open {
            Reason::Close
        } else if id < state.flushed_before {
            Reason::Flush
        } else if load.rows >= state.decision.batch_rows {
            Reason::Rows
        } else if load.bytes >= self.max_bytes {
            Reason::Bytes
        } else if state.flights == 0 {
            Reason::Idle
        } else if first + self.max_age <= now {
            Reason::Age
        } else {
            return None;
        };
        Some(reason)
    }

    /// Whole segments of a lane up to the bounds of a batch, at least one.
    fn take(&self, state: &mut QueueState, lane: usize) -> Vec<Segment> {
        let batch_rows = state.decision.batch_rows;
        let lane = &mut state.lanes[lane];
        let mut segments: Vec<Segment> = Vec::new();
        let mut load = Volume::default();
        while let Some(segment) = lane.first() {
            let (rows, bytes) = (load.rows + segment.rows(), load.bytes + segment.bytes.len());
            if !segments.is_empty() && (rows > batch_rows || bytes > self.max_bytes) {
                break;
            }
            load = Volume { rows, bytes };
            segments.extend(lane.full.pop_front().or_else(|| lane.filling.take()));
        }
        for waiting in [&mut lane.load, &mut state.waiting] {
            waiting.rows -= load.rows;
            waiting.bytes -= load.bytes;
        }
        lane.flights += 1;
        state.flights += 1;
        segments
    }

    /// A flight is over.
    pub(super) fn settled(&self, settling: &[SentSegment], decision: Option<Decision>) {
        let mut state = self.state.lock();
        state.flights -= 1;
        if let Some(segment) = settling.first() {
            state.lanes[segment.lane].flights -= 1;
        }
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

    /// Whether rows of all lanes go over the first.
    pub(super) fn is_narrow(&self) -> bool {
        self.state.lock().is_narrow
    }

    /// From here on nothing that waits does so for company; everything that is not settled yet.
    pub(super) fn flush(&self) -> Vec<Arc<Group>> {
        let mut state = self.state.lock();
        state.flushed_before = state.next_id;
        for lane in &mut state.lanes {
            lane.full.extend(lane.filling.take());
        }
        self.changed.notify_one();
        state.groups.values().cloned().collect()
    }

    /// Takes no more rows; whether it did until now.
    pub(super) fn close(&self) -> bool {
        let mut state = self.state.lock();
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
            let mut state = self.state.lock();
            state.stage = Stage::Ended;
            let mut waiting = Vec::new();
            for lane in &mut state.lanes {
                let (full, filling) = (std::mem::take(&mut lane.full), lane.filling.take());
                waiting.extend(full.into_iter().chain(filling).map(|segment| segment.group));
                lane.load = Volume::default();
            }
            state.waiting = Volume::default();
            (waiting, std::mem::take(&mut state.groups), std::mem::take(&mut state.unsettled).rows)
        };
        let fail = |group: &Group, error: &Error| {
            group.resolve(GroupOutcome { all_failed: Some(error.clone()), ..GroupOutcome::default() });
        };
        unsent_groups.iter().for_each(|group| fail(group, unsent));
        // Those that were not sent are resolved already, and hear nothing of this.
        groups.values().for_each(|group| fail(group, under_way));
        self.wake_everybody();
        rows
    }

    /// What is in it, and what is not settled yet.
    pub(super) fn load(&self) -> QueueVolumes {
        let state = self.state.lock();
        let arrived = state.arrivals.until(Instant::now());
        QueueVolumes { waiting: state.waiting, unsettled: state.unsettled, arrived }
    }
}

pub(super) fn full() -> Error {
    Error::new(ErrorKind::QueueFull, "the writer's queue is full")
        .with_hint("the server takes rows more slowly than they come: wait (on_full), or write less")
}

fn closed() -> Error {
    Error::new(ErrorKind::Closed, "the writer is closed")
}
