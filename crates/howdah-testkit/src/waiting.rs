//! Waiting for a state and never for a time: a slow machine only takes longer, and a fast one does not wait.

use std::os::fd::AsFd;
use std::process::Child;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::knob;

/// What nothing takes that a test waits for, on the slowest machine: a limit against hanging, which measures nothing.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// How long a test waits for what howdah promises within `time`. The promise is measured by `make test-promises`, where
/// nothing else runs (`HOWDAH_TIMED=1`); beside other tests only hanging is told.
pub fn promised(time: Duration) -> Duration {
    if knob("HOWDAH_TIMED", 0) > 0 { time } else { PATIENCE.max(time) }
}

/// Waits until `condition` holds.
///
/// # Panics
/// If it does not within a minute; `what` says what was waited for.
pub fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < PATIENCE, "after {PATIENCE:?} still not: {what}");
        thread::sleep(Duration::from_millis(5));
    }
}

/// Waits until everything that was written into `pipe` has been read.
pub fn until_read(pipe: &impl AsFd) {
    until("all that was written is read", || rustix::io::ioctl_fionread(pipe).unwrap() == 0);
}

/// Waits until `child` has a handler for `signal`.
pub fn until_handled(child: &Child, signal: Signal) {
    let status = format!("/proc/{}/status", child.id());
    until("the signal is handled", || {
        let status = std::fs::read_to_string(&status).unwrap();
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap();
        u64::from_str_radix(caught.trim(), 16).unwrap() >> (signal.as_raw() - 1) & 1 == 1
    });
}
