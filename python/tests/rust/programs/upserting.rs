//! Rows written by their key. Arguments: what to do, and a name that wants to be code.
#![forbid(unsafe_code)]
#![allow(clippy::too_many_lines)]

mod check;
mod hostile;
mod howdah_migrate;
mod howdah_postgres;
mod upserts;

use check::{Outcome, connect, done, refused, same};
use tokio_postgres::Client;
use upserts as q;

fn row(a: i32, b: &str, c: i32) -> q::OneBinaryRow {
    q::OneBinaryRow { a: Some(a), b: Some(b.to_owned()), p: None, c: Some(c) }
}

async fn steps(client: &mut Client) -> Outcome {
    // STEPS
    Ok(())
}

async fn faults(client: &mut Client) -> Outcome {
    let mut tx = client.transaction().await?;
    let good = row(1, "a", 1);
    for number in 0..4 {
        tx.execute("INSERT INTO log VALUES ($1)", &[&number]).await?;
        let many = (0..20_000).map(|a| row(a, &"x".repeat(100), 1));
        match number {
            0 => {
                let rows = [good.clone(), row(2, "\0", 1)];
                refused("a byte 0", "row 2, column b", q::upsert_one_binary(&mut tx, rows).await);
            }
            1 => {
                let rows = many.chain([row(2, "a", 100)]);
                refused("a check", "check", q::upsert_one_binary(&mut tx, rows).await);
            }
            2 => {
                let none = Some(howdah_postgres::Literal::from("none"));
                let rows = [q::OneTextRow { a: Some(1), b: None, p: none, c: None }];
                refused("a point", "type point", q::upsert_one_text(&mut tx, rows).await);
            }
            _ => {
                // A call that is dropped where it waits for the server.
                let call = q::upsert_one_binary(&mut tx, many);
                let soon = tokio::time::sleep(std::time::Duration::from_millis(5));
                tokio::select! {
                    () = soon => {}
                    outcome = call => {
                        outcome?;
                        tx.execute("DELETE FROM one_binary", &[]).await?;
                    }
                }
            }
        }
        // The statement before is there, the transaction goes on, and no table is left.
        let found = tx.query_one("SELECT count(*), (LEFT) FROM log", &[]).await?;
        same("the log", &found.get::<_, i64>(0), &i64::from(number + 1));
        same("what is left", &found.get::<_, i64>(1), &0);
    }
    same("the last", &q::upsert_one_binary(&mut tx, [good, row(1, "b", 2)]).await?, &1);
    tx.commit().await?;
    Ok(())
}

async fn hostile_names(client: &mut Client, name: &str) -> Outcome {
    let mut tx = client.transaction().await?;
    let rows = hostile::import(&tx, Some(name)).await?;
    same("one", &rows.len(), &1);
    same("ignored", &hostile::ignore_t(&mut tx, rows.clone()).await?, &0);
    let twice = rows.clone().into_iter().chain(rows.clone());
    same("upserted", &hostile::upsert_t(&mut tx, twice).await?, &1);
    same("same", &hostile::import(&tx, Some(name)).await?, &rows);
    tx.commit().await?;
    Ok(())
}

#[tokio::main]
async fn main() -> Outcome {
    let mut client = connect().await?;
    let given: Vec<String> = std::env::args().collect();
    let outcome = match given[1].as_str() {
        "steps" => steps(&mut client).await,
        "faults" => faults(&mut client).await,
        _ => hostile_names(&mut client, &given[2]).await,
    };
    done(&given[1], outcome);
    Ok(())
}
