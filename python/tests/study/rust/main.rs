//! Writes the study's rows three ways by generated code, and prints after each what its queries give.
#![forbid(unsafe_code)]

mod check;
mod howdah_migrate;
mod howdah_postgres;
mod queries;

use check::{Outcome, connect};
use chrono::{DateTime, TimeDelta, Utc};
use howdah_migrate::Options;
use howdah_postgres::Numeric;
use queries::SensorReadingsRow;
use tokio_postgres::Transaction;

const ROWS: i32 = 1000;
/// 1999-12-31T23:00:00Z.
const BEGIN: i64 = 946_681_200;
const PLACES: [Option<&str>; 7] = [
    Some("Halle 3"),
    Some(""),
    Some("a\tb\\c\n"),
    Some("Köln ☃ 𝄞"),
    Some("\"quoted\", {braces}"),
    Some("NULL"),
    None,
];
const TAGS: [Option<&[Option<&str>]>; 6] = [
    Some(&[]),
    Some(&[Some("indoor")]),
    Some(&[Some("indoor"), None, Some("")]),
    Some(&[Some("NULL"), Some("a b"), Some("c,d")]),
    Some(&[Some("x\"y"), Some("\\")]),
    None,
];
const LITERALS: [Option<&str>; 6] = [
    Some("{}"),
    Some("{indoor}"),
    Some("{indoor,NULL,\"\"}"),
    Some(r#"{"NULL","a b","c,d"}"#),
    Some(r#"{"x\"y","\\"}"#),
    None,
];
const TEMPERATURES: [Option<f64>; 4] = [None, Some(-0.0), Some(f64::INFINITY), Some(5e-324)];
const ANOMALIES: [Option<bool>; 3] = [Some(true), Some(false), None];

fn begin() -> Outcome<DateTime<Utc>> {
    Ok(DateTime::from_timestamp(BEGIN, 0).ok_or("no time")?)
}

fn pressure(i: i32) -> Outcome<Option<Numeric>> {
    if i % 17 == 0 {
        return Ok(None);
    }
    let text = format!("{:.2}", f64::from(i * 7919 % 2_000_001 - 1_000_000) / 100.0);
    Ok(Some(text.parse()?))
}

fn row(i: i32) -> Outcome<SensorReadingsRow> {
    let n = usize::try_from(i)?;
    Ok(SensorReadingsRow {
        device_id: format!("00000000-0000-4000-8000-{:012x}", i * 7919 % 100).parse()?,
        timestamp: begin()? + TimeDelta::milliseconds(i64::from(i) * 10007),
        temperature: *TEMPERATURES.get(n % 11).unwrap_or(&Some(f64::from(i * 37) / 7.0 - 100.0)),
        humidity: (i % 13 != 0).then(|| f64::from(i * 53 % 1000) / 8.0),
        pressure: pressure(i)?,
        battery_level: if i % 19 == 0 { None } else { Some(i16::try_from(i % 200 - 100)?) },
        is_anomaly: ANOMALIES[n % 3],
        location: PLACES[n % 7].map(str::to_owned),
        tags: TAGS[n % 6].map(|tags| tags.iter().map(|tag| tag.map(str::to_owned)).collect()),
    })
}

async fn insert(db: &Transaction<'_>, rows: &[SensorReadingsRow]) -> Outcome<u64> {
    let mut written = 0;
    for row in rows {
        written += queries::insert_reading(
            db,
            row.device_id,
            row.timestamp,
            row.temperature,
            row.humidity,
            row.pressure.as_ref(),
            row.battery_level,
            row.is_anomaly,
            row.location.as_deref(),
            row.tags.as_deref(),
        )
        .await?;
    }
    Ok(written)
}

fn each<T>(rows: &[SensorReadingsRow], column: impl Fn(&SensorReadingsRow) -> T) -> Vec<T> {
    rows.iter().map(column).collect()
}

async fn unnest(db: &Transaction<'_>, rows: &[SensorReadingsRow]) -> Outcome<u64> {
    let literals = LITERALS.iter().map(|text| text.map(str::to_owned));
    let literals: Vec<_> = literals.cycle().take(rows.len()).collect();
    Ok(queries::insert_readings_unnest(
        db,
        &each(rows, |row| Some(row.device_id)),
        &each(rows, |row| Some(row.timestamp)),
        &each(rows, |row| row.temperature),
        &each(rows, |row| row.humidity),
        &each(rows, |row| row.pressure.clone()),
        &each(rows, |row| row.battery_level),
        &each(rows, |row| row.is_anomaly),
        &each(rows, |row| row.location.clone()),
        &literals,
    )
    .await?)
}

async fn verify(db: &Transaction<'_>, written: u64) -> Outcome {
    let count = queries::count_readings(db).await?.unwrap_or_default();
    let sums = queries::sums(db).await?.ok_or("no sums")?;
    let one = queries::reading_by_id(db, count - 499).await?.ok_or("no row")?;
    let newest = queries::last_readings(db).await?;
    let since = newest[0].timestamp - begin()?;
    println!(
        "{written} {count} {} {} {} {} {} {} {} {}",
        sums.batteries.ok_or("no batteries")?,
        sums.pressure.ok_or("no pressures")?,
        sums.anomalies,
        one.device_id,
        one.pressure.ok_or("no pressure")?,
        one.tags.ok_or("no tags")?.len(),
        newest.len(),
        since.num_milliseconds(),
    );
    Ok(())
}

#[tokio::main]
async fn main() -> Outcome {
    let mut client = connect().await?;
    println!("{}", queries::apply_migrations(&mut client, Options::default()).await?);
    let rows = (0..ROWS).map(row).collect::<Outcome<Vec<_>>>()?;
    for way in ["append", "insert", "unnest"] {
        let transaction = client.transaction().await?;
        let written = match way {
            "append" => queries::append_sensor_readings(&transaction, rows.clone()).await?,
            "insert" => insert(&transaction, &rows).await?,
            _ => unnest(&transaction, &rows).await?,
        };
        verify(&transaction, written).await?;
        transaction.commit().await?;
    }
    Ok(())
}
