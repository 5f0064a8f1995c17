//! Where messages begin and end in a stream of them.

/// A message's tag and its length, which counts itself.
pub(crate) const HEAD_BYTES: usize = 5;

/// How far the message has come that bytes belong to.
#[derive(Clone, Default)]
pub(crate) struct Framing {
    /// Bytes of the head that came, and the length as far as it is known.
    head: usize,
    length: u32,
    /// Bytes of the body that are to come.
    body: u64,
}

impl Framing {
    /// Whether the next byte begins a message.
    pub(crate) fn is_between(&self) -> bool {
        self.head == 0
    }

    /// How many of these bytes, of which there is at least one, belong to the same message; at least one does.
    pub(crate) fn take(&mut self, bytes: &[u8]) -> usize {
        let head = bytes.len().min(HEAD_BYTES - self.head);
        for byte in &bytes[..head] {
            self.head += 1;
            if self.head > 1 {
                self.length = self.length << 8 | u32::from(*byte);
            }
        }
        if head > 0 && self.head == HEAD_BYTES {
            // The length counts itself; one that does not is no message of PostgreSQL's, and the driver will say so.
            self.body = u64::from(self.length.saturating_sub(4));
        }
        let after_head = bytes.len() - head;
        let body = usize::try_from(self.body).map_or(after_head, |body| body.min(after_head));
        self.body -= body as u64;
        if self.head == HEAD_BYTES && self.body == 0 {
            *self = Framing::default();
        }
        head + body
    }
}
