//! Statements of the measurements, and what counts as an answer.

use howdah::Error;
use howdah::tokio_postgres::{self, Client, SimpleQueryMessage};

/// Nobody waits for a measurement, and none hangs.
///
/// # Errors
/// The connection is lost.
pub(super) async fn calm(client: &Client) -> Result<(), Error> {
    let settings =
        "SET lock_timeout = '2s'; SET statement_timeout = '60s'; SET client_min_messages = 'warning';
                    SET idle_in_transaction_session_timeout = 0";
    Ok(client.batch_execute(settings).await?)
}

/// The first value of the answer to `sql`; `None`: NULL, or no row.
///
/// # Errors
/// The server refuses it, or the connection is lost.
pub(super) async fn text(client: &Client, sql: &str) -> Result<Option<String>, tokio_postgres::Error> {
    let messages = client.simple_query(sql).await?;
    Ok(messages.iter().find_map(|message| match message {
        SimpleQueryMessage::Row(row) => row.get(0).map(str::to_owned),
        _ => None,
    }))
}

/// The same, as a number.
///
/// # Errors
/// Those of [`text`].
pub(super) async fn number(client: &Client, sql: &str) -> Result<Option<f64>, tokio_postgres::Error> {
    Ok(text(client, sql).await?.and_then(|text| text.parse().ok()))
}

/// The answer, or why the server refuses it: by its code alone, since messages may hold values.
///
/// # Errors
/// The connection is lost.
pub(super) fn answered<T>(answer: Result<T, tokio_postgres::Error>) -> Result<Result<T, String>, Error> {
    match answer {
        Ok(value) => Ok(Ok(value)),
        Err(error) => match error.as_db_error() {
            // The server goes down, or somebody ended the session.
            Some(db) if db.code().code().starts_with("57P") => Err(error.into()),
            Some(db) => Ok(Err(match db.code().code() {
                "42501" => "the role may not do that (SQLSTATE 42501)".to_owned(),
                "55P03" => "somebody holds a lock on it".to_owned(),
                "25006" => "the session may only read".to_owned(),
                "57014" => "it took too long, or somebody cancelled it".to_owned(),
                code @ ("42P01" | "42703" | "42704" | "08P01") => {
                    format!(
                        "the server refused it (SQLSTATE {code}): perhaps somebody changed the table meanwhile"
                    )
                }
                code => format!("the server refused it (SQLSTATE {code})"),
            })),
            None => Err(error.into()),
        },
    }
}
