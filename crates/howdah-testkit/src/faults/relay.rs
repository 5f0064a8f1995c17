//! One connection through the proxy: messages pass until there are no more, or something goes wrong.

use std::io;
use std::sync::Mutex;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use howdah_server::proxy::Relay;
use socket2::SockRef;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::net::tcp::{ReadHalf, WriteHalf};
use tokio::sync::watch;
use tokio::{join, select, time, try_join};

use super::fault::{Harm, Line, Passing, Pending};
use super::message::{Commits, Direction, Message, Messages};
use super::{Shared, State};

/// The most bytes that are read at once.
const CHUNK: usize = 64 * 1024;

/// So many bytes of the sender's wait in the system where the line is narrow: what is waiting there has left the sender.
const NARROW_BUFFER: usize = 16 * 1024;

/// A client that has sent nothing for so long has sent all that it will without an answer.
const QUIET: Duration = Duration::from_millis(5);

/// So long a server has to answer what arrived late.
const ANSWER: Duration = Duration::from_secs(30);

/// Why a direction, and with it the connection, ends before its sender has finished; and what did not arrive of it.
struct Struck(Harm, Bytes);

impl Relay for Shared {
    async fn carry(&self, mut client: TcpStream) -> io::Result<()> {
        let mut cuts = self.cuts.subscribe();
        match self.harm_to_new() {
            None => {}
            Some(Harm::Stall(time)) => select! {
                () = time::sleep(time) => {}
                _ = next_cut(&mut cuts) => return Ok(()),
            },
            Some(Harm::BlackHole) => {
                swallow(&mut client, &mut cuts).await;
                return Ok(());
            }
            Some(Harm::Reset | Harm::Late(_)) => return client.set_zero_linger(),
            Some(Harm::Close | Harm::Half) => return Ok(()),
            Some(Harm::GoAway) => {
                self.go_away(Harm::Close);
                return Ok(());
            }
        }
        let mut messages = Messages::of(Direction::ToServer);
        select! {
            greeted = greet(&mut client, &mut messages) => greeted?,
            _ = next_cut(&mut cuts) => return Ok(()),
        }
        let upstream = self.state().upstream;
        let mut server = TcpStream::connect(upstream).await?;
        server.set_nodelay(true)?;
        let (from_client, to_client) = client.split();
        let (from_server, to_server) = server.split();
        let answers = Messages::of(Direction::ToClient);
        let commits = Mutex::default();
        let struck = select! {
            ended = async { try_join!(
                self.one_way(Direction::ToServer, messages, &commits, from_client, to_server),
                self.one_way(Direction::ToClient, answers, &commits, from_server, to_client),
            ) } => ended.err(),
            harm = next_cut(&mut cuts) => Some(Struck(harm, Bytes::new())),
        };
        match struck {
            Some(Struck(Harm::Reset, _)) => client.set_zero_linger().and(server.set_zero_linger()),
            Some(Struck(Harm::BlackHole, _)) => {
                let mut cuts = (cuts.clone(), cuts);
                join!(swallow(&mut client, &mut cuts.0), swallow(&mut server, &mut cuts.1));
                Ok(())
            }
            Some(Struck(Harm::GoAway, _)) => {
                self.go_away(Harm::Close);
                Ok(())
            }
            Some(Struck(Harm::Late(after), held)) => self.deliver_late(client, server, held, after).await,
            _ => Ok(()),
        }
    }
}

impl Shared {
    fn harm_to_new(&self) -> Option<Harm> {
        let mut state = self.state();
        if state.away.is_some() {
            return state.away;
        }
        let harm = state.pending.at_connection();
        drop(state);
        self.note(harm)
    }

    /// Loses the client, and gives the server what the client had sent, when `after` further messages have passed elsewhere
    /// or the proxy is told to.
    async fn deliver_late(
        &self,
        mut client: TcpStream,
        mut server: TcpStream,
        held: Bytes,
        after: u64,
    ) -> io::Result<()> {
        let mut releases = self.releases.subscribe();
        self.held_back.fetch_add(1, Ordering::Relaxed);
        let mut held = BytesMut::from(&held[..]);
        while let Ok(Ok(1..)) = time::timeout(QUIET, client.read_buf(&mut held)).await {}
        let lost = client.set_zero_linger();
        drop(client);
        let passed = || {
            [Direction::ToServer, Direction::ToClient]
                .map(|direction| self.counter(direction).load(Ordering::Relaxed))
                .iter()
                .sum::<u64>()
        };
        let enough = passed().saturating_add(after);
        while passed() < enough {
            // An error: the proxy ends.
            if time::timeout(Duration::from_millis(1), releases.changed()).await.is_ok() {
                break;
            }
        }
        let delivered = async {
            server.write_all(&held).await?;
            server.shutdown().await?;
            tokio::io::copy(&mut server, &mut tokio::io::sink()).await
        };
        // A server that was given half a message waits for the rest of it until it sees the end.
        let _ = time::timeout(ANSWER, delivered).await;
        self.held_back.fetch_sub(1, Ordering::Relaxed);
        lost
    }

    /// Counts what has struck.
    fn note(&self, harm: Option<Harm>) -> Option<Harm> {
        if let Some(harm) = harm {
            *self.state().fired.entry(harm.name()).or_default() += 1;
        }
        self.struck.fetch_add(u64::from(harm.is_some()), Ordering::Relaxed);
        harm
    }

    /// Carries messages one way until there are no more, or the receiver takes none. The other way goes on: an answer may still
    /// be under way there.
    async fn one_way(
        &self,
        direction: Direction,
        mut messages: Messages,
        commits: &Mutex<Commits>,
        mut from: ReadHalf<'_>,
        mut to: WriteHalf<'_>,
    ) -> Result<(), Struck> {
        let mut is_narrow = false;
        loop {
            while let Some(message) = messages.take() {
                self.counter(direction).fetch_add(1, Ordering::Relaxed);
                let commits = commits.lock().unwrap().tell(direction, &message);
                let passing = Passing { direction, commits };
                let struck = self.harm(&message, passing, Pending::at, &mut to).await;
                struck.map_err(|Struck(harm, half)| match (harm, direction) {
                    (Harm::Late(_), Direction::ToServer) => {
                        Struck(harm, [&message.bytes[..], messages.unread()].concat().into())
                    }
                    _ => Struck(harm, half),
                })?;
                if to.write_all(&message.bytes).await.is_err() {
                    return Ok(());
                }
                let struck = self.harm(&message, passing, Pending::behind, &mut to).await;
                struck.map_err(|Struck(harm, _)| Struck(harm, Bytes::copy_from_slice(messages.unread())))?;
            }
            let chunk = self.state().line.chunk();
            if chunk < CHUNK && !std::mem::replace(&mut is_narrow, true) {
                let _ = SockRef::from(from.as_ref()).set_recv_buffer_size(NARROW_BUFFER);
            }
            let room = messages.room();
            room.reserve(chunk);
            let Ok(read @ 1..) = (&mut from).take(chunk as u64).read_buf(room).await else { break };
            let wait = self.state().wait(read);
            if !wait.is_zero() {
                time::sleep(wait).await;
            }
        }
        let _ = to.write_all(&messages.rest()).await;
        let _ = to.shutdown().await;
        Ok(())
    }

    /// What goes wrong before or behind a message, if anything.
    async fn harm(
        &self,
        message: &Message,
        passing: Passing,
        look: fn(&mut Pending, Passing) -> Option<Harm>,
        to: &mut WriteHalf<'_>,
    ) -> Result<(), Struck> {
        let harm = look(&mut self.state().pending, passing);
        match self.note(harm) {
            None => Ok(()),
            Some(Harm::Stall(time)) => {
                time::sleep(time).await;
                Ok(())
            }
            Some(Harm::Half) => {
                let _ = to.write_all(&message.bytes[..message.bytes.len() / 2]).await;
                Err(Struck(Harm::Close, Bytes::new()))
            }
            Some(harm) => Err(Struck(harm, Bytes::new())),
        }
    }
}

impl Line {
    /// The most bytes that are read at once, so that a limited line is limited evenly.
    fn chunk(&self) -> usize {
        let tenth = self.bytes_per_second.map_or(CHUNK, |rate| usize::try_from(rate / 10).unwrap_or(CHUNK));
        tenth.clamp(1, CHUNK)
    }
}

impl State {
    /// How long bytes that were read wait before they pass.
    fn wait(&mut self, bytes: usize) -> Duration {
        let narrow = self.line.bytes_per_second.map_or(Duration::ZERO, |rate| {
            Duration::from_micros(bytes as u64 * 1_000_000 / u64::from(rate.max(1)))
        });
        self.line.delay + self.rng.up_to(self.line.jitter) + narrow
    }
}

/// Tells the client that there is no encryption, as often as it asks for that.
async fn greet(client: &mut TcpStream, messages: &mut Messages) -> io::Result<()> {
    loop {
        match messages.ask_for_encryption() {
            Some(false) => return Ok(()),
            Some(true) => {
                messages.forget_request();
                client.write_all(b"N").await?;
            }
            None => {
                if client.read_buf(messages.room()).await? == 0 {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
            }
        }
    }
}

/// The harm of the next cut. The owner may be gone, and with it all cuts.
async fn next_cut(cuts: &mut watch::Receiver<Option<Harm>>) -> Harm {
    match cuts.changed().await {
        Ok(()) => cuts.borrow_and_update().unwrap_or(Harm::Close),
        Err(_) => Harm::Close,
    }
}

/// Reads and forgets until the connection is cut; the other side does not even notice an end.
async fn swallow(socket: &mut TcpStream, cuts: &mut watch::Receiver<Option<Harm>>) {
    let mut forgotten = vec![0; CHUNK];
    loop {
        select! {
            harm = next_cut(cuts) => match harm {
                Harm::BlackHole => {}
                _ => return,
            },
            read = socket.read(&mut forgotten) => if !matches!(read, Ok(1..)) {
                next_cut(cuts).await;
                return;
            },
        }
    }
}
