//! Chooses how many rows a flush takes, over how many connections, and how many rows may be unsettled: pure logic, which
//! is told what time it is.
//!
//! A flush of n rows takes about `price x (fixed + n)` seconds: round trips, BEGIN and COMMIT cost what `fixed` rows would.
//! Both are learned from flushes as they end ([`Cost`]), one line for each number of flushes that are under way together,
//! because they share the server's cores and its log. Everything else follows from these lines:
//!
//! - **The most rows of a flush** are those at which the fixed part is a twenty-fifth of the time: larger flushes gain
//!   nearly nothing, and everybody waits longer. With a latency target they are also so few that a row which has to wait
//!   for one flush and then takes part in a longer one than usual is settled in time.
//! - **Fewer rows** than that are taken while few are there: an even share for every connection and one for the queue. A
//!   program that waits for acknowledgements never has more rows in flight, and would send them all over one connection
//!   while the others idle. For a load below the peak it is the smallest batch that carries it.
//! - **More rows** than the target allows, up to three times the target, are taken where less would be written than comes:
//!   rows are late then anyway, and would be later every second. [`Demand`] tells a program that writes at a rate of its
//!   own from one that keeps the queue full, which is held back instead.
//! - **One connection more** is tried when all are busy and rows wait. If that seems to gain nothing, one less is tried
//!   again, so that both are compared under the same load, by what passes (Little's law: connections x rows / seconds), and the
//!   better of the two stays for a while.
//! - **Rows that may be unsettled**, with a target: as many as are written within it, by flushes that hold it. The rest
//!   waits outside, where the program notices (back-pressure), instead of in the queue, where all of them would be late.
//!
//! "The smallest batch that saturates" is the rule that study 5, of continuous writers, found by hand and ends with.

mod cost;
mod demand;
#[cfg(test)]
mod simulation;
#[cfg(test)]
mod tests;

use std::time::Duration;

use cost::{Cost, Spread, whole};
use demand::Demand;

use super::arrivals::Arrived;
use super::options::WriterOptions;

/// The share of a full flush's time that is its fixed part. Halving it doubles the latency and gains 2 % of throughput.
const FIXED_SHARE: f64 = 0.04;

/// Flushes of fewer rows than this share of the fixed part cost the server more than they save anybody's time.
const LEAST: f64 = 0.5;

/// The share of a latency target that is planned with; the rest is for what is not modelled (encoding, waking up).
const PLANNED: f64 = 0.9;

/// Rows come and go by whole flushes; found by simulation, with one to four connections.
const BY_WHOLE_FLUSHES: f64 = 0.5;

/// So many times more than what comes passes while rows wait, if flushes may be so large.
const CATCHING_UP: f64 = 1.3;

/// So many times the target is planned with instead where less would pass than comes.
const TOLERATED: f64 = 3.0;

/// More than so many times what the largest flushes could write is no load to be carried: its program is held back.
const HOPELESS: f64 = 1.1;

/// Where a target is out of reach even for an empty flush, flushes still take this share of the fixed part in rows:
/// fewer would not bring it nearer.
const OUT_OF_REACH: f64 = 0.125;

/// While rows wait all flushes are equally large and would not tell the fixed part from the price of a row: one in so
/// many has so many times fewer rows. It costs 0.6 % of the throughput.
const PROBE: usize = 8;

/// A change of the batch below this share is not worth making.
const NOTICEABLE: f64 = 0.1;

/// Flushes under pressure at a number of connections before it is judged, if its gain is plain.
const SETTLED: u32 = 16;

/// The same where a gain is smaller than [`PLAIN`]: flushes differ by 15 % and more.
const WELL_SETTLED: u32 = 48;

/// A gain that sixteen flushes do not make by chance.
const PLAIN: f64 = 1.15;

/// A connection is kept if so many times more rows pass: more than one, so that noise does not add connections.
const BETTER: f64 = 1.05;

/// So long it is believed whether a connection helps: the server's other work changes by the minute.
const BELIEVED: Duration = Duration::from_secs(30);

/// What options allow and ask for.
#[derive(Debug, Clone)]
pub(super) struct Limits {
    /// The most rows of a flush.
    pub(super) max_rows: usize,
    /// The most bytes of a flush.
    pub(super) max_bytes: usize,
    /// The most connections.
    pub(super) connections: usize,
    /// The most rows that are not settled.
    pub(super) queue_rows: usize,
    /// The 99th percentile of latency that is aimed at.
    pub(super) latency_target: Option<Duration>,
}

impl Limits {
    /// What a program allows and asks for.
    pub(super) fn of(options: &WriterOptions) -> Limits {
        Limits {
            max_rows: options.max_rows,
            max_bytes: options.max_bytes,
            connections: options.connections,
            queue_rows: options.queue_rows,
            latency_target: options.latency_target,
        }
    }
}

/// A flush that ended well at the first attempt, over a connection that was open. Others say nothing about what flushes
/// cost.
#[derive(Debug, Clone, Copy)]
pub(super) struct Observation {
    /// When it ended, since the writer began.
    pub(super) at: Duration,
    /// Its rows.
    pub(super) rows: usize,
    /// Their bytes.
    pub(super) bytes: usize,
    /// From taking the rows to knowing them committed.
    pub(super) took: Duration,
    /// Flushes under way, itself included: when it began or when it ended, whichever is more.
    pub(super) under_way: usize,
    /// Rows that waited in the queue when it ended.
    pub(super) waiting: usize,
    /// Those, and all that were under way, its own included.
    pub(super) unsettled: usize,
    /// Rows that came since the writer began, and for how long there was room.
    pub(super) arrived: Arrived,
}

/// What an adaptive writer has decided about the rows to come.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Decision {
    /// The most rows of a flush; so many are flushed without waiting for others.
    pub batch_rows: usize,
    /// The most connections in use.
    pub connections: usize,
    /// The most rows that are not settled yet, those under way included.
    pub queue_rows: usize,
}

/// Learns from flushes and decides about the next ones.
#[derive(Debug)]
pub(super) struct Controller {
    limits: Limits,
    /// What a flush costs while one, two, three, … are under way; only as many as were tried.
    levels: Vec<Level>,
    spread: Spread,
    demand: Demand,
    /// Unsettled rows, averaged over some flushes.
    unsettled: f64,
    row_bytes: f64,
    /// Flushes under pressure at the present number of connections.
    settled: u32,
    /// One connection less than before is used, to compare.
    is_trial: bool,
    /// The share of the last flushes after which all connections were busy and another batch waited.
    pressed: f64,
    flushes: usize,
    decision: Decision,
}

/// So many connections.
#[derive(Debug)]
struct Level {
    /// What a flush costs while so many are under way.
    cost: Cost,
    /// The same while rows wait. Otherwise a flush shares the server for a part of its time only, and seems cheap.
    pressed: Cost,
    /// Whether it was better than one connection less, and when that was found.
    verdict: Option<(bool, Duration)>,
}

impl Level {
    fn new(cost: Cost) -> Level {
        Level { pressed: cost.clone(), cost, verdict: None }
    }
}

impl Controller {
    pub(super) fn new(limits: &Limits) -> Controller {
        // A server that is two milliseconds away, which the first flushes correct. Where it is near, the first batches are
        // too large, and show that at once; the other way round they would be too small to show anything.
        let first = Level::new(Cost::guess(100.0, 16e-6));
        let mut controller = Controller {
            limits: limits.clone(),
            levels: vec![first],
            spread: Spread::default(),
            demand: Demand::default(),
            unsettled: 0.0,
            row_bytes: 0.0,
            settled: 0,
            is_trial: false,
            pressed: 0.0,
            flushes: 0,
            decision: Decision { batch_rows: 0, connections: 1, queue_rows: limits.queue_rows },
        };
        controller.decision.batch_rows = whole(controller.batch(1)).max(1);
        controller.decision.queue_rows = controller.queue(1);
        controller
    }

    /// What holds for the next flush.
    pub(super) fn decision(&self) -> Decision {
        let is_probe = self.pressed > 0.5 && self.flushes.is_multiple_of(PROBE);
        let batch_rows =
            if is_probe { self.decision.batch_rows.div_ceil(PROBE) } else { self.decision.batch_rows };
        Decision { batch_rows, ..self.decision }
    }

    /// The same without the small flushes that are made to learn from: for people to look at.
    pub(super) fn steady(&self) -> Decision {
        self.decision
    }

    /// Learns from a flush that ended.
    pub(super) fn observe(&mut self, flush: &Observation) {
        if flush.rows == 0 {
            return;
        }
        let (rows, seconds) = (flush.rows as f64, flush.took.as_secs_f64());
        let is_busy = flush.under_way >= self.decision.connections;
        let is_pressed = is_busy && 2 * flush.waiting >= self.decision.batch_rows;
        let under_way = flush.under_way.clamp(1, self.levels.len());
        let level = &mut self.levels[under_way - 1];
        self.spread.observe(level.cost.observe(rows, seconds));
        if is_pressed {
            level.pressed.observe(rows, seconds);
        }
        self.flushes = self.flushes.wrapping_add(1);

        self.demand.observe(flush.at, flush.arrived);
        let average = |held: &mut f64, now: f64| *held += (now - *held) / 8.0;
        average(&mut self.unsettled, flush.unsettled as f64);
        average(&mut self.row_bytes, flush.bytes as f64 / rows);
        average(&mut self.pressed, f64::from(u8::from(is_pressed)));
        self.settled = self.settled.saturating_add(u32::from(is_pressed));
        if self.settled >= SETTLED && self.pressed > 0.5 {
            self.reconsider_connections(flush.at);
        }

        let connections = self.decision.connections;
        let batch = self.batch(connections);
        let held = self.decision.batch_rows as f64;
        if (batch - held).abs() > NOTICEABLE * held {
            self.decision.batch_rows = whole(batch).max(1);
        }
        self.decision.queue_rows = self.queue(connections);
    }

    /// One connection more if it may be better, one less to see whether that is as good.
    fn reconsider_connections(&mut self, now: Duration) {
        let connections = self.decision.connections;
        let is_believed = |level: &Level| match level.verdict {
            Some((is_better, at)) if now.saturating_sub(at) < BELIEVED => Some(is_better),
            _ => None,
        };
        let here = is_believed(&self.levels[connections - 1]);
        let above = self.levels.get(connections).and_then(is_believed);
        let gain = match here {
            _ if self.is_trial => self.gain(connections + 1),
            Some(true) => f64::INFINITY,
            _ => self.gain(connections),
        };
        if self.settled < WELL_SETTLED && gain < PLAIN {
            return;
        }
        let is_better = gain > BETTER;
        if self.is_trial {
            self.levels[connections].verdict = Some((is_better, now));
            self.use_connections(connections + usize::from(is_better), false);
        } else if !is_better {
            self.use_connections(connections - 1, true);
        } else if connections < self.limits.connections && above != Some(false) {
            if self.levels.len() == connections {
                // As though connections did not hinder each other: the first batches are too large, and show how it is.
                self.levels.push(Level::new(self.cost(connections).anew()));
            }
            self.use_connections(connections + 1, false);
        }
    }

    /// How many times more rows pass over so many connections than over one less, where both are known; else as if it were
    /// very many, since to try is the way to know.
    fn gain(&self, connections: usize) -> f64 {
        if connections > 1 && self.is_known(connections) && self.is_known(connections - 1) {
            self.rate(connections) / self.rate(connections - 1)
        } else {
            f64::INFINITY
        }
    }

    /// Whether so many connections were seen under pressure, with batches about as large as they may be: what is learned
    /// from small flushes says little about large ones.
    fn is_known(&self, connections: usize) -> bool {
        let seen = &self.levels[connections - 1].pressed;
        seen.flushes() >= SETTLED && 2.0 * seen.usual_rows() >= self.most(connections)
    }

    fn use_connections(&mut self, connections: usize, is_trial: bool) {
        self.decision.connections = connections;
        self.is_trial = is_trial;
        self.settled = 0;
    }

    fn cost(&self, connections: usize) -> &Cost {
        &self.levels[connections - 1].cost
    }

    /// The most rows a second over so many connections.
    fn rate(&self, connections: usize) -> f64 {
        let rows = self.most(connections);
        connections as f64 * rows / self.levels[connections - 1].pressed.seconds(rows)
    }

    /// The rows of a flush over so many connections, given what is there to be written.
    fn batch(&self, connections: usize) -> f64 {
        let most = self.largest(connections);
        let share = self.unsettled / (connections + 1) as f64;
        let least = LEAST * self.cost(connections).fixed_rows();
        share.clamp(least.min(most), most)
    }

    /// The most rows of a flush over so many connections that make sense, and hold the target.
    fn most(&self, connections: usize) -> f64 {
        let within = |target: Duration| self.within(connections, target.as_secs_f64());
        self.bounded(connections, self.limits.latency_target.map_or(f64::INFINITY, within))
    }

    /// The same where more comes than these carry.
    fn largest(&self, connections: usize) -> f64 {
        let most = self.most(connections);
        let Some(target) = self.limits.latency_target else { return most };
        let tolerated = self.within(connections, TOLERATED * target.as_secs_f64());
        most.max(self.bounded(connections, self.demanded(connections).min(tolerated)))
    }

    /// The rows of flushes that settle rows in so many seconds.
    fn within(&self, connections: usize, seconds: f64) -> f64 {
        let cost = self.cost(connections);
        // A connection comes free while so much of a flush passes, then one's own begins.
        let flushes = 1.0 / connections as f64 + 1.0 + self.surplus();
        cost.rows(PLANNED * seconds / flushes).max(OUT_OF_REACH * cost.fixed_rows())
    }

    /// The fewest rows of a flush with which all rows that come can be written, and those that wait beside; none where no
    /// flush is large enough.
    fn demanded(&self, connections: usize) -> f64 {
        let cost = self.cost(connections);
        // Of the time of the largest flushes.
        let share = self.demand.rate() * cost.price() / connections as f64;
        if share > HOPELESS {
            return 0.0;
        }
        let share = (CATCHING_UP * share).min(1.0 - FIXED_SHARE);
        cost.fixed_rows() * share / (1.0 - share)
    }

    fn bounded(&self, connections: usize, wanted: f64) -> f64 {
        let saturating = self.cost(connections).fixed_rows() * (1.0 - FIXED_SHARE) / FIXED_SHARE;
        // A full batch must find room while others are under way.
        let room = self.limits.queue_rows as f64 / (connections + 1) as f64;
        let bytes =
            if self.row_bytes > 0.0 { self.limits.max_bytes as f64 / self.row_bytes } else { f64::MAX };
        wanted.min(saturating).min(self.limits.max_rows as f64).min(room).min(bytes).max(1.0)
    }

    /// By how many flushes the latency of one row in a hundred exceeds the mean: flushes differ, and rows come and go by
    /// whole flushes, not evenly.
    fn surplus(&self) -> f64 {
        self.spread.high() - 1.0 + BY_WHOLE_FLUSHES
    }

    /// The most unsettled rows over so many connections: those that are written within the target, but for the surplus.
    /// Never less than keeps all connections and the next batch full.
    fn queue(&self, connections: usize) -> usize {
        let Some(target) = self.limits.latency_target else { return self.limits.queue_rows };
        let (rows, cost) = (self.largest(connections), self.cost(connections));
        let seconds = cost.seconds(rows);
        let in_time = PLANNED * target.as_secs_f64() - self.surplus() * seconds;
        let least = (connections + 1) as f64 * rows;
        whole((connections as f64 * rows / seconds * in_time).max(least)).clamp(1, self.limits.queue_rows)
    }
}
