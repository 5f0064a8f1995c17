//! What the machine has: memory, and room on a disk.

use std::fs;
use std::path::Path;

/// What settings can be chosen by; `None` where it cannot be found out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Machine {
    /// Bytes of memory that the processes here may use.
    pub(crate) memory: Option<u64>,
    /// Bytes that are free for files.
    pub(crate) free_disk: Option<u64>,
}

impl Machine {
    /// This machine, and the disk of `directory`.
    pub(crate) fn of(directory: &Path) -> Machine {
        let memory = fs::read_to_string("/proc/meminfo").ok().and_then(|text| total(&text));
        // A container may use less than there is: version 2 of control groups, and version 1.
        let limits = ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"];
        let limits = limits.iter().filter_map(|file| fs::read_to_string(file).ok()?.trim().parse().ok());
        let free_disk = rustix::fs::statvfs(directory).ok();
        Machine {
            memory: limits.chain(memory).min(),
            free_disk: free_disk.map(|disk| disk.f_bavail.saturating_mul(disk.f_frsize)),
        }
    }
}

/// The line `MemTotal: 24553284 kB` of `/proc/meminfo`, in bytes.
fn total(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_read_in_the_kernel_s_words() {
        assert_eq!(total("MemFree: 1 kB\nMemTotal:       24553284 kB\n"), Some(24_553_284 * 1024));
        assert_eq!(total("MemTotal: much\n"), None);
    }

    #[test]
    fn this_machine_has_memory_and_a_disk() {
        let machine = Machine::of(Path::new("/tmp"));
        assert!(machine.memory.is_some_and(|bytes| bytes > 1 << 20), "{machine:?}");
        assert!(machine.free_disk.is_some(), "{machine:?}");
        assert_eq!(Machine::of(Path::new("/nowhere")).free_disk, None);
    }
}
