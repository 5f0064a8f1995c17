//! What a commit waits for: this server's disk, and standbys. What is committed is a message in the log that no table holds.

use std::time::Instant;

use howdah::Error;
use howdah::facts::Facts;
use howdah::tokio_postgres::Client;

use super::question::{answered, text};
use crate::trials::CommitTrial;

const LOGICAL_SLOT: &str =
    "SELECT slot_name FROM pg_catalog.pg_replication_slots WHERE slot_type = 'logical' LIMIT 1";
/// Under the most of these a disk shows how even it is.
const MOST_TURNS: usize = 60;
const MOST_SECONDS: f64 = 5.0;

/// Measures each setting of `synchronous_commit` in turns.
///
/// # Errors
/// The connection is lost.
pub(super) async fn measure(client: &Client, facts: &Facts) -> Result<Result<CommitTrial, String>, Error> {
    if let Err(why) = keeps_messages(client).await? {
        return Ok(Err(why));
    }
    let mut ways = vec!["off", "local"];
    // Where no standby answers, a commit never ends.
    let is_named =
        facts.setting("synchronous_standby_names").is_some_and(|names| !names.value.trim().is_empty());
    if is_named && facts.standbys.seen().is_some_and(|standbys| standbys.synchronous > 0) {
        ways.push("on");
    }
    let mut trial = CommitTrial::default();
    let began = Instant::now();
    for turn in 0..=MOST_TURNS {
        fastrand::shuffle(&mut ways);
        for way in &ways {
            match answered(commit(client, way).await)? {
                // The first turn warms up.
                Ok(_) if turn == 0 => {}
                Ok(seconds) => match *way {
                    "off" => trial.off.push(seconds),
                    "local" => trial.local.push(seconds),
                    _ => trial.standby.push(seconds),
                },
                Err(why) => return Ok(Err(why)),
            }
        }
        if began.elapsed().as_secs_f64() > MOST_SECONDS && turn >= 5 {
            break;
        }
    }
    Ok(Ok(trial))
}

/// Whether messages in the log stay there, or why not.
///
/// # Errors
/// The connection is lost.
pub(super) async fn keeps_messages(client: &Client) -> Result<Result<(), String>, Error> {
    let slot = answered(text(client, LOGICAL_SLOT).await)?;
    Ok(slot.and_then(|slot| match slot {
        None => Ok(()),
        Some(_) => Err("a logical replication slot would hand the messages on".to_owned()),
    }))
}

pub(super) async fn commit(client: &Client, way: &str) -> Result<f64, howdah::tokio_postgres::Error> {
    client
        .batch_execute(&format!(
            "BEGIN; SET LOCAL synchronous_commit = {way}; SELECT pg_catalog.pg_logical_emit_message(true, 'howdah', '')"
        ))
        .await?;
    let sent = Instant::now();
    client.batch_execute("COMMIT").await?;
    Ok(sent.elapsed().as_secs_f64())
}
