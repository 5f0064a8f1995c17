//! Reads along what a server says last. The driver hands it to the request that is under way, if there is one and it
//! listens; a COPY does not while it sends. So it is heard here, before anybody can lose it.

use std::sync::Arc;

use crate::framing::{Framing, HEAD_BYTES};
use crate::last_words::LastWords;
use crate::said::Said;

const ERROR_RESPONSE: u8 = b'E';

/// A message that is longer is cut off: its first fields are the ones that matter.
const MOST_BYTES: usize = 64 * 1024;

/// Reads along what a server sends.
#[derive(Default)]
pub(crate) struct Listener {
    said: Arc<Said>,
    framing: Framing,
    /// The message that is under way, if it is an error.
    error: Option<Vec<u8>>,
}

impl Listener {
    pub(crate) fn new(said: Arc<Said>) -> Listener {
        Listener { said, ..Listener::default() }
    }

    /// Where it notes what it hears.
    pub(crate) fn said(&self) -> Arc<Said> {
        self.said.clone()
    }

    /// Takes what arrived.
    pub(crate) fn hear(&mut self, mut bytes: &[u8]) {
        while let Some(first) = bytes.first() {
            if self.framing.is_between() {
                self.error = (*first == ERROR_RESPONSE).then(Vec::new);
            }
            let (now, later) = bytes.split_at(self.framing.take(bytes));
            if let Some(error) = &mut self.error {
                error.extend_from_slice(&now[..now.len().min(MOST_BYTES.saturating_sub(error.len()))]);
                if self.framing.is_between()
                    && let Some(words) = error.get(HEAD_BYTES..).and_then(LastWords::parse)
                {
                    self.said.end(words);
                }
            }
            bytes = later;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(severity: &str) -> Vec<u8> {
        let fields = format!("Sx\0V{severity}\0C57P01\0Mterminated\0Dby somebody\0\0");
        let length = u32::try_from(fields.len() + 4).unwrap();
        [b"E", &length.to_be_bytes()[..], fields.as_bytes()].concat()
    }

    #[test]
    fn words_are_heard_however_they_arrive() {
        let ready = [b'Z', 0, 0, 0, 5, b'I'];
        let sent = [&ready[..], &error("ERROR"), &ready, &error("FATAL")].concat();
        for size in [1, 3, sent.len()] {
            let mut listener = Listener::default();
            sent.chunks(size).for_each(|bytes| listener.hear(bytes));
            let words = listener.said().last_words().unwrap();
            assert_eq!((&*words.sqlstate, &*words.message), ("57P01", "terminated"));
            assert_eq!((words.detail.as_deref(), words.hint), (Some("by somebody"), None));
        }
    }

    #[test]
    fn an_error_behind_which_the_session_goes_on_is_not_its_last_word() {
        let mut listener = Listener::default();
        listener.hear(&error("ERROR"));
        assert_eq!(listener.said().last_words(), None);
    }
}
