//! What programs send to a database while somebody watches: how often each statement came, by the server's own count, and how
//! far the database's counters came meanwhile. Of texts it keeps what has no literal in it.

mod statements;
mod text;

use std::time::Instant;

use howdah_connect::tokio_postgres::Client;
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::facts::fact::{self, Fact};

pub use statements::{SentFacts, StatementFacts};
pub use text::{ConflictAction, StatementKind, StatementText};

use statements::{Counted, Counter};

/// What programs did with the database.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ProgramFacts {
    /// Seconds from the first look at the counters to the last one.
    pub seconds: f64,
    /// The schema of `pg_stat_statements`, if the database has it.
    pub schema: Option<String>,
    /// The statements that came.
    pub statements: Fact<SentFacts>,
    /// The database's sessions and transactions.
    pub database: Fact<DatabaseFacts>,
    /// Rows that were updated, by table.
    pub updates: Fact<Vec<UpdateFacts>>,
}

/// What the sessions of a database did.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct DatabaseFacts {
    /// Commits, of transactions that only read too.
    pub commits: f64,
    /// Transactions that wrote, of the whole server. Each savepoint with a change counts as one.
    pub writing: f64,
    /// Sessions that began.
    pub sessions: f64,
    /// Seconds in which a statement ran, all sessions together.
    pub active_s: f64,
    /// Seconds in which a transaction was open and none did.
    pub idle_s: f64,
}

/// Rows of a table that were updated.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct UpdateFacts {
    /// Its schema.
    pub schema: String,
    /// Its name; that of the whole table, if it is in partitions.
    pub table: String,
    /// It is in partitions.
    pub is_partitioned: bool,
    /// Its fill factor, if one is set.
    pub fillfactor: Option<f64>,
    /// Rows that were updated.
    pub rows: f64,
    /// Those of them for which no index was touched.
    pub hot: f64,
}

/// The first look, from which on is counted.
pub(super) struct Opening {
    at: Instant,
    counter: Fact<Counter>,
    schema: Option<String>,
    counted: Fact<Counted>,
    database: Fact<DatabaseFacts>,
    updates: Fact<Vec<Updated>>,
}

impl Opening {
    /// Looks for the first time.
    ///
    /// # Errors
    /// The connection is lost.
    pub(super) async fn look(client: &Client) -> Result<Opening, Error> {
        let (schema, counter) = statements::counter(client).await?;
        let at = Instant::now();
        let counted = counted(client, &counter).await?;
        let (database, updates) = tokio::try_join!(database(client), updates(client))?;
        Ok(Opening { at, counter, schema, counted, database, updates })
    }

    /// Looks for the last time; `looks` are the transactions of whoever watched.
    ///
    /// # Errors
    /// The connection is lost.
    pub(super) async fn end(self, client: &Client, looks: u32) -> Result<ProgramFacts, Error> {
        let seconds = self.at.elapsed().as_secs_f64();
        let now = counted(client, &self.counter).await?;
        let (database_now, updates_now) = tokio::try_join!(database(client), updates(client))?;
        let statements = match (self.counter, both(self.counted, now)) {
            (Fact::Seen(counter), Fact::Seen((before, now))) => {
                statements::since(client, &counter, &before, now).await?
            }
            (Fact::Hidden(why), _) | (_, Fact::Hidden(why)) => Fact::Hidden(why),
        };
        Ok(ProgramFacts {
            seconds,
            schema: self.schema,
            statements,
            database: both(self.database, database_now).map(|(before, now)| now.since(&before, looks)),
            updates: both(self.updates, updates_now).map(|(before, now)| updated(&before, now)),
        })
    }
}

async fn counted(client: &Client, counter: &Fact<Counter>) -> Result<Fact<Counted>, Error> {
    match counter {
        Fact::Seen(counter) => statements::counted(client, counter).await,
        Fact::Hidden(why) => Ok(Fact::Hidden(*why)),
    }
}

/// Two facts, if both were seen.
fn both<T>(before: Fact<T>, now: Fact<T>) -> Fact<(T, T)> {
    match (before, now) {
        (Fact::Seen(before), Fact::Seen(now)) => Fact::Seen((before, now)),
        (Fact::Hidden(why), _) | (_, Fact::Hidden(why)) => Fact::Hidden(why),
    }
}

/// How far a counter came. Somebody may have set it back.
fn moved(now: f64, before: f64) -> f64 {
    if now < before { now } else { now - before }
}

impl DatabaseFacts {
    fn since(&self, before: &DatabaseFacts, looks: u32) -> DatabaseFacts {
        DatabaseFacts {
            commits: (moved(self.commits, before.commits) - f64::from(looks)).max(0.0),
            writing: moved(self.writing, before.writing),
            sessions: moved(self.sessions, before.sessions),
            active_s: moved(self.active_s, before.active_s),
            idle_s: moved(self.idle_s, before.idle_s),
        }
    }
}

async fn database(client: &Client) -> Result<Fact<DatabaseFacts>, Error> {
    // A transaction gets a number when it first writes.
    let sql = "select xact_commit::float8 as commits, sessions::float8 as sessions,
                      pg_snapshot_xmax(pg_current_snapshot())::text::float8 as writing,
                      active_time / 1000 as active_s, idle_in_transaction_time / 1000 as idle_s
                 from pg_stat_database where datname = current_database()";
    fact::row(client, sql).await
}

/// The counters of a table.
#[derive(Debug, Deserialize)]
struct Updated {
    oid: u32,
    #[serde(flatten)]
    facts: UpdateFacts,
}

/// Tables that were updated; partitions count for the whole.
async fn updates(client: &Client) -> Result<Fact<Vec<Updated>>, Error> {
    let sql = "select c.oid::int8 as oid, n.nspname as schema, c.relname as table, c.relkind = 'p' as is_partitioned,
                      (select option_value::float8 from pg_options_to_table(c.reloptions)
                        where option_name = 'fillfactor') as fillfactor,
                      s.rows, s.hot
                 from (select coalesce(pg_partition_root(relid), relid) as root, sum(n_tup_upd)::float8 as rows,
                              sum(n_tup_hot_upd)::float8 as hot
                         from pg_stat_user_tables where n_tup_upd > 0 group by 1) s
                 join pg_class c on c.oid = s.root and c.relpersistence <> 't'
                 join pg_namespace n on n.oid = c.relnamespace";
    fact::rows(client, sql).await
}

/// Tables that were updated meanwhile.
fn updated(before: &[Updated], now: Vec<Updated>) -> Vec<UpdateFacts> {
    let tables = now.into_iter().filter_map(|Updated { oid, facts }| {
        let earlier = before.iter().find(|table| table.oid == oid).map(|table| &table.facts);
        let since = |now: f64, of: fn(&UpdateFacts) -> f64| moved(now, earlier.map_or(0.0, of));
        let (rows, hot) = (since(facts.rows, |it| it.rows), since(facts.hot, |it| it.hot));
        (rows > 0.0).then_some(UpdateFacts { rows, hot, ..facts })
    });
    tables.collect()
}
