//! How many connections pay: all of them lead rows into one copy at once, each its share of them.

use std::time::Instant;

use futures_util::future::join_all;
use howdah::connect::Connection;
use howdah::facts::Facts;
use howdah::tokio_postgres::{self, Client};
use howdah::{Error, Target};

use super::fitting::{Expense, fit};
use super::question::{answered, number};
use super::sample::Rows;
use super::scratch::{LOG_POSITION, Scratch};
use super::shared::{Shared, all, open, refused};
use super::turns::{Budget, FEWEST_IN_ALL, ROUNDS};
use super::{Limits, cores};
use crate::trials::{ConnectionsRun, ConnectionsTrial, FEWEST_ROUNDS};

/// How many are tried, beside one.
const TRIED: [usize; 3] = [2, 4, 8];
/// Connections that are left to others.
const LEFT: f64 = 5.0;
/// Each connection gets so many messages of rows at least, lest one has much more to do than another.
const FEWEST_MESSAGES: usize = 4;
/// One connection takes so long for a run at least, unless all rows take less.
const LEAST_SECONDS: f64 = 0.1;
/// Fewer rows are not worth sharing out.
const FEWEST_ROWS: u64 = 100;

/// Measures with `rows`, or the first of them where time or log have no room for all.
///
/// # Errors
/// The connection is lost. `Ok(Err)`: it cannot be measured.
pub(super) async fn measure(
    target: &Target,
    connection: &Connection,
    facts: &Facts,
    scratch: &Scratch<'_>,
    rows: Rows,
    limits: &Limits,
    tell: &mut dyn FnMut(&str),
) -> Result<Result<ConnectionsTrial, String>, Error> {
    let spare = most(facts);
    if spare < TRIED[0] {
        return Ok(Err("few connections are left to others".to_owned()));
    }
    let most = spare.min(rows.messages() / FEWEST_MESSAGES);
    if most < TRIED[0] {
        return Ok(Err("the rows are too few to be shared out".to_owned()));
    }
    let client = connection.client();
    match answered(refused(client, scratch.table()).await)? {
        Ok(None) => {}
        Ok(Some(why)) | Err(why) => return Ok(Err(why)),
    }
    let shared = match Shared::tie(connection, scratch).await? {
        Ok(shared) => shared,
        Err(why) => return Ok(Err(why)),
    };
    let measured = match open(target, connection, most).await {
        lanes if lanes.len() < TRIED[0] => Ok(Err("the server gives no second connection".to_owned())),
        lanes => rounds(connection, &shared, rows, &lanes, limits, tell).await,
    };
    shared.untie(connection).await?;
    measured
}

/// How many connections are tried at most: as many as the server has cores, as far as that is known, and can spare.
pub(super) fn most(facts: &Facts) -> usize {
    let number = |name: &str| facts.setting(name).and_then(howdah::facts::SettingFacts::number);
    let used = f64::from(facts.connections.seen().copied().unwrap_or_default());
    let reserved = ["superuser_reserved_connections", "reserved_connections"].map(number);
    let reserved: f64 = reserved.into_iter().flatten().sum();
    let server = number("max_connections").unwrap_or(0.0) - used - reserved - LEFT;
    let limits = [facts.session.role_limit, facts.session.database_limit].into_iter().filter(|it| *it >= 0);
    let spare = limits.map(f64::from).fold(server, f64::min);
    // With four connections a machine of two cores shows whether they wait for each other.
    let useful = cores(facts).max(4);
    TRIED.into_iter().filter(|tried| *tried <= useful && *tried as f64 <= spare).max().unwrap_or(1)
}

/// Turns of one connection and of several.
async fn rounds(
    connection: &Connection,
    shared: &Shared,
    mut rows: Rows,
    lanes: &[Connection],
    limits: &Limits,
    tell: &mut dyn FnMut(&str),
) -> Result<Result<ConnectionsTrial, String>, Error> {
    let mut tried: Vec<usize> = TRIED.into_iter().filter(|tried| *tried <= lanes.len()).collect();
    let turns = tried.len() as f64 + 2.0;
    // Rather fewer rounds than runs that are over before all connections are at work, and rather longer than for nothing.
    let round = |expense: &Expense| turns * (LEAST_SECONDS + expense.making);
    let share = |expense: &Expense| {
        let roomy = Limits { seconds: limits.seconds.max(ROUNDS * round(expense)), ..*limits };
        expense.share(&roomy, turns)
    };
    let one = async |rows: &Rows| fill(shared, connection, &lanes[..1], rows).await;
    let fitting = match answered(fit(&rows, FEWEST_ROWS, share, one).await)? {
        Ok(fitting) => fitting,
        Err(why) => return Ok(Err(why)),
    };
    rows.shorten(fitting.share, FEWEST_ROWS);
    let seconds = limits.seconds.max(f64::from(FEWEST_IN_ALL) * round(&fitting.expense));
    let mut budget = Budget::new(seconds, limits.bytes - fitting.log);
    let mut trial = ConnectionsTrial { rows: rows.count, runs: Vec::new() };
    let mut number = 0;
    'rounds: while !budget.is_over(number, FEWEST_IN_ALL) {
        tell(&format!(
            "round {number} of several connections, {:.0} of {:.0} s",
            budget.elapsed(),
            limits.seconds
        ));
        // One of them first and last, as with copies of the table.
        let mut turns = tried.clone();
        fastrand::shuffle(&mut turns);
        turns.insert(0, 1);
        turns.push(1);
        for count in turns {
            if budget.is_exceeded() {
                break 'rounds;
            }
            match answered(fill(shared, connection, &lanes[..count], &rows).await)? {
                Ok((seconds, log)) => {
                    budget.spend(log);
                    let connections = u32::try_from(count).unwrap_or(u32::MAX);
                    trial.runs.push(ConnectionsRun { round: number, connections, seconds, log });
                }
                Err(why) => return Ok(Err(why)),
            }
        }
        number += 1;
        // Where more of them gain nothing, still more of them gain nothing either.
        if let Some(knee) = trial.knee() {
            let beyond = tried.iter().position(|tried| *tried as f64 > f64::from(knee));
            tried.truncate(beyond.map_or(tried.len(), |at| at + 1));
        }
    }
    if trial.knee().is_none() {
        return Ok(Err(format!(
            "time and log had room for fewer rounds than are needed, which are {FEWEST_ROUNDS}"
        )));
    }
    Ok(Ok(trial))
}

/// Makes the copy, has `lanes` fill it together, and takes all of it back. Returns seconds from the first row to the answer
/// of the last connection, and bytes of log.
///
/// # Errors
/// The server refuses, or a connection is lost.
async fn fill(
    shared: &Shared,
    connection: &Connection,
    lanes: &[Connection],
    rows: &Rows,
) -> Result<(f64, f64), tokio_postgres::Error> {
    shared.make(connection).await?;
    let filled = filled(connection.client(), &shared.sql(), lanes, rows).await;
    let removed = shared.remove(connection).await;
    let measured = filled?;
    removed?;
    Ok(measured)
}

async fn filled(
    client: &Client,
    copy: &str,
    lanes: &[Connection],
    rows: &Rows,
) -> Result<(f64, f64), tokio_postgres::Error> {
    all(lanes, "BEGIN READ WRITE").await?;
    let before = number(client, LOG_POSITION).await?.unwrap_or(0.0);
    let began = Instant::now();
    let shares = lanes.iter().enumerate();
    let sent = join_all(shares.map(|(at, lane)| rows.send(lane.client(), copy, at, lanes.len()))).await;
    let seconds = began.elapsed().as_secs_f64();
    // Not lost with the connections alone: the transactions end here, however they went.
    all(lanes, "ROLLBACK").await?;
    sent.into_iter().collect::<Result<Vec<()>, _>>()?;
    let after = number(client, LOG_POSITION).await?.unwrap_or(0.0);
    Ok((seconds, after - before))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{healthy, seen, set};

    #[test]
    fn as_many_are_tried_as_the_server_can_spare() {
        let mut facts = healthy();
        assert_eq!(most(&facts), 8);
        // Of a hundred, three are reserved and five are left to others.
        for (used, tried) in [(84, 8), (85, 4), (88, 4), (89, 2), (90, 2), (91, 1), (200, 1)] {
            *seen(&mut facts.connections) = used;
            assert_eq!(most(&facts), tried, "{used}");
        }
        let mut facts = healthy();
        facts.session.role_limit = 3;
        assert_eq!(most(&facts), 2);
        set(&mut facts, "max_connections", "8");
        assert_eq!(most(&facts), 1);
    }
}
