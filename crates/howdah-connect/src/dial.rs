//! From a host to a socket: addresses, time limits, and noticing that the other side is gone.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use socket2::{SockRef, TcpKeepalive};
use tokio::net::{TcpStream, UnixStream};

use crate::conninfo::Parameters;
use crate::error::Error;
use crate::socket::Socket;

/// libpq would wait for the operating system, which gives up after minutes.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);
/// An idle connection is probed after 10 s and three times, 5 s apart: a peer that is gone is noticed within 25 s.
const KEEPALIVE_IDLE: u32 = 10;
const KEEPALIVE_INTERVAL: u32 = 5;
const KEEPALIVE_COUNT: u32 = 3;

/// Whether no machine answered, as opposed to one that refused.
fn is_silence(error: &io::Error) -> bool {
    use io::ErrorKind::{HostUnreachable, NetworkUnreachable, TimedOut};
    matches!(error.kind(), HostUnreachable | NetworkUnreachable | TimedOut)
}

/// One place where a server may listen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Address {
    Tcp(SocketAddr),
    Unix(PathBuf),
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Tcp(address) => address.fmt(f),
            Address::Unix(path) => path.display().fmt(f),
        }
    }
}

/// How sockets are opened.
#[derive(Clone)]
pub(crate) struct Dialing {
    /// For one address, login included; `None` waits for ever.
    pub(crate) limit: Option<Duration>,
    keepalive: Option<TcpKeepalive>,
    user_timeout: Option<Duration>,
}

impl Dialing {
    pub(crate) fn new(parameters: &Parameters) -> Result<Dialing, Error> {
        let number = |name: &str| -> Result<Option<u32>, Error> {
            let Some(text) = parameters.get(name) else { return Ok(None) };
            let value = text.trim().parse::<i32>();
            // libpq takes negative numbers for zero.
            value.map(|value| Some(value.max(0).unsigned_abs())).map_err(|_| {
                Error::configuration(format!("invalid integer value {text:?} for connection option {name:?}"))
            })
        };
        let limit = match number("connect_timeout")? {
            None => Some(CONNECT_TIMEOUT),
            Some(0) => None,
            // libpq waits at least two seconds.
            Some(seconds) => Some(Duration::from_secs(seconds.max(2).into())),
        };
        let (idle, interval, count) = (
            number("keepalives_idle")?.unwrap_or(KEEPALIVE_IDLE),
            number("keepalives_interval")?.unwrap_or(KEEPALIVE_INTERVAL),
            number("keepalives_count")?.unwrap_or(KEEPALIVE_COUNT),
        );
        let keepalive = (number("keepalives")? != Some(0)).then(|| {
            // Zero is the system's own setting.
            let mut keepalive = TcpKeepalive::new();
            if idle > 0 {
                keepalive = keepalive.with_time(Duration::from_secs(idle.into()));
            }
            if interval > 0 {
                keepalive = keepalive.with_interval(Duration::from_secs(interval.into()));
            }
            if count > 0 {
                keepalive = keepalive.with_retries(count);
            }
            keepalive
        });
        // No default: measured, Linux also ends a connection whose peer is alive and does not read for so long, which is
        // what a server does while a COPY waits for another transaction's key.
        let user_timeout =
            number("tcp_user_timeout")?.filter(|n| *n > 0).map(|n| Duration::from_millis(n.into()));
        Ok(Dialing { limit, keepalive, user_timeout })
    }

    /// Whether the machine at `address` is there: it takes a connection, or refuses it, `within` this time.
    pub(crate) async fn answers(&self, address: &Address, within: Duration) -> bool {
        match tokio::time::timeout(within, self.dial(address)).await {
            Ok(Ok(_)) => true,
            Ok(Err(error)) => !is_silence(&error),
            Err(_) => false,
        }
    }

    pub(crate) async fn dial(&self, address: &Address) -> io::Result<Socket> {
        match address {
            Address::Unix(path) => Ok(Socket::unix(UnixStream::connect(path).await?)),
            Address::Tcp(address) => {
                let stream = TcpStream::connect(address).await?;
                stream.set_nodelay(true)?;
                let socket = SockRef::from(&stream);
                if let Some(keepalive) = &self.keepalive {
                    socket.set_tcp_keepalive(keepalive)?;
                }
                #[cfg(target_os = "linux")]
                if self.user_timeout.is_some() {
                    socket.set_tcp_user_timeout(self.user_timeout)?;
                }
                Ok(Socket::tcp(stream))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::socket::Family;

    fn dialed(given: &[(&'static str, &str)]) -> TcpStream {
        let parameters = given.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = Address::Tcp(listener.local_addr().unwrap());
        let dialing = Dialing::new(&parameters).unwrap();
        match runtime.block_on(dialing.dial(&address)).unwrap().family {
            Family::Tcp(stream) => stream,
            Family::Unix(_) => unreachable!(),
        }
    }

    #[test]
    fn a_peer_that_is_gone_is_noticed_within_thirty_seconds() {
        let stream = dialed(&[]);
        let socket = SockRef::from(&stream);
        assert!(socket.keepalive().unwrap());
        let probes = socket.tcp_keepalive_interval().unwrap() * socket.tcp_keepalive_retries().unwrap();
        assert!(socket.tcp_keepalive_time().unwrap() + probes <= Duration::from_secs(30));
    }

    #[test]
    fn what_was_asked_for_reaches_the_socket() {
        let stream = dialed(&[
            ("keepalives_idle", "77"),
            ("keepalives_interval", "7"),
            ("keepalives_count", "2"),
            ("tcp_user_timeout", "12000"),
        ]);
        let socket = SockRef::from(&stream);
        assert_eq!(socket.tcp_keepalive_time().unwrap(), Duration::from_secs(77));
        assert_eq!(socket.tcp_keepalive_interval().unwrap(), Duration::from_secs(7));
        assert_eq!(socket.tcp_keepalive_retries().unwrap(), 2);
        assert_eq!(socket.tcp_user_timeout().unwrap(), Some(Duration::from_secs(12)));
        assert!(!SockRef::from(&dialed(&[("keepalives", "0")])).keepalive().unwrap());
    }
}
