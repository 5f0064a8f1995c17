//! One open connection.

use std::future::poll_fn;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio_postgres::config::SslMode;
use tokio_postgres::error::DbError;
use tokio_postgres::{AsyncMessage, Client, Config, SimpleQueryMessage};

use crate::dial::{Address, Dialing};
use crate::error::{Error, ErrorKind};
use crate::injector::{Slot, Verdict};
use crate::last_words::LastWords;
use crate::listener::Listener;
use crate::login::Required;
use crate::pipelined_copy::PipelinedCopy;
use crate::said::Said;
use crate::startup::StartupSettings;
use crate::stream::InterceptedStream;
use crate::tls::Tls;
use crate::traffic::Traffic;

/// A backend that waits for a lock does not read, so it does not notice that its client was killed unless it is told to look
/// for that. PostgreSQL has the setting from version 14 on, where the server's system supports it.
const NOTICE_A_LOST_CLIENT: &str = "set client_connection_check_interval = '2s'";

/// So long the other side has to close the connection of a request to cancel.
const CLOSES_WITHIN: Duration = Duration::from_secs(2);

/// The way to a server, as far as it is known beforehand: also the way of a request to cancel.
#[derive(Clone)]
pub(crate) struct Route {
    /// Which host of the target's list.
    pub(crate) host: usize,
    /// Its name, which its certificate must have.
    pub(crate) name: String,
    pub(crate) address: Address,
    pub(crate) dialing: Dialing,
    pub(crate) tls: Arc<Tls>,
    pub(crate) required: Required,
    pub(crate) startup: StartupSettings,
}

/// A ticket that finds earlier requests without an answer is answered after them: then the connection is idle, unless other
/// requests were made meanwhile (dropping a prepared statement makes one).
const TICKETS: usize = 4;

/// An open connection, served by a task of the runtime in which it was made.
///
/// [`client`](Connection::client) is tokio-postgres's. What is added is COPY in one round trip ([`copy`](Connection::copy)),
/// and the server is asked to notice within seconds when this process is gone (`client_connection_check_interval`). The
/// connection ends when this value is dropped.
pub struct Connection {
    client: Client,
    task: tokio::task::AbortHandle,
    route: Route,
    slot: Slot,
    traffic: Traffic,
    said: Arc<Said>,
}

/// Why there is no connection.
pub(crate) enum Failure {
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
    pub(crate) async fn open(route: &Route, config: &Config) -> Result<Connection, Failure> {
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
        let (slot, traffic) = (Slot::default(), socket.traffic());
        let said = Arc::new(Said::default());
        let begins_with_answer = encrypts && !route.tls.direct;
        let stream = InterceptedStream::new(
            socket,
            required.clone(),
            route.startup.clone(),
            begins_with_answer,
            slot.clone(),
            Listener::new(said.clone()),
        );
        // Each arm has another type of connection behind the same client.
        let (client, task) = if encrypts {
            let connector = route.tls.connector(&route.name).map_err(Failure::Tls)?;
            let (client, connection) = config
                .connect_raw(stream, connector.requiring(required.clone()))
                .await
                .map_err(Failure::Refused)?;
            (client, tokio::spawn(served(connection, said.clone())).abort_handle())
        } else {
            let (client, connection) =
                config.connect_raw(stream, tokio_postgres::NoTls).await.map_err(Failure::Refused)?;
            (client, tokio::spawn(served(connection, said.clone())).abort_handle())
        };
        // A server that refuses is none the worse for it.
        let _ = client.batch_execute(NOTICE_A_LOST_CLIENT).await;
        Ok(Connection { client, task, route: route.clone(), slot, traffic, said })
    }

    pub(crate) fn route(&self) -> &Route {
        &self.route
    }

    /// The driver's client, for everything else that a connection can do.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// Runs the statements of a [`PipelinedCopy`] and its COPY, with the data right behind: one transaction, one round trip.
    /// Returns the number of rows that the server took.
    ///
    /// It takes its turn behind the requests that were made before, like every request of the driver, and waits for their
    /// answers: while the rows of a query or a COPY of the driver's are not all read, so long. Dropping the future before
    /// anything was sent sends nothing; later the transaction runs on, and is committed if the server does not refuse it.
    ///
    /// # Errors
    /// - [`ErrorKind::Server`]: the server refused a statement or a row. Nothing was written.
    /// - [`ErrorKind::Busy`]: a transaction is open, of which this would become a part, or other requests keep coming. Nothing
    ///   was sent, and the connection is as it was.
    /// - [`ErrorKind::Unsendable`]: the statement's name has a NUL in it. Nothing was sent.
    /// - [`ErrorKind::Protocol`]: the statement is no COPY FROM STDIN, or one before it returns rows. The connection is closed;
    ///   what the statements wrote may be committed.
    /// - [`ErrorKind::Lost`]: the connection broke. Whether the rows are in is not known.
    ///
    /// It cannot be called twice at a time:
    ///
    /// ```compile_fail,E0499
    /// # use howdah_connect::{Connection, PipelinedCopy};
    /// # async fn twice(connection: &mut Connection, one: PipelinedCopy, two: PipelinedCopy) {
    /// let (one, two) = (connection.copy(one), connection.copy(two));
    /// # let _ = (one.await, two.await);
    /// # }
    /// ```
    pub async fn copy(&mut self, copy: PipelinedCopy) -> Result<u64, Error> {
        let ticket =
            |error: std::io::Error| Error::new(ErrorKind::Unsendable, error.to_string()).caused_by(error);
        let mut sql = self.slot.offer(copy.seal()?).map_err(ticket)?;
        let _withdrawn = Withdrawn(&self.slot);
        for _ in 0..TICKETS {
            let answer =
                self.client.simple_query(&sql).await.map_err(|error| match self.slot.take_fault() {
                    Some(fault) => Error::new(ErrorKind::Protocol, fault).caused_by(error),
                    None => error.into(),
                })?;
            match self.slot.verdict() {
                Verdict::Sent => return rows(&answer),
                Verdict::InTransaction => {
                    return Err(Error::new(
                        ErrorKind::Busy,
                        "a transaction is open: a pipelined COPY would be part of it",
                    ));
                }
                Verdict::InFlight | Verdict::Waiting => sql = self.slot.next_ticket().map_err(ticket)?,
            }
        }
        Err(Error::new(
            ErrorKind::Busy,
            "other requests keep coming: a pipelined COPY needs the connection for itself",
        ))
    }

    /// The process ID of the server's backend, as in `pg_stat_activity`.
    ///
    /// # Errors
    /// [`ErrorKind::Server`] or [`ErrorKind::Lost`].
    pub async fn pid(&self) -> Result<i32, Error> {
        let rows = self.client.query_typed("select pg_catalog.pg_backend_pid()", &[]).await?;
        let row = rows.first().ok_or_else(|| no_row("pg_backend_pid()"))?;
        Ok(row.try_get(0)?)
    }

    /// Where the server is: address and port, or the path of its socket.
    pub fn peer(&self) -> String {
        self.route.address.to_string()
    }

    /// Whether the server's machine is there: it takes a connection, or refuses it, `within` this time. Nobody logs in.
    pub async fn peer_answers(&self, within: Duration) -> bool {
        self.route.dialing.answers(&self.route.address, within).await
    }

    /// What passes over its socket: whether a slow line still moves, or nothing does.
    pub fn traffic(&self) -> Traffic {
        self.traffic.clone()
    }

    /// The server's warning that it cut a commit's wait for a standby short, if there was one since the last call: that
    /// commit's rows are in, and a standby may lack them.
    pub fn take_standby_warning(&self) -> Option<DbError> {
        self.said.take_standby_warning()
    }

    /// What the server said when it ended the connection, whatever was under way: the request that finds the connection lost
    /// may not have heard it.
    pub fn last_words(&self) -> Option<LastWords> {
        self.said.last_words()
    }

    /// Closes the socket at once, whatever is under way.
    pub fn abort(&self) {
        self.task.abort();
    }

    /// Asks the server, over a connection of its own, to cancel what this one is doing. The cancelled statement reports it as
    /// an error, if it was not done already.
    ///
    /// # Errors
    /// The request could not be delivered: [`ErrorKind::Unreachable`] or [`ErrorKind::Lost`].
    pub async fn cancel(&self) -> Result<(), Error> {
        let route = &self.route;
        let socket = route.dialing.dial(&route.address).await.map_err(|error| {
            let text = format!("the request to cancel could not be sent: {error}");
            Error::new(ErrorKind::Unreachable, text).caused_by(error)
        })?;
        let stream = InterceptedStream::of_cancellation(socket);
        // The token knows whether the connection was to be encrypted.
        let token = self.client.cancel_token();
        let asking = async {
            match route.tls.connector(&route.name) {
                Ok(connector) => token.cancel_query_raw(stream, connector).await,
                Err(_) => token.cancel_query_raw(stream, tokio_postgres::NoTls).await,
            }
        };
        // Whoever does not close by then has the request all the same.
        match tokio::time::timeout(CLOSES_WITHIN, asking).await {
            Ok(asked) => Ok(asked?),
            Err(_) => Ok(()),
        }
    }
}

/// Takes a COPY back that was not sent, when its future ends or is dropped.
struct Withdrawn<'s>(&'s Slot);

impl Drop for Withdrawn<'_> {
    fn drop(&mut self) {
        self.0.withdraw();
    }
}

/// The number of rows in the answer to a COPY.
fn rows(answer: &[SimpleQueryMessage]) -> Result<u64, Error> {
    let rows = answer.iter().find_map(|message| match message {
        SimpleQueryMessage::CommandComplete(rows) => Some(*rows),
        _ => None,
    });
    rows.ok_or_else(|| Error::new(ErrorKind::Protocol, "the server did not say how many rows it took"))
}

/// A question that always has one answer had none.
pub(crate) fn no_row(question: &str) -> Error {
    Error::new(ErrorKind::Protocol, format!("the server has no answer to {question}"))
}

/// Ends when the client is dropped or the server goes; the client then reports it.
async fn served<S, T>(mut connection: tokio_postgres::Connection<S, T>, said: Arc<Said>)
where
    S: AsyncRead + AsyncWrite + Unpin,
    T: AsyncRead + AsyncWrite + Unpin,
{
    while let Some(message) = poll_fn(|context| connection.poll_message(context)).await {
        match message {
            Ok(AsyncMessage::Notice(notice)) => said.hear(notice),
            Ok(_) => {}
            Err(_) => return,
        }
    }
}
