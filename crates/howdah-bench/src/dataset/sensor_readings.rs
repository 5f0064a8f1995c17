//! `sensor-readings`: one reading every ten seconds from a hundred devices, with a column of nearly every common type.
//!
//! Ranges, shares and the number of devices, places and tag sets are those of study 2; ids and names are drawn or ours.

use super::rng::Rng;
use super::value::{Rows, Sink, Value};

/// Names and types of the columns that files hold, in order. The table has an identity column before them.
pub(super) const COLUMNS: [(&str, &str); 9] = [
    ("device_id", "uuid NOT NULL"),
    ("timestamp", "timestamptz NOT NULL"),
    ("temperature", "double precision"),
    ("humidity", "double precision"),
    ("pressure", "numeric(10,2)"),
    ("battery_level", "smallint"),
    ("is_anomaly", "boolean DEFAULT false"),
    ("location", "text"),
    ("tags", "text[]"),
];

/// How many devices report.
const DEVICES: u32 = 100;
/// 2025-01-01 00:00:00 UTC, in microseconds.
const START: i64 = 1_735_689_600_000_000;
/// Microseconds between two readings.
const INTERVAL: i64 = 10_000_000;

const LOCATIONS: [&str; 10] = [
    "boiler-room",
    "cold-store",
    "dock-east",
    "dock-west",
    "greenhouse",
    "laboratory",
    "machine-hall",
    "office-2",
    "roof",
    "server-room",
];
const TAG_SETS: [&[Option<&[u8]>]; 7] = [
    &[],
    &[Some(b"indoor")],
    &[Some(b"outdoor")],
    &[Some(b"indoor"), Some(b"calibrated")],
    &[Some(b"outdoor"), Some(b"solar")],
    &[Some(b"critical")],
    &[Some(b"indoor"), Some(b"critical"), Some(b"monitored")],
];

/// The endless sequence of readings for a seed.
pub(super) struct SensorReadings {
    rng: Rng,
    devices: Vec<[u8; 16]>,
    device: usize,
    micros: i64,
    temperature: f64,
    humidity: f64,
    pressure: i64,
    battery: i16,
    anomaly: bool,
    location: &'static str,
    tags: usize,
}

impl SensorReadings {
    pub(super) fn new(seed: u64) -> Self {
        let mut rng = Rng::new(seed, b"sensors\0");
        SensorReadings {
            devices: (0..DEVICES).map(|_| rng.uuid()).collect(),
            rng,
            device: 0,
            micros: START - INTERVAL,
            temperature: 0.0,
            humidity: 0.0,
            pressure: 0,
            battery: 0,
            anomaly: false,
            location: LOCATIONS[0],
            tags: 0,
        }
    }
}

impl Rows for SensorReadings {
    fn advance(&mut self) {
        let rng = &mut self.rng;
        self.micros += INTERVAL;
        self.device = rng.below(DEVICES) as usize;
        self.temperature = 18.0 + 15.0 * rng.fraction();
        self.humidity = 30.0 + 50.0 * rng.fraction();
        self.pressure = 98_000 + i64::from(rng.below(4_000));
        self.battery = 20 + i16::try_from(rng.below(80)).expect("below 80");
        self.anomaly = rng.chance(5, 100);
        self.location = rng.pick(&LOCATIONS);
        self.tags = rng.below(7) as usize;
    }

    fn emit(&self, sink: &mut impl Sink) {
        sink.begin(COLUMNS.len());
        sink.put(Value::Uuid(self.devices[self.device]));
        sink.put(Value::Timestamptz(self.micros));
        sink.put(Value::Double(self.temperature));
        sink.put(Value::Double(self.humidity));
        sink.put(Value::Numeric { scaled: self.pressure, scale: 2 });
        sink.put(Value::Smallint(self.battery));
        sink.put(Value::Boolean(self.anomaly));
        sink.put(Value::Text(self.location.as_bytes()));
        sink.put(Value::TextArray(TAG_SETS[self.tags]));
    }
}
