//! What is known of a thing, and the questions that find out. Each question is a transaction of its own that cannot write, waits
//! for no lock, and is over soon; a refusal costs one fact.

use howdah_connect::tokio_postgres::{Client, SimpleQueryMessage};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::error::Error;

/// A fact, or why there is none.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fact<T> {
    /// It was seen.
    Seen(T),
    /// It is there and was not seen.
    Hidden(Unseen),
}

/// Why something was not seen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unseen {
    /// Nobody looked.
    #[default]
    NotAsked,
    /// The role may not see it.
    NoRight,
    /// Somebody holds a lock on it.
    Locked,
    /// The answer did not come in time.
    TooSlow,
    /// It can only be seen on the server's own machine.
    Elsewhere,
    /// An extension sees it that the database does not have.
    NotInstalled,
    /// An extension sees it that the server has not loaded.
    NotLoaded,
    /// The server does not count it.
    NotCounted,
    /// The question failed.
    Failed,
}

impl<T> Default for Fact<T> {
    fn default() -> Self {
        Fact::Hidden(Unseen::NotAsked)
    }
}

impl<T> Fact<T> {
    /// The fact, if it was seen.
    pub fn seen(&self) -> Option<&T> {
        match self {
            Fact::Seen(fact) => Some(fact),
            Fact::Hidden(_) => None,
        }
    }

    /// What `make` makes of the fact.
    pub(super) fn map<U>(self, make: impl FnOnce(T) -> U) -> Fact<U> {
        match self {
            Fact::Seen(fact) => Fact::Seen(make(fact)),
            Fact::Hidden(why) => Fact::Hidden(why),
        }
    }
}

/// What stands before each question. Several statements in one message are one transaction, so none of it stays.
const GUARD: &str = "set transaction read only; set local statement_timeout = '5s'; \
                     set local lock_timeout = '100ms'; set local jit = off; ";

/// The server then takes no name of the user's for one of its own.
const PINNED: &str = "set local search_path = pg_catalog, pg_temp; ";

/// All rows of `sql`, by the names of their columns.
///
/// # Errors
/// The connection is lost.
pub(super) async fn rows<T: DeserializeOwned>(client: &Client, sql: &str) -> Result<Fact<Vec<T>>, Error> {
    answer(client, &format!("{GUARD}{PINNED}select coalesce(json_agg(f), '[]') from ({sql}) as f")).await
}

/// The one row of `sql`.
///
/// # Errors
/// The connection is lost.
pub(super) async fn row<T: DeserializeOwned>(client: &Client, sql: &str) -> Result<Fact<T>, Error> {
    answer(client, &format!("{GUARD}{PINNED}select row_to_json(f) from ({sql}) as f")).await
}

/// As [`row`], with the session's own settings.
///
/// # Errors
/// The connection is lost.
pub(super) async fn own_row<T: DeserializeOwned>(client: &Client, sql: &str) -> Result<Fact<T>, Error> {
    let sql = format!("set transaction read only; select pg_catalog.row_to_json(f) from ({sql}) as f");
    answer(client, &sql).await
}

async fn answer<T: DeserializeOwned>(client: &Client, sql: &str) -> Result<Fact<T>, Error> {
    let messages = match client.simple_query(sql).await {
        Ok(messages) => messages,
        Err(error) => match error.as_db_error().map(|db| db.code().code()) {
            Some("42501") => return Ok(Fact::Hidden(Unseen::NoRight)),
            Some("55P03") => return Ok(Fact::Hidden(Unseen::Locked)),
            Some("57014") => return Ok(Fact::Hidden(Unseen::TooSlow)),
            Some(code) if !code.starts_with("57") => return Ok(Fact::Hidden(Unseen::Failed)),
            _ => return Err(error.into()),
        },
    };
    let text = messages.iter().find_map(|message| match message {
        SimpleQueryMessage::Row(row) => row.get(0),
        _ => None,
    });
    let fact = text.and_then(|text| serde_json::from_str(text).ok());
    Ok(fact.map_or(Fact::Hidden(Unseen::Failed), Fact::Seen))
}
