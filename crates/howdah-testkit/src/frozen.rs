//! A backend that stands still: it holds what it holds, and does what it was sent once it is let go.

use rustix::process::{Pid, Signal, kill_process};

/// A process that was stopped; it goes on when this is dropped.
pub struct Frozen(Pid);

impl Frozen {
    /// Stops a process, by its number as a server prints it. `None`: it is gone already.
    pub fn freeze(pid: &str) -> Option<Frozen> {
        let pid = Pid::from_raw(pid.trim().parse().ok()?)?;
        kill_process(pid, Signal::STOP).ok()?;
        Some(Frozen(pid))
    }
}

impl Drop for Frozen {
    fn drop(&mut self) {
        // Somebody may have killed it.
        let _ = kill_process(self.0, Signal::CONT);
    }
}
