//! Writes rows as a service does, and says how long each took to be committed:
//! `cargo run --example write_rows -- 10000 postgresql://localhost/shop`
//!
//! It makes the table `example_readings` where it is missing. Without a connection string the server is the one that
//! `PGHOST`, `PGDATABASE` and the like mean.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "an example talks to whoever runs it")]

use std::time::{Duration, SystemTime};

use howdah::connect::{ConnectOptions, Environment};
use howdah::{Error, Row, Writer, WriterOptions};

#[derive(Row)]
struct Reading {
    truck: i64,
    km: f64,
    seen: SystemTime,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let mut arguments = std::env::args().skip(1);
    let rows = arguments.next().and_then(|rows| rows.parse().ok()).unwrap_or(10_000_i64);
    let mut server = ConnectOptions::default();
    server.conninfo = arguments.next();
    let target = server.resolve(&Environment::from_process())?;
    let table = "CREATE TABLE IF NOT EXISTS example_readings (truck bigint, km float8, seen timestamptz)";
    target.connect().await?.client().batch_execute(table).await?;

    let writer = Writer::connect(&target, "example_readings", WriterOptions::default()).await?;
    for number in 0..rows {
        let row = Reading { truck: number % 100, km: 0.5, seen: SystemTime::now() };
        let ack = writer.write(&row).await?;
        // A service answers its own caller here.
        ack.on_resolved(move |result| {
            if let Err(error) = result {
                eprintln!("row {number}: {error}");
            }
        });
    }
    // Every row is committed, or refused and told of.
    let statistics = writer.close(Duration::from_secs(30)).await?;
    println!("{} rows in {} transactions", statistics.rows_written, statistics.flushes.total());
    Ok(())
}
