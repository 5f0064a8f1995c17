//! Loads sensor readings with the appender that howdah generated: rows of its struct, written as binary COPY.

mod howdah_postgres;
mod readings;

use std::process::ExitCode;

use contender::{Failure, Task, begin, boolean, moment, tell, texts};
use readings::{HowdahBenchRow, howdah_bench_appender};

/// Reads a field; an empty one is null.
fn value<T, E>(field: &str, parse: impl FnOnce(&str) -> Result<T, E>) -> Result<Option<T>, Failure>
where
    Failure: From<E>,
{
    if field.is_empty() { Ok(None) } else { Ok(Some(parse(field)?)) }
}

fn row(record: &csv::StringRecord) -> Result<HowdahBenchRow, Failure> {
    Ok(HowdahBenchRow {
        device_id: value(&record[0], str::parse)?,
        timestamp: value(&record[1], moment)?,
        temperature: value(&record[2], str::parse)?,
        humidity: value(&record[3], str::parse)?,
        pressure: value(&record[4], str::parse)?,
        battery_level: value(&record[5], str::parse)?,
        is_anomaly: value(&record[6], boolean)?,
        location: value(&record[7], str::parse)?,
        tags: value(&record[8], |field| Ok::<_, Failure>(texts(field)))?,
    })
}

async fn load() -> Result<u64, Failure> {
    let task = Task::from_environment()?;
    let mut client = task.connect().await?;
    begin()?;
    let transaction = client.transaction().await?;
    let mut appender = howdah_bench_appender(&transaction).await?;
    let mut records = task.records()?;
    let mut record = csv::StringRecord::new();
    while records.read_record(&mut record)? {
        appender.append(&row(&record)?).await?;
    }
    let rows = appender.finish().await?;
    transaction.commit().await?;
    Ok(rows)
}

#[tokio::main]
async fn main() -> ExitCode {
    tell(load().await)
}
