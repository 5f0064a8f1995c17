//! Rows that howdah's own client writes, and those of the driver's appender. Argument: what to do.
#![forbid(unsafe_code)]

mod check;
mod howdah_postgres;
mod howdah_runtime;
mod ours;
mod plain;

use std::convert::identity;
use std::ops::Bound;
use std::time::Duration;

use check::{Outcome, connect, refused, same};
use chrono::{NaiveDate, NaiveTime, TimeZone, Utc};
use howdah::{Target, WriterOptions};
use howdah_postgres::{Interval, Literal, Numeric, Range};

/// Rows of a struct: one of values, one of others, one of nulls.
macro_rules! rows {
    ($code:ident, $row:ident, $id:expr) => {{
        use $code::Mood;
        let day = NaiveDate::from_ymd_opt(2026, 1, 2).ok_or("no day")?;
        let early = NaiveDate::from_ymd_opt(-43, 3, 15).ok_or("no day")?;
        let number = |text: &str| text.parse::<Numeric>().ok();
        let first = $code::$row {
            id: $id(1),
            small: Some(2),
            ok: Some(true),
            share: Some(0.1),
            near: Some(0.5),
            name: Some("a\t\"b\"\\N".to_owned()),
            price: number("1.50"),
            bytes: Some(vec![0, 255]),
            uid: Some(uuid::Uuid::from_u128(7)),
            doc: Some(r#"{"a": 1.10}"#.to_owned()),
            day: Some(day),
            moment: Utc.timestamp_micros(1_767_000_000_123_456).single(),
            clock: NaiveTime::from_hms_micro_opt(3, 4, 5, 6),
            span: Some(Interval { months: 1, days: 2, microseconds: 3_000_001 }),
            reach: Some(Range::Between(Bound::Included(1), Bound::Unbounded)),
            ip: Some(Literal::from("10.0.0.1/8")),
            mood: Some(Mood::ALL[1]),
            kind: Some("kind".to_owned()),
            tags: Some(vec![Some("a".to_owned()), None, Some("\"\\".to_owned())]),
            prices: Some(vec![number("0.10"), None]),
            moods: Some(vec![Some(Mood::ALL[0]), Some(Mood::ALL[1])]),
        };
        let nulls = $code::$row {
            id: $id(3),
            small: None,
            ok: None,
            share: None,
            near: None,
            name: None,
            price: None,
            bytes: None,
            uid: None,
            doc: None,
            day: None,
            moment: None,
            clock: None,
            span: None,
            reach: None,
            ip: None,
            mood: None,
            kind: None,
            tags: None,
            prices: None,
            moods: None,
        };
        let second = $code::$row {
            id: $id(2),
            share: Some(f64::NEG_INFINITY),
            near: Some(f32::NAN),
            name: Some(String::new()),
            price: number("NaN"),
            day: Some(early),
            reach: Some(Range::Empty),
            tags: Some(Vec::new()),
            ..nulls.clone()
        };
        [first, second, nulls]
    }};
}

async fn all(target: &Target) -> Outcome {
    let mut db = connect().await?;
    let tx = db.transaction().await?;
    same("the driver's", &plain::append_t(&tx, rows!(plain, TRow, Some)).await?, &3);
    tx.commit().await?;
    same("our own", &ours::append_t(target, rows!(ours, TRow, identity)).await?, &3);
    let writer = ours::w_writer(target, WriterOptions::default()).await?;
    for row in &rows!(ours, WRow, identity) {
        writer.write(row).await?.await?;
    }
    writer.flush().await?;
    writer.close(Duration::from_secs(30)).await?;
    Ok(())
}

async fn faults(target: &Target) -> Outcome {
    let [first, _, nulls] = rows!(ours, TRow, identity);
    let row = |id, name: &str| ours::TRow { id, name: Some(name.to_owned()), ..nulls.clone() };
    let many = || (100..5_000).map(|id| row(id, "x"));
    let refusal = ours::append_t(target, many().chain([row(10, "\0")])).await;
    refused("a byte 0", "", refusal);
    let late = ours::TRow { clock: NaiveTime::from_hms_nano_opt(0, 0, 0, 1), ..first.clone() };
    refused("nanoseconds", "nanoseconds", ours::append_t(target, many().chain([late])).await);
    refused("a check", "appended", ours::append_t(target, many().chain([row(10, "wrong")])).await);
    let mut appender = ours::t_appender(target).await?;
    for row in many() {
        appender.append(&row).await?;
    }
    drop(appender);
    let mut appender = ours::t_appender(target).await?;
    refused("a byte 0", "", appender.append(&row(10, "\0")).await);
    refused("a row behind it", "aborted", appender.append(&first).await);
    refused("an end behind it", "aborted", appender.finish().await);
    let db = connect().await?;
    db.batch_execute(
        "CREATE FUNCTION drops() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
         CREATE TRIGGER drops BEFORE INSERT ON appended FOR EACH ROW WHEN (NEW.id = 20) EXECUTE FUNCTION drops()",
    )
    .await?;
    let dropped = ours::append_t(target, [row(20, "x"), row(21, "x")]).await;
    refused("a row that a trigger drops", "1 of 2 rows", dropped);
    db.batch_execute("DROP TRIGGER drops ON appended; DELETE FROM appended WHERE id = 21").await?;

    let [_, _, nulls] = rows!(ours, WRow, identity);
    let row = |id, name: &str| ours::WRow { id, name: Some(name.to_owned()), ..nulls.clone() };
    let writer = ours::w_writer(target, WriterOptions::default().columns(["id"])).await?;
    refused("a byte 0", "", writer.write(&row(9, "\0")).await.map(|_| ()));
    let bad = writer.write(&row(10, "wrong")).await?;
    let good = writer.write(&row(11, "right")).await?;
    same("what the server refuses", &bad.await.err().and_then(|e| e.sqlstate().map(str::to_owned)), &Some("23514".to_owned()));
    good.await?;
    writer.send(&row(12, "right")).await?;
    writer.close(Duration::from_secs(30)).await?;
    let found = connect().await?.query_one("SELECT array_agg(id ORDER BY id) FROM written WHERE id > 3", &[]).await?;
    same("what was written", &found.get::<_, Vec<i64>>(0), &vec![11, 12]);
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Outcome {
    let target = Target::new(std::env::var("HOWDAH_DSN")?)?;
    match std::env::args().nth(1).as_deref() {
        Some("rows") => all(&target).await,
        _ => faults(&target).await,
    }
}
