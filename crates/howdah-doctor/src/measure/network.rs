//! The way to the server and back: its time, and how much passes.

use std::time::Instant;

use howdah::Error;
use howdah::facts::Facts;
use howdah::tokio_postgres::Client;

use crate::trials::NetworkTrial;

/// A distant server answers a few times only.
const MOST_TRIPS: usize = 200;
const MOST_SECONDS: f64 = 2.0;
/// What is sent up at first, and at most.
const FIRST: usize = 256 * 1024;
const MOST: usize = 8 * 1024 * 1024;
/// The settings under which the server writes down what it is sent.
const WRITES_DOWN: [(&str, &str); 3] =
    [("log_statement", "none"), ("log_min_duration_statement", "-1"), ("log_duration", "off")];

/// Measures; the first of a few trips count for nothing.
///
/// # Errors
/// The connection is lost.
pub(super) async fn measure(client: &Client, facts: &Facts) -> Result<NetworkTrial, Error> {
    let mut round_trips = Vec::new();
    let began = Instant::now();
    for trip in 0..MOST_TRIPS + 5 {
        let sent = Instant::now();
        client.simple_query("SELECT 1").await?;
        if trip >= 5 {
            round_trips.push(sent.elapsed().as_secs_f64());
        }
        if began.elapsed().as_secs_f64() > MOST_SECONDS && round_trips.len() >= 5 {
            break;
        }
    }
    let is_written_down =
        WRITES_DOWN.iter().any(|(name, quiet)| facts.setting(name).is_none_or(|now| now.value != *quiet));
    let upload = if is_written_down { None } else { upload(client).await? };
    Ok(NetworkTrial { round_trips, upload })
}

/// The best of three: whatever disturbs makes it slower, and nothing makes it faster.
async fn upload(client: &Client) -> Result<Option<f64>, Error> {
    let statement = client.prepare("SELECT pg_catalog.octet_length($1::pg_catalog.bytea)").await?;
    let mut size = FIRST;
    let mut best: f64 = 0.0;
    let mut counted = 0;
    while counted < 3 {
        // What is all zeros may be compressed on the way.
        let bytes: Vec<u8> = std::iter::repeat_with(|| fastrand::u8(..)).take(size).collect();
        let sent = Instant::now();
        client.query(&statement, &[&bytes]).await?;
        let seconds = sent.elapsed().as_secs_f64();
        if counted == 0 && seconds < 0.05 && size < MOST {
            size = (size * 4).min(MOST);
            continue;
        }
        best = best.max(size as f64 / seconds);
        counted += 1;
    }
    Ok((best > 0.0).then_some(best))
}
