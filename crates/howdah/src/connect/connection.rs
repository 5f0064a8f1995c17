//! One open connection.

use std::sync::Arc;

use tokio_postgres::config::SslMode;
use tokio_postgres::{Client, Config, Statement};

use super::dial::{Address, Dialing};
use super::login::Required;
use super::splice::{Slot, Splice};
use super::stream::Watched;
use super::tls::Tls;
use crate::error::Error;

/// A backend that waits for a lock does not read, so it does not notice that its client was killed; asked to, it looks
/// this often. The setting is of PostgreSQL 14, and not to be had where the server's system cannot tell.
const NOTICE_A_LOST_CLIENT: &str = "set client_connection_check_interval = '2s'";

/// The way to a server, as far as it is known beforehand: also the way of a request to cancel.
#[derive(Clone)]
pub(super) struct Route {
    /// Which host of the target's list.
    pub(super) host: usize,
    /// Its name, which its certificate must have.
    pub(super) name: String,
    pub(super) address: Address,
    pub(super) dialing: Dialing,
    pub(super) tls: Arc<Tls>,
    pub(super) required: Required,
}

/// A connection whose socket is served by a task of the runtime it was made in.
pub struct Connection {
    client: Client,
    task: tokio::task::AbortHandle,
    route: Route,
    slot: Slot,
}

/// Why there is no connection.
pub(super) enum Failure {
    /// No socket.
    Unreachable(std::io::Error),
    TimedOut,
    /// TLS could not even begin.
    Tls(Error),
    /// What the driver says: the handshake, the login, the server.
    Refused(tokio_postgres::Error),
}

impl Connection {
    /// Connects once, in one way.
    pub(super) async fn open(route: &Route, config: &Config) -> Result<Connection, Failure> {
        let opening = Self::open_unlimited(route, config);
        match route.dialing.limit {
            None => opening.await,
            Some(limit) => tokio::time::timeout(limit, opening).await.unwrap_or(Err(Failure::TimedOut)),
        }
    }

    async fn open_unlimited(route: &Route, config: &Config) -> Result<Connection, Failure> {
        let encrypts = config.get_ssl_mode() != SslMode::Disable;
        let required = &route.required;
        let socket = route.dialing.dial(&route.address).await.map_err(Failure::Unreachable)?;
        let slot = Slot::default();
        let stream = Watched::new(socket, required.clone(), encrypts && !route.tls.direct, slot.clone());
        // Each arm has another type of connection behind the same client.
        let (client, task) = if encrypts {
            let connector = route.tls.connector(&route.name).map_err(Failure::Tls)?;
            let (client, connection) = config
                .connect_raw(stream, connector.requiring(required.clone()))
                .await
                .map_err(Failure::Refused)?;
            (client, tokio::spawn(served(connection)).abort_handle())
        } else {
            let (client, connection) =
                config.connect_raw(stream, tokio_postgres::NoTls).await.map_err(Failure::Refused)?;
            (client, tokio::spawn(served(connection)).abort_handle())
        };
        // A server that refuses is none the worse for it.
        let _ = client.batch_execute(NOTICE_A_LOST_CLIENT).await;
        Ok(Connection { client, task, route: route.clone(), slot })
    }

    pub(super) fn route(&self) -> &Route {
        &self.route
    }

    /// The driver's client.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// Executes a COPY from STDIN in binary with its rows right behind it, and statements before it if the splice has some:
    /// one transaction, one round trip; the server's count of rows. Nothing else may be under way on the connection.
    ///
    /// # Errors
    /// The server's: it took nothing. Or the connection broke.
    pub(crate) async fn copy(&self, copy: &Statement, splice: Splice) -> Result<u64, tokio_postgres::Error> {
        self.slot.put(splice);
        self.client.execute(copy, &[]).await
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
        let route = &self.route;
        let socket = route.dialing.dial(&route.address).await.map_err(|error| {
            super::conninfo::refuse(format!("the request to cancel could not be sent: {error}"))
                .caused_by(error)
        })?;
        let stream = Watched::unwatched(socket);
        // The token knows whether the connection was to be encrypted.
        let token = self.client.cancel_token();
        match route.tls.connector(&route.name) {
            Ok(connector) => token.cancel_query_raw(stream, connector).await?,
            Err(_) => token.cancel_query_raw(stream, tokio_postgres::NoTls).await?,
        }
        Ok(())
    }
}

/// Ends when the client is dropped or the server goes; the client then reports it.
async fn served<C: Future>(connection: C) {
    let _ = connection.await;
}
