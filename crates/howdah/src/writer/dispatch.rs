//! The dispatcher: one task that gives batches to senders as they fall due, and reports what became of their rows.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use tracing::Instrument;

use super::Shared;
use super::ack::GroupOutcome;
use super::adaptive::{Controller, Limits, Observation};
use super::ledger::{Forgettable, Tag};
use super::queue::{Batch, DispatchStep, SentSegment};
use super::sender::{BatchOutcome, BatchSender, Rows};
use super::session::Session;
use super::statistics::{Ages, Flushed, Reason};
use crate::error::{Committed, Error, ErrorKind};
use crate::resolve::Resolver;
use crate::rows::OpenRow;

/// The ledger's rows that nobody needs any more are removed when there are so many: in a millisecond, which rows that wait
/// for the sender hardly notice.
const FORGET_EVERY: i64 = 256;

/// Where it takes longer to remove rows of the ledger, the connection is not what it was.
const TIDYING: Duration = Duration::from_secs(1);

/// Whatever ends the dispatcher, a panic or its runtime included, nobody is left waiting.
struct CloseOnDrop(Arc<Shared>);

impl Drop for CloseOnDrop {
    fn drop(&mut self) {
        let unsent = Error::new(ErrorKind::Closed, "the writer ended before the row was sent")
            .with_visible(Committed::No, "the row is not in the table");
        let under_way =
            Error::new(ErrorKind::PartlyCommitted, "the writer ended while the row was under way")
                .with_visible(Committed::Unknown, "unknown: the row was sent, and no answer had come");
        let lost = self.0.queue.end(&unsent, &under_way);
        self.0.recorder.lost(lost);
        self.0.ended.resolve(GroupOutcome::default());
    }
}

/// A batch that came back.
struct Landed {
    sender: BatchSender,
    settling: Vec<SentSegment>,
    outcome: BatchOutcome,
    flight: BatchInFlight,
}

/// What is noted when a batch is sent.
struct BatchInFlight {
    reason: Reason,
    began: Instant,
    /// Itself included.
    under_way: usize,
    rows: usize,
    bytes: usize,
}

/// Serves the queue until it is closed and empty.
pub(super) async fn serve(shared: Arc<Shared>, first: Option<Session>) {
    let _close = CloseOnDrop(shared.clone());
    let resolver = Resolver::start(shared.target.clone(), shared.version_num);
    let mut controller = shared.options.is_adaptive().then(|| Controller::new(&Limits::of(&shared.options)));
    // Senders that were opened once; the one that came back last is used first.
    let mut idle = vec![BatchSender::new(shared.clone(), first)];
    let mut flying = FuturesUnordered::new();
    // No batch waits for a connection while there is another one: further ones are opened beside.
    let mut opening = FuturesUnordered::new();
    let mut tidying = FuturesUnordered::new();
    let start = Instant::now();
    loop {
        let wake = loop {
            let senders = idle.len() + flying.len();
            match shared.queue.next(Instant::now(), senders) {
                DispatchStep::Take(batch) if shared.options.discard => throw_away(&shared, batch),
                DispatchStep::Take(batch) => {
                    // There is one: the queue was told how many there are.
                    let sender = idle.pop().unwrap_or_else(|| BatchSender::new(shared.clone(), None));
                    let flight = BatchInFlight::new(&batch, flying.len() + 1);
                    let span = tracing::debug_span!("howdah_flush", rows = flight.rows, bytes = flight.bytes, reason = ?flight.reason);
                    flying.push(fly(sender, batch, flight, &resolver).instrument(span));
                }
                DispatchStep::NoSender { wanted } => {
                    // As many again as there are: the first ones come into use while others are made.
                    while opening.len() < senders && senders + tidying.len() + opening.len() < wanted {
                        opening.push(BatchSender::opened(shared.clone()));
                    }
                    break None;
                }
                DispatchStep::Wait(wake) => break wake,
                DispatchStep::Over => {
                    let finished = async {
                        idle.extend(tidying.by_ref().collect::<Vec<BatchSender>>().await);
                        finish(&shared, &idle).await;
                    };
                    return tokio::select! {
                        _ = tokio::time::timeout(TIDYING, finished) => {}
                        () = shared.stop.notified() => {}
                    };
                }
            }
        };
        let ripens = async {
            match wake {
                Some(wake) => tokio::time::sleep_until(wake.into()).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            Some(landed) = flying.next() => {
                let sender = settle(&shared, landed, flying.len() + 1, controller.as_mut(), start);
                match shared.ledger.as_ref().and_then(|ledger| ledger.forgettable(FORGET_EVERY)) {
                    Some(parts) => tidying.push(tidy(&shared, sender, parts)),
                    None => idle.push(sender),
                }
            }
            Some(sender) = tidying.next() => idle.push(sender),
            Some(sender) = opening.next() => idle.extend(sender),
            () = shared.queue.changed() => {}
            () = ripens => {}
            () = shared.stop.notified() => return,
        }
    }
}

/// One batch, from its bytes to its answer.
async fn fly(mut sender: BatchSender, batch: Batch, flight: BatchInFlight, resolver: &Resolver) -> Landed {
    let mut open: Vec<(usize, OpenRow)> = Vec::new();
    let mut before = 0;
    for segment in &batch.segments {
        for (row, field) in &segment.open {
            let number = before + row;
            match open.last_mut() {
                Some((last, open)) if *last == number => open.open.push(*field),
                _ => open.push((number, OpenRow { bytes: Vec::new(), open: vec![*field] })),
            }
        }
        before += segment.rows();
    }
    let (lane, mut tags) = (batch.lane(), batch.tags());
    let (mut rows, settling) = batch.split();
    let mut refused = Vec::new();
    if !open.is_empty() {
        let (numbers, mut asked): (Vec<usize>, Vec<OpenRow>) = open.into_iter().unzip();
        for (number, row) in numbers.iter().zip(&mut asked) {
            row.bytes = rows[*number].to_vec();
        }
        match sender.read(resolver, &asked).await {
            Ok(answers) => {
                for (number, answer) in numbers.into_iter().zip(answers) {
                    match answer {
                        Ok(bytes) => rows[number] = bytes.into(),
                        Err(error) => refused.push((number, error)),
                    }
                }
            }
            Err(error) => refused.extend(numbers.into_iter().map(|number| (number, error.clone()))),
        }
    }
    refused.sort_by_key(|(number, _)| *number);
    // The rows that are sent, and what each is called in the batch.
    let mut names: Vec<usize> = Vec::new();
    if !refused.is_empty() {
        let is_refused = |row: &usize| refused.binary_search_by_key(row, |(number, _)| *number).is_ok();
        names = (0..rows.len()).filter(|row| !is_refused(row)).collect();
        rows = names.iter().map(|row| rows[*row].clone()).collect();
        if !tags.is_empty() {
            let of_refused: Vec<Tag> = refused.iter().map(|(row, _)| tags[*row].clone()).collect();
            tags = names.iter().map(|row| tags[*row].clone()).collect();
            if let Err(error) = sender.settle(&of_refused).await {
                refused.iter_mut().for_each(|(_, reason)| *reason = error.clone());
            }
        }
    }
    let mut outcome = sender.send(Rows { bytes: &rows, tags: &tags }, lane).await;
    if !refused.is_empty() {
        outcome.failed = outcome.failed.into_iter().map(|(row, error)| (names[row], error)).collect();
        outcome.returned = outcome.returned.into_iter().map(|(row, written)| (names[row], written)).collect();
        outcome.failed.extend(refused);
    }
    Landed { sender, settling, outcome, flight }
}

/// Reports what became of a batch; its sender is free again.
fn settle(
    shared: &Shared,
    landed: Landed,
    under_way: usize,
    controller: Option<&mut Controller>,
    start: Instant,
) -> BatchSender {
    let Landed { sender, settling, mut outcome, flight } = landed;
    let load = shared.queue.load();
    shared.recorder.queued(load.unsettled.rows, load.unsettled.bytes);
    let decision = controller.map(|controller| {
        if outcome.is_plain {
            controller.observe(&Observation {
                at: start.elapsed(),
                rows: flight.rows,
                bytes: flight.bytes,
                took: flight.began.elapsed(),
                under_way: under_way.max(flight.under_way),
                waiting: load.waiting.rows,
                unsettled: load.unsettled.rows,
                arrived: load.arrived,
            });
        }
        shared.recorder.decided(controller.steady());
        controller.decision()
    });
    let mut before = 0;
    let mut outcome_of = |segment: &SentSegment| {
        let (start, end) = (before, before + segment.rows);
        before = end;
        let failed = part_of(&mut outcome.failed, start, end);
        GroupOutcome { all_failed: None, failed, returned: part_of(&mut outcome.returned, start, end) }
    };
    let outcomes: Vec<GroupOutcome> = settling.iter().map(&mut outcome_of).collect();
    // A flush does not wait for what is settled, and tells of it.
    settling.iter().zip(&outcomes).for_each(|(segment, outcome)| segment.group.count_unreported(outcome));
    // Room and the next batch first: whoever is told may write again at once.
    shared.queue.settled(&settling, decision);
    let failures = || outcomes.iter().flat_map(|outcome| outcome.failed.values());
    let lost = failures().filter(|error| error.kind() == ErrorKind::PartlyCommitted).count();
    shared.recorder.lost(lost);
    note(shared, &settling, (failures().count(), lost), &flight);
    for (segment, outcome) in settling.iter().zip(outcomes) {
        segment.group.resolve(outcome);
    }
    sender
}

impl BatchInFlight {
    fn new(batch: &Batch, under_way: usize) -> BatchInFlight {
        let (rows, bytes) = (batch.rows(), batch.bytes());
        BatchInFlight { reason: batch.reason, began: Instant::now(), under_way, rows, bytes }
    }
}

/// Counts a flight, of whose rows so many are not in, and of so many of these nobody knows.
fn note(shared: &Shared, settling: &[SentSegment], (failed, lost): (usize, usize), flight: &BatchInFlight) {
    let now = Instant::now();
    let age = |segment: &SentSegment| Ages {
        rows: segment.rows,
        oldest: now - segment.first,
        youngest: now - segment.last,
    };
    let ages: Vec<Ages> = settling.iter().map(age).collect();
    let (rows, refused) = (flight.rows - failed.min(flight.rows), failed - lost);
    shared.recorder.flushed(&Flushed {
        reason: flight.reason,
        rows,
        refused,
        bytes: flight.bytes,
        ages: &ages,
    });
}

/// Takes what belongs to the rows of one segment.
fn part_of<T>(all: &mut BTreeMap<usize, T>, start: usize, end: usize) -> BTreeMap<usize, T> {
    let rest = all.split_off(&end);
    let part = std::mem::replace(all, rest);
    part.into_iter().map(|(row, value)| (row - start, value)).collect()
}

/// A batch that goes nowhere.
fn throw_away(shared: &Shared, batch: Batch) {
    let flight = BatchInFlight::new(&batch, 1);
    let (_, settling) = batch.split();
    shared.queue.settled(&settling, None);
    note(shared, &settling, (0, 0), &flight);
    for segment in settling {
        segment.group.resolve(GroupOutcome::default());
    }
}

/// Removes parts from the ledger that nobody sends again; the sender is free after that.
async fn tidy(shared: &Shared, mut sender: BatchSender, parts: Forgettable) -> BatchSender {
    if let (Some(ledger), Some(session)) = (&shared.ledger, sender.session()) {
        let forgotten = tokio::time::timeout(TIDYING, ledger.forget(session.connection(), parts)).await;
        if !matches!(forgotten, Ok(Ok(()))) {
            tracing::debug!(?forgotten, "old rows of the ledger stay for now");
            // What is still to come of the answer would be taken for that of the next rows.
            sender.abandon();
        }
    }
    sender
}

/// Leaves nothing in the ledger but what an attempt that is late must find there.
async fn finish(shared: &Shared, idle: &[BatchSender]) {
    let session = idle.iter().rev().find_map(BatchSender::session);
    if let (Some(ledger), Some(session)) = (&shared.ledger, session)
        && let Err(error) = ledger.forget(session.connection(), ledger.remains()).await
    {
        tracing::debug!(%error, "the writer's rows stay in the ledger for some days");
    }
}
