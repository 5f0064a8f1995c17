//! `readings`: what a fleet of trucks reports every ten seconds, as random walks within bounds.
//!
//! Steps, bounds, decimals and the rates of missing, late and emptied entries are those of the IoT use case of the Time
//! Series Benchmark Suite.

use super::draw::Draw;
use super::value::{Rows, Sink, Value};

/// Names and types, in order.
pub(super) const COLUMNS: [(&str, &str); 9] = {
    let [columns @ .., _] = TAGGED_COLUMNS;
    columns
};

/// The same with what is known of the truck.
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
const TRUCKS: usize = 150;
/// 2024-01-01 00:00:00 UTC.
const START: i64 = 1_704_067_200;
/// Seconds between two reports of a truck.
const INTERVAL: i64 = 10;
/// Entries on their way that arrive late: with 3 in 10 held back, an entry is overtaken by some 850 others, a minute's
/// worth of the fleet.
const HELD_BACK: u32 = 256;

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
    Gauge { decimals: 0, low: 0, high: 100, step: 5, first: (0, 99) },
    Gauge { decimals: 1, low: 0, high: 500, step: 50, first: (250, 250) },
];

/// One row.
#[derive(Clone, Copy)]
struct Reading {
    seconds: i64,
    truck: i32,
    values: [i32; GAUGES.len()],
    /// The gauge that says nothing this time; any other number: all speak.
    silent: usize,
    /// The tag that is empty this time, likewise.
    emptied: usize,
}

/// The endless sequence of readings for a seed.
pub(super) struct Readings {
    draw: Draw,
    fleet: Vec<[i32; GAUGES.len()]>,
    seconds: i64,
    truck: usize,
    held_back: Vec<Reading>,
    current: Reading,
    tags: Option<Tags>,
}

impl Readings {
    pub(super) fn new(seed: u64, with_tags: bool) -> Self {
        let mut draw = Draw::new(seed, b"readings");
        let fleet = (0..TRUCKS)
            .map(|_| std::array::from_fn(|gauge| draw.between(GAUGES[gauge].first.0, GAUGES[gauge].first.1)))
            .collect();
        Readings {
            draw,
            fleet,
            seconds: START,
            truck: 0,
            held_back: Vec::with_capacity(HELD_BACK as usize),
            current: Reading {
                seconds: START,
                truck: 0,
                values: [0; GAUGES.len()],
                silent: GAUGES.len(),
                emptied: 0,
            },
            tags: with_tags.then(|| Tags::new(seed)),
        }
    }

    /// The next entry in the order of time.
    fn measure(&mut self) -> Reading {
        loop {
            if self.truck == self.fleet.len() {
                self.truck = 0;
                self.seconds += INTERVAL;
            }
            let walk = &mut self.fleet[self.truck];
            self.truck += 1;
            for (value, gauge) in walk.iter_mut().zip(&GAUGES) {
                *value = (*value + self.draw.between(-gauge.step, gauge.step)).clamp(gauge.low, gauge.high);
            }
            if self.draw.chance(10, 100) {
                continue; // missing
            }
            // One entry in ten has an empty field.
            let silent = self.draw.below(10 * 7) as usize;
            let truck = i32::try_from(self.truck).unwrap_or(0);
            let emptied = self.tags.as_mut().map_or(0, Tags::draw_emptied);
            return Reading { seconds: self.seconds, truck, values: *walk, silent, emptied };
        }
    }

    fn next_to_arrive(&mut self) -> Reading {
        loop {
            let reading = self.measure();
            if !self.draw.chance(30, 100) {
                return reading;
            }
            if self.held_back.len() == HELD_BACK as usize {
                let slot = self.draw.below(HELD_BACK) as usize;
                return std::mem::replace(&mut self.held_back[slot], reading);
            }
            self.held_back.push(reading);
        }
    }
}

impl Rows for Readings {
    fn advance(&mut self) {
        self.current = self.next_to_arrive();
        if let Some(tags) = &mut self.tags {
            tags.write(self.current.truck, self.current.emptied);
        }
    }

    fn emit(&self, sink: &mut impl Sink) {
        let Reading { seconds, truck, values, silent, .. } = self.current;
        sink.begin(COLUMNS.len() + usize::from(self.tags.is_some()));
        sink.put(Value::Timestamptz(seconds * 1_000_000));
        sink.put(Value::Integer(truck));
        for (index, (scaled, gauge)) in values.into_iter().zip(&GAUGES).enumerate() {
            if index == silent {
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
    draw: Draw,
    /// For every truck its tags as `"key":value`.
    fleet: Vec<[String; 8]>,
    json: Vec<u8>,
}

impl Tags {
    fn new(seed: u64) -> Self {
        let mut draw = Draw::new(seed, b"trucktag");
        let fleet = (0..TRUCKS).map(|truck| {
            let (model, load, tank, usual) =
                [("F-150", 2000, 200, 15), ("G-2000", 5000, 300, 19), ("H-2", 1500, 150, 12)]
                    [draw.below(3) as usize];
            [
                format!("\"name\":\"truck_{truck}\""),
                format!("\"fleet\":\"{}\"", draw.pick(&["East", "West", "North", "South"])),
                format!(
                    "\"driver\":\"{}\"",
                    draw.pick(&["Derek", "Rodney", "Albert", "Andy", "Seth", "Trish"])
                ),
                format!("\"model\":\"{model}\""),
                format!("\"device_version\":\"{}\"", draw.pick(&["v1.0", "v1.5", "v2.0", "v2.3"])),
                format!("\"load_capacity\":{load}"),
                format!("\"fuel_capacity\":{tank}"),
                format!("\"nominal_fuel_consumption\":{usual}"),
            ]
        });
        Tags { fleet: fleet.collect(), draw, json: Vec::new() }
    }

    /// The tag that an entry lacks, one entry in a hundred; a larger number: none.
    fn draw_emptied(&mut self) -> usize {
        self.draw.below(100 * 8) as usize
    }

    fn write(&mut self, truck: i32, emptied: usize) {
        self.json.clear();
        let tags = &self.fleet[usize::try_from(truck - 1).unwrap_or(0)];
        for (_, tag) in tags.iter().enumerate().filter(|(index, _)| *index != emptied) {
            self.json.push(if self.json.is_empty() { b'{' } else { b',' });
            self.json.extend_from_slice(tag.as_bytes());
        }
        self.json.push(b'}');
    }
}
