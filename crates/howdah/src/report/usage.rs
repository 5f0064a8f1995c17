//! What this process has used so far, as the operating system accounts it.

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;

/// CPU time and peak memory of this process.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Usage {
    /// User and system seconds.
    pub(crate) cpu_s: f64,
    /// Peak resident set of the program itself.
    pub(crate) peak_rss_bytes: u64,
}

/// What Linux tells of the memory of this process.
const STATUS: &str = "/proc/self/status";

/// `ru_maxrss` counts KiB on Linux and bytes on macOS.
const MAXRSS_UNIT: u64 = if cfg!(target_os = "macos") { 1 } else { 1024 };

impl Usage {
    /// The figures up to now; zeros where the system does not tell.
    pub(crate) fn now() -> Usage {
        let Ok(usage) = getrusage(UsageWho::RUSAGE_SELF) else { return Usage::default() };
        let micros = usage.user_time().num_microseconds() + usage.system_time().num_microseconds();
        Usage {
            cpu_s: micros as f64 / 1e6,
            peak_rss_bytes: high_water_mark()
                .unwrap_or_else(|| u64::try_from(usage.max_rss()).unwrap_or(0) * MAXRSS_UNIT),
        }
    }
}

/// The peak of resident memory since this program was started: on Linux, `ru_maxrss` begins with the peak of the process
/// that started it.
fn high_water_mark() -> Option<u64> {
    let status = std::fs::read_to_string(STATUS).ok()?;
    let kibibytes = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?.trim().strip_suffix("kB")?;
    kibibytes.trim().parse::<u64>().ok().map(|kibibytes| kibibytes * 1024)
}
