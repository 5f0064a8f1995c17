//! Measures on a user's server: the way there, its commits, and what each part of a table costs. Rows go into scratch copies
//! only, and no transaction with a row in it is ever committed.

mod commit;
mod network;
mod question;
mod sample;
mod scratch;
mod table;
mod turns;

use std::time::Instant;

use howdah::facts::Facts;
use howdah::message;
use howdah::message::setting;
use howdah::{Control, Error, Target};

use crate::sql;
use crate::trials::{NotMeasured, Trials};

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

/// Measures at the server of `target`, whose [`Facts`] were looked at before. `tell` hears what is done.
///
/// # Errors
/// The server is a standby, others are at work, or somebody said stop; the connection is lost. What cannot be measured for
/// another reason is no error, and stands in [`Trials::not_measured`].
pub fn measure(
    target: &Target,
    facts: &Facts,
    limits: &Limits,
    control: &Control,
    tell: &mut dyn FnMut(&str),
) -> Result<Trials, Error> {
    control.connected(target, async |connection| {
        let began = Instant::now();
        let client = connection.client();
        refuse(client, facts, limits).await?;
        let mut trials = Trials::default();
        let note = |what: &str, why: String, notes: &mut Vec<NotMeasured>| {
            notes.push(NotMeasured { what: what.to_owned(), why });
        };
        tell("measuring the way to the server");
        trials.network = Some(network::measure(client, facts).await?);
        tell("measuring commits");
        match commit::measure(client, facts).await? {
            Ok(commit) => trials.commit = Some(commit),
            Err(why) => note("commits", why, &mut trials.not_measured),
        }
        if let Some(table) = facts.table.as_ref().filter(|table| !table.name.is_empty()) {
            let spent = began.elapsed().as_secs_f64();
            let left = Limits { seconds: (limits.seconds - spent).max(0.0), ..*limits };
            match table::measure(client, facts, table, &left, tell).await? {
                Ok((trial, notes)) => {
                    trials.table = Some(trial);
                    trials.not_measured.extend(notes);
                }
                Err(why) => note(&format!("the table {}", sql::table(table)), why, &mut trials.not_measured),
            }
        }
        trials.seconds = began.elapsed().as_secs_f64();
        Ok(trials)
    })
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
        let most = most_active(facts);
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

/// Of a machine that is not ours, nobody says how many cores it has.
fn most_active(facts: &Facts) -> f64 {
    let cores = std::thread::available_parallelism().map_or(8, std::num::NonZero::get);
    if facts.session.is_local { cores as f64 } else { 8.0 }
}
