//! A pool of chunk buffers: without it every chunk's memory goes back to the kernel and comes again as fresh, zeroed pages
//! (an eighth of the client's CPU in a profile of 5 M readings).

use parking_lot::Mutex;
use std::sync::Arc;

use bytes::Bytes;
use howdah_source::PIECE_BYTES;

/// What a chunk of ordinary records needs; a buffer that one huge record blew up is let go.
const KEPT_CAPACITY: usize = 8 * PIECE_BYTES;

/// Buffers that wait for their next use. Never more than were in use at once, which the queue bounds.
#[derive(Clone, Default)]
pub(crate) struct Buffers(Arc<Mutex<Vec<Vec<u8>>>>);

impl Buffers {
    /// An empty buffer.
    pub(crate) fn take(&self) -> Vec<u8> {
        self.0.lock().pop().unwrap_or_default()
    }

    /// `bytes` as a message; its memory comes back here once the last reference is gone.
    pub(crate) fn lend(&self, bytes: Vec<u8>) -> Bytes {
        Bytes::from_owner(Lent { bytes, home: self.clone() })
    }

    /// Takes a buffer that was not lent.
    pub(crate) fn give_back(&self, mut bytes: Vec<u8>) {
        if bytes.capacity() <= KEPT_CAPACITY {
            bytes.clear();
            self.0.lock().push(bytes);
        }
    }
}

struct Lent {
    bytes: Vec<u8>,
    home: Buffers,
}

impl AsRef<[u8]> for Lent {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        self.home.give_back(std::mem::take(&mut self.bytes));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_comes_back_after_the_last_message_and_huge_memory_does_not() {
        let buffers = Buffers::default();
        let mut bytes = buffers.take();
        bytes.resize(PIECE_BYTES, 1);
        let mut message = buffers.lend(bytes);
        let head = message.split_to(10);
        drop(message);
        assert_eq!(buffers.take().capacity(), 0);
        drop(head);
        assert!(buffers.take().capacity() >= PIECE_BYTES);
        drop(buffers.lend(vec![0; KEPT_CAPACITY + 1]));
        assert_eq!(buffers.take().capacity(), 0);
    }
}
