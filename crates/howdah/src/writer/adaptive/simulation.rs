//! A server, its network and the writer's queue in simulated time, for the decisions to be tried on.
#![expect(clippy::cast_possible_truncation, reason = "simulated seconds and rows are few")]

use std::collections::VecDeque;
use std::time::Duration;

use hdrhistogram::Histogram;

use super::super::arrivals::Arrived;
use super::{Controller, Decision, Limits, Observation};

/// Seconds between two looks at the world: a tenth of the shortest flush.
const STEP: f64 = 50e-6;

/// What flushes cost.
#[derive(Debug, Clone, Copy)]
pub(super) struct Server {
    /// Flushes that are worked on at the same time without slowing each other down.
    pub(super) cores: f64,
    /// Seconds of a flush in which no core works: round trips, the log's disk.
    pub(super) away: f64,
    /// Seconds of a core a flush.
    pub(super) fixed: f64,
    /// Seconds of a core a row.
    pub(super) row: f64,
    /// The standard deviation of the logarithm of what a flush takes.
    pub(super) jitter: f64,
    /// Seconds until a connection is there, which is opened when it is first needed.
    pub(super) connect: f64,
    /// Every so many seconds nothing happens for so many seconds: a checkpoint.
    pub(super) stalls: Option<(f64, f64)>,
    /// From so many seconds on everything takes so many times as long.
    pub(super) slower: Option<(f64, f64)>,
}

/// Two cores, rows of a kilobyte with a key: 125,000 rows a second at the most.
pub(super) const NEAR: Server = Server {
    cores: 2.0,
    away: 300e-6,
    fixed: 300e-6,
    row: 16e-6,
    jitter: 0.15,
    connect: 15e-3,
    stalls: None,
    slower: None,
};

/// The same, three round trips of two milliseconds a flush away.
pub(super) const FAR: Server = Server { away: 6_300e-6, connect: 25e-3, ..NEAR };

/// Who writes.
pub(super) enum Workload {
    /// So many rows a second at a time, whatever becomes of them.
    Open(Box<dyn Fn(f64) -> f64>),
    /// The same, evenly instead of at random.
    Even(Box<dyn Fn(f64) -> f64>),
    /// So many rows, each written again as soon as it is acknowledged.
    Closed(usize),
    /// As many as there is room for.
    Endless,
    /// From this second on so many rows at the most, each written again when it is acknowledged, so many a second: as many
    /// as a program can make.
    Eager { from: f64, rows: usize, rate: f64 },
}

/// What decides.
pub(super) enum How {
    Fixed(Decision),
    Adaptive(Limits),
}

/// What became of the rows of one second of simulated time.
#[derive(Debug, Clone)]
pub(super) struct Second {
    /// Microseconds from the time at which a row should have been written to its acknowledgement.
    pub(super) latencies: Histogram<u64>,
    /// What was decided, every ten milliseconds.
    pub(super) decisions: Vec<Decision>,
}

impl Default for Second {
    fn default() -> Self {
        Second { latencies: Histogram::new(2).unwrap(), decisions: Vec::new() }
    }
}

/// Several seconds.
pub(super) struct SimulationRun(pub(super) Vec<Second>);

impl SimulationRun {
    /// Rows acknowledged a second, from one second until another.
    pub(super) fn rate(&self, seconds: std::ops::Range<usize>) -> f64 {
        let rows: u64 = self.0[seconds.clone()].iter().map(|second| second.latencies.len()).sum();
        rows as f64 / seconds.len() as f64
    }

    /// Milliseconds that a share of rows does not exceed.
    pub(super) fn quantile(&self, seconds: std::ops::Range<usize>, share: f64) -> f64 {
        let mut all = Histogram::<u64>::new(2).unwrap();
        self.0[seconds].iter().for_each(|second| all.add(&second.latencies).unwrap());
        all.value_at_quantile(share) as f64 / 1e3
    }

    pub(super) fn p99(&self, seconds: std::ops::Range<usize>) -> f64 {
        self.quantile(seconds, 0.99)
    }

    pub(super) fn decisions(&self, seconds: std::ops::Range<usize>) -> impl Iterator<Item = Decision> {
        self.0[seconds].iter().flat_map(|second| second.decisions.iter().copied())
    }
}

/// Rows that came at the same time.
type TimedRows = VecDeque<(f64, usize)>;

struct SimulatedBatch {
    rows: TimedRows,
    /// It had to wait for its connection.
    is_first: bool,
    began: f64,
    under_way: usize,
    away: f64,
    work: f64,
}

struct World {
    random: Random,
    now: f64,
    /// Rows that found no room.
    outside: TimedRows,
    queue: TimedRows,
    waiting: usize,
    /// Connections that are open.
    open: usize,
    flights: Vec<SimulatedBatch>,
    unsettled: usize,
    arrived: Arrived,
    /// Of the next row that comes evenly.
    fraction: f64,
}

/// Lets so many seconds pass. `max_age` in seconds is the writer's option.
pub(super) fn run(server: &Server, load: &Workload, how: How, seconds: usize, seed: u64) -> SimulationRun {
    let max_age = 5e-3;
    let (mut controller, mut decision) = match how {
        How::Fixed(decision) => (None, decision),
        How::Adaptive(limits) => {
            let controller = Controller::new(&limits);
            let decision = controller.decision();
            (Some(controller), decision)
        }
    };
    let mut world = World {
        random: Random(fastrand::Rng::with_seed(seed)),
        now: 0.0,
        outside: TimedRows::new(),
        queue: TimedRows::new(),
        waiting: 0,
        // The writer's own, which looked at the table.
        open: 1,
        flights: Vec::new(),
        unsettled: 0,
        arrived: Arrived::default(),
        fraction: 0.0,
    };
    let mut run = SimulationRun(vec![Second::default(); seconds]);
    let steps = (1.0 / STEP).round() as usize;
    for step in 0..seconds * steps {
        world.now = step as f64 * STEP;
        let second = &mut run.0[step / steps];
        world.arrive(load, decision.queue_rows);
        world.admit(decision.queue_rows);
        while world.is_due(decision, max_age) {
            world.take(server, decision.batch_rows);
        }
        for flight in world.work(server) {
            let rows = count(&flight.rows);
            for (came, rows) in &flight.rows {
                second.latencies.record_n(((world.now - came) * 1e6) as u64, *rows as u64).unwrap();
            }
            if let Some(controller) = &mut controller
                && !flight.is_first
            {
                controller.observe(&Observation {
                    at: Duration::from_secs_f64(world.now),
                    rows,
                    bytes: 1_000 * rows,
                    took: Duration::from_secs_f64(world.now - flight.began),
                    under_way: flight.under_way.max(world.flights.len() + 1),
                    waiting: world.waiting,
                    unsettled: world.unsettled,
                    arrived: world.arrived,
                });
                decision = controller.decision();
            }
            world.unsettled -= rows;
        }
        if step % (steps / 100) == 0 {
            second.decisions.push(controller.as_ref().map_or(decision, Controller::steady));
        }
    }
    run
}

impl World {
    fn arrive(&mut self, load: &Workload, queue_rows: usize) {
        let rows = match load {
            Workload::Open(rate) => self.random.poisson(rate(self.now) * STEP),
            Workload::Even(rate) => {
                let rows = rate(self.now) * STEP + self.fraction;
                self.fraction = rows.fract();
                rows as usize
            }
            Workload::Closed(rows) => rows - self.unsettled - count(&self.outside),
            Workload::Eager { from, .. } if self.now < *from => 0,
            Workload::Eager { rows, rate, .. } => {
                let made = rate * STEP + self.fraction;
                self.fraction = made.fract();
                let room = queue_rows.min(*rows).saturating_sub(self.unsettled);
                room.min(made as usize)
            }
            Workload::Endless => queue_rows.saturating_sub(self.unsettled),
        };
        if rows > 0 {
            self.outside.push_back((self.now, rows));
        }
    }

    fn admit(&mut self, queue_rows: usize) {
        let admitted =
            move_rows(&mut self.outside, queue_rows.saturating_sub(self.unsettled), &mut self.queue);
        self.waiting += admitted;
        self.unsettled += admitted;
        self.arrived.rows += admitted as u64;
        if self.unsettled < queue_rows {
            self.arrived.open += Duration::from_secs_f64(STEP);
        }
    }

    fn is_due(&self, decision: Decision, max_age: f64) -> bool {
        let Some((oldest, _)) = self.queue.front() else { return false };
        self.flights.len() < decision.connections
            && (self.flights.is_empty()
                || self.waiting >= decision.batch_rows
                || self.now - oldest >= max_age)
    }

    fn take(&mut self, server: &Server, most: usize) {
        let mut rows = TimedRows::new();
        let taken = move_rows(&mut self.queue, most, &mut rows);
        self.waiting -= taken;
        let slower = server.slower.map_or(1.0, |(from, times)| if self.now >= from { times } else { 1.0 });
        let swing = (self.random.normal() * server.jitter).exp() * slower;
        let is_first = self.flights.len() == self.open;
        self.open += usize::from(is_first);
        self.flights.push(SimulatedBatch {
            rows,
            is_first,
            began: self.now,
            under_way: self.flights.len() + 1,
            away: server.away * swing + if is_first { server.connect } else { 0.0 },
            work: (server.fixed + server.row * taken as f64) * swing,
        });
    }

    /// Lets the server work for a step. What is done.
    fn work(&mut self, server: &Server) -> Vec<SimulatedBatch> {
        if server.stalls.is_some_and(|(every, lasts)| self.now > every && self.now % every < lasts) {
            return Vec::new();
        }
        let working = self.flights.iter().filter(|flight| flight.away <= 0.0).count();
        let share = STEP * (server.cores / working.max(1) as f64).min(1.0);
        for flight in &mut self.flights {
            if flight.away > 0.0 {
                flight.away -= STEP;
                flight.work += flight.away.min(0.0);
            } else {
                flight.work -= share;
            }
        }
        self.flights.extract_if(.., |flight| flight.away <= 0.0 && flight.work <= 0.0).collect()
    }
}

fn count(rows: &TimedRows) -> usize {
    rows.iter().map(|(_, rows)| rows).sum()
}

/// Moves up to `most` of the oldest rows. How many it moved.
fn move_rows(from: &mut TimedRows, most: usize, to: &mut TimedRows) -> usize {
    let mut left = most;
    while left > 0
        && let Some((came, rows)) = from.front_mut()
    {
        let taken = left.min(*rows);
        to.push_back((*came, taken));
        left -= taken;
        *rows -= taken;
        if *rows == 0 {
            from.pop_front();
        }
    }
    most - left
}

/// Random numbers of the distributions that arrivals and servers follow; the same ones for the same seed.
struct Random(fastrand::Rng);

impl Random {
    fn uniform(&mut self) -> f64 {
        self.0.f64()
    }

    /// Nearly: twelve uniform numbers have a variance of one.
    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.uniform()).sum::<f64>() - 6.0
    }

    fn poisson(&mut self, mean: f64) -> usize {
        let (limit, mut product, mut count) = ((-mean).exp(), self.uniform(), 0);
        while product > limit {
            product *= self.uniform();
            count += 1;
        }
        count
    }
}
