//! A proxy that makes a network longer: bytes pass after half a round trip, however many there are.

use std::collections::VecDeque;
use std::future::pending;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::{Buf, Bytes, BytesMut};
use howdah_server::proxy::{Proxy, Relay};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpStream, UnixStream};
use tokio::sync::Notify;
use tokio::{join, select};
use tokio_postgres::Config;
use tokio_postgres::config::Host;

use crate::error::Error;
use crate::precise_timer::PreciseTimer;

/// Bytes that are read at once.
const CHUNK: usize = 64 * 1024;
/// Bytes that may lie here while the receiver takes none that are due, as a socket's buffer would hold. What is not due
/// yet is under way and counts for nothing: a long line must not become a narrow one.
const BACKLOG: usize = 1024 * 1024;

/// A proxy that adds a latency. It ends, with all its connections, when it is dropped.
#[derive(Debug)]
pub struct DelayProxy(Proxy);

/// The address that a proxy stands in front of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProxyTarget {
    /// A host's name or address, and a port.
    Tcp(String, u16),
    /// A socket in the file system.
    Unix(PathBuf),
}

impl DelayProxy {
    /// Starts a proxy on a free port of this machine that adds `round_trip` to every round trip, half of it each way.
    /// With 0 it adds only what a proxy costs.
    ///
    /// # Errors
    /// No port or no thread is to be had.
    pub fn start(target: ProxyTarget, round_trip: Duration) -> Result<DelayProxy, Error> {
        let start = || {
            let line = Line { target, delay: round_trip / 2, timer: PreciseTimer::start()? };
            Ok(DelayProxy(Proxy::start("delay-proxy", Arc::new(line))?))
        };
        start().map_err(Error::io("could not start the delay proxy"))
    }

    /// Returns the address to connect to.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.0.address()
    }

    /// Returns the number of connections that it carries now.
    #[must_use]
    pub fn connections_now(&self) -> u64 {
        self.0.connections_now()
    }

    /// `conninfo` with this proxy instead of the server.
    ///
    /// # Errors
    /// It is no connection string.
    pub fn conninfo(&self, conninfo: &str) -> Result<String, Error> {
        let config = parse(conninfo)?;
        let mut text = format!("host={} port={}", self.address().ip(), self.address().port());
        let password = config.get_password().map(String::from_utf8_lossy);
        let rest = [
            ("user", config.get_user()),
            ("password", password.as_deref()),
            ("dbname", config.get_dbname()),
            ("options", config.get_options()),
            ("application_name", config.get_application_name()),
        ];
        for (key, value) in rest {
            if let Some(value) = value {
                let value = value.replace('\\', "\\\\").replace('\'', "\\'");
                text += &format!(" {key}='{value}'");
            }
        }
        Ok(text)
    }
}

impl ProxyTarget {
    /// The first server that a connection string names.
    ///
    /// # Errors
    /// It is no connection string, or it names none.
    pub fn of(conninfo: &str) -> Result<ProxyTarget, Error> {
        let config = parse(conninfo)?;
        let port = config.get_ports().first().copied().unwrap_or(5432);
        if let Some(address) = config.get_hostaddrs().first() {
            return Ok(ProxyTarget::Tcp(address.to_string(), port));
        }
        match config.get_hosts().first() {
            Some(Host::Tcp(host)) => Ok(ProxyTarget::Tcp(host.clone(), port)),
            Some(Host::Unix(directory)) => Ok(ProxyTarget::Unix(directory.join(format!(".s.PGSQL.{port}")))),
            None => Err(Error::Usage("the connection string names no host for the delay proxy".to_owned())),
        }
    }
}

fn parse(conninfo: &str) -> Result<Config, Error> {
    conninfo.parse().map_err(Error::server("could not read the connection string"))
}

/// What all connections share.
#[derive(Debug)]
struct Line {
    target: ProxyTarget,
    /// One way.
    delay: Duration,
    timer: PreciseTimer,
}

/// Bytes under way.
struct Delayed {
    due: Instant,
    bytes: Bytes,
}

impl Relay for Line {
    async fn carry(&self, mut client: TcpStream) -> io::Result<()> {
        let (from_client, to_client) = client.split();
        match &self.target {
            ProxyTarget::Tcp(host, port) => {
                let mut server = TcpStream::connect((host.as_str(), *port)).await?;
                server.set_nodelay(true)?;
                let (from_server, to_server) = server.split();
                join!(self.one_way(from_client, to_server), self.one_way(from_server, to_client));
            }
            ProxyTarget::Unix(path) => {
                let mut server = UnixStream::connect(path).await?;
                let (from_server, to_server) = server.split();
                join!(self.one_way(from_client, to_server), self.one_way(from_server, to_client));
            }
        }
        Ok(())
    }
}

impl Line {
    /// Carries bytes one way until there are no more, or the receiver takes none. The other way goes on: an answer may still
    /// be under way there.
    async fn one_way(&self, mut from: impl AsyncRead + Unpin, mut to: impl AsyncWrite + Unpin) {
        let due_now = Arc::new(Notify::new());
        let mut delayed: VecDeque<Delayed> = VecDeque::new();
        let mut held = 0;
        let mut end: Option<Instant> = None;
        let mut room = BytesMut::new();
        loop {
            let now = Instant::now();
            let due = delayed.front().is_some_and(|chunk| chunk.due <= now);
            if delayed.is_empty() && end.is_some_and(|end| end <= now) {
                let _ = to.shutdown().await;
                return;
            }
            if room.capacity() < CHUNK / 4 {
                room.reserve(CHUNK);
            }
            select! {
                biased;
                written = write(delayed.front_mut(), &mut to), if due => {
                    let Ok(written @ 1..) = written else { return };
                    held -= written;
                    if delayed.front().is_some_and(|chunk| !chunk.bytes.has_remaining()) {
                        delayed.pop_front();
                    }
                }
                read = from.read_buf(&mut room), if end.is_none() && (!due || held < BACKLOG) => {
                    let at = Instant::now() + self.delay;
                    match read {
                        Ok(1..) => {
                            held += room.len();
                            delayed.push_back(Delayed { due: at, bytes: room.split().freeze() });
                        }
                        // A broken connection is an end like any other to the other side.
                        Ok(0) | Err(_) => end = Some(at),
                    }
                    if !self.delay.is_zero() {
                        self.timer.notify_at(at, &due_now);
                    }
                }
                () = due_now.notified(), if !due => {}
            }
        }
    }
}

async fn write(chunk: Option<&mut Delayed>, to: &mut (impl AsyncWrite + Unpin)) -> io::Result<usize> {
    match chunk {
        Some(chunk) => to.write_buf(&mut chunk.bytes).await,
        None => pending().await,
    }
}

#[cfg(test)]
mod tests;
