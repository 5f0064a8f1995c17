//! How fast a server is as it is set now: statements, commits, and rows into a copy of a table. Nothing of it stays.

use std::time::Instant;

use futures_util::future::join_all;
use howdah::connect::Connection;
use howdah::facts::Facts;
use howdah::message::setting;
use howdah::tokio_postgres::{Client, Error as PostgresError};
use howdah::{Error, Target, message};

use super::commit;
use super::question::{calm, number};
use super::scratch::Scratch;
use super::shared::open;
use super::{Limits, refuse, table, table_of};
use crate::applied::Speed;
use crate::attachment::Variant;
use crate::statistics::Spread;
use crate::trials::NotMeasured;

/// Statements of a look, and commits of one connection, the first of which counts for nothing.
const STATEMENTS: usize = 200;
const COMMITS: usize = 20;
/// Connections that commit at once, and how often each does.
const CONNECTIONS: usize = 8;
const COMMITS_EACH: usize = 10;
/// After so many seconds, and the fewest of each, it is enough.
const ENOUGH_SECONDS: f64 = 0.5;
const FEWEST: usize = 4;
/// Looks of a round.
const TURNS: f64 = 3.0;

/// How often it is seen whether others have gone.
const GOING: usize = 100;

/// What is looked at.
pub(super) struct Looks<'t> {
    scratch: Option<Scratch<'t>>,
    /// Whether commits can be measured.
    commits: bool,
    /// What cannot be measured, and why.
    pub(super) not_measured: Vec<NotMeasured>,
}

/// Others that a restart would end.
const OTHERS: &str = "SELECT count(*)::float8 FROM pg_catalog.pg_stat_activity
     WHERE backend_type = 'client backend' AND pid <> pg_catalog.pg_backend_pid()";

impl<'t> Looks<'t> {
    /// Sees what can be measured, within `limits` of a finding's share.
    ///
    /// # Errors
    /// The server is a standby, others are at work; the connection is lost.
    pub(super) async fn prepare(
        connection: &Connection,
        facts: &'t Facts,
        limits: &Limits,
        is_restart: bool,
        tell: &mut dyn FnMut(&str),
    ) -> Result<Looks<'t>, Error> {
        let client = connection.client();
        refuse(client, facts, limits).await?;
        if is_restart && !limits.allow_busy {
            let mut others = number(client, OTHERS).await?.unwrap_or(0.0);
            // Sessions that are over go a moment later.
            for _ in 0..GOING {
                if others == 0.0 {
                    break;
                }
                client.batch_execute("SELECT pg_catalog.pg_sleep(0.01)").await?;
                others = number(client, OTHERS).await?.unwrap_or(0.0);
            }
            if others > 0.0 {
                let said = format!(
                    "the server has to be started again, which would end others' sessions: {others} of them are open"
                );
                return Err(Error::usage(said)
                    .with_hint(message!["come when they are gone, or ", setting::ALLOW_BUSY.bool(true)]));
            }
        }
        let mut looks = Looks { scratch: None, commits: false, not_measured: Vec::new() };
        match commit::keeps_messages(client).await? {
            Ok(()) => looks.commits = true,
            Err(why) => looks.leave_out("commits", &why),
        }
        let Some(of) = table_of(facts) else { return Ok(looks) };
        match table::prepare(client, facts, of, limits, false, tell).await? {
            Ok(mut scratch) => match table::shorten(client, &mut scratch, limits, TURNS).await? {
                Ok(_) => looks.scratch = Some(scratch),
                Err(why) => looks.leave_out("rows", &why),
            },
            Err(why) => looks.leave_out("rows", &why),
        }
        Ok(looks)
    }

    fn leave_out(&mut self, what: &str, why: &str) {
        self.not_measured.push(NotMeasured { what: what.to_owned(), why: why.to_owned() });
    }

    /// Rows that go into a copy of the table.
    pub(super) fn rows(&self) -> u64 {
        self.scratch.as_ref().map_or(0, |scratch| scratch.rows().count)
    }

    /// Looks once. Returns also how many bytes of log it took.
    ///
    /// # Errors
    /// The server refuses something, or the connection is lost.
    pub(super) async fn look(&self, target: &Target, connection: &Connection) -> Result<(Speed, f64), Error> {
        let client = connection.client();
        calm(client).await?;
        let mut speed = Speed { statement: statements(client).await?, ..Speed::default() };
        if self.commits {
            speed.commit = commits(client).await?;
            let lanes = open(target, connection, CONNECTIONS).await;
            if lanes.len() == CONNECTIONS {
                speed.commit_together = commits_together(&lanes).await?;
            }
        }
        let mut log = 0.0;
        if let Some(scratch) = &self.scratch {
            let (seconds, written) = scratch.run(client, &Variant::Whole).await?;
            speed.copy = Some(seconds);
            log = written;
        }
        Ok((speed, log))
    }
}

/// Seconds of an INSERT of a row, in a transaction that is rolled back.
async fn statements(client: &Client) -> Result<Option<f64>, PostgresError> {
    client
        .batch_execute("BEGIN READ WRITE; CREATE TEMPORARY TABLE howdah_doctor_row_of_one (n int4)")
        .await?;
    let mut seconds = Vec::new();
    let began = Instant::now();
    for trip in 0..=STATEMENTS {
        let sent = Instant::now();
        client.batch_execute("INSERT INTO pg_temp.howdah_doctor_row_of_one VALUES (1)").await?;
        if trip > 0 {
            seconds.push(sent.elapsed().as_secs_f64());
        }
        if began.elapsed().as_secs_f64() > ENOUGH_SECONDS && seconds.len() >= FEWEST {
            break;
        }
    }
    client.batch_execute("ROLLBACK").await?;
    Ok(Spread::of(seconds).map(|spread| spread.median))
}

/// Seconds of a commit. It waits for this server alone: a standby that is not there would never answer.
async fn commits(client: &Client) -> Result<Option<f64>, PostgresError> {
    let mut seconds = Vec::new();
    let began = Instant::now();
    for turn in 0..=COMMITS {
        let took = commit::commit(client, "local").await?;
        if turn > 0 {
            seconds.push(took);
        }
        if began.elapsed().as_secs_f64() > ENOUGH_SECONDS && seconds.len() >= FEWEST {
            break;
        }
    }
    Ok(Spread::of(seconds).map(|spread| spread.median))
}

/// Seconds of a commit where several connections commit at once, each one after the other.
async fn commits_together(lanes: &[Connection]) -> Result<Option<f64>, PostgresError> {
    let began = Instant::now();
    let each = lanes.iter().map(|lane| async move {
        let mut done = 0_usize;
        while done < COMMITS_EACH && (done < FEWEST || began.elapsed().as_secs_f64() < ENOUGH_SECONDS) {
            commit::commit(lane.client(), "local").await?;
            done += 1;
        }
        Ok::<usize, PostgresError>(done)
    });
    let mut done = 0;
    for each in join_all(each).await {
        done += each?;
    }
    Ok((done > 0).then(|| began.elapsed().as_secs_f64() / done as f64))
}
