//! Where PostgreSQL's messages begin and end in a stream of bytes, and which of them commit.

use std::collections::HashSet;

use bytes::{Bytes, BytesMut};

/// The direction of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// From the client to the server.
    ToServer,
    /// From the server to the client.
    ToClient,
}

/// The request codes of the two messages that ask for encryption before the startup message.
const ENCRYPTION_REQUESTS: [u32; 2] = [80_877_103, 80_877_104];
const REQUEST_LENGTH: usize = 8;

/// One whole message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Message {
    /// Its type; `None` for what a client says first.
    tag: Option<u8>,
    pub(super) bytes: Bytes,
}

/// Bytes that came from one side, not yet passed on.
#[derive(Debug)]
pub(super) struct Messages {
    bytes: BytesMut,
    /// A client's first message has a length and no type.
    tagged: bool,
}

impl Messages {
    pub(super) fn of(direction: Direction) -> Self {
        Messages { bytes: BytesMut::new(), tagged: direction == Direction::ToClient }
    }

    /// Where bytes are to be appended.
    pub(super) fn room(&mut self) -> &mut BytesMut {
        &mut self.bytes
    }

    /// Takes the next message out, if it is whole.
    pub(super) fn take(&mut self) -> Option<Message> {
        let tag = if self.tagged { Some(*self.bytes.first()?) } else { None };
        let before = usize::from(self.tagged);
        let length = usize::try_from(word(&self.bytes, before)?).unwrap();
        // A length counts itself; one that does not is passed on as it is, for the receiver to refuse.
        let whole = before + length.max(4);
        if self.bytes.len() < whole {
            return None;
        }
        self.tagged = true;
        Some(Message { tag, bytes: self.bytes.split_to(whole).freeze() })
    }

    /// Whether a client that has said nothing yet asks for TLS or GSSAPI; `None` as long as that cannot be told.
    pub(super) fn ask_for_encryption(&self) -> Option<bool> {
        Some(ENCRYPTION_REQUESTS.contains(&word(&self.bytes, 4)?))
    }

    /// Forgets a request for encryption; the client's real first message follows.
    pub(super) fn forget_request(&mut self) {
        let _ = self.bytes.split_to(REQUEST_LENGTH);
    }

    /// What came behind the messages that were taken.
    pub(super) fn unread(&self) -> &[u8] {
        &self.bytes
    }

    /// What is left of a message that ends nowhere.
    pub(super) fn rest(self) -> Bytes {
        self.bytes.freeze()
    }
}

impl Message {
    fn body(&self) -> &[u8] {
        self.bytes.get(5..).unwrap_or_default()
    }
}

/// What on a connection commits: statements, and the Sync behind a COPY that is in no transaction.
#[derive(Debug, Default)]
pub(super) struct Commits {
    statements: HashSet<Vec<u8>>,
    portals: HashSet<Vec<u8>>,
    /// A transaction was begun, as the server said last.
    has_begun: bool,
    /// Rows of a COPY are complete.
    has_copied: bool,
    /// A Sync that commits was not answered yet.
    syncs: bool,
}

impl Commits {
    /// Whether this message makes the server commit, or tells that it has.
    pub(super) fn tell(&mut self, direction: Direction, message: &Message) -> bool {
        match direction {
            Direction::ToServer => self.made_by(message),
            Direction::ToClient => self.told_by(message),
        }
    }

    fn told_by(&mut self, message: &Message) -> bool {
        match message.tag {
            Some(b'C') => message.body() == b"COMMIT\0",
            Some(b'E') => {
                self.syncs = false;
                false
            }
            Some(b'Z') => {
                self.has_begun = message.body() != b"I";
                std::mem::take(&mut self.syncs)
            }
            _ => false,
        }
    }

    fn made_by(&mut self, message: &Message) -> bool {
        let (first, rest) = string(message.body());
        let (second, _) = string(rest);
        match message.tag {
            Some(b'Q') => commits(first),
            Some(b'P') => {
                note(&mut self.statements, first, commits(second));
                false
            }
            Some(b'B') => {
                let commits = self.statements.contains(second);
                note(&mut self.portals, first, commits);
                false
            }
            Some(b'E') => self.portals.contains(first),
            Some(b'c') => {
                self.has_copied = true;
                false
            }
            Some(b'S') => {
                let commits = std::mem::take(&mut self.has_copied) && !self.has_begun;
                self.syncs |= commits;
                commits
            }
            _ => false,
        }
    }
}

fn note(names: &mut HashSet<Vec<u8>>, name: &[u8], commits: bool) {
    if commits {
        names.insert(name.to_vec());
    } else {
        names.remove(name);
    }
}

/// Whether one of these statements is COMMIT or END.
fn commits(sql: &[u8]) -> bool {
    sql.split(|byte| *byte == b';').any(|statement| {
        let word = statement.trim_ascii().split(u8::is_ascii_whitespace).next().unwrap_or_default();
        word.eq_ignore_ascii_case(b"commit") || word.eq_ignore_ascii_case(b"end")
    })
}

/// A big-endian number of four bytes, where they are.
fn word(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at + 4).map(|word| u32::from_be_bytes(word.try_into().unwrap()))
}

/// A string up to its NUL, and what follows.
fn string(bytes: &[u8]) -> (&[u8], &[u8]) {
    match bytes.iter().position(|byte| *byte == 0) {
        Some(end) => (&bytes[..end], &bytes[end + 1..]),
        None => (bytes, &[]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tagged(tag: u8, body: &[u8]) -> Vec<u8> {
        let length = u32::try_from(body.len() + 4).unwrap();
        [&[tag], length.to_be_bytes().as_slice(), body].concat()
    }

    fn message(tag: u8, body: &[u8]) -> Message {
        Message { tag: Some(tag), bytes: tagged(tag, body).into() }
    }

    #[test]
    fn messages_are_whole_however_their_bytes_arrive() {
        let startup = [0, 0, 0, 9, 0, 3, 0, 0, 0];
        let stream = [&startup[..], &tagged(b'Q', b"select 1\0"), &tagged(b'X', b"")].concat();
        for step in 1..=stream.len() {
            let mut messages = Messages::of(Direction::ToServer);
            let mut sizes = Vec::new();
            for piece in stream.chunks(step) {
                messages.room().extend_from_slice(piece);
                while let Some(message) = messages.take() {
                    sizes.push((message.tag, message.bytes.len()));
                }
            }
            assert_eq!(sizes, [(None, 9), (Some(b'Q'), 14), (Some(b'X'), 5)], "in pieces of {step}");
            assert!(messages.rest().is_empty());
        }
    }

    #[test]
    fn a_request_for_encryption_is_not_taken_for_a_startup() {
        let mut messages = Messages::of(Direction::ToServer);
        messages.room().extend_from_slice(&[0, 0, 0, 8, 4, 210, 22]);
        assert_eq!(messages.ask_for_encryption(), None);
        messages.room().extend_from_slice(&[47, 0, 0, 0, 9, 0, 3, 0, 0, 0]);
        assert_eq!(messages.ask_for_encryption(), Some(true));
        messages.forget_request();
        assert_eq!(messages.ask_for_encryption(), Some(false));
        assert_eq!(messages.take().unwrap().bytes.len(), 9);
    }

    #[test]
    fn a_commit_is_known_in_every_form() {
        let mut of = Commits::default();
        for sql in ["COMMIT", " commit ", "end;", "insert into t values (1); COMMIT", "commit and chain"] {
            assert!(of.made_by(&message(b'Q', format!("{sql}\0").as_bytes())), "{sql}");
        }
        for sql in ["BEGIN", "select 'commit'", "commitment", "rollback"] {
            assert!(!of.made_by(&message(b'Q', format!("{sql}\0").as_bytes())), "{sql}");
        }
        assert!(!of.made_by(&message(b'P', b"s1\0COMMIT\0\0\0")));
        assert!(!of.made_by(&message(b'P', b"s2\0select 1\0\0\0")));
        assert!(!of.made_by(&message(b'B', b"\0s1\0\0\0\0\0\0\0")));
        assert!(of.made_by(&message(b'E', b"\0\0\0\0\0")));
        assert!(!of.made_by(&message(b'B', b"\0s2\0\0\0\0\0\0\0")));
        assert!(!of.made_by(&message(b'E', b"\0\0\0\0\0")), "the portal is another statement's now");
        assert!(of.told_by(&message(b'C', b"COMMIT\0")));
        assert!(!of.told_by(&message(b'C', b"ROLLBACK\0")) && !of.told_by(&message(b'D', b"COMMIT\0")));
    }

    #[test]
    fn a_copy_in_no_transaction_is_committed_by_its_sync() {
        let mut of = Commits::default();
        let copied = |of: &mut Commits| {
            assert!(!of.made_by(&message(b'S', b"")) && !of.made_by(&message(b'c', b"")));
            of.made_by(&message(b'S', b""))
        };
        assert!(copied(&mut of) && of.told_by(&message(b'Z', b"I")));
        assert!(!of.told_by(&message(b'Z', b"I")));
        // Refused.
        assert!(
            copied(&mut of) && !of.told_by(&message(b'E', b"SERROR\0")) && !of.told_by(&message(b'Z', b"I"))
        );
        // In a transaction.
        assert!(!of.told_by(&message(b'Z', b"T")) && !copied(&mut of) && !of.told_by(&message(b'Z', b"T")));
    }
}
