//! What was read of an input and not cut yet.

use crate::error::Error;
use crate::open::ByteStream;

/// A stream, of which some bytes were read ahead.
pub(super) struct Ahead {
    stream: ByteStream,
    /// What was read ahead, and how much of it was taken already.
    held: Vec<u8>,
    taken: usize,
    /// The stream has come to its end, and is not asked again.
    is_drained: bool,
}

impl Ahead {
    pub(super) fn new(stream: ByteStream) -> Ahead {
        Ahead { stream, held: Vec::new(), taken: 0, is_drained: false }
    }

    pub(super) fn stream(&self) -> &ByteStream {
        &self.stream
    }

    /// What was read ahead.
    pub(super) fn held(&self) -> &[u8] {
        &self.held[self.taken..]
    }

    /// Reads on until `count` bytes are held, or the input ends.
    pub(super) fn hold(&mut self, count: usize) -> Result<(), Error> {
        let held = self.held.len();
        let count = self.taken + count;
        if held < count {
            let mut bytes = std::mem::take(&mut self.held);
            bytes.resize(count, 0);
            let got = self.read(&mut bytes[held..])?;
            bytes.truncate(held + got);
            self.held = bytes;
        }
        Ok(())
    }

    fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Error> {
        if self.is_drained {
            return Ok(0);
        }
        let got = self.stream.fill(buffer)?;
        self.is_drained = got < buffer.len();
        Ok(got)
    }

    /// Takes `count` bytes of what is held.
    pub(super) fn skip(&mut self, count: usize) {
        self.taken += count;
    }

    /// Fills `buffer` with what comes next; less only at the end of the input.
    pub(super) fn fill(&mut self, buffer: &mut [u8]) -> Result<usize, Error> {
        let held = self.held();
        let count = held.len().min(buffer.len());
        buffer[..count].copy_from_slice(&held[..count]);
        self.taken += count;
        Ok(count + if count < buffer.len() { self.read(&mut buffer[count..])? } else { 0 })
    }

    /// Takes back what is behind `end` of the `filled` bytes in `buffer`, which were the last to be taken. Returns a buffer with
    /// the bytes before `end`.
    pub(super) fn return_from(&mut self, mut buffer: Vec<u8>, end: usize, filled: usize) -> Vec<u8> {
        let surplus = filled - end;
        if !self.held().is_empty() {
            // All of it was held, and still is.
            self.taken -= surplus;
            return buffer;
        }
        if end < filled / 2 {
            let before = buffer[..end].to_vec();
            buffer.truncate(filled);
            (self.held, self.taken) = (buffer, end);
            return before;
        }
        (self.held, self.taken) = (buffer[end..filled].to_vec(), 0);
        buffer
    }

    /// Puts `bytes` in front of what comes next.
    pub(super) fn put_front(&mut self, bytes: &[u8]) {
        self.held = [bytes, self.held()].concat();
        self.taken = 0;
    }
}
