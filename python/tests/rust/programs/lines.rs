//! Statements of optional lines, in all their combinations. It prints what they find.
#![forbid(unsafe_code)]

mod check;
mod howdah_postgres;
mod lines;

use check::{Outcome, connect, done, refused, same};
use futures_util::TryStreamExt;
use lines as q;
use tokio_postgres::Client;

fn combinations() -> Vec<q::FindItemsParameters> {
    let mut all = Vec::new();
    for kind in [Some("a"), None] {
        for least in [Some(3), None] {
            for present in [true, false] {
                for &op in q::FindItemsOp::ALL {
                    let sorts = q::FindItemsSort::ALL.iter().copied().map(Some);
                    all.extend([None].into_iter().chain(sorts).map(|sort| {
                        let kind = kind.map(str::to_owned);
                        q::FindItemsParameters { kind, least, span: 4, present, op, sort }
                    }));
                }
            }
        }
    }
    all
}

fn show(way: &str, ids: &[i32]) {
    println!("{way}: {}", ids.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "));
}

fn show_text(text: Option<&str>) {
    let points = text.unwrap_or_default().chars().map(|c| u32::from(c).to_string());
    println!("text: {}", points.collect::<Vec<_>>().join(" "));
}

async fn find(db: &Client) -> Outcome {
    for all in combinations() {
        let q::FindItemsParameters { least, span, present, op, sort, .. } = all;
        let kind = all.kind.as_deref();
        show("all", &q::find_items(db, kind, least, span, present, op, sort).await?);
        let stream = q::find_items_stream(db, kind, least, span, present, op, sort).await?;
        show("stream", &stream.try_collect::<Vec<_>>().await?);
    }
    for ids in q::find_items_batch(db, combinations()).await? {
        show("batch", &ids);
    }
    Ok(())
}

async fn change(db: &Client) -> Outcome {
    let mut counts = Vec::new();
    let mut batch = Vec::new();
    for (by, each) in (0..).zip(combinations()) {
        let q::FindItemsParameters { kind, least, span, present, .. } = each;
        if by < 20 {
            let kind = kind.as_deref();
            counts.push(q::move_items(db, kind, least, span, present, by).await?);
        } else {
            batch.push(q::MoveItemsParameters { kind, least, span, present, by });
        }
    }
    counts.extend(q::move_items_batch(db, batch).await?);
    println!("moved: {counts:?}");
    Ok(())
}

async fn hostile(db: &Client, value: &str) -> Outcome {
    for sql in [None, Some(value)] {
        for &rows in q::HostileRows::ALL {
            show_text(q::hostile(db, sql, rows).await?.flatten().as_deref());
        }
    }
    let batch = q::HostileRows::ALL.iter().map(|&rows| q::HostileParameters { sql: None, rows_: rows });
    for text in q::hostile_batch(db, batch).await? {
        show_text(text.flatten().as_deref());
    }
    Ok(())
}

async fn others(db: &mut Client) -> Outcome {
    same("operators", &q::operators(db, q::OperatorsClass::X3f).await?.flatten(), &Some(true));
    for (changed, place, sum) in [(false, false, 1), (false, true, 3), (true, false, 2), (true, true, 4)] {
        same("nobody", &q::nobody(db, changed, place).await?.flatten(), &Some(sum));
    }
    same("moved", &q::moved_item(db, 4, 2, false).await?, &Some(4));
    same("not moved", &q::moved_item(db, 4, 2, true).await?, &None);
    same("twice", &q::twice(db, Some(7), true).await?, &vec![Some(7)]);
    let twice = [(None, true), (Some(8), false)].map(|(by, few)| q::TwiceParameters { by, few });
    same("twice in a batch", &q::twice_batch(db, twice).await?, &vec![vec![None], vec![Some(8)]]);
    let item = |present, by| q::MoveItemsParameters { kind: None, least: None, span: 0, present, by };
    let transaction = db.transaction().await?;
    let batch = q::move_items_batch(&transaction, [item(false, 1), item(true, i32::MAX)]);
    refused("a batch that fails", "integer out of range", batch.await);
    Ok(transaction.rollback().await?)
}

#[tokio::main]
async fn main() -> Outcome {
    let value = std::env::args().nth(1).ok_or("which value?")?;
    let db = connect().await?;
    // Futures of generated functions go to other threads.
    let mut db = tokio::spawn(async move {
        done("find", find(&db).await);
        done("change", change(&db).await);
        done("hostile", hostile(&db, &value).await);
        db
    })
    .await?;
    done("others", others(&mut db).await);
    Ok(())
}
