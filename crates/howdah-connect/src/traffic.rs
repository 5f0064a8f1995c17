//! What passes over a connection's socket, as its own system knows it: what the other side's has taken, and what came from there.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Counts the bytes of one connection, below any encryption. Looking costs up to some milliseconds on a machine with very many
/// sockets: it is meant for somebody who has waited for seconds.
#[derive(Debug, Clone, Default)]
pub struct Traffic(Arc<Counters>);

#[derive(Debug, Default)]
struct Counters {
    written: AtomicU64,
    read: AtomicU64,
    queue: Option<SendQueue>,
}

/// The bytes that have passed. As long as two looks find the same, nothing has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Passed {
    /// Taken by the other side's system. Where ours does not tell (it is no Linux, or the socket is a Unix one), taken by ours.
    sent: u64,
    received: u64,
}

/// Where Linux tells how much of what a socket took is not acknowledged.
#[derive(Debug)]
struct SendQueue {
    table: &'static str,
    inode: u64,
}

impl Traffic {
    /// Of a TCP socket that was just opened.
    pub(crate) fn of_tcp(socket: &impl AsRawFd, is_v6: bool) -> Traffic {
        let table = if is_v6 { "/proc/self/net/tcp6" } else { "/proc/self/net/tcp" };
        let queue = inode(socket).map(|inode| SendQueue { table, inode });
        Traffic(Arc::new(Counters { queue, ..Counters::default() }))
    }

    pub(crate) fn wrote(&self, bytes: usize) {
        self.0.written.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    pub(crate) fn read(&self, bytes: usize) {
        self.0.read.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// What has passed so far. To be called within a tokio runtime.
    pub async fn passed(&self) -> Passed {
        let counters = self.0.clone();
        let looking = tokio::task::spawn_blocking(move || {
            let received = counters.read.load(Ordering::Relaxed);
            let written = counters.written.load(Ordering::Relaxed);
            let waiting = counters.queue.as_ref().and_then(SendQueue::bytes).unwrap_or(0);
            Passed { sent: written.wrapping_sub(waiting), received }
        });
        // The runtime ends.
        looking.await.unwrap_or(Passed { sent: 0, received: 0 })
    }
}

impl SendQueue {
    /// The bytes in it; `None`: the socket is closed, or the system does not tell.
    fn bytes(&self) -> Option<u64> {
        let lines = BufReader::new(File::open(self.table).ok()?).lines().map_while(Result::ok);
        lines.skip(1).find_map(|line| queued(&line, self.inode))
    }
}

/// The send queue of a line of `/proc/net/tcp`, if that is about this socket.
fn queued(line: &str, inode: u64) -> Option<u64> {
    // Number, addresses, state, queues, timer, retransmissions, user, timeout, inode.
    let mut fields = line.split_ascii_whitespace();
    let (send, _) = fields.nth(4)?.split_once(':')?;
    let is_it = fields.nth(4)?.parse() == Ok(inode);
    if is_it { u64::from_str_radix(send, 16).ok() } else { None }
}

/// What a socket is called in the system's tables.
fn inode(socket: &impl AsRawFd) -> Option<u64> {
    let link = fs::read_link(format!("/proc/self/fd/{}", socket.as_raw_fd())).ok()?;
    link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn a_line_of_the_table_is_read() {
        let line = "   2: 0100007F:DC14 0100007F:1538 01 0000AB10:00000000 01:00000014 00000000  1000        0 40571 2 0 20 4 30 10 -1";
        assert_eq!(queued(line, 40571), Some(0xab10));
        assert_eq!(queued(line, 4057), None);
        assert_eq!(queued("", 1), None);
    }

    /// The bytes that wait in a socket whose other side does not read, for either family.
    #[cfg(target_os = "linux")]
    #[test]
    fn what_the_other_side_has_not_taken_has_not_passed() {
        for local in ["127.0.0.1:0", "[::1]:0"] {
            // A machine without IPv6.
            let Ok(listener) = TcpListener::bind(local) else { continue };
            let mut near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let (mut far, _) = listener.accept().unwrap();
            near.set_nonblocking(true).unwrap();
            let traffic = Traffic::of_tcp(&near, local.starts_with('['));
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            let passed = || runtime.block_on(traffic.passed());
            assert_eq!(passed(), Passed { sent: 0, received: 0 });
            let piece = vec![0; 1 << 20];
            let mut written = 0;
            while let Ok(bytes) = near.write(&piece) {
                traffic.wrote(bytes);
                written += bytes;
            }
            let stuck = passed();
            assert!(stuck.sent < written as u64, "{stuck:?} of {written}");
            let mut taken = vec![0; written];
            far.read_exact(&mut taken).unwrap();
            howdah_testkit::waiting::until("all is acknowledged", || passed().sent == written as u64);
            drop(near);
        }
    }
}
