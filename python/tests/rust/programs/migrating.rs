//! Applies migrations and prints their number, or what is wrong. Arguments: on what and how, the project's name, and SQL that
//! comes before.
#![forbid(unsafe_code)]

mod check;
mod howdah_migrate;
mod shop;

use std::time::Duration;

use check::{Outcome, connect, same};
use howdah_migrate::{MigrationError, Options};
use tokio_postgres::Client;

const LOCKS: &str = "SELECT FROM pg_locks l JOIN pg_database d ON d.oid = l.database
    WHERE locktype = 'advisory' AND datname = current_database()";

fn told(error: &MigrationError) -> String {
    match error {
        MigrationError::Step { step, error } => match error.as_db_error() {
            Some(error) => format!("{} {step}: {}", error.code().code(), error.message()),
            None => format!("{step}: {error}"),
        },
        other => other.to_string(),
    }
}

async fn migrate(db: &mut Client, options: Options<'_>) {
    match shop::apply_migrations(db, options).await {
        Ok(applied) => println!("{applied}"),
        Err(error) => println!("MigrationError {}", told(&error).replace('\n', " ")),
    }
}

#[tokio::main]
async fn main() -> Outcome {
    let mut arguments = std::env::args().skip(1);
    let way = arguments.next().unwrap_or_default();
    let (project, before) = (arguments.next(), arguments.next());
    let options = Options { project: project.as_deref(), allow_newer: way == "newer" };
    let mut db = connect().await?;
    if way == "together" {
        let runners = (0..4).map(|_| {
            tokio::spawn(async {
                migrate(&mut connect().await?, Options::default()).await;
                Outcome::Ok(())
            })
        });
        for runner in runners.collect::<Vec<_>>() {
            runner.await??;
        }
        return Ok(());
    }
    if way == "begun" {
        db.batch_execute("BEGIN").await?;
    }
    if let Some(before) = before {
        db.batch_execute(&before).await?;
    }
    if way == "cancelled" {
        let limited = tokio::time::timeout(Duration::from_secs(1), migrate(&mut db, options));
        println!("{}", if limited.await.is_ok() { "not cancelled" } else { "cancelled" });
        // Nothing of it waits any more: what the server does now, it does to its end.
        return Ok(());
    }
    migrate(&mut db, options).await;
    same("locks", &db.query(LOCKS, &[]).await?.len(), &0);
    Ok(())
}
