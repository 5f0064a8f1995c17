//! What each part of a table costs: its rows go into copies of it, in turns.

use std::time::Instant;

use howdah::Error;
use howdah::facts::{Facts, TableFacts};
use howdah::tokio_postgres::Client;

use super::question::answered;
use super::scratch::Scratch;
use super::turns::{Budget, round, variants};
use super::{Limits, sample};
use crate::attachment::{Attachment, Variant};
use crate::trials::{FEWEST_ROUNDS, NotMeasured, Run, TableTrial};

/// Rows of a run take this many bytes at most, and at least.
const MOST: f64 = 8.0 * 1024.0 * 1024.0;
const LEAST: f64 = 256.0 * 1024.0;
/// Fewer rows take no time that could be told from none.
const FEWEST_ROWS: u64 = 1000;
/// Of rows that take long, these are enough.
const FEWEST_SLOW_ROWS: u64 = 100;
/// The rounds that count for something, and the one that warms up.
const FEWEST_IN_ALL: u32 = 4;
/// Rounds that are to fit, and bytes of log for a byte that is sent.
const ROUNDS: f64 = 8.0;
const LOG_PER_BYTE: f64 = 2.5;

/// Measures; the notes say what was left out.
///
/// # Errors
/// The connection is lost. `Ok(Err)`: it cannot be measured.
pub(super) async fn measure(
    client: &Client,
    facts: &Facts,
    table: &TableFacts,
    limits: &Limits,
    tell: &mut dyn FnMut(&str),
) -> Result<Result<(TableTrial, Vec<NotMeasured>), String>, Error> {
    if !matches!(table.kind.as_str(), "r" | "p") {
        return Ok(Err("it is no table with rows of its own".to_owned()));
    }
    let mut budget = Budget::new(limits.seconds, limits.bytes);
    let turns = Attachment::all_of(table).len() as f64 + 4.0;
    let most = (limits.bytes / (ROUNDS * turns * LOG_PER_BYTE)).clamp(LEAST, MOST);
    tell("reading rows of the table");
    let sample = match answered(sample::read(client, table, most).await)? {
        Ok(sample) => sample,
        Err(why) => return Ok(Err(why)),
    };
    if sample.rows.count < FEWEST_ROWS {
        let count = sample.rows.count;
        return Ok(Err(format!(
            "of its rows, which are to be led into copies, the role sees {count}, and {FEWEST_ROWS} are needed"
        )));
    }
    let mut scratch = match Scratch::plan(client, facts, table, sample).await? {
        Ok(scratch) => scratch,
        Err(why) => return Ok(Err(why)),
    };
    let variants = variants(&scratch.attachments, scratch.is_logged());
    // A run that takes too long, or too much of the log, for as many rounds as are wanted gets fewer rows. What it takes to
    // make a copy stays.
    let began = Instant::now();
    let (seconds, log) = match answered(scratch.run(client, &Variant::Whole).await)? {
        Ok(measured) => measured,
        Err(why) => return Ok(Err(why)),
    };
    budget.spend(log);
    let making = began.elapsed().as_secs_f64() - seconds;
    let in_time = (limits.seconds / (ROUNDS * turns) - making) / seconds;
    let in_log = (limits.bytes - log) / (ROUNDS * turns * log.max(1.0));
    scratch.rows().shorten(in_time.min(in_log).clamp(0.0, 1.0), FEWEST_SLOW_ROWS);
    let (rows, bytes) = (scratch.rows().count, scratch.rows().bytes);
    let mut trial = TableTrial { rows, bytes, runs: Vec::new() };
    let mut number = 0;
    'rounds: while !budget.is_over(number, FEWEST_IN_ALL) {
        tell(&format!(
            "round {number} of copies of the table, {:.0} of {:.0} s",
            budget.elapsed(),
            limits.seconds
        ));
        for variant in round(&variants) {
            if budget.is_exceeded() {
                break 'rounds;
            }
            match answered(scratch.run(client, &variant).await)? {
                Ok((seconds, log)) => {
                    budget.spend(log);
                    trial.runs.push(Run { round: number, variant, seconds, log });
                }
                Err(why) => return Ok(Err(why)),
            }
        }
        number += 1;
    }
    if trial.rounds() < FEWEST_ROUNDS {
        let rounds = trial.rounds();
        return Ok(Err(format!(
            "time and log had room for fewer rounds than are needed: {rounds} of {FEWEST_ROUNDS}"
        )));
    }
    Ok(Ok((trial, scratch.not_measured)))
}
