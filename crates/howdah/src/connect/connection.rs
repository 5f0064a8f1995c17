//! One open connection.

use tokio_postgres::{Client, Config};

use super::tls;
use crate::error::Error;

/// A backend that waits for a lock does not read, so it does not notice that its client was killed; asked to, it looks
/// this often. The setting is of PostgreSQL 14, and not to be had where the server's system cannot tell.
const NOTICE_A_LOST_CLIENT: &str = "set client_connection_check_interval = '2s'";

/// A connection whose socket is served by a task of the runtime it was made in.
pub struct Connection {
    client: Client,
    task: tokio::task::AbortHandle,
    /// Which host of the target's list answered.
    host: usize,
}

impl Connection {
    /// Connects as `config` says; an error is the driver's own.
    pub(super) async fn open(config: &Config) -> Result<Result<Connection, tokio_postgres::Error>, Error> {
        let connector = tls::unverified()?;
        Ok(match config.connect(connector).await {
            Ok((client, connection)) => {
                // The task ends when the client is dropped or the server goes; the client then reports it.
                let task = tokio::spawn(async move {
                    let _ = connection.await;
                });
                // A server that refuses is none the worse for it.
                let _ = client.batch_execute(NOTICE_A_LOST_CLIENT).await;
                Ok(Connection { client, task: task.abort_handle(), host: 0 })
            }
            Err(error) => Err(error),
        })
    }

    pub(super) fn on_host(self, host: usize) -> Connection {
        Connection { host, ..self }
    }

    pub(super) fn host(&self) -> usize {
        self.host
    }

    /// The driver's client.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// The process id of the server's backend.
    ///
    /// # Errors
    /// The server's errors.
    pub async fn pid(&self) -> Result<i32, Error> {
        let row = self.client.query_typed("select pg_catalog.pg_backend_pid()", &[]).await?;
        Ok(row.first().map_or(0, |row| row.get(0)))
    }

    /// Closes the socket at once, whatever is under way.
    pub fn abort(&self) {
        self.task.abort();
    }

    /// Asks the server to cancel what the connection is doing, over a connection of its own.
    ///
    /// # Errors
    /// The request could not be delivered.
    pub async fn cancel(&self) -> Result<(), Error> {
        Ok(self.client.cancel_token().cancel_query(tls::unverified()?).await?)
    }
}
