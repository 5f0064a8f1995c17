//! Whether standbys have what is committed already, where the server's wait for them was cut short: a transaction that commits
//! behind it waits for them again, and its answer holds for both.

use std::time::Duration;

use howdah_connect::Target;
use tokio::time::timeout;

use crate::control::Control;
use crate::error::Error;

/// Somebody cut the wait short: he is not made to wait for as long again.
const WITHIN: Duration = Duration::from_secs(10);

/// Waits for the standbys of the server at `target`, unless that takes long or somebody says stop. Returns whether they have
/// everything that was committed before; if not, that is said.
pub(crate) async fn confirm(target: &Target, control: &Control) -> bool {
    let is_confirmed = tokio::select! {
        asked = timeout(WITHIN, ask(target)) => matches!(asked, Ok(Ok(true))),
        () = control.cancelled() => false,
    };
    if !is_confirmed {
        control.notice(
            "the rows are committed, but the wait for a standby was cut short: it may not have them yet",
        );
    }
    is_confirmed
}

async fn ask(target: &Target) -> Result<bool, Error> {
    let connection = target.connect().await?;
    let sql = "select pg_catalog.current_setting('synchronous_standby_names') = ''";
    if connection.client().query_typed_one(sql, &[]).await?.get(0) {
        return Ok(true);
    }
    // A transaction that writes nothing to the log waits for nobody. A message that no one decodes is the least that is written.
    let sql = "BEGIN; select pg_catalog.pg_logical_emit_message(true, 'howdah', ''); COMMIT";
    connection.client().batch_execute(sql).await?;
    Ok(connection.take_standby_warning().is_none())
}
