//! Measures on a user's server: the way there, its commits, and what each part of a table costs. Rows go into scratch copies
//! only, and no transaction with a row in it is ever committed.

mod apply;
mod batches;
mod client;
mod commit;
mod connections;
mod decoding;
mod fitting;
mod growth;
mod log;
mod network;
mod place;
mod question;
mod sample;
mod scratch;
mod settings;
mod shared;
mod statements;
mod table;
mod turns;

use std::time::Instant;

pub use apply::{ApplyStep, apply, put_back_left};
use howdah::connect::Connection;
use howdah::facts::{Facts, TableFacts};
use howdah::message;
use howdah::message::setting;
use howdah::{Control, Error, Target};

use crate::attempt::Attempt;
use crate::prescription;
use crate::sql;
use crate::trials::Trials;
use crate::{Ask, diagnose};

/// How much measuring may cost.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limits {
    /// Seconds.
    pub seconds: f64,
    /// Bytes that may be written to the server's log.
    pub bytes: f64,
    /// Others may be at work: they are slowed down, and so are the measurements.
    pub allow_busy: bool,
    /// Triggers on events may fire when scratch tables are made.
    pub allow_event_triggers: bool,
}

impl Limits {
    /// A part of them.
    fn share(&self, share: f64) -> Limits {
        Limits { seconds: self.seconds * share, bytes: self.bytes * share, ..*self }
    }
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            seconds: 60.0,
            bytes: 512.0 * 1024.0 * 1024.0,
            allow_busy: false,
            allow_event_triggers: false,
        }
    }
}

/// What somebody wants measured.
#[derive(Debug, Clone, Copy)]
pub struct Wanted<'a> {
    /// The load that is to come.
    pub ask: &'a Ask,
    /// What its remedies come to is measured too.
    pub attempt: Option<&'a Attempt>,
    /// How much measuring may cost.
    pub limits: Limits,
}

/// Measures at the server of `target`, whose [`Facts`] were looked at before. `tell` hears what is done.
///
/// # Errors
/// The server is a standby, others are at work, or somebody said stop; the connection is lost. What cannot be measured for
/// another reason is no error, and stands in [`Trials::not_measured`].
pub fn measure(
    target: &Target,
    facts: &Facts,
    wanted: Wanted<'_>,
    control: &Control,
    tell: &mut dyn FnMut(&str),
) -> Result<Trials, Error> {
    let began = Instant::now();
    let limits = &wanted.limits;
    let (mut trials, csv) = control.connected(target, async |connection| {
        let client = connection.client();
        refuse(client, facts, limits).await?;
        let mut trials = Trials::default();
        tell("measuring the way to the server");
        trials.network = Some(network::measure(client, facts).await?);
        tell("measuring commits");
        match commit::measure(client, facts).await? {
            Ok(commit) => trials.commit = Some(commit),
            Err(why) => trials.leave_out("commits", why),
        }
        tell("filling files of the log");
        let written = match log::measure(target, connection, limits).await? {
            Ok((log, written)) => {
                trials.log = Some(log);
                written
            }
            Err(why) => {
                trials.leave_out("new files of the log", why);
                0.0
            }
        };
        let spent = began.elapsed().as_secs_f64();
        let (seconds, bytes) = ((limits.seconds - spent).max(0.0), limits.bytes - written);
        let left = Wanted { limits: Limits { seconds, bytes, ..*limits }, ..wanted };
        let csv = measure_table(target, connection, facts, left, &mut trials, tell).await?;
        Ok((trials, csv))
    })?;
    if let (Some(table), Some(csv)) = (table_of(facts), csv) {
        match client::measure(target, table, csv, control, tell)? {
            Ok(trial) => trials.client = Some(trial),
            Err(why) => trials.leave_out("what this machine can do", why),
        }
    }
    trials.seconds = began.elapsed().as_secs_f64();
    Ok(trials)
}

/// The table, if one was named and seen.
fn table_of(facts: &Facts) -> Option<&TableFacts> {
    facts.table.as_ref().filter(|table| !table.name.is_empty())
}

/// Of time and log, what goes to copies of the table, to the copy that lacks several things together, and to several connections.
const SHARES: [f64; 3] = [0.65, 0.15, 0.2];
/// The same where somebody wants to know what these things come to.
const SHARES_OF_ATTEMPT: [f64; 3] = [0.5, 0.3, 0.2];
/// Of both, what goes to a copy that grows, before the others get their shares.
const GROWTH: [f64; 2] = [0.15, 0.25];

/// What statements of several sizes are measured for.
const BATCH_SIZE: &str = "how many rows a statement should have";

/// What goes to statements of several sizes, before anything else gets its share.
const BATCHES: f64 = 0.25;

/// Measures what is attached to a table, and how many connections pay. Returns rows of the table as CSV.
async fn measure_table(
    target: &Target,
    connection: &Connection,
    facts: &Facts,
    Wanted { ask, attempt, limits }: Wanted<'_>,
    trials: &mut Trials,
    tell: &mut dyn FnMut(&str),
) -> Result<Option<client::Csv>, Error> {
    // Whoever watches programs wants to know how many rows their statements should have.
    let watches_programs = facts.watched.as_ref().is_some_and(|watched| watched.programs.is_some());
    let Some(table) = table_of(facts) else {
        if watches_programs {
            trials.leave_out(BATCH_SIZE, "no table was named".to_owned());
        }
        return Ok(None);
    };
    let client = connection.client();
    let for_batches = if watches_programs { BATCHES } else { 0.0 };
    let shares = if attempt.is_some() { SHARES_OF_ATTEMPT } else { SHARES };
    let [seconds, bytes] = [limits.seconds * GROWTH[0], limits.bytes * GROWTH[1]];
    let growing = Limits { seconds, bytes, ..limits };
    let left = Limits { seconds: limits.seconds - seconds, bytes: limits.bytes - bytes, ..limits };
    let [most, part, rest] = shares.map(|share| left.share(share * (1.0 - for_batches)));
    let name = format!("the table {}", sql::table(table));
    let mut scratch = match table::prepare(client, facts, table, &most, watches_programs, tell).await? {
        Ok(scratch) => scratch,
        Err(why) => {
            trials.leave_out(&name, why);
            return Ok(None);
        }
    };
    let (csv, rows, text) = (scratch.csv(), scratch.rows().clone(), scratch.text());
    match table::measure(client, &mut scratch, &most, tell).await? {
        Ok(trial) => trials.table = Some(trial),
        Err(why) => {
            trials.leave_out(&name, why);
            return Ok(None);
        }
    }
    let findings = diagnose(facts, &Ask::default(), Some(trials)).findings;
    let (prescribed, what) = match attempt {
        Some(attempt) => (scratch.possible(attempt.left_out(&findings)), "what was to be tried"),
        None => {
            let trial = trials.table.as_ref();
            let removed = trial.map(|trial| prescription::removed(&findings, table, trial));
            (removed.unwrap_or_default(), "all of it together")
        }
    };
    let tried = attempt.map(|attempt| attempt.ids.clone()).unwrap_or_default();
    if prescribed.is_empty() && attempt.is_some() {
        let why = "nothing that it is about costs time for sure, or can be left out of a copy";
        trials.leave_out(what, why.to_owned());
    } else if let Some(trial) = trials.table.as_mut().filter(|_| !prescribed.is_empty()) {
        trial.tried = tried;
        if let Err(why) =
            table::measure_prescribed(client, &mut scratch, prescribed, trial, &part, tell).await?
        {
            trials.leave_out(what, why);
        }
    }
    trials.not_measured.append(&mut scratch.not_measured);
    let growth = match scratch.grows() {
        Ok(true) => growth::measure(target, connection, &scratch, ask, &growing, tell).await?.map(Some),
        Ok(false) => Ok(None),
        Err(why) => Err(why.to_owned()),
    };
    match (growth, &mut trials.table) {
        (Ok(growth), Some(trial)) => trial.growth = growth,
        (Ok(_), None) => {}
        (Err(why), _) => trials.leave_out("how a table's growth slows rows down", why),
    }
    if watches_programs {
        let part = limits.share(for_batches);
        match batches::measure(target, connection, facts, &scratch, (&rows, text), &part, tell).await? {
            Ok(trial) => trials.batches = Some(trial),
            Err(why) => trials.leave_out(BATCH_SIZE, why),
        }
    }
    match connections::measure(target, connection, facts, &scratch, rows, &rest, tell).await? {
        Ok(trial) => trials.connections = Some(trial),
        Err(why) => trials.leave_out("several connections", why),
    }
    Ok(csv)
}

/// Refuses where measuring does harm, or cannot be done.
async fn refuse(
    client: &howdah::tokio_postgres::Client,
    facts: &Facts,
    limits: &Limits,
) -> Result<(), Error> {
    if facts.session.in_recovery {
        return Err(Error::usage("the server is a standby: nothing can be measured there")
            .with_hint("measure on the primary, or look only"));
    }
    question::calm(client).await?;
    if !limits.allow_busy {
        let active = question::number(client, ACTIVE).await?.unwrap_or(0.0);
        let most = cores(facts) as f64;
        if active > most {
            let said = format!("{active} sessions of others are at work: measuring would slow them down");
            return Err(Error::usage(said)
                .with_hint(message!["come when it is calm, or ", setting::ALLOW_BUSY.bool(true)]));
        }
    }
    if !limits.allow_event_triggers
        && let Some(trigger) = question::text(client, EVENT_TRIGGERS).await?
    {
        let said =
            format!("the event trigger {} would fire when scratch tables are made", sql::name(&trigger));
        return Err(Error::usage(said)
            .with_hint(message!["where that does no harm, ", setting::ALLOW_EVENT_TRIGGERS.bool(true)]));
    }
    Ok(())
}

/// Sessions at work, as far as the role may see what they do.
const ACTIVE: &str = "SELECT count(*)::float8 FROM pg_catalog.pg_stat_activity
     WHERE backend_type = 'client backend' AND state = 'active' AND pid <> pg_catalog.pg_backend_pid()";

const EVENT_TRIGGERS: &str =
    "SELECT evtname FROM pg_catalog.pg_event_trigger WHERE evtenabled IN ('O', 'A') ORDER BY evtname LIMIT 1";

/// Cores of the server. Of a machine that is not ours, nobody says how many it has.
fn cores(facts: &Facts) -> usize {
    match facts.session.is_local {
        true => std::thread::available_parallelism().map_or(8, std::num::NonZero::get),
        false => 8,
    }
}
