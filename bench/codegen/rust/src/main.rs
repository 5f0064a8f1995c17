//! Measures generated Rust and what one writes by hand with tokio-postgres: an action a line, an answer a line.

mod hand;
mod howdah_postgres;
mod rows;
mod sensor;

use std::error::Error;
use std::io::BufRead;
use std::time::Instant;

use cpu_time::ProcessTime;
use tokio_postgres::{Client, Config, NoTls, Statement};

use rows::{Reading, sum};
use sensor::SensorReadingsRow;

const CALLS: usize = 2_000;
const PAGES: usize = 50;
const PAGE: usize = 1_000;
const ACTIONS: [&str; 10] = [
    "append generated",
    "append BinaryCopyInWriter",
    "one generated",
    "one hand",
    "one hand text",
    "one hand prepared",
    "all generated",
    "all hand",
    "all hand text",
    "all hand prepared",
];

type Failure = Box<dyn Error>;

/// Both ways, on one connection, with the same rows.
struct Program {
    client: Client,
    generated: Vec<SensorReadingsRow>,
    hand: Vec<Reading>,
    keys: Vec<i64>,
    pages: Vec<i64>,
    // The driver prepares a text each time that it runs; by hand one can keep what it prepared.
    one: Statement,
    all: Statement,
}

impl Program {
    async fn run(&mut self, action: &str) -> Result<i64, Failure> {
        let page = i64::try_from(PAGE)?;
        let client = &self.client;
        let mut total = 0;
        match action {
            "append generated" => return Ok(i64::try_from(self.append_generated().await?)?),
            "append BinaryCopyInWriter" => {
                let transaction = self.client.transaction().await?;
                let count = hand::append(&transaction, &self.hand).await?;
                transaction.commit().await?;
                return Ok(i64::try_from(count)?);
            }
            "one generated" => {
                for &key in &self.keys {
                    total += sum!(sensor::reading_by_id(client, key).await?.ok_or("no row")?);
                }
            }
            "one hand" => {
                for &key in &self.keys {
                    total += sum!(hand::one_typed(client, key).await?.ok_or("no row")?);
                }
            }
            "all generated" => {
                for &key in &self.pages {
                    let rows = sensor::readings_from(client, key, page).await?;
                    total += rows.iter().map(|row| sum!(*row)).sum::<i64>();
                }
            }
            "all hand" => {
                for &key in &self.pages {
                    let rows = hand::all_typed(client, key, page).await?;
                    total += rows.iter().map(|row| sum!(*row)).sum::<i64>();
                }
            }
            "one hand text" => {
                for &key in &self.keys {
                    total += sum!(hand::one(client, hand::ONE, key).await?.ok_or("no row")?);
                }
            }
            "all hand text" => {
                for &key in &self.pages {
                    let rows = hand::all(client, hand::ALL, key, page).await?;
                    total += rows.iter().map(|row| sum!(*row)).sum::<i64>();
                }
            }
            "one hand prepared" => {
                for &key in &self.keys {
                    total += sum!(hand::one(client, &self.one, key).await?.ok_or("no row")?);
                }
            }
            "all hand prepared" => {
                for &key in &self.pages {
                    let rows = hand::all(client, &self.all, key, page).await?;
                    total += rows.iter().map(|row| sum!(*row)).sum::<i64>();
                }
            }
            _ => return Err(format!("there is no action {action}").into()),
        }
        Ok(total)
    }

    /// One by one, since the other method of generated code takes rows that it may keep.
    async fn append_generated(&mut self) -> Result<u64, Failure> {
        let transaction = self.client.transaction().await?;
        let mut appender = sensor::sensor_readings_appender(&transaction).await?;
        for row in &self.generated {
            appender.append(row).await?;
        }
        let count = appender.finish().await?;
        transaction.commit().await?;
        Ok(count)
    }
}

async fn connect() -> Result<Client, Failure> {
    let (client, connection) = Config::new()
        .host(std::env::var("PGHOST")?)
        .port(std::env::var("PGPORT")?.parse()?)
        .user(std::env::var("PGUSER")?)
        .password(std::env::var("PGPASSWORD")?)
        .dbname(std::env::var("PGDATABASE")?)
        .connect(NoTls)
        .await?;
    tokio::spawn(connection);
    Ok(client)
}

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let count: usize = std::env::args().nth(1).ok_or("how many rows?")?.parse()?;
    let (generated, hand) = rows::make(count);
    let client = connect().await?;
    let mut program = Program {
        one: client.prepare(hand::ONE).await?,
        all: client.prepare(hand::ALL).await?,
        client,
        generated,
        hand,
        keys: rows::keys(CALLS, count),
        pages: rows::keys(PAGES, count.saturating_sub(PAGE).max(1)),
    };
    println!(r#"{{"version": "tokio-postgres 0.7.18, rust_decimal 1", "actions": {ACTIONS:?}}}"#);
    for line in std::io::stdin().lock().lines() {
        let action = line?;
        let (cpu, wall) = (ProcessTime::now(), Instant::now());
        let check = program.run(&action).await?;
        let (wall, cpu) = (wall.elapsed().as_secs_f64(), cpu.elapsed().as_secs_f64());
        println!(r#"{{"wall": {wall}, "cpu": {cpu}, "check": {check}}}"#);
    }
    Ok(())
}
