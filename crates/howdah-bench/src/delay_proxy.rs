//! A TCP proxy that makes a network longer: what it is given it passes on after half a round trip, as much as comes.

use std::collections::VecDeque;
use std::future::pending;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use bytes::{Buf, Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::runtime::Builder;
use tokio::sync::{Notify, oneshot};
use tokio::{join, select};
use tokio_postgres::Config;
use tokio_postgres::config::Host;

use crate::alarm::Alarm;
use crate::error::Error;

/// Bytes that are read at once.
const CHUNK: usize = 64 * 1024;
/// Bytes that may lie here while the receiver takes none that are due, as a socket's buffer would hold. What is not due
/// yet is under way and counts for nothing: a long line must not become a narrow one.
const BACKLOG: usize = 1024 * 1024;

/// A proxy on a thread of its own. It ends, with all its connections, when it is dropped.
#[derive(Debug)]
pub struct DelayProxy {
    address: SocketAddr,
    open: Arc<AtomicUsize>,
    /// Dropped to end the thread.
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// What a proxy stands in front of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
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
    pub fn start(target: Target, round_trip: Duration) -> Result<DelayProxy, Error> {
        DelayProxy::start_inner(target, round_trip / 2).map_err(Error::io("could not start the delay proxy"))
    }

    fn start_inner(target: Target, delay: Duration) -> io::Result<DelayProxy> {
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let open = Arc::new(AtomicUsize::new(0));
        let line = Line { delay, alarm: Alarm::start()?, open: Arc::clone(&open) };
        let (stop, stopped) = oneshot::channel();
        let serving = move || {
            runtime.block_on(async {
                select! {
                    _ = stopped => {}
                    // It ends only when it cannot begin.
                    _ = serve(listener, target, line) => {}
                }
            });
        };
        let thread = thread::Builder::new().name("delay-proxy".to_owned()).spawn(serving)?;
        Ok(DelayProxy { address, open, stop: Some(stop), thread: Some(thread) })
    }

    /// Where to connect.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// How many connections it carries just now.
    #[must_use]
    pub fn connections_now(&self) -> usize {
        self.open.load(Ordering::Relaxed)
    }

    /// `conninfo` with this proxy instead of the server.
    ///
    /// # Errors
    /// It is no connection string.
    pub fn conninfo(&self, conninfo: &str) -> Result<String, Error> {
        let config = parse(conninfo)?;
        let mut text = format!("host={} port={}", self.address.ip(), self.address.port());
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

impl Drop for DelayProxy {
    fn drop(&mut self) {
        self.stop = None;
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

impl Target {
    /// The first server that a connection string names.
    ///
    /// # Errors
    /// It is no connection string, or it names none.
    pub fn of(conninfo: &str) -> Result<Target, Error> {
        let config = parse(conninfo)?;
        let port = config.get_ports().first().copied().unwrap_or(5432);
        if let Some(address) = config.get_hostaddrs().first() {
            return Ok(Target::Tcp(address.to_string(), port));
        }
        match config.get_hosts().first() {
            Some(Host::Tcp(host)) => Ok(Target::Tcp(host.clone(), port)),
            Some(Host::Unix(directory)) => Ok(Target::Unix(directory.join(format!(".s.PGSQL.{port}")))),
            None => Err(Error::Usage("the connection string names no host for the delay proxy".to_owned())),
        }
    }
}

fn parse(conninfo: &str) -> Result<Config, Error> {
    conninfo.parse().map_err(Error::server("could not read the connection string"))
}

/// What all connections share.
#[derive(Debug, Clone)]
struct Line {
    /// One way.
    delay: Duration,
    alarm: Alarm,
    open: Arc<AtomicUsize>,
}

/// Bytes under way.
struct Parcel {
    due: Instant,
    bytes: Bytes,
}

async fn serve(listener: std::net::TcpListener, target: Target, line: Line) -> io::Result<()> {
    let listener = TcpListener::from_std(listener)?;
    loop {
        // Too many open files: those who wait get their turn when others have gone.
        let Ok((client, _)) = listener.accept().await else {
            tokio::time::sleep(Duration::from_millis(10)).await;
            continue;
        };
        let (target, line) = (target.clone(), line.clone());
        tokio::spawn(async move {
            // Where the server cannot be reached, the client finds a closed connection.
            let _ = line.connect(client, &target).await;
        });
    }
}

impl Line {
    async fn connect(&self, mut client: TcpStream, target: &Target) -> io::Result<()> {
        let _open = Open::new(&self.open);
        client.set_nodelay(true)?;
        let (from_client, to_client) = client.split();
        match target {
            Target::Tcp(host, port) => {
                let mut server = TcpStream::connect((host.as_str(), *port)).await?;
                server.set_nodelay(true)?;
                let (from_server, to_server) = server.split();
                join!(self.carry(from_client, to_server), self.carry(from_server, to_client));
            }
            Target::Unix(path) => {
                let mut server = UnixStream::connect(path).await?;
                let (from_server, to_server) = server.split();
                join!(self.carry(from_client, to_server), self.carry(from_server, to_client));
            }
        }
        Ok(())
    }

    /// Carries bytes one way until there are no more, or nobody takes them. The other way goes on: an answer may still
    /// be under way there.
    async fn carry(&self, mut from: impl AsyncRead + Unpin, mut to: impl AsyncWrite + Unpin) {
        let bell = Arc::new(Notify::new());
        let mut parcels: VecDeque<Parcel> = VecDeque::new();
        let mut lying = 0;
        let mut end: Option<Instant> = None;
        let mut room = BytesMut::new();
        loop {
            let now = Instant::now();
            let due = parcels.front().is_some_and(|parcel| parcel.due <= now);
            if parcels.is_empty() && end.is_some_and(|end| end <= now) {
                let _ = to.shutdown().await;
                return;
            }
            if room.capacity() < CHUNK / 4 {
                room.reserve(CHUNK);
            }
            select! {
                biased;
                written = write(parcels.front_mut(), &mut to), if due => {
                    let Ok(written @ 1..) = written else { return };
                    lying -= written;
                    if parcels.front().is_some_and(|parcel| !parcel.bytes.has_remaining()) {
                        parcels.pop_front();
                    }
                }
                read = from.read_buf(&mut room), if end.is_none() && (!due || lying < BACKLOG) => {
                    let at = Instant::now() + self.delay;
                    match read {
                        Ok(1..) => {
                            lying += room.len();
                            parcels.push_back(Parcel { due: at, bytes: room.split().freeze() });
                        }
                        // A broken connection is an end like any other to the other side.
                        Ok(0) | Err(_) => end = Some(at),
                    }
                    if !self.delay.is_zero() {
                        self.alarm.ring(at, &bell);
                    }
                }
                () = bell.notified(), if !due => {}
            }
        }
    }
}

async fn write(parcel: Option<&mut Parcel>, to: &mut (impl AsyncWrite + Unpin)) -> io::Result<usize> {
    match parcel {
        Some(parcel) => to.write_buf(&mut parcel.bytes).await,
        None => pending().await,
    }
}

/// Counts a connection in, and out whichever way it ends.
struct Open<'a>(&'a AtomicUsize);

impl<'a> Open<'a> {
    fn new(count: &'a AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Open(count)
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests;
