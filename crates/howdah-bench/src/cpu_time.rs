//! CPU time of a PostgreSQL server on this machine, of a group of processes, and of the machine as a whole, from /proc.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

/// A reading of the CPU time that a server has used so far.
#[derive(Debug, Clone, Copy)]
pub struct ServerCpu {
    ticks: u64,
    processes: usize,
}

impl ServerCpu {
    /// Reads the postmaster and its children, those that have ended included; PostgreSQL's processes are all children
    /// of the postmaster. None where the process cannot be seen.
    #[must_use]
    pub fn of(postmaster: u32) -> Option<Self> {
        let own = Stat::of(postmaster)?;
        let living: Vec<u64> =
            Stat::of_all()?.filter(|child| child.parent == postmaster).map(|child| child.own_ticks).collect();
        let ticks = own.own_ticks + own.reaped_ticks + living.iter().sum::<u64>();
        Some(ServerCpu { ticks, processes: living.len() })
    }

    /// CPU seconds used since this reading. Waits, at most `patience`, until no more processes run than at this
    /// reading: a client is gone a moment before its backend is.
    #[must_use]
    pub fn spent(self, postmaster: u32, patience: Duration) -> Option<f64> {
        let clock = Instant::now();
        loop {
            let settled = ServerCpu::of(postmaster)?.processes <= self.processes;
            if settled || clock.elapsed() >= patience {
                // Read again: the reading above may have missed a backend that was being reaped meanwhile.
                let now = ServerCpu::of(postmaster)?;
                return Some(in_seconds(now.ticks.saturating_sub(self.ticks)));
            }
            thread::sleep(Duration::from_millis(5));
        }
    }
}

/// CPU seconds that the living processes of a group, and those they have waited for, have used so far.
pub(crate) fn group_s(group: u32) -> Option<f64> {
    let members = Stat::of_all()?.filter(|process| process.group == group);
    // Ticks are hundredths of a second, cut off; the scheduler's own account is finer, but forgets ended threads.
    Some(
        members
            .map(|process| {
                in_seconds(process.own_ticks).max(threads_s(process.pid)) + in_seconds(process.reaped_ticks)
            })
            .sum(),
    )
}

/// CPU seconds of the living threads of a process; 0 where the kernel does not keep this account.
fn threads_s(pid: u32) -> f64 {
    let Ok(threads) = fs::read_dir(format!("/proc/{pid}/task")) else { return 0.0 };
    let nanoseconds = |thread: fs::DirEntry| {
        let account = fs::read_to_string(thread.path().join("schedstat")).ok()?;
        account.split(' ').next()?.parse::<u64>().ok()
    };
    Duration::from_nanos(threads.filter_map(|thread| nanoseconds(thread.ok()?)).sum()).as_secs_f64()
}

/// CPU seconds that all cores together were not idle since boot, time stolen by the hypervisor included.
#[must_use]
pub fn machine_busy_s() -> Option<f64> {
    let text = fs::read_to_string("/proc/stat").ok()?;
    let ticks: Vec<u64> = text
        .lines()
        .next()?
        .split_whitespace()
        .skip(1)
        .take(8)
        .map_while(|field| field.parse().ok())
        .collect();
    let [user, nice, system, _idle, _iowait, irq, softirq, steal] = ticks[..] else { return None };
    Some(in_seconds(user + nice + system + irq + softirq + steal))
}

/// The part of /proc/PID/stat that counts here.
struct Stat {
    pid: u32,
    parent: u32,
    group: u32,
    own_ticks: u64,
    reaped_ticks: u64,
}

impl Stat {
    fn of(pid: u32) -> Option<Self> {
        Stat::parse(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
    }

    /// Those of all processes that can be seen.
    fn of_all() -> Option<impl Iterator<Item = Self>> {
        let entries = fs::read_dir("/proc").ok()?;
        Some(entries.filter_map(|entry| Stat::of(entry.ok()?.file_name().to_str()?.parse().ok()?)))
    }

    /// The second field is the program's name in parentheses and may hold anything, also parentheses and spaces.
    fn parse(text: &str) -> Option<Self> {
        let fields: Vec<&str> = text.get(text.rfind(')')? + 1..)?.split_whitespace().collect();
        // proc(5) counts from 1 and this slice begins at its field 3.
        let ticks = |number: usize| fields.get(number - 3)?.parse::<u64>().ok();
        Some(Stat {
            pid: text.split(' ').next()?.parse().ok()?,
            parent: fields.get(1)?.parse().ok()?,
            group: fields.get(2)?.parse().ok()?,
            own_ticks: ticks(14)? + ticks(15)?,
            reaped_ticks: ticks(16)? + ticks(17)?,
        })
    }
}

fn in_seconds(ticks: u64) -> f64 {
    // Exact: a tick count stays far below 2^53.
    ticks as f64 / rustix::param::clock_ticks_per_second() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_name_with_parentheses_does_not_shift_the_fields() {
        let text = "77 (a) b (c) S 42 70 77 0 -1 4194560 1 2 3 4 100 50 7 8 20 0 1 0 12 13 14";
        let stat = Stat::parse(text).unwrap();
        assert_eq!(
            (stat.pid, stat.parent, stat.group, stat.own_ticks, stat.reaped_ticks),
            (77, 42, 70, 150, 15)
        );
    }

    #[test]
    fn time_of_ended_children_is_not_lost() {
        let before = ServerCpu::of(std::process::id()).unwrap();
        let script = "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done";
        assert!(std::process::Command::new("sh").args(["-c", script]).status().unwrap().success());
        let spent = before.spent(std::process::id(), Duration::from_secs(1)).unwrap();
        assert!((0.02..60.0).contains(&spent), "{spent}");
        assert!(machine_busy_s().unwrap() > 0.0);
    }
}
