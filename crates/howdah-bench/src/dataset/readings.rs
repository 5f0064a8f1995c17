//! `readings`: what a fleet of trucks reports every ten seconds, as random walks within bounds.
//!
//! Starts, steps, bounds, decimals, tags and the ways in which entries get lost, late and emptied are those of the IoT use
//! case of the Time Series Benchmark Suite; what is drawn is not.

use std::collections::VecDeque;

use super::rng::Rng;
use super::value::{Rows, Sink, Value};

/// Names and types, in order.
pub(super) const COLUMNS: [(&str, &str); 9] = {
    let [columns @ .., _] = TAGGED_COLUMNS;
    columns
};

/// Names and types with what is known of the truck.
pub(super) const TAGGED_COLUMNS: [(&str, &str); 10] = [
    ("time", "timestamptz"),
    ("tags_id", "integer"),
    ("latitude", "double precision"),
    ("longitude", "double precision"),
    ("elevation", "double precision"),
    ("velocity", "double precision"),
    ("heading", "double precision"),
    ("grade", "double precision"),
    ("fuel_consumption", "double precision"),
    ("additional_tags", "jsonb"),
];

/// The size of the fleet.
const TRUCKS: i32 = 150;
/// What is known of a truck.
const TAGS: usize = 8;
/// 2024-01-01 00:00:00 UTC.
const START: i64 = 1_704_067_200;
/// Seconds between two reports of a truck.
const INTERVAL: i64 = 10;
/// How many entries travel together, and get lost or late together.
const BATCH: usize = 10;

/// One gauge: integers that stand for `value / 10^decimals`, so that no machine rounds differently.
struct Gauge {
    decimals: u32,
    low: i32,
    high: i32,
    /// The walk moves by at most so much each way.
    step: i32,
    /// The walk begins in this range.
    first: (i32, i32),
}

const GAUGES: [Gauge; 7] = [
    Gauge { decimals: 5, low: -9_000_000, high: 9_000_000, step: 500, first: (0, 8_999_999) },
    Gauge { decimals: 5, low: -18_000_000, high: 18_000_000, step: 500, first: (0, 17_999_999) },
    Gauge { decimals: 0, low: 0, high: 5_000, step: 10, first: (0, 499) },
    Gauge { decimals: 0, low: 0, high: 100, step: 10, first: (0, 0) },
    Gauge { decimals: 0, low: 0, high: 360, step: 5, first: (0, 359) },
    Gauge { decimals: 0, low: 0, high: 100, step: 5, first: (0, 0) },
    Gauge { decimals: 1, low: 0, high: 500, step: 50, first: (250, 250) },
];

type Gauges = [i32; GAUGES.len()];

/// One row.
#[derive(Clone, Copy)]
struct Entry {
    seconds: i64,
    /// Counted from 0.
    truck: i32,
    values: Gauges,
    /// The gauge that says nothing this time.
    silent: Option<usize>,
    /// The tag that is empty this time.
    emptied: Option<usize>,
}

/// The trucks as they drive: entries in the order of time.
struct Fleet {
    rng: Rng,
    gauges: Vec<Gauges>,
    seconds: i64,
    truck: i32,
}

impl Fleet {
    fn new(seed: u64) -> Self {
        let mut rng = Rng::new(seed, b"readings");
        let gauges = (0..TRUCKS)
            .map(|_| std::array::from_fn(|gauge| rng.between(GAUGES[gauge].first.0, GAUGES[gauge].first.1)))
            .collect();
        Fleet { rng, gauges, seconds: START, truck: 0 }
    }

    fn next(&mut self) -> Entry {
        if self.truck == TRUCKS {
            self.truck = 0;
            self.seconds += INTERVAL;
        }
        let walk = &mut self.gauges[self.truck.unsigned_abs() as usize];
        let entry =
            Entry { seconds: self.seconds, truck: self.truck, values: *walk, silent: None, emptied: None };
        for (value, gauge) in walk.iter_mut().zip(&GAUGES) {
            *value = (*value + self.rng.between(-gauge.step, gauge.step)).clamp(gauge.low, gauge.high);
        }
        self.truck += 1;
        entry
    }
}

/// The endless sequence of readings for a seed, in the order in which they arrive.
pub(super) struct Readings {
    fleet: Fleet,
    /// Decides what gets lost, late and emptied.
    fate: Rng,
    late_entries: VecDeque<Entry>,
    late_batches: VecDeque<[Entry; BATCH]>,
    batch: [Entry; BATCH],
    /// How many of the batch have arrived.
    arrived: usize,
    tags: Option<Tags>,
}

impl Readings {
    pub(super) fn new(seed: u64, with_tags: bool) -> Self {
        let nothing = Entry { seconds: START, truck: 0, values: [0; _], silent: None, emptied: None };
        Readings {
            fleet: Fleet::new(seed),
            fate: Rng::new(seed, b"readfate"),
            late_entries: VecDeque::new(),
            late_batches: VecDeque::new(),
            batch: [nothing; BATCH],
            arrived: BATCH,
            tags: with_tags.then(|| Tags::new(seed)),
        }
    }

    /// The next batch to arrive. One in a hundred is lost, one in twenty waits for others to overtake it.
    fn next_batch(&mut self) -> [Entry; BATCH] {
        loop {
            if self.fate.chance(1, 100) {
                for _ in 0..BATCH {
                    self.fleet.next();
                }
                continue;
            }
            let late = self.fate.chance(5, 100);
            let overtaken = !self.late_batches.is_empty() && self.fate.chance(1, 2);
            if let Some(batch) = self.late_batches.pop_front_if(|_| overtaken) {
                return batch;
            }
            let batch = std::array::from_fn(|_| self.next_entry());
            if !late {
                return batch;
            }
            self.late_batches.push_back(batch);
        }
    }

    /// The next entry of a batch. One in ten is lost, three wait for others to overtake them; one that arrives lacks a
    /// gauge one time in ten and a tag one time in a hundred.
    fn next_entry(&mut self) -> Entry {
        loop {
            let overtaken = !self.late_entries.is_empty() && self.fate.chance(1, 2);
            let waiting = self.late_entries.pop_front_if(|_| overtaken);
            let mut entry = waiting.unwrap_or_else(|| self.fleet.next());
            if self.fate.chance(10, 100) {
                continue;
            }
            if self.fate.chance(30, 100) {
                self.late_entries.push_back(entry);
                continue;
            }
            entry.silent = some_below(self.fate.below(10 * 7), GAUGES.len());
            entry.emptied = some_below(self.fate.below(100 * 8), TAGS);
            return entry;
        }
    }

    fn current(&self) -> &Entry {
        &self.batch[self.arrived - 1]
    }
}

/// One of `limit`, or none of them.
fn some_below(drawn: u32, limit: usize) -> Option<usize> {
    Some(drawn as usize).filter(|drawn| *drawn < limit)
}

impl Rows for Readings {
    fn advance(&mut self) {
        if self.arrived == BATCH {
            self.batch = self.next_batch();
            self.arrived = 0;
        }
        self.arrived += 1;
        let Entry { truck, emptied, .. } = *self.current();
        if let Some(tags) = &mut self.tags {
            tags.write(truck, emptied);
        }
    }

    fn emit(&self, sink: &mut impl Sink) {
        let Entry { seconds, truck, values, silent, emptied } = *self.current();
        sink.begin(COLUMNS.len() + usize::from(self.tags.is_some()));
        sink.put(Value::Timestamptz(seconds * 1_000_000));
        // A truck with an emptied tag is another set of tags, with a number of its own.
        let set = emptied.map_or(0, |tag| i32::try_from(tag + 1).expect("there are few tags"));
        sink.put(Value::Integer(1 + truck + set * TRUCKS));
        for (index, (scaled, gauge)) in values.into_iter().zip(&GAUGES).enumerate() {
            if silent == Some(index) {
                sink.put(Value::Null);
            } else {
                sink.put(Value::Gauge { scaled, decimals: gauge.decimals });
            }
        }
        if let Some(tags) = &self.tags {
            sink.put(Value::Jsonb(&tags.json));
        }
    }
}

/// What is known of the trucks; drawn from a stream of its own, so that readings are the same with and without.
struct Tags {
    /// For every truck its tags as `"key":value`.
    fleet: Vec<[String; TAGS]>,
    json: Vec<u8>,
}

impl Tags {
    fn new(seed: u64) -> Self {
        let mut rng = Rng::new(seed, b"trucktag");
        let fleet = (0..TRUCKS).map(|truck| {
            let (model, load, tank, usual) =
                [("F-150", 2000, 200, 15), ("G-2000", 5000, 300, 19), ("H-2", 1500, 150, 12)]
                    [rng.below(3) as usize];
            let text = |key: &str, value: &str| format!("\"{key}\":\"{value}\"");
            [
                text("name", &format!("truck_{truck}")),
                text("fleet", rng.pick(&["East", "West", "North", "South"])),
                text("driver", rng.pick(&["Derek", "Rodney", "Albert", "Andy", "Seth", "Trish"])),
                text("model", model),
                text("device_version", rng.pick(&["v1.0", "v1.5", "v2.0", "v2.3"])),
                format!("\"load_capacity\":{load}"),
                format!("\"fuel_capacity\":{tank}"),
                format!("\"nominal_fuel_consumption\":{usual}"),
            ]
        });
        Tags { fleet: fleet.collect(), json: Vec::new() }
    }

    fn write(&mut self, truck: i32, emptied: Option<usize>) {
        self.json.clear();
        let tags = self.fleet[truck.unsigned_abs() as usize].iter().enumerate();
        for (_, tag) in tags.filter(|(index, _)| Some(*index) != emptied) {
            self.json.push(if self.json.is_empty() { b'{' } else { b',' });
            self.json.extend_from_slice(tag.as_bytes());
        }
        self.json.push(b'}');
    }
}
