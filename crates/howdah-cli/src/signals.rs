//! SIGINT, SIGTERM and SIGHUP, with which a terminal closes: the first asks the load to stop, a later one ends the process at
//! once.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use howdah::Control;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::{Handle, Signals};

use crate::exit;

/// Signals that come so soon one after the other are one wish: `timeout` sends its own to the program and to its group.
const AT_ONCE: Duration = Duration::from_millis(500);

/// Handlers that live as long as this value.
pub(crate) struct SignalWatch {
    handle: Handle,
    thread: Option<JoinHandle<()>>,
    received: Arc<AtomicU8>,
}

impl SignalWatch {
    /// From now on the first signal cancels `control`.
    #[expect(clippy::disallowed_methods, reason = "this module starts threads: see ARCHITECTURE")]
    pub(crate) fn start(control: &Control) -> std::io::Result<Self> {
        let mut signals = Signals::new([SIGINT, SIGTERM])?;
        if !is_ignored(SIGHUP) {
            signals.add_signal(SIGHUP)?;
        }
        let handle = signals.handle();
        let received = Arc::new(AtomicU8::new(0));
        let (control, seen) = (control.clone(), Arc::clone(&received));
        let thread = std::thread::Builder::new().name("signals".into()).spawn(move || {
            let mut first: Option<Instant> = None;
            for signal in signals.forever() {
                let number = u8::try_from(signal).unwrap_or(0);
                match first {
                    None => {
                        first = Some(Instant::now());
                        seen.store(number, Ordering::SeqCst);
                        control.cancel();
                    }
                    Some(first) if first.elapsed() < AT_ONCE => {}
                    // The server rolls back when our sockets close, so leaving at once loses nothing but the report.
                    Some(_) => signal_hook::low_level::exit(exit::of_signal(number).into()),
                }
            }
        })?;
        Ok(SignalWatch { handle, thread: Some(thread), received })
    }

    /// The first signal that came.
    pub(crate) fn received(&self) -> Option<u8> {
        match self.received.load(Ordering::SeqCst) {
            0 => None,
            number => Some(number),
        }
    }
}

/// Whether this process was started with the signal ignored: nohup does so, to outlive the terminal. Where the system does not
/// say, it was not.
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

impl Drop for SignalWatch {
    fn drop(&mut self) {
        self.handle.close();
        if let Some(thread) = self.thread.take() {
            // A panic in there has been reported by the panic hook already.
            let _ = thread.join();
        }
    }
}
