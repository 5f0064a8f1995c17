//! Appends and reads as one writes it by hand with tokio-postgres.

use tokio_postgres::binary_copy::BinaryCopyInWriter;
use tokio_postgres::types::Type;
use tokio_postgres::{Client, Error, Row, ToStatement, Transaction};

use crate::rows::Reading;

const COPY: &str = "COPY sensor_readings (device_id, timestamp, temperature, humidity, pressure, battery_level, \
    is_anomaly, location, tags) FROM STDIN (FORMAT binary)";
pub const ONE: &str = "SELECT id, device_id, timestamp, temperature, humidity, pressure, battery_level, is_anomaly, \
    location, tags FROM sensor_readings WHERE id = $1";
pub const ALL: &str = "SELECT id, device_id, timestamp, temperature, humidity, pressure, battery_level, is_anomaly, \
    location, tags FROM sensor_readings WHERE id >= $1 ORDER BY id LIMIT $2";
const TYPES: [Type; 9] = [
    Type::UUID,
    Type::TIMESTAMPTZ,
    Type::FLOAT8,
    Type::FLOAT8,
    Type::NUMERIC,
    Type::INT2,
    Type::BOOL,
    Type::TEXT,
    Type::TEXT_ARRAY,
];

pub async fn append(transaction: &Transaction<'_>, rows: &[Reading]) -> Result<u64, Error> {
    let writer = BinaryCopyInWriter::new(transaction.copy_in(COPY).await?, &TYPES);
    let mut writer = std::pin::pin!(writer);
    for row in rows {
        writer
            .as_mut()
            .write(&[
                &row.device_id,
                &row.timestamp,
                &row.temperature,
                &row.humidity,
                &row.pressure,
                &row.battery_level,
                &row.is_anomaly,
                &row.location,
                &row.tags,
            ])
            .await?;
    }
    writer.finish().await
}

/// With the types of its parameters the text takes one round trip, which a text alone does not.
pub async fn one_typed(client: &Client, id: i64) -> Result<Option<Reading>, Error> {
    let row = client.query_typed_opt(ONE, &[(&id, Type::INT8)]).await?;
    row.as_ref().map(reading).transpose()
}

pub async fn all_typed(client: &Client, id: i64, count: i64) -> Result<Vec<Reading>, Error> {
    let rows = client.query_typed(ALL, &[(&id, Type::INT8), (&count, Type::INT8)]).await?;
    rows.iter().map(reading).collect()
}

pub async fn one<S>(client: &Client, statement: &S, id: i64) -> Result<Option<Reading>, Error>
where
    S: ?Sized + ToStatement,
{
    client.query_opt(statement, &[&id]).await?.as_ref().map(reading).transpose()
}

pub async fn all<S>(client: &Client, statement: &S, id: i64, count: i64) -> Result<Vec<Reading>, Error>
where
    S: ?Sized + ToStatement,
{
    client.query(statement, &[&id, &count]).await?.iter().map(reading).collect()
}

fn reading(row: &Row) -> Result<Reading, Error> {
    Ok(Reading {
        id: row.try_get(0)?,
        device_id: row.try_get(1)?,
        timestamp: row.try_get(2)?,
        temperature: row.try_get(3)?,
        humidity: row.try_get(4)?,
        pressure: row.try_get(5)?,
        battery_level: row.try_get(6)?,
        is_anomaly: row.try_get(7)?,
        location: row.try_get(8)?,
        tags: row.try_get(9)?,
    })
}
