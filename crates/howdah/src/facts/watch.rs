//! What a server does while somebody watches: what sessions that write wait for, looked at again and again, and how far its
//! counters come meanwhile.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use howdah_connect::Target;
use howdah_connect::tokio_postgres::Client;
use serde::{Deserialize, Serialize};

use crate::control::Control;
use crate::error::{Error, ErrorKind};
use crate::facts::fact::{self, Fact};
use crate::facts::programs::{Opening, ProgramFacts};

/// How often is looked. A look takes the server a third of a millisecond.
const EVERY: Duration = Duration::from_millis(100);

/// Counters of sessions that are at work reach the statistics a second later.
const LATER: Duration = Duration::from_millis(1100);

/// Whoever answers no look for so long does not answer.
const PATIENCE: Duration = Duration::from_secs(30);

/// Questions between the first look at what programs send and the last one, beside the looks at what sessions wait for.
const OWN: u32 = 6;

/// What was seen of a server at work.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct WatchFacts {
    /// How long it was watched, in seconds.
    pub seconds: f64,
    /// How often was looked.
    pub looks: u32,
    /// What sessions that had written something in their transaction did at these looks: of all roles, or of the own one
    /// where the role does not see what others do.
    pub writers: Fact<Vec<WriterFacts>>,
    /// How far the counters came.
    pub work: Fact<WorkFacts>,
    /// What programs sent to the database; `None`: nobody looked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub programs: Option<ProgramFacts>,
}

impl WatchFacts {
    /// Watches the server of `target` for so many seconds. Blocks until it is over; stop it with [`Control::cancel`].
    ///
    /// # Errors
    /// There is no connection, or somebody said stop. What the role may not see is no error.
    pub fn watch(target: &Target, seconds: f64, control: &Control) -> Result<WatchFacts, Error> {
        control.connected(target, async |connection| watch(connection.client(), seconds, false).await)
    }

    /// The same, and what programs send to the database of `target` meanwhile.
    ///
    /// # Errors
    /// Those of [`WatchFacts::watch`].
    pub fn watch_programs(target: &Target, seconds: f64, control: &Control) -> Result<WatchFacts, Error> {
        control.connected(target, async |connection| watch(connection.client(), seconds, true).await)
    }
}

/// Sessions that wrote, and did the same at a look.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(default)]
pub struct WriterFacts {
    /// They ran a statement; else their transaction waited for the program.
    pub is_active: bool,
    /// What they waited for, in PostgreSQL's words: `IO`, `LWLock`, `Client`, …; empty: for nothing, they computed.
    pub kind: String,
    /// The wait event: `WALSync`, `ClientRead`, …
    pub event: String,
    /// How many there were, all looks together.
    pub seen: u64,
}

/// What was done while somebody watched.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct WorkFacts {
    /// Seconds from one reading of the counters to the other. Both are up to a second late.
    pub seconds: f64,
    /// Commits.
    pub commits: f64,
    /// Rows that were inserted, updated and deleted.
    pub rows: f64,
    /// Bytes that were logged.
    pub log: f64,
    /// Pages that were logged whole.
    pub full_pages: f64,
}

impl WorkFacts {
    /// `looks`: commits of whoever watched, in so many seconds.
    fn since(&self, before: &WorkFacts, looks: u32, seconds: f64) -> WorkFacts {
        // Somebody may have set the counters back.
        let moved = |now: f64, before: f64| (now - before).max(0.0);
        WorkFacts {
            seconds,
            commits: (moved(self.commits, before.commits) - f64::from(looks)).max(0.0),
            rows: moved(self.rows, before.rows),
            log: moved(self.log, before.log),
            full_pages: moved(self.full_pages, before.full_pages),
        }
    }
}

async fn watch(client: &Client, seconds: f64, programs: bool) -> Result<WatchFacts, Error> {
    let length = Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX);
    let opening = if programs { Some(Opening::look(client).await?) } else { None };
    let before = answered(work(client)).await?;
    let began = Instant::now();
    let mut seen: BTreeMap<WriterFacts, u64> = BTreeMap::new();
    let mut looks = 0;
    let mut hidden = None;
    while began.elapsed() < length && hidden.is_none() {
        match answered(writers(client)).await? {
            Fact::Seen(writers) => {
                for writer in writers {
                    *seen.entry(WriterFacts { seen: 0, ..writer.clone() }).or_default() += writer.seen;
                }
                looks += 1;
            }
            Fact::Hidden(why) => hidden = Some(why),
        }
        tokio::time::sleep(EVERY.min(length.saturating_sub(began.elapsed()))).await;
    }
    let seconds = began.elapsed().as_secs_f64();
    tokio::time::sleep(LATER).await;
    let (after, between) = (answered(work(client)).await?, began.elapsed().as_secs_f64());
    let programs = match opening {
        Some(opening) => Some(opening.end(client, looks + OWN).await?),
        None => None,
    };
    let mut writers: Vec<WriterFacts> =
        seen.into_iter().map(|(writer, seen)| WriterFacts { seen, ..writer }).collect();
    writers.sort_by_key(|writer| std::cmp::Reverse(writer.seen));
    Ok(WatchFacts {
        seconds,
        looks,
        writers: hidden.map_or(Fact::Seen(writers), Fact::Hidden),
        work: match (before, after) {
            (Fact::Seen(before), Fact::Seen(after)) => Fact::Seen(after.since(&before, looks + 1, between)),
            (Fact::Hidden(why), _) | (_, Fact::Hidden(why)) => Fact::Hidden(why),
        },
        programs,
    })
}

/// The answer to a look, which takes a server that is alive no time.
async fn answered<T>(look: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
    match tokio::time::timeout(PATIENCE, look).await {
        Ok(answer) => answer,
        Err(_) => Err(Error::new(
            ErrorKind::Connect,
            format!("the server did not answer a question for {} s", PATIENCE.as_secs()),
        )),
    }
}

/// A session that has a transaction's number has written, or is about to.
async fn writers(client: &Client) -> Result<Fact<Vec<WriterFacts>>, Error> {
    let sql = "select state = 'active' as is_active, coalesce(wait_event_type, '') as kind,
                      coalesce(wait_event, '') as event, count(*) as seen
                 from pg_stat_activity
                where backend_type = 'client backend' and pid <> pg_backend_pid()
                  and backend_xid is not null and state is not null
                group by 1, 2, 3";
    fact::rows(client, sql).await
}

async fn work(client: &Client) -> Result<Fact<WorkFacts>, Error> {
    let sql = "select sum(d.xact_commit)::float8 as commits,
                      sum(d.tup_inserted + d.tup_updated + d.tup_deleted)::float8 as rows,
                      min(w.wal_bytes)::float8 as log, min(w.wal_fpi)::float8 as full_pages
                 from pg_stat_database d, pg_stat_wal w";
    fact::row(client, sql).await
}
