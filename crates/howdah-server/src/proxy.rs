//! A TCP proxy on a thread of its own, for measurements and tests: it takes connections and leaves each to a [`Relay`].

use std::future::Future;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Builder;
use tokio::select;
use tokio::sync::{oneshot, watch};

/// How long to wait when the system gives no more file descriptors.
const EXHAUSTED: Duration = Duration::from_millis(10);

/// What becomes of the connections of a [`Proxy`].
pub trait Relay: Send + Sync + 'static {
    /// Carries what one client and its server say to each other, until there is no more. Its error is the end of the
    /// connection and nothing else.
    fn carry(&self, client: TcpStream) -> impl Future<Output = io::Result<()>> + Send;
}

/// A proxy that listens on a port of its own. It ends, with all its connections, when it is dropped.
#[derive(Debug)]
pub struct Proxy {
    address: SocketAddr,
    counters: Arc<Counters>,
    is_paused: watch::Sender<bool>,
    /// Dropped to end the thread.
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Counters {
    taken: AtomicU64,
    open: AtomicU64,
}

impl Proxy {
    /// Starts a proxy on a free port of the loopback address. `name` is that of its thread.
    ///
    /// # Errors
    /// There is no port or no thread to be had.
    #[expect(clippy::disallowed_methods, reason = "this module starts threads: see ARCHITECTURE")]
    pub fn start(name: &str, relay: Arc<impl Relay>) -> io::Result<Proxy> {
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let counters = Arc::new(Counters::default());
        let (is_paused, paused) = watch::channel(false);
        let (stop, stopped) = oneshot::channel();
        let counting = Arc::clone(&counters);
        let serving = move || {
            runtime.block_on(async {
                select! {
                    _ = stopped => {}
                    // It ends only when it cannot begin.
                    _ = serve(listener, relay, counting, paused) => {}
                }
            });
        };
        let thread = thread::Builder::new().name(name.to_owned()).spawn(serving)?;
        Ok(Proxy { address, counters, is_paused, stop: Some(stop), thread: Some(thread) })
    }

    /// Where to connect.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The number of connections that the proxy has taken so far.
    #[must_use]
    pub fn connections(&self) -> u64 {
        self.counters.taken.load(Ordering::Relaxed)
    }

    /// The number of connections that the proxy carries now.
    #[must_use]
    pub fn connections_now(&self) -> u64 {
        self.counters.open.load(Ordering::Relaxed)
    }

    /// Takes no more connections until [`Proxy::resume`]; the system queues those that come. One that is being waited
    /// for already is still taken.
    pub fn pause(&self) {
        self.is_paused.send_replace(true);
    }

    /// Takes connections again.
    pub fn resume(&self) {
        self.is_paused.send_replace(false);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.stop = None;
        // A panic of the thread has been reported where it happened.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

async fn serve(
    listener: std::net::TcpListener,
    relay: Arc<impl Relay>,
    counters: Arc<Counters>,
    mut paused: watch::Receiver<bool>,
) -> io::Result<()> {
    let listener = TcpListener::from_std(listener)?;
    loop {
        if paused.wait_for(|is_paused| !is_paused).await.is_err() {
            return Ok(()); // the proxy is being dropped
        }
        let Ok((client, _)) = listener.accept().await else {
            tokio::time::sleep(EXHAUSTED).await;
            continue;
        };
        counters.taken.fetch_add(1, Ordering::Relaxed);
        let (relay, open) = (Arc::clone(&relay), Open::new(&counters));
        tokio::spawn(async move {
            // Either side finds its connection closed, which is all that there is to say.
            let _ = client.set_nodelay(true);
            let _ = relay.carry(client).await;
            drop(open);
        });
    }
}

/// Counts a connection in, and out again however it ends.
struct Open(Arc<Counters>);

impl Open {
    fn new(counters: &Arc<Counters>) -> Self {
        counters.open.fetch_add(1, Ordering::Relaxed);
        Open(Arc::clone(counters))
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::Relaxed);
    }
}
