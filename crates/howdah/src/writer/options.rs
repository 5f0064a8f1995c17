//! What a program may ask of a [`Writer`](super::Writer).

use std::time::Duration;

use crate::error::Error;

/// The ledger remembers a transaction for a week, see there; a batch that is retried for less is never forgotten meanwhile,
/// however slowly it ends.
const MOST_RETRIES: Duration = Duration::from_secs(24 * 60 * 60);

settings! {
    /// How a [`Writer`](super::Writer) gathers rows and what it does with them.
    #[derive(Clone, Debug, PartialEq)]
    WriterOptions {
        /// The columns that rows are made of, in their order. `None`: those that the row's type names, else all that are
        /// neither generated nor identity and have no default.
        columns: maybe_many String,
        /// The most rows of one transaction.
        max_rows: one usize,
        /// The most bytes of one transaction, as they travel; a single row may have more.
        max_bytes: one usize,
        /// While other rows are under way, so long a row waits for company at the most, if a connection is free by then.
        max_age: one Duration,
        /// The most connections. The second and further ones are opened while rows go over the others, when these do not suffice.
        connections: one usize,
        /// The most rows that are not settled yet, those under way included.
        queue_rows: one usize,
        /// The most bytes of such rows; one row is always let in.
        queue_bytes: one usize,
        /// What happens to a row for which there is no room.
        on_full: one OnFull,
        /// How rows travel.
        path: one WriterPath,
        /// From so many rows on a transaction is a COPY, where the path is chosen by itself.
        copy_from_rows: one usize,
        /// What becomes of rows whose key the table has already. The last row of a key in a transaction counts.
        on_conflict: maybe OnConflict,
        /// The columns of the key; empty: the primary key, else the only unique index.
        conflict_key: many String,
        /// Columns whose stored values an acknowledgement brings back.
        returning: many String,
        /// The 99th percentile of the time from write to acknowledgement that is aimed at: batches and connections are chosen
        /// accordingly, and the queue is kept so short that waiting in it does not miss the aim. Rows that come at a rate which
        /// batches so small cannot carry get larger ones.
        latency_target: maybe Duration,
        /// Batches and connections are found by measuring, up to `max_rows` and `connections`. A latency target implies it.
        adaptive: one bool,
        /// What a lost connection means for rows whose commit was not answered.
        delivery: one Delivery,
        /// So long a batch is tried again when the server is away or cannot go on; then its rows fail.
        retry_for: one Duration,
        /// Rows are encoded, queued and acknowledged, and go nowhere: what a program could write if the server cost nothing.
        discard: one bool,
    }
}

/// What happens to a row when the queue is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnFull {
    /// It waits.
    Wait,
    /// It waits so long, then it is refused (`ErrorKind::QueueFull`).
    WaitFor(Duration),
    /// It is refused at once.
    Fail,
}

/// The statement in which a writer's rows travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriterPath {
    /// Few rows by INSERT, many by COPY.
    Auto,
    /// Always binary COPY.
    Copy,
    /// Always INSERT.
    Insert,
}

/// What becomes of a row whose key is there already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnConflict {
    /// Nothing: the row in the table stays, and the new one counts as written.
    Ignore,
    /// Its other columns replace those of the row in the table.
    Update,
}

/// The promise of how often a row can be in the table when connections break.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// Once. Every transaction leaves a row in `howdah_ledger`, in the table's schema, whose primary key lets it happen
    /// only once, however often it is sent.
    ExactlyOnce,
    /// Once, or again when the answer to a commit was lost. Needs no ledger.
    AtLeastOnce,
}

impl Default for WriterOptions {
    fn default() -> Self {
        WriterOptions {
            columns: None,
            max_rows: 5_000,
            max_bytes: 4 * 1024 * 1024,
            max_age: Duration::from_millis(5),
            connections: 2,
            queue_rows: 100_000,
            queue_bytes: 64 * 1024 * 1024,
            on_full: OnFull::Wait,
            path: WriterPath::Auto,
            copy_from_rows: 20,
            on_conflict: None,
            conflict_key: Vec::new(),
            returning: Vec::new(),
            latency_target: None,
            adaptive: false,
            delivery: Delivery::ExactlyOnce,
            retry_for: Duration::from_secs(300),
            discard: false,
        }
    }
}

impl WriterOptions {
    /// Refuses what makes no sense.
    ///
    /// # Errors
    /// A usage error that names the option.
    pub(super) fn check(&self) -> Result<(), Error> {
        let least_one = [
            ("max_rows", self.max_rows),
            ("max_bytes", self.max_bytes),
            ("connections", self.connections),
            ("queue_rows", self.queue_rows),
            ("queue_bytes", self.queue_bytes),
        ];
        if let Some((name, _)) = least_one.into_iter().find(|(_, value)| *value == 0) {
            return Err(Error::usage(format!("{name} must be at least 1")));
        }
        if !self.conflict_key.is_empty() && self.on_conflict.is_none() {
            return Err(Error::usage("conflict_key says nothing without on_conflict"));
        }
        if self.path == WriterPath::Copy && self.needs_statements() {
            return Err(Error::usage("COPY can neither return values nor meet conflicts")
                .with_hint("leave the path to the writer"));
        }
        if self.latency_target.is_some_and(|target| target.is_zero()) {
            return Err(Error::usage("latency_target must be more than nothing"));
        }
        if self.retry_for > MOST_RETRIES {
            return Err(Error::usage(
                "retry_for must be at most a day: what was written is not remembered for ever",
            ));
        }
        Ok(())
    }

    /// Whether only INSERT can do what is asked.
    pub(super) fn needs_statements(&self) -> bool {
        self.on_conflict.is_some() || !self.returning.is_empty()
    }

    /// Whether the sizes of batches are found by measuring.
    pub(super) fn is_adaptive(&self) -> bool {
        self.adaptive || self.latency_target.is_some()
    }
}
