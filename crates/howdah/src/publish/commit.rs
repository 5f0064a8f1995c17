//! The commit: all transactions of a load together, and the truth about them when an answer is lost.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use tokio_postgres::types::Type;

use crate::connect::{Connection, Target};
use crate::error::{Committed, Error, ErrorKind};

/// A server that restarts is back within seconds; longer than this we do not keep a person waiting for the truth.
const WAIT_FOR_SERVER: Duration = Duration::from_secs(15);

/// Commits the open transactions of all `connections` together; their constraints are checked already.
///
/// # Errors
/// Before the first COMMIT: the server's error, nothing is visible. After it: what became of each transaction, found out
/// with `pg_xact_status`.
pub(crate) async fn commit_all(connections: &[Arc<Connection>], target: &Target) -> Result<(), Error> {
    let checks = connections.iter().map(|connection| async move {
        let row = connection
            .client()
            .query_typed("select pg_catalog.pg_current_xact_id_if_assigned()::text", &[])
            .await?;
        Ok::<Option<String>, Error>(row.first().and_then(|row| row.get(0)))
    });
    let ids = join_all(checks).await.into_iter().collect::<Result<Vec<_>, _>>()?;
    let commits = connections.iter().map(|connection| connection.client().batch_execute("COMMIT"));
    let answers = join_all(commits).await;
    let Some(first_failure) = answers.into_iter().find_map(Result::err) else { return Ok(()) };
    let ids: Vec<String> = ids.into_iter().flatten().collect();
    judge(&ids, first_failure.into(), target).await
}

/// What became of transactions whose COMMIT was sent.
async fn judge(ids: &[String], failure: Error, target: &Target) -> Result<(), Error> {
    let unknown = |failure: Error| {
        failure
            .of_kind(ErrorKind::PartlyCommitted)
            .with_detail(format!("COMMIT was sent for the transactions {}; no answer came", ids.join(", ")))
            .with_visible(Committed::Unknown, "unknown: the transactions may be committed or not")
            .with_hint(format!(
                "when the server is back: select pg_xact_status('{}')",
                ids.first().map_or("", String::as_str)
            ))
    };
    let deadline = tokio::time::Instant::now() + WAIT_FOR_SERVER;
    loop {
        if let Ok(statuses) = statuses(ids, target).await {
            let committed = statuses.iter().filter(|status| *status == "committed").count();
            if committed == ids.len() {
                return Ok(());
            }
            if !statuses.iter().any(|status| status == "in progress") {
                return Err(if committed == 0 {
                    failure.nothing_changed()
                } else {
                    partly(ids, &statuses, failure)
                });
            }
        }
        if tokio::time::Instant::now() >= deadline {
            return Err(unknown(failure));
        }
        tokio::time::sleep(Duration::from_millis(300)).await;
    }
}

fn partly(ids: &[String], statuses: &[String], failure: Error) -> Error {
    let listed = |wanted: bool| {
        let chosen = ids.iter().zip(statuses).filter(|(_, status)| (*status == "committed") == wanted);
        chosen.map(|(id, _)| id.as_str()).collect::<Vec<_>>().join(", ")
    };
    failure
        .of_kind(ErrorKind::PartlyCommitted)
        .with_detail(format!("committed: transactions {}; not committed: {}", listed(true), listed(false)))
        .with_visible(
            Committed::Partly,
            "the rows of the committed transactions are in the table, the others are not",
        )
        .with_hint(format!(
            "to take them out again: DELETE FROM the table WHERE xmin::text IN ('{}')",
            listed(true).replace(", ", "', '")
        ))
}

async fn statuses(ids: &[String], target: &Target) -> Result<Vec<String>, Error> {
    let connection = target.connect().await?;
    let rows = connection
        .client()
        .query_typed(
            "select coalesce(pg_catalog.pg_xact_status(id::xid8), 'unknown')
               from pg_catalog.unnest($1::text[]) with ordinality as t(id, n) order by n",
            &[(&ids, Type::TEXT_ARRAY)],
        )
        .await?;
    Ok(rows.iter().map(|row| row.get(0)).collect())
}
