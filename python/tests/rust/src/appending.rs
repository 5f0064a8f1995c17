//! Everything that ends an appender early: none of its rows is there then, and the connection goes on.

macro_rules! faults {
    ($name:ident, $module:ident) => {
        pub mod $name {
            use std::panic::AssertUnwindSafe;

            use futures_util::FutureExt;
            use tokio_postgres::Client;

            use crate::check::{Outcome, connect, refused, same, that};
            use crate::$module::{TRow, append_t, t_appender};

            const MANY: i32 = 100_000;

            fn row(number: i32) -> TRow {
                TRow { a: Some(number), b: None, c: None }
            }

            fn bad() -> TRow {
                TRow { a: Some(1), b: Some(chrono::NaiveDate::MIN), c: None }
            }

            async fn left(what: &str, db: &Client, expected: i64) -> Outcome {
                let found: i64 = db.query_one("SELECT count(*) FROM t", &[]).await?.get(0);
                same(format!("{what}: rows"), &found, &expected);
                Ok(())
            }

            pub async fn run() -> Outcome {
                let mut db = connect().await?;
                producers(&mut db).await?;
                bad_values(&mut db).await?;
                ends(&mut db).await?;
                savepoint(&mut db).await?;
                lost(connect().await?).await?;
                left("a lost connection", &db, 1).await?;
                finished(&mut db).await?;
                dropped(&mut db).await?;
                let transaction = db.transaction().await?;
                let mut forgotten = t_appender(&transaction).await?;
                forgotten.append(&row(-2)).await?;
                std::mem::forget(forgotten);
                Ok(())
            }

            async fn producers(db: &mut Client) -> Outcome {
                let transaction = db.transaction().await?;
                let rows = (0..).map(|n| if n == MANY { panic!("row k") } else { row(n) });
                let panicked = AssertUnwindSafe(append_t(&transaction, rows)).catch_unwind().await;
                that("a producer's panic is lost", panicked.is_err());
                drop(transaction);
                left("a producer that panics", db, 0).await?;

                let transaction = db.transaction().await?;
                let mut appender = t_appender(&transaction).await?;
                for number in 0..MANY {
                    appender.append(&row(number)).await?;
                }
                drop(appender);
                refused("COMMIT of what", "", transaction.query("SELECT 1", &[]).await);
                transaction.commit().await?;
                left("an appender that is dropped", db, 0).await?;

                let transaction = db.transaction().await?;
                let mut appender = t_appender(&transaction).await?;
                // Nothing reads what is sent while this does not wait.
                while appender.append(&row(1)).now_or_never().is_some() {}
                refused("a row behind a cancelled one", "aborted", appender.append(&row(2)).await);
                refused("the end behind a cancelled row", "aborted", appender.finish().await);
                drop(transaction);
                left("a cancelled row", db, 0).await
            }

            async fn bad_values(db: &mut Client) -> Outcome {
                let why = "row 2, column b: ";
                let transaction = db.transaction().await?;
                refused("a bad value", why, append_t(&transaction, [row(1), bad()]).await);
                drop(transaction);
                left("a bad value", db, 0).await?;

                let transaction = db.transaction().await?;
                let mut appender = t_appender(&transaction).await?;
                appender.append(&row(1)).await?;
                refused("a bad value", why, appender.append(&bad()).await);
                refused("a row behind a bad one", "aborted", appender.append(&row(3)).await);
                refused("the end behind a bad row", "aborted", appender.finish().await);
                transaction.commit().await?;
                left("a bad value that is caught", db, 0).await
            }

            async fn ends(db: &mut Client) -> Outcome {
                let transaction = db.transaction().await?;
                let mut appender = t_appender(&transaction).await?;
                appender.append(&row(1)).await?;
                drop(appender);
                transaction.commit().await?;
                left("one row without finish", db, 0).await?;

                let transaction = db.transaction().await?;
                let rows = (0..MANY).map(|number| row(number / 2));
                refused("a key that is there", "duplicate key", append_t(&transaction, rows).await);
                drop(transaction);
                left("a key that is there", db, 0).await
            }

            /// A savepoint takes back what an appender broke, and no more.
            async fn savepoint(db: &mut Client) -> Outcome {
                let mut transaction = db.transaction().await?;
                same("one", &append_t(&transaction, [row(-3)]).await?, &1);
                let nested = transaction.transaction().await?;
                refused("a bad value", "column b", append_t(&nested, [row(-4), bad()]).await);
                nested.rollback().await?;
                transaction.commit().await?;
                left("a savepoint", db, 1).await
            }

            async fn lost(mut db: Client) -> Outcome {
                let server: i32 = db.query_one("SELECT pg_backend_pid()", &[]).await?.get(0);
                let transaction = db.transaction().await?;
                let mut appender = t_appender(&transaction).await?;
                for number in 0..1000 {
                    appender.append(&row(number)).await?;
                }
                let other = connect().await?;
                other.query_one("SELECT pg_terminate_backend($1, 10000)", &[&server]).await?;
                let mut end = Ok(());
                for number in 1000..1_000_000 {
                    end = appender.append(&row(number)).await;
                    if end.is_err() {
                        break;
                    }
                }
                let end = if end.is_ok() { appender.finish().await.map(drop) } else { end };
                refused("an appender without a connection", "", end);
                Ok(())
            }

            async fn finished(db: &mut Client) -> Outcome {
                let transaction = db.transaction().await?;
                let counted = append_t(&transaction, (0..MANY).map(row)).await?;
                same("the count", &counted, &100_000);
                same("no rows", &append_t(&transaction, []).await?, &0);
                transaction.commit().await?;
                left("finished", db, i64::from(MANY) + 1).await?;
                db.batch_execute("TRUNCATE t").await?;
                Ok(())
            }

            async fn dropped(db: &mut Client) -> Outcome {
                db.batch_execute(
                    "CREATE FUNCTION nothing() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
                     CREATE TRIGGER drop_it BEFORE INSERT ON t FOR EACH ROW WHEN (new.a = 1)
                     EXECUTE FUNCTION nothing()",
                )
                .await?;
                let transaction = db.transaction().await?;
                let counted = append_t(&transaction, (0..3).map(row)).await;
                refused("dropped rows", "the server counted 2 of 3 rows", counted);
                drop(transaction);
                left("rows that a trigger dropped", db, 0).await
            }
        }
    };
}

faults!(binary, faults_binary);
faults!(text, faults_text);
