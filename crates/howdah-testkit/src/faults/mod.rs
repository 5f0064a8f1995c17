//! A proxy between client and server that knows PostgreSQL's messages and lets things go wrong among them.
//!
//! It refuses TLS and passes whole messages on, so a fault strikes exactly between two of them, or in the middle of one.
//! Its latencies are exact to a millisecond; those of howdah-bench's delay proxy are good enough to measure with.

mod fault;
mod message;
mod relay;

use std::collections::BTreeMap;
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use howdah_server::proxy::Proxy;
use tokio::sync::watch;

use fault::Pending;
pub use fault::{Fault, Harm, Line, Place};
pub use message::Direction;

use crate::rng::Rng;

/// A proxy with faults. It ends, with all its connections, when it is dropped.
pub struct FaultProxy {
    proxy: Proxy,
    shared: Arc<Shared>,
}

/// What the owner and the connections share.
struct Shared {
    state: Mutex<State>,
    /// Every change is a harm to all connections that there are.
    cuts: watch::Sender<Option<Harm>>,
    to_server: AtomicU64,
    to_client: AtomicU64,
    struck: AtomicU64,
    /// Returns the number of connections that hold back what is to arrive late.
    held_back: AtomicU64,
    /// Every change lets all of that go.
    releases: watch::Sender<()>,
}

struct State {
    /// Where new connections go.
    upstream: SocketAddr,
    pending: Pending,
    line: Line,
    /// What every new connection suffers.
    away: Option<Harm>,
    /// Connections that keep others out.
    fillers: Vec<TcpStream>,
    rng: Rng,
    /// How often each harm has struck.
    fired: BTreeMap<&'static str, u64>,
}

impl FaultProxy {
    /// Starts a proxy on a free port of this machine in front of `upstream`; nothing goes wrong yet.
    pub fn start(upstream: SocketAddr) -> FaultProxy {
        FaultProxy::seeded(upstream, 1)
    }

    /// Starts a proxy as [`FaultProxy::start`] does, with jitter as `seed` has it.
    pub fn seeded(upstream: SocketAddr, seed: u64) -> FaultProxy {
        let state = State {
            upstream,
            pending: Pending::default(),
            line: Line::default(),
            away: None,
            fillers: Vec::new(),
            rng: Rng::new(seed),
            fired: BTreeMap::new(),
        };
        let shared = Arc::new(Shared {
            state: Mutex::new(state),
            cuts: watch::Sender::new(None),
            to_server: AtomicU64::new(0),
            to_client: AtomicU64::new(0),
            struck: AtomicU64::new(0),
            held_back: AtomicU64::new(0),
            releases: watch::Sender::new(()),
        });
        let proxy = Proxy::start("fault-proxy", Arc::clone(&shared)).unwrap();
        FaultProxy { proxy, shared }
    }

    /// Returns the address to connect to.
    pub fn address(&self) -> SocketAddr {
        self.proxy.address()
    }

    /// A key/value connection string with this proxy instead of the server; of a keyword that stands there twice the
    /// last counts.
    pub fn conninfo(&self, conninfo: &str) -> String {
        format!("{conninfo} host={} port={} sslmode=disable", self.address().ip(), self.address().port())
    }

    /// New connections go to another server, as after a failover.
    pub fn lead_to(&self, upstream: SocketAddr) {
        self.shared.state().upstream = upstream;
    }

    /// One more fault; each strikes once.
    pub fn set(&self, fault: Fault) {
        self.set_watched(fault);
    }

    /// The same; its number, for [`FaultProxy::has_struck`].
    pub fn set_watched(&self, fault: Fault) -> u64 {
        self.shared.state().pending.add(fault)
    }

    /// Whether a fault that was set has struck, if it was not cleared.
    pub fn has_struck(&self, fault: u64) -> bool {
        !self.shared.state().pending.holds(fault)
    }

    /// Forgets the faults that have not struck; how many there were.
    pub fn clear(&self) -> usize {
        self.shared.state().pending.clear()
    }

    /// Sets the quality of the line from now on.
    pub fn line(&self, line: Line) {
        self.shared.state().line = line;
    }

    /// Does this to all connections that there are.
    pub fn cut_all(&self, harm: Harm) {
        self.shared.cuts.send_replace(Some(harm));
    }

    /// Makes the server look gone: all connections suffer `harm`, and so does every new one, until
    /// [`FaultProxy::come_back`].
    pub fn go_away(&self, harm: Harm) {
        self.shared.go_away(harm);
    }

    /// Makes the machine look gone: connections fall silent, and attempts to connect get no answer, not even a refusal,
    /// until [`FaultProxy::come_back`].
    pub fn vanish(&self) {
        self.proxy.pause();
        self.go_away(Harm::BlackHole);
        // Connections that are not accepted wait in a queue; when that is full the system answers no more.
        let fillers = std::iter::from_fn(|| {
            TcpStream::connect_timeout(&self.address(), Duration::from_millis(100)).ok()
        });
        let fillers = fillers.collect();
        self.shared.state().fillers = fillers;
    }

    /// New connections are served again. (What fell silent stays so until it is cut.)
    pub fn come_back(&self) {
        let mut state = self.shared.state();
        (state.away, state.fillers) = (None, Vec::new());
        self.proxy.resume();
    }

    /// Returns the number of connections that it has taken.
    pub fn connections(&self) -> u64 {
        self.proxy.connections()
    }

    /// Returns the number of connections that are open.
    pub fn connections_now(&self) -> u64 {
        self.proxy.connections_now()
    }

    /// Returns the number of messages that have come from that direction's sender.
    pub fn messages(&self, direction: Direction) -> u64 {
        self.shared.counter(direction).load(Ordering::Relaxed)
    }

    /// Lets everything arrive that is held back to be late.
    pub fn release(&self) {
        self.shared.releases.send_replace(());
    }

    /// Returns the number of connections that hold back what is to arrive late, or have not seen its answer yet.
    pub fn held_back(&self) -> u64 {
        self.shared.held_back.load(Ordering::Relaxed)
    }

    /// Returns how often each harm has struck, by its name.
    pub fn fired(&self) -> BTreeMap<&'static str, u64> {
        self.shared.state().fired.clone()
    }

    /// Returns the number of faults that have struck.
    pub fn struck(&self) -> u64 {
        self.shared.struck.load(Ordering::Relaxed)
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
