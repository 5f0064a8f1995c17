//! A proxy between client and server that knows PostgreSQL's messages and lets things go wrong among them.
//!
//! It speaks no TLS (who asks for it is told no) and passes whole messages on, so a fault strikes exactly between two of
//! them, or in the middle of one. Latencies are made by the runtime's timers, to a millisecond: for measuring there is
//! the delay proxy of howdah-bench.

mod fault;
mod message;
mod relay;

use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use tokio::runtime::Builder;
use tokio::sync::{oneshot, watch};

use fault::Pending;
pub use fault::{Fault, Harm, Line, Place};
pub use message::Direction;

use crate::dice::Dice;

/// A proxy on a thread of its own. It ends, with all its connections, when it is dropped.
pub struct FaultProxy {
    address: SocketAddr,
    shared: Arc<Shared>,
    /// Dropped to end the thread.
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// What the owner and the connections share.
struct Shared {
    upstream: SocketAddr,
    state: Mutex<State>,
    /// Every change is a harm to all connections that there are.
    cuts: watch::Sender<Option<Harm>>,
    connections: AtomicU64,
    open: AtomicU64,
    to_server: AtomicU64,
    to_client: AtomicU64,
    struck: AtomicU64,
    /// Nothing is accepted.
    is_gone: AtomicBool,
}

struct State {
    pending: Pending,
    line: Line,
    /// What every new connection suffers.
    away: Option<Harm>,
    /// Connections that keep others out.
    fillers: Vec<TcpStream>,
    dice: Dice,
}

impl FaultProxy {
    /// Starts a proxy on a free port of this machine in front of `upstream`; nothing goes wrong yet.
    pub fn start(upstream: SocketAddr) -> FaultProxy {
        FaultProxy::seeded(upstream, 1)
    }

    /// The same, with jitter as `seed` has it.
    pub fn seeded(upstream: SocketAddr, seed: u64) -> FaultProxy {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        let state = State {
            pending: Pending::default(),
            line: Line::default(),
            away: None,
            fillers: Vec::new(),
            dice: Dice::new(seed),
        };
        let shared = Arc::new(Shared {
            upstream,
            state: Mutex::new(state),
            cuts: watch::Sender::new(None),
            connections: AtomicU64::new(0),
            open: AtomicU64::new(0),
            to_server: AtomicU64::new(0),
            to_client: AtomicU64::new(0),
            struck: AtomicU64::new(0),
            is_gone: AtomicBool::new(false),
        });
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let (stop, stopped) = oneshot::channel::<()>();
        let serving = Arc::clone(&shared);
        let thread = thread::spawn(move || {
            runtime.block_on(async {
                tokio::select! {
                    _ = stopped => {}
                    () = relay::serve(listener, serving) => {}
                }
            });
        });
        FaultProxy { address, shared, stop: Some(stop), thread: Some(thread) }
    }

    /// Where to connect.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// A key/value connection string with this proxy instead of the server; of a keyword that stands there twice the
    /// last counts.
    pub fn conninfo(&self, conninfo: &str) -> String {
        format!("{conninfo} host={} port={} sslmode=disable", self.address.ip(), self.address.port())
    }

    /// One more fault; each strikes once.
    pub fn set(&self, fault: Fault) {
        self.shared.state().pending.add(fault);
    }

    /// Forgets the faults that have not struck; how many there were.
    pub fn clear(&self) -> usize {
        std::mem::take(&mut self.shared.state().pending).len()
    }

    /// How good the line is from now on.
    pub fn line(&self, line: Line) {
        self.shared.state().line = line;
    }

    /// Does this to all connections that there are.
    pub fn cut_all(&self, harm: Harm) {
        self.shared.cuts.send_replace(Some(harm));
    }

    /// The server is gone, as far as anybody can see: all connections suffer `harm`, and so does every new one, until
    /// [`FaultProxy::come_back`].
    pub fn go_away(&self, harm: Harm) {
        self.shared.go_away(harm);
    }

    /// The machine is gone: connections fall silent, and nobody answers who wants a new one, not even to refuse it, until
    /// [`FaultProxy::come_back`].
    pub fn vanish(&self) {
        self.shared.is_gone.store(true, Ordering::Relaxed);
        self.go_away(Harm::BlackHole);
        // Connections that nobody accepts wait in a queue; when that is full the system answers no more.
        let fillers =
            std::iter::from_fn(|| TcpStream::connect_timeout(&self.address, Duration::from_millis(100)).ok());
        let fillers = fillers.collect();
        self.shared.state().fillers = fillers;
    }

    /// New connections are served again. (What fell silent stays so until it is cut.)
    pub fn come_back(&self) {
        let mut state = self.shared.state();
        (state.away, state.fillers) = (None, Vec::new());
        self.shared.is_gone.store(false, Ordering::Relaxed);
    }

    /// How many connections it has taken.
    pub fn connections(&self) -> u64 {
        self.shared.connections.load(Ordering::Relaxed)
    }

    /// How many of them are open.
    pub fn connections_now(&self) -> u64 {
        self.shared.open.load(Ordering::Relaxed)
    }

    /// How many messages have come from that direction's sender.
    pub fn messages(&self, direction: Direction) -> u64 {
        self.shared.counter(direction).load(Ordering::Relaxed)
    }

    /// How many faults have struck.
    pub fn struck(&self) -> u64 {
        self.shared.struck.load(Ordering::Relaxed)
    }
}

impl Drop for FaultProxy {
    fn drop(&mut self) {
        self.stop = None;
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    fn go_away(&self, harm: Harm) {
        self.state().away = Some(harm);
        self.cuts.send_replace(Some(harm));
    }

    fn counter(&self, direction: Direction) -> &AtomicU64 {
        match direction {
            Direction::ToServer => &self.to_server,
            Direction::ToClient => &self.to_client,
        }
    }
}
