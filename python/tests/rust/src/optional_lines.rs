//! Statements of optional lines, in all their combinations. It prints what they find.

use std::fmt::Display;

use futures_util::TryStreamExt;
use tokio_postgres::Client;

use crate::check::{Outcome, connect, refused, same};
use crate::lines::{self as q, FindItemsOp, FindItemsParameters, FindItemsSort, HostileRows};

const OPERATORS: [FindItemsOp; 3] = [FindItemsOp::X3c, FindItemsOp::X3cx3d, FindItemsOp::X3cx3e];
const SORTS: [Option<FindItemsSort>; 4] = [
    None,
    Some(FindItemsSort::NDescId),
    Some(FindItemsSort::KindNullsFirstIdDesc),
    Some(FindItemsSort::Id),
];
const ROWS: [HostileRows; 7] = [
    HostileRows::ABCSXX202exaClass,
    HostileRows::SXS,
    HostileRows::X27x27x27x3fx27x27x3ax3ax3fx3fx27,
    HostileRows::Axdxax9b,
    HostileRows::X27x22x22x22x27,
    HostileRows::X27x2028x1f600x27,
    HostileRows::DropTableItems,
];

pub async fn run() -> Outcome {
    let mut db = connect().await?;
    refusals(&mut db).await?;
    find(&db).await?;
    moves(&db).await?;
    hostile(&db, &std::env::args().nth(2).ok_or("which value?")?).await?;
    same("operators", &q::operators(&db, q::OperatorsClass::X3f).await?, &Some(Some(true)));
    for (at, expected) in [1, 3, 2, 4].into_iter().enumerate() {
        let sum = q::nobody(&db, at > 1, at % 2 == 1).await?;
        same("nobody", &sum, &Some(Some(expected)));
    }
    same("moved", &q::moved_item(&db, 4, 2, false).await?, &Some(4));
    same("not moved", &q::moved_item(&db, 4, 2, true).await?, &None);
    Ok(())
}

fn combinations() -> Vec<FindItemsParameters> {
    let mut all = Vec::new();
    for kind in [Some("a"), None] {
        for least in [Some(3), None] {
            for present in [true, false] {
                for op in OPERATORS {
                    let item = |sort| FindItemsParameters {
                        kind: kind.map(str::to_owned),
                        least,
                        span: 4,
                        present,
                        op,
                        sort,
                    };
                    all.extend(SORTS.map(item));
                }
            }
        }
    }
    all
}

fn joined<T: Display>(values: &[T], between: &str) -> String {
    values.iter().map(T::to_string).collect::<Vec<_>>().join(between)
}

async fn find(db: &Client) -> Outcome {
    for each in combinations() {
        let FindItemsParameters { kind, least, span, present, op, sort } = &each;
        let kind = kind.as_deref();
        let all = q::find_items(db, kind, *least, *span, *present, *op, *sort).await?;
        println!("all: {}", joined(&all, " "));
        let stream = q::find_items_stream(db, kind, *least, *span, *present, *op, *sort).await?;
        println!("stream: {}", joined(&stream.try_collect::<Vec<_>>().await?, " "));
    }
    for ids in q::find_items_batch(db, combinations()).await? {
        println!("batch: {}", joined(&ids, " "));
    }
    Ok(())
}

async fn moves(db: &Client) -> Outcome {
    let (mut counts, mut batch) = (Vec::new(), Vec::new());
    for (by, each) in (0..).zip(combinations()) {
        let FindItemsParameters { kind, least, span, present, .. } = each;
        if by < 20 {
            counts.push(q::move_items(db, kind.as_deref(), least, span, present, by).await?);
        } else {
            batch.push(q::MoveItemsParameters { kind, least, span, present, by });
        }
    }
    counts.extend(q::move_items_batch(db, batch).await?);
    println!("moved: [{}]", joined(&counts, ", "));
    Ok(())
}

fn points(text: Option<Option<String>>) {
    let text = text.flatten().unwrap_or_default();
    println!("text: {}", joined(&text.chars().map(u32::from).collect::<Vec<_>>(), " "));
}

async fn hostile(db: &Client, value: &str) -> Outcome {
    for sql in [None, Some(value)] {
        for rows in ROWS {
            points(q::hostile(db, sql, rows).await?);
        }
    }
    let batch = ROWS.map(|rows| q::HostileParameters { sql: None, rows_: rows });
    q::hostile_batch(db, batch).await?.into_iter().for_each(points);
    Ok(())
}

async fn refusals(db: &mut Client) -> Outcome {
    let op = FindItemsOp::X3c;
    let nul = q::find_items(db, Some("\0"), None, 0, false, op, None).await;
    refused("a statement", "no character 0", nul);
    let item = |present, by| q::MoveItemsParameters { kind: None, least: None, span: 0, present, by };
    let transaction = db.transaction().await?;
    let half = q::move_items_batch(&transaction, [item(false, 1), item(true, i32::MAX)]).await;
    refused("a batch that leaves half of it", "integer out of range", half);
    Ok(transaction.rollback().await?)
}
