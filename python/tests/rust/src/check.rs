//! What the programs share. None of them needs all of it.
#![allow(dead_code)]

use std::error::Error;
use std::fmt::{Debug, Display};

use tokio_postgres::{Client, NoTls};

pub type Outcome<T = ()> = Result<T, Box<dyn Error + Send + Sync>>;

pub async fn connect() -> Outcome<Client> {
    let (client, connection) = tokio_postgres::connect(&std::env::var("HOWDAH_DSN")?, NoTls).await?;
    tokio::spawn(connection);
    Ok(client)
}

pub fn wrong(what: impl Display) {
    println!("{}", what.to_string().replace('\n', " "));
}

pub fn that(what: impl Display, holds: bool) {
    if !holds {
        wrong(what);
    }
}

/// It must be the same, whatever equality of its type says, such as that of NaN.
pub fn same<T: Debug>(what: impl Display, found: &T, expected: &T) {
    let (found, expected) = (format!("{found:?}"), format!("{expected:?}"));
    that(format!("{what}: {found} is not {expected}"), found == expected);
}

/// It must be refused with these words.
pub fn refused<T: Debug, E: Display>(what: impl Display, why: &str, given: Result<T, E>) {
    match given {
        Ok(value) => wrong(format!("{what} is {value:?}")),
        Err(error) => {
            let error = error.to_string();
            that(format!("{what} says {error}"), error.contains(why));
        }
    }
}

/// All of it is told, whatever goes wrong.
pub fn done(what: impl Display, outcome: Outcome) {
    if let Err(error) = outcome {
        wrong(format!("{what}: {error}"));
    }
}
