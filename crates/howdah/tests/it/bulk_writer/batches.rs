//! Record batches in a bulk.

use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use howdah::ErrorKind;
use howdah_testkit::Database;

use super::{run, start};

fn batch(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, array)| (name, array, true)))
        .unwrap()
}

#[test]
fn columns_of_batches_meet_those_of_the_table_by_name() {
    let database = Database::new();
    database.sql("CREATE TABLE t (a int, b text, day date)");
    let ints: ArrayRef = Arc::new(Int64Array::from_iter((0..30_000).map(|n| (n % 7 != 0).then_some(n))));
    let days: ArrayRef = Arc::new(StringArray::from_iter(
        (0..30_000).map(|n| Some(if n % 1000 == 0 { "epoch" } else { "2026-01-02" })),
    ));
    let texts: ArrayRef = Arc::new(StringArray::from_iter((0..30_000).map(|n| Some(format!("text {n}")))));
    // Programs write from tasks of runtimes with many threads.
    fn sent_to_another_thread<F: Send>(future: F) -> F {
        future
    }
    let turned = batch(vec![("day", days.clone()), ("b", texts.clone()), ("a", ints.clone())]);
    let counted = run(async {
        let mut bulk = start(&database, None).await?;
        sent_to_another_thread(bulk.write(&(-1, "a tuple before", "2026-01-02"))).await?;
        sent_to_another_thread(bulk.write_batch(&turned)).await?;
        bulk.write_batch(&batch(vec![("a", ints), ("b", texts), ("day", days)])).await?;
        bulk.write(&(-1, "a tuple after", None::<&str>)).await?;
        sent_to_another_thread(bulk.finish()).await
    });
    assert_eq!(counted.unwrap(), 60_002);
    database.sql(
        "CREATE TABLE w (LIKE t);
         INSERT INTO w SELECT CASE WHEN n % 7 <> 0 THEN n END, 'text ' || n,
                              CASE WHEN n % 1000 = 0 THEN date 'epoch' ELSE '2026-01-02' END
                         FROM generate_series(0, 29999) n, generate_series(1, 2);
         INSERT INTO w VALUES (-1, 'a tuple before', '2026-01-02'), (-1, 'a tuple after', NULL)",
    );
    assert_eq!(database.binary_rows("t"), database.binary_rows("w"));
}

#[test]
fn a_batch_that_does_not_fit_is_not_taken_and_says_all_that_is_wrong() {
    let database = Database::new();
    database.sql("CREATE TABLE t (a int, b text, c timestamp)");
    let ints: ArrayRef = Arc::new(Int64Array::from(vec![1]));
    let counted = run(async {
        let mut bulk = start(&database, None).await?;
        let wrong = batch(vec![("a", ints.clone()), ("B", ints.clone()), ("c", ints)]);
        let error = bulk.write_batch(&wrong).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Usage);
        for part in ["\"b\": the batch has none", "\"B\": the writer is not for it", "\"c\": Arrow's Int64"] {
            assert!(error.message().contains(part), "{error}");
        }
        bulk.write(&(1, "x", "2026-01-01")).await?;
        bulk.finish().await
    });
    assert_eq!(counted.unwrap(), 1);
}

#[test]
fn a_value_that_would_be_changed_ends_the_bulk_and_is_named() {
    let database = Database::new();
    database.sql("CREATE TABLE t (a int)");
    run(async {
        let mut bulk = start(&database, None).await.unwrap();
        bulk.write(&(1,)).await.unwrap();
        let lossy: ArrayRef = Arc::new(Float64Array::from(vec![1.0, 2.5]));
        let error = bulk.write_batch(&batch(vec![("a", lossy)])).await.unwrap_err();
        let row = error.location().and_then(|location| location.row);
        assert_eq!((error.sqlstate(), error.column(), row), (Some("22000"), Some("a"), Some(2)));
        let again = bulk.write(&(3,)).await.unwrap_err();
        assert_eq!(again.message(), error.message());
        assert!(bulk.finish().await.is_err());
    });
    assert_eq!(database.sql("SELECT count(*) FROM t"), "0");
}
