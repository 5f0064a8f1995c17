//! How many connections pay: all of them lead rows into one copy at once, each its share of them. The copy has to be committed, but
//! no row is; and it is tied to the session, so that the server removes it however we end.

use std::time::Instant;

use futures_util::future::join_all;
use howdah::connect::Connection;
use howdah::facts::{Facts, TableFacts};
use howdah::tokio_postgres::{self, Client};
use howdah::{Error, ErrorKind, HiddenTable, Target};

use super::place::may_make_tables;
use super::question::{answered, calm, number, text};
use super::sample::Rows;
use super::scratch::{LOG_POSITION, Scratch};
use super::turns::{Budget, Expense, FEWEST_IN_ALL, ROUNDS};
use super::{Limits, cores};
use crate::sql;
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

/// The type of the copy's rows. The server drops temporary types when a session ends, with all that is made of them.
const TIE: &str = "pg_temp.howdah_doctor_row";

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
    // Behind a pooler the session outlives us.
    client.batch_execute(&format!("BEGIN READ WRITE; DROP TYPE IF EXISTS {TIE}; COMMIT")).await?;
    measured
}

/// How many connections are tried at most: as many as the server has cores, as far as that is known, and can spare.
fn most(facts: &Facts) -> usize {
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

/// Why the role cannot make what is needed, if it cannot.
async fn refused(client: &Client, table: &TableFacts) -> Result<Option<String>, tokio_postgres::Error> {
    if !may_make_tables(client, &table.schema).await? {
        return Ok(Some(format!("the role may make no table in the schema {}", sql::name(&table.schema))));
    }
    let may_make_types =
        "SELECT pg_catalog.has_database_privilege(pg_catalog.current_database(), 'TEMP')::int4";
    let why = "the role may make nothing temporary, by which the server would clean up after us";
    Ok((number(client, may_make_types).await? != Some(1.0)).then(|| why.to_owned()))
}

/// As many connections to the same server as it gives.
pub(super) async fn open(target: &Target, connection: &Connection, most: usize) -> Vec<Connection> {
    let target = target.pinned_to(connection).with_fallback_application_name("howdah");
    let mut lanes = Vec::new();
    while lanes.len() < most {
        let Ok(lane) = target.connect().await else { break };
        if calm(lane.client()).await.is_err() {
            break;
        }
        lanes.push(lane);
    }
    lanes
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
    let began = Instant::now();
    let (seconds, log) = match answered(shared.fill(connection, &lanes[..1], &rows).await)? {
        Ok(measured) => measured,
        Err(why) => return Ok(Err(why)),
    };
    let expense = Expense { seconds, making: began.elapsed().as_secs_f64() - seconds, log };
    let turns = tried.len() as f64 + 2.0;
    // Rather fewer rounds than runs that are over before all connections are at work, and rather longer than for nothing.
    let round = turns * (LEAST_SECONDS + expense.making);
    let roomy = Limits { seconds: limits.seconds.max(ROUNDS * round), ..*limits };
    rows.shorten(expense.share(&roomy, turns), FEWEST_ROWS);
    let mut budget = Budget::new(limits.seconds.max(f64::from(FEWEST_IN_ALL) * round), limits.bytes - log);
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
            match answered(shared.fill(connection, &lanes[..count], &rows).await)? {
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

/// A copy that all connections see.
struct Shared {
    table: HiddenTable,
    /// What makes it.
    statements: Vec<String>,
}

impl Shared {
    /// Makes the tie, and says how the copy is made.
    ///
    /// # Errors
    /// The connection is lost. `Ok(Err)`: the server refuses it.
    async fn tie(connection: &Connection, scratch: &Scratch<'_>) -> Result<Result<Shared, String>, Error> {
        let (client, table) = (connection.client(), scratch.table());
        match HiddenTable::sweep(connection, &table.schema).await {
            Err(error) if error.kind() == ErrorKind::Server => {
                client.batch_execute("ROLLBACK").await?;
                return Ok(Err("what a load left cannot be removed".to_owned()));
            }
            swept => swept?,
        };
        let made = async {
            let columns = text(client, &columns_of(table)).await?.unwrap_or_default();
            let make = format!("BEGIN READ WRITE; CREATE TYPE {TIE} AS ({columns}); COMMIT");
            let made = client.batch_execute(&make).await;
            if made.is_err() {
                client.batch_execute("ROLLBACK").await?;
            }
            made
        };
        if let Err(why) = answered(made.await)? {
            return Ok(Err(why));
        }
        let hidden = HiddenTable::new(table.schema.clone());
        let copy = hidden.sql();
        let kind = if table.is_unlogged { "UNLOGGED " } else { "" };
        // Nobody is to clean up meanwhile what goes anyway.
        let options = ["autovacuum_enabled = off", "toast.autovacuum_enabled = off"];
        let mut statements = scratch.copy_sql(&copy, kind, &options);
        statements.push(format!("ALTER TABLE {copy} OF {TIE}"));
        Ok(Ok(Shared { table: hidden, statements }))
    }

    /// Makes the copy, has `lanes` fill it together, and takes all of it back. Returns seconds from the first row to the answer
    /// of the last connection, and bytes of log.
    ///
    /// # Errors
    /// The server refuses, or a connection is lost.
    async fn fill(
        &self,
        connection: &Connection,
        lanes: &[Connection],
        rows: &Rows,
    ) -> Result<(f64, f64), tokio_postgres::Error> {
        self.table.make(connection, &self.statements).await?;
        let filled = self.filled(connection.client(), lanes, rows).await;
        let removed = self.table.remove(connection).await;
        let measured = filled?;
        removed?;
        Ok(measured)
    }

    async fn filled(
        &self,
        client: &Client,
        lanes: &[Connection],
        rows: &Rows,
    ) -> Result<(f64, f64), tokio_postgres::Error> {
        let copy = self.table.sql();
        all(lanes, "BEGIN READ WRITE").await?;
        let before = number(client, LOG_POSITION).await?.unwrap_or(0.0);
        let began = Instant::now();
        let shares = lanes.iter().enumerate();
        let sent = join_all(shares.map(|(at, lane)| rows.send(lane.client(), &copy, at, lanes.len()))).await;
        let seconds = began.elapsed().as_secs_f64();
        // Not lost with the connections alone: the transactions end here, however they went.
        all(lanes, "ROLLBACK").await?;
        sent.into_iter().collect::<Result<Vec<()>, _>>()?;
        let after = number(client, LOG_POSITION).await?.unwrap_or(0.0);
        Ok((seconds, after - before))
    }
}

/// Runs `sql` on each of them.
async fn all(lanes: &[Connection], sql: &str) -> Result<(), tokio_postgres::Error> {
    let done = join_all(lanes.iter().map(|lane| lane.client().batch_execute(sql))).await;
    done.into_iter().collect::<Result<Vec<()>, _>>().map(|_| ())
}

/// The columns of the table as a type has them.
fn columns_of(table: &TableFacts) -> String {
    format!(
        "SELECT pg_catalog.string_agg(pg_catalog.format('%I %s', a.attname, pg_catalog.format_type(a.atttypid, a.atttypmod))
                  || CASE WHEN a.attcollation <> 0 THEN pg_catalog.format(' COLLATE %I.%I', n.nspname, c.collname) ELSE '' END,
                  ', ' ORDER BY a.attnum)
           FROM pg_catalog.pg_attribute a LEFT JOIN pg_catalog.pg_collation c ON c.oid = a.attcollation
           LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.collnamespace
          WHERE a.attrelid = {}::pg_catalog.regclass AND a.attnum > 0 AND NOT a.attisdropped",
        sql::relation(&table.schema, &table.name)
    )
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
