//! Rows of types that a program has of its own: they are written and read, and given as parameters.
#![forbid(unsafe_code)]

mod check;
mod howdah_postgres;
mod ids;
mod own;
mod whole;

use check::{Outcome, connect, refused, same};
use futures_util::TryStreamExt;
use howdah_postgres::Numeric;
use ids::{Cents, Prices, UserId};
use own as q;
use tokio_postgres::Client;

fn row(id: i64, price: i64) -> q::UsersRow {
    q::UsersRow { id: UserId(id), price: Cents(price), least: None, prices: None }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Outcome {
    let mut db = connect().await?;
    let some = [Some(Cents(150)), None, Some(Cents(275))];
    let second = q::UsersRow { least: Some(Cents(100)), prices: Some(some.to_vec()), ..row(2, 275) };
    let rows = [row(1, 150), second, q::UsersRow { least: Some(Cents(1)), ..row(3, 1) }];

    let mut tx = db.transaction().await?;
    same("appended", &q::append_users(&tx, rows[..2].to_vec()).await?, &2);
    same("upserted", &q::upsert_users(&mut tx, rows[2..].to_vec()).await?, &1);
    tx.commit().await?;
    same("rows", &q::all_users(&db).await?, &rows.to_vec());
    let stream = q::all_users_stream(&db).await?.try_collect::<Vec<_>>().await?;
    same("a stream", &stream, &rows.to_vec());
    same("a row", &q::get_user(&db, &UserId(2)).await?, &Some(rows[1].clone()));
    same("no row", &q::get_user(&db, &UserId(4)).await?, &None);
    same("by null", &q::at_least(&db, None).await?.len(), &3);
    same("by a value", &q::at_least(&db, Some(&Cents(200))).await?, &vec![UserId(2)]);
    same("by an array", &q::with_prices(&db, &some).await?, &vec![UserId(2)]);

    let batch = |id, least| q::RaiseParameters { id: UserId(id), least };
    let given = [batch(1, Some(Cents(50))), batch(2, None), batch(4, None)];
    same("a batch", &q::raise_batch(&db, given).await?, &vec![1, 1, 0]);
    let given = [q::FilteredParameters { price: Some(Cents(1)), prices: None }];
    same("a batch of joined texts", &q::filtered_batch(&db, given).await?, &vec![vec![UserId(3)]]);
    same("joined", &q::filtered(&db, None, Some(&some)).await?, &vec![UserId(2)]);

    refusals(&mut db).await?;
    whole_arrays(&mut db).await
}

async fn refusals(db: &mut Client) -> Outcome {
    let much = Cents(100_000_000_000);
    refused("a parameter", "nobody has so much", q::at_least(db, Some(&much)).await);
    let given = q::RaiseParameters { id: UserId(1), least: Some(much.clone()) };
    refused("a batch", "nobody has so much", q::raise_batch(db, [given]).await);
    let tx = db.transaction().await?;
    let prices = q::UsersRow { prices: Some(vec![Some(much)]), ..row(8, 1) };
    let refusal = "row 2, column prices: nobody has so much";
    refused("an element", refusal, q::append_users(&tx, [row(7, 1), prices]).await);
    tx.rollback().await?;
    let tx = db.transaction().await?;
    tx.execute("ALTER TABLE users ALTER price TYPE numeric", &[]).await?;
    tx.execute("UPDATE users SET price = 0.001 WHERE id = 2", &[]).await?;
    refused("a column", "column price: 0.001 is no number of cents", q::all_users(&tx).await);
    tx.rollback().await?;
    Ok(())
}

/// An array as one value, and a type that is another name of a number.
async fn whole_arrays(db: &mut Client) -> Outcome {
    let id: ids::Id = 5;
    let prices = Prices(vec!["1.50".parse::<Numeric>().ok(), None]);
    let row = whole::UsersRow { id, price: "2.00".parse()?, least: None, prices: Some(prices.clone()) };
    let tx = db.transaction().await?;
    same("appended", &whole::append_users(&tx, [row.clone()]).await?, &1);
    same("a row", &whole::get_user(&tx, &id).await?, &Some(row));
    same("by an array", &whole::with_prices(&tx, &prices).await?, &vec![id]);
    tx.rollback().await?;
    Ok(())
}
