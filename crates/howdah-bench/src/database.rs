//! The connection that prepares and checks tables while nothing is being timed.

use howdah::connect::{ConnectOptions, Connection, Environment};
use tokio::runtime::{Builder, Runtime};
use tokio_postgres::SimpleQueryMessage;

use crate::error::Error;

/// A blocking connection; its answers are text.
pub struct Database {
    connection: Connection,
    runtime: Runtime,
}

/// Connects as `howdah load` does, with libpq's meanings.
pub(crate) async fn open(conninfo: &str) -> Result<Connection, Error> {
    open_under(conninfo, &Environment::from_process()).await
}

async fn open_under(conninfo: &str, environment: &Environment) -> Result<Connection, Error> {
    let options = ConnectOptions::default().conninfo(conninfo);
    Ok(options.resolve(environment)?.connect().await?)
}

impl Database {
    /// Connects to a server of our own: variables that are meant for the user's servers do not count.
    ///
    /// # Errors
    /// No connection.
    pub fn own(conninfo: &str) -> Result<Self, Error> {
        Database::under(conninfo, &Environment::default())
    }

    /// Connects. `conninfo` is what the measured programs are given too.
    ///
    /// # Errors
    /// No connection.
    pub fn connect(conninfo: &str) -> Result<Self, Error> {
        Database::under(conninfo, &Environment::from_process())
    }

    fn under(conninfo: &str, environment: &Environment) -> Result<Self, Error> {
        let runtime = Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(Error::io("could not start a runtime"))?;
        Ok(Database { connection: runtime.block_on(open_under(conninfo, environment))?, runtime })
    }

    /// Runs statements that return nothing of interest.
    ///
    /// # Errors
    /// The server refused one of them.
    pub fn run(&self, sql: &str) -> Result<(), Error> {
        self.runtime.block_on(self.connection.client().batch_execute(sql)).map_err(Error::server(sql))
    }

    /// Runs a query; NULL comes back as the empty string.
    ///
    /// # Errors
    /// The server refused it.
    pub fn rows(&self, sql: &str) -> Result<Vec<Vec<String>>, Error> {
        let messages =
            self.runtime.block_on(self.connection.client().simple_query(sql)).map_err(Error::server(sql))?;
        let rows = messages.iter().filter_map(|message| match message {
            SimpleQueryMessage::Row(row) => {
                Some((0..row.len()).map(|column| row.get(column).unwrap_or_default().to_owned()).collect())
            }
            _ => None,
        });
        Ok(rows.collect())
    }

    /// Runs a query that answers with one row.
    ///
    /// # Errors
    /// The server refused it, or there was no row.
    pub fn row(&self, sql: &str) -> Result<Vec<String>, Error> {
        self.rows(sql)?
            .into_iter()
            .next()
            .ok_or_else(|| Error::Wrong(format!("no row came back from: {sql}")))
    }

    /// CHECKPOINT, where the server lets us. Returns whether it did.
    ///
    /// # Errors
    /// Anything but a missing privilege.
    pub fn checkpoint(&self) -> Result<bool, Error> {
        match self.run("CHECKPOINT") {
            Ok(()) => Ok(true),
            Err(Error::Server { source, .. }) if source.code().is_some_and(|code| code.code() == "42501") => {
                Ok(false)
            }
            Err(other) => Err(other),
        }
    }
}
