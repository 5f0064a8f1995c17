//! How long whoever writes waits for new files of the log: some are filled with messages that no table holds and that nobody
//! commits, while another session looks at what the writer waits for.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use futures_util::future::join;
use howdah::connect::Connection;
use howdah::tokio_postgres::{self, Client};
use howdah::{Error, Target};

use super::Limits;
use super::commit::keeps_messages;
use super::question::{answered, number, text};
use super::shared::open;
use crate::trials::{LogFile, LogTrial};

/// Files that are filled: the first of them may have been begun, and the interval around a median needs three.
const FILES: usize = 4;
/// Of the log that may be written, what goes to them at most.
const SHARE: f64 = 0.25;

/// Fills files. Returns what that took of the log, too.
///
/// # Errors
/// The connection is lost. `Ok(Err)`: it cannot be measured.
pub(super) async fn measure(
    target: &Target,
    connection: &Connection,
    limits: &Limits,
) -> Result<Result<(LogTrial, f64), String>, Error> {
    let client = connection.client();
    if let Err(why) = keeps_messages(client).await? {
        return Ok(Err(why));
    }
    let bytes = match answered(number(client, FILE).await)? {
        Ok(bytes) => bytes.unwrap_or(0.0),
        Err(why) => return Ok(Err(why)),
    };
    let all = bytes * FILES as f64;
    if all > limits.bytes * SHARE {
        return Ok(Err(
            "files of the log are so large that filling some would take too much of it".to_owned()
        ));
    }
    let Some(looking) = open(target, connection, 1).await.pop() else {
        return Ok(Err("the server gives no second connection".to_owned()));
    };
    let mut trial = LogTrial { bytes, files: Vec::new() };
    for _ in 0..FILES {
        match answered(fill(client, looking.client(), bytes).await)? {
            Ok(file) => trial.files.push(file),
            Err(why) => return Ok(Err(why)),
        }
    }
    Ok(Ok((trial, all)))
}

const FILE: &str = "SELECT pg_catalog.pg_size_bytes(pg_catalog.current_setting('wal_segment_size'))::float8";
const MESSAGE: f64 = 1024.0 * 1024.0;

/// Fills one file, while `looking` looks.
async fn fill(client: &Client, looking: &Client, bytes: f64) -> Result<LogFile, tokio_postgres::Error> {
    let pid = number(client, "SELECT pg_catalog.pg_backend_pid()").await?.unwrap_or(0.0);
    // A millisecond between two looks: to make a file takes some of them at least.
    let look = format!(
        "SELECT coalesce(wait_event, '') FROM pg_catalog.pg_stat_activity
          WHERE pid = {pid} AND state = 'active' AND pg_catalog.pg_sleep(0.001) IS NOT NULL"
    );
    let write = format!(
        "SELECT pg_catalog.count(pg_catalog.pg_logical_emit_message(false, 'howdah', pg_catalog.repeat('x', {MESSAGE})))
           FROM pg_catalog.generate_series(1, {:.0})",
        bytes / MESSAGE
    );
    let is_filled = AtomicBool::new(false);
    let began = Instant::now();
    let filled = async {
        let answer = text(client, &write).await;
        is_filled.store(true, Ordering::Relaxed);
        (answer, began.elapsed().as_secs_f64())
    };
    let looked = async {
        let mut file = LogFile::default();
        while !is_filled.load(Ordering::Relaxed) {
            if let Some(event) = text(looking, &look).await? {
                file.looks += 1;
                file.waits += u32::from(event.to_ascii_lowercase().starts_with("walinit"));
            }
        }
        Ok::<LogFile, tokio_postgres::Error>(file)
    };
    let ((answer, seconds), file) = join(filled, looked).await;
    answer?;
    Ok(LogFile { seconds, ..file? })
}
