//! What a load leaves behind: the table in which its rows waited is removed, its sessions are ended, and dead rows are told.

use howdah_connect::{Connection, Target};
use tokio_postgres::types::Type;

use crate::control::Control;
use crate::error::Error;
use crate::load::Setup;
use crate::send::pool::WorkerPool;

/// Less than this autovacuum sees to, and nobody needs to know.
const DEAD_SPACE_WORTH_SAYING: u64 = 1_000_000;

/// Ends every worker's backend and removes the hidden table; the error then says what is visible. And whether that worked.
pub(in crate::load) async fn clean_up(
    control: &Control,
    connection: &Connection,
    target: &Target,
    workers: WorkerPool,
    decision: &Setup,
    error: Error,
) -> (Error, bool) {
    workers.shutdown();
    let error = error.or_nothing_changed();
    if decision.jobs.count == 1 {
        // A backend that waits for a lock does not notice that its client is gone: it must be told.
        let _ = control.clean_up(connection.cancel()).await;
        let _ = control.clean_up(connection.client().batch_execute("ROLLBACK")).await;
        return (error, true);
    }
    let pids = workers.pids();
    let removed = async {
        // It may be the first connection that was lost.
        let another = match connection.client().is_closed() {
            true => Some(target.connect().await?),
            false => None,
        };
        let connection = another.as_ref().unwrap_or(connection);
        connection.client().batch_execute("ROLLBACK").await?;
        // A worker's backend may be in a COPY whose thread waits for a pipe: cancelling would not reach it, ending does.
        let sql = "select pg_catalog.pg_terminate_backend(pid) from pg_catalog.unnest($1::int4[]) as pid";
        connection.client().query_typed(sql, &[(&pids, Type::INT4_ARRAY)]).await?;
        decision.strategy.discard(connection, &decision.table).await
    };
    match control.clean_up(removed).await {
        Some(Ok(())) => (error, true),
        _ if decision.strategy.hidden_id().is_none() => (error, false),
        _ => (error.with_hint(stays(decision)), false),
    }
}

/// What rows that were rolled back leave of the table's size is said where it is much.
pub(super) async fn tell_dead_space(
    control: &Control,
    connection: &Connection,
    decision: &Setup,
    size_before: u64,
    error: Error,
) -> Error {
    // Whoever sent no row left none: others may have made the table larger.
    if control.snapshot().rows_sent == 0 {
        return error;
    }
    let size = control.clean_up(decision.table.size(connection)).await;
    let grown = size.and_then(Result::ok).and_then(|size| size.checked_sub(size_before)).unwrap_or(0);
    if grown < DEAD_SPACE_WORTH_SAYING {
        return error;
    }
    let (committed, visible) = (error.committed(), error.visible().unwrap_or_default().to_owned());
    error.with_visible(
        committed,
        format!(
            "{visible}; {} MB of dead rows remain in {}, which VACUUM makes free again",
            grown / 1_000_000,
            decision.table.display()
        ),
    )
}

/// Removes the table in which rows waited that several transactions have applied: until these are over, they hold it.
pub(super) async fn drop_stage(
    control: &Control,
    connection: &Connection,
    target: &Target,
    decision: &Setup,
) {
    let (_, relation) = decision.strategy.relation(&decision.table);
    // A transaction of which nobody knows what became of it may still hold it.
    let sql = format!("SET LOCAL lock_timeout = '1500ms'; DROP TABLE IF EXISTS {relation}; COMMIT");
    let dropping = async {
        if connection.client().is_closed() {
            let another = target.connect().await?;
            return Ok::<_, Error>(another.client().batch_execute(&format!("BEGIN; {sql}")).await?);
        }
        Ok(connection.client().batch_execute(&sql).await?)
    };
    if !matches!(control.clean_up(dropping).await, Some(Ok(()))) {
        control.notice(stays(decision));
    }
}

/// That the table in which rows waited could not be removed.
fn stays(decision: &Setup) -> String {
    let (name, _) = decision.strategy.relation(&decision.table);
    format!("the hidden table {name} could not be removed; the next load into the schema removes it")
}
