//! Makes the rows that every language's program makes, as generated code and as hands have them.

use chrono::{DateTime, TimeDelta, Utc};
use rust_decimal::Decimal;
use uuid::Uuid;

use crate::howdah_postgres::Numeric;
use crate::sensor::SensorReadingsRow;

const START: i64 = 1_735_689_600;
const DEVICES: usize = 100;
const PLACES: [&str; 10] =
    ["Hall A", "Hall B", "Roof", "Cellar", "Yard", "Office 1", "Office 2", "Lab", "Dock", "Gate"];
const TAGS: [&[&str]; 7] = [
    &[],
    &["indoor"],
    &["outdoor"],
    &["indoor", "calibrated"],
    &["outdoor", "solar"],
    &["test"],
    &["indoor", "critical", "v2"],
];

/// A row as one writes it by hand for tokio-postgres. One that is to be appended has no key yet.
pub struct Reading {
    pub id: i64,
    pub device_id: Uuid,
    pub timestamp: DateTime<Utc>,
    pub temperature: Option<f64>,
    pub humidity: Option<f64>,
    pub pressure: Option<Decimal>,
    pub battery_level: Option<i16>,
    pub is_anomaly: Option<bool>,
    pub location: Option<String>,
    pub tags: Option<Vec<String>>,
}

/// 32 bits that look random and are the same in every language.
#[allow(clippy::cast_possible_truncation)]
fn mixed(number: usize, stream: usize) -> u32 {
    let mut word = number.wrapping_add(stream.wrapping_mul(0x9E37_79B9)) as u32;
    word ^= word >> 16;
    word = word.wrapping_mul(0x7FEB_352D);
    word ^= word >> 15;
    word = word.wrapping_mul(0x846C_A68B);
    word ^ word >> 16
}

fn device(number: usize) -> Uuid {
    let word = |stream| u128::from(mixed(number, stream));
    Uuid::from_u128(word(100) << 96 | word(101) << 64 | word(102) << 32 | word(103))
}

/// The same rows for both ways.
pub fn make(count: usize) -> (Vec<SensorReadingsRow>, Vec<Reading>) {
    let devices: Vec<Uuid> = (0..DEVICES).map(device).collect();
    let hand = (0..count).map(|n| reading(n, &devices));
    hand.map(|row| (generated(&row), row)).unzip()
}

fn reading(n: usize, devices: &[Uuid]) -> Reading {
    let picked = |stream, among: usize| mixed(n, stream) as usize % among;
    let start = DateTime::from_timestamp(START, 0).unwrap_or_default();
    let battery = i16::try_from(20 + mixed(n, 4) % 80);
    Reading {
        id: 0,
        device_id: devices[picked(0, devices.len())],
        timestamp: start + TimeDelta::seconds(10 * i64::try_from(n).unwrap_or_default()),
        temperature: Some(18.0 + f64::from(mixed(n, 1) % 1_500_000) / 100_000.0),
        humidity: Some(30.0 + f64::from(mixed(n, 2) % 5_000_000) / 100_000.0),
        pressure: Some(Decimal::new(i64::from(98_000 + mixed(n, 3) % 4_000), 2)),
        battery_level: battery.ok(),
        is_anomaly: Some(mixed(n, 5) % 20 == 0),
        location: Some(PLACES[picked(6, PLACES.len())].to_owned()),
        tags: Some(TAGS[picked(7, TAGS.len())].iter().map(|&tag| tag.to_owned()).collect()),
    }
}

fn generated(row: &Reading) -> SensorReadingsRow {
    let pressure = row.pressure.map(|pressure| pressure.to_string().parse::<Numeric>());
    SensorReadingsRow {
        device_id: row.device_id,
        timestamp: row.timestamp,
        temperature: row.temperature,
        humidity: row.humidity,
        pressure: pressure.and_then(Result::ok),
        battery_level: row.battery_level,
        is_anomaly: row.is_anomaly,
        location: row.location.clone(),
        tags: row.tags.as_ref().map(|tags| tags.iter().cloned().map(Some).collect()),
    }
}

/// Keys of rows that are there.
pub fn keys(count: usize, rows: usize) -> Vec<i64> {
    (0..count).map(|n| i64::try_from(mixed(n, 8) as usize % rows + 1).unwrap_or_default()).collect()
}

/// Something of every column, so that no value is left unread.
macro_rules! sum {
    ($row:expr) => {{
        let row = &$row;
        #[allow(clippy::cast_possible_truncation)]
        let measured = row.temperature.map_or(0, |t| t as i64) + row.humidity.map_or(0, |h| h as i64);
        let counted = row.location.as_ref().map_or(0, String::len) + row.tags.as_ref().map_or(0, Vec::len);
        row.id
            + measured
            + i64::try_from(counted).unwrap_or_default()
            + i64::from(row.device_id.as_bytes()[0])
            + row.timestamp.timestamp() % 60
            + i64::from(row.battery_level.unwrap_or_default())
            + i64::from(row.is_anomaly == Some(true))
            + i64::from(row.pressure.is_some())
    }};
}
pub(crate) use sum;
