//! Statements of every form.

use futures_util::{StreamExt, TryStreamExt};

use crate::check::{Outcome, connect, refused, same, that};
use crate::queries as q;

pub async fn run() -> Outcome {
    let db = connect().await?;
    // Futures of generated functions go to other threads.
    let db = tokio::spawn(async move {
        statements(&db).await?;
        streams(&db).await?;
        Outcome::Ok(db)
    })
    .await??;
    let mut db = db;
    let transaction = db.transaction().await?;
    same("in a transaction", &q::count(&transaction).await?, &Some(6));
    Ok(())
}

async fn statements(db: &tokio_postgres::Client) -> Outcome {
    same("operators", &q::operators(db, Some("a")).await?, &vec!["?'?".to_owned()]);
    same("operators of null", &q::operators(db, None).await?, &vec![]);
    same("add", &q::add(db, 1, Some("x")).await?, &1);
    let add = |a, b: Option<&str>| q::AddParameters { a, b: b.map(str::to_owned) };
    same("add_batch", &q::add_batch(db, [add(2, None), add(3, Some("?"))]).await?, &vec![1, 1]);
    let row = q::add_returning(db, 4, Some("€")).await?.ok_or("no row")?;
    same("add_returning", &row.b.as_deref(), &Some("€"));
    let add = |a, b: Option<&str>| q::AddReturningParameters { a, b: b.map(str::to_owned) };
    let added = q::add_returning_batch(db, [add(5, None), add(6, Some("\n"))]).await?;
    let numbers = added.iter().flatten().map(|row| row.a).collect::<Vec<_>>();
    same("add_returning_batch", &numbers, &vec![5, 6]);
    same("touch", &q::touch_batch(db, [q::TouchParameters { a: 1 }]).await?, &vec![1]);
    let twice = q::twice(db, 4, Some("c")).await?;
    same("twice", &twice, &Some(q::Item { a: 8, b: Some("c".to_owned()) }));
    let items = q::all_items(db).await?;
    that("all_items", items.len() == 6 && items[1].b.is_none());
    same("count", &q::count(db).await?, &Some(6));
    let texts = q::all_b(db).await?;
    let texts = texts.iter().map(Option::as_deref).collect::<Vec<_>>();
    same("all_b", &texts, &vec![Some("x"), None, Some("?"), Some("€"), None, Some("\n")]);
    same("long", &q::long(db).await?, &Some(70_000));
    same("not_null", &q::not_null(db, "a").await?, &Some(Some("a".to_owned())));
    Ok(())
}

async fn streams(db: &tokio_postgres::Client) -> Outcome {
    let stream = q::numbers_stream(db, 2499).await?;
    let some = stream.take(10).try_collect::<Vec<_>>().await?;
    same("half of a stream", &some.len(), &10);
    let all = q::numbers_stream(db, 2499).await?.try_collect::<Vec<_>>().await?;
    same("a whole stream", &all.len(), &2499);
    let failed = q::numbers_stream(db, 2500).await?.try_collect::<Vec<_>>().await;
    refused("a division by zero", "division by zero", failed);
    let batch = (0..1000).map(|a| q::TouchParameters { a });
    same("a long batch", &q::touch_batch(db, batch).await?.len(), &1000);
    same("the connection goes on", &q::count(db).await?, &Some(6));
    Ok(())
}
