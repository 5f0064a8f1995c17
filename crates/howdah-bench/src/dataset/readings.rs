//! `readings`: what a fleet of trucks reports every ten seconds, as random walks within bounds.
//!
//! Steps, bounds, decimals and the rates of missing, late and emptied entries are those of the IoT use case of the Time
//! Series Benchmark Suite.

use super::Rows;
use super::copy_binary as binary;
use super::decimal::{push_date_time, push_integer, push_scaled};
use super::draw::Draw;

/// Names and types, in order.
pub(super) const COLUMNS: [(&str, &str); 9] = [
    ("time", "timestamptz"),
    ("tags_id", "integer"),
    ("latitude", "double precision"),
    ("longitude", "double precision"),
    ("elevation", "double precision"),
    ("velocity", "double precision"),
    ("heading", "double precision"),
    ("grade", "double precision"),
    ("fuel_consumption", "double precision"),
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
}

/// The endless sequence of readings for a seed.
pub(super) struct Readings {
    draw: Draw,
    fleet: Vec<[i32; GAUGES.len()]>,
    seconds: i64,
    truck: usize,
    held_back: Vec<Reading>,
    current: Reading,
}

impl Readings {
    pub(super) fn new(seed: u64) -> Self {
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
            current: Reading { seconds: START, truck: 0, values: [0; GAUGES.len()], silent: GAUGES.len() },
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
            return Reading { seconds: self.seconds, truck, values: *walk, silent };
        }
    }
}

impl Rows for Readings {
    fn advance(&mut self) {
        loop {
            let reading = self.measure();
            if !self.draw.chance(30, 100) {
                self.current = reading;
                return;
            }
            if self.held_back.len() == HELD_BACK as usize {
                let slot = self.draw.below(HELD_BACK) as usize;
                self.current = std::mem::replace(&mut self.held_back[slot], reading);
                return;
            }
            self.held_back.push(reading);
        }
    }

    fn push_csv(&self, out: &mut Vec<u8>) {
        let Reading { seconds, truck, values, silent } = self.current;
        push_date_time(out, seconds, b' ');
        out.extend_from_slice(b"+00,");
        push_integer(out, truck);
        for (index, (value, gauge)) in values.into_iter().zip(&GAUGES).enumerate() {
            out.push(b',');
            if index != silent {
                push_scaled(out, value, gauge.decimals);
            }
        }
        out.push(b'\n');
    }

    fn push_binary(&self, out: &mut Vec<u8>) {
        let Reading { seconds, truck, values, silent } = self.current;
        binary::push_tuple(out, 9);
        binary::push_timestamptz(out, seconds);
        binary::push_int4(out, truck);
        for (index, (value, gauge)) in values.into_iter().zip(&GAUGES).enumerate() {
            if index == silent {
                binary::push_null(out);
            } else {
                // Both operands are exact, so the quotient is the float8 nearest to the decimal in the CSV.
                binary::push_float8(out, f64::from(value) / f64::from(10_u32.pow(gauge.decimals)));
            }
        }
    }
}
