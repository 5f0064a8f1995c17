//! Messages of ours among the driver's: statements before a COPY and the rows right behind it, all up to one Sync, which makes
//! them one transaction and one round trip. The driver has no such request: it ends every statement with a Sync of its own,
//! and sends no row before the server has asked for rows.
//!
//! The server reads one message after the other; where one of them fails it skips the others up to the Sync
//! (PostgreSQL documentation, "Message Flow", "Extended Query" and "COPY Operations").

use std::sync::{Arc, Mutex, PoisonError};

use bytes::{Buf, BufMut, Bytes, BytesMut};
use howdah_encode::wire;

/// So many bytes are put together before they go to the socket.
const CHUNK_BYTES: usize = 64 * 1024;

/// A message's tag and its length, which counts itself.
const HEAD_BYTES: usize = 5;

/// What goes along with the driver's next request, which must be a COPY from STDIN in binary.
#[derive(Default)]
pub(crate) struct Splice {
    /// Messages that go before it.
    before: BytesMut,
    /// So many answers to them do not reach the driver.
    answers: usize,
    /// Rows that go behind it: what is left of one of them, and others.
    row: Bytes,
    rows: std::vec::IntoIter<Bytes>,
    has_begun: bool,
}

impl Splice {
    /// Prepares a statement under a name, whatever had it.
    pub(crate) fn prepare(&mut self, name: &str, sql: &str) {
        message(&mut self.before, b'C', &[b"S", name.as_bytes(), b"\0"]);
        message(&mut self.before, b'P', &[name.as_bytes(), b"\0", sql.as_bytes(), b"\0", &[0; 2]]);
        self.answers += 2;
    }

    /// Executes a prepared statement that returns nothing, with these parameters in binary.
    pub(crate) fn execute(&mut self, name: &str, parameters: &[i64]) {
        let mut values = BytesMut::new();
        for value in parameters {
            values.put_u32(8);
            values.put_i64(*value);
        }
        let count = u16::try_from(parameters.len()).unwrap_or(u16::MAX).to_be_bytes();
        let (all_binary, no_result) = (&[0, 1, 0, 1], &[0; 2]);
        message(
            &mut self.before,
            b'B',
            &[b"\0", name.as_bytes(), b"\0", all_binary, &count, &values, no_result],
        );
        message(&mut self.before, b'E', &[b"\0", &[0; 4]]);
        self.answers += 2;
    }

    /// Executes a statement that returns nothing.
    pub(crate) fn run(&mut self, sql: &str) {
        self.prepare("", sql);
        self.execute("", &[]);
    }

    /// The rows of the COPY.
    pub(crate) fn rows(&mut self, rows: Vec<Bytes>) {
        self.rows = rows.into_iter();
    }

    /// Appends a message with rows; whether it was the last.
    fn fill(&mut self, out: &mut BytesMut) -> bool {
        let start = out.len();
        out.put_bytes(0, HEAD_BYTES);
        if !self.has_begun {
            self.has_begun = true;
            out.put_slice(&wire::HEADER);
        }
        let mut is_last = false;
        while out.len() < start + CHUNK_BYTES {
            if self.row.is_empty() {
                let Some(row) = self.rows.next() else {
                    out.put_slice(&wire::TRAILER);
                    is_last = true;
                    break;
                };
                self.row = row;
            }
            let room = self.row.len().min(start + CHUNK_BYTES - out.len());
            out.put_slice(&self.row[..room]);
            self.row.advance(room);
        }
        head(&mut out[start..], b'd');
        if is_last {
            message(out, b'c', &[]);
        }
        is_last
    }
}

/// Appends a message.
fn message(out: &mut BytesMut, tag: u8, body: &[&[u8]]) {
    let start = out.len();
    out.put_bytes(0, HEAD_BYTES);
    body.iter().for_each(|part| out.put_slice(part));
    head(&mut out[start..], tag);
}

/// Writes the head of a message that is complete otherwise.
fn head(message: &mut [u8], tag: u8) {
    let length = u32::try_from(message.len() - 1).unwrap_or(u32::MAX);
    message[0] = tag;
    message[1..HEAD_BYTES].copy_from_slice(&length.to_be_bytes());
}

/// Where the next splice waits for the driver's request.
#[derive(Clone, Default)]
pub(super) struct Slot(Arc<Mutex<Option<Splice>>>);

impl Slot {
    /// Has it go along with what the driver writes next. Nothing else may be under way on the connection.
    pub(super) fn put(&self, splice: Splice) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(splice);
    }

    fn take(&self) -> Option<Splice> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// What a stream does with splices.
#[derive(Default)]
pub(super) struct Splicer {
    slot: Slot,
    /// The one of which not everything is in `out` yet, and how far the driver's own request has come.
    going: Option<(Splice, Framing)>,
    /// Bytes for the server that wait to be written.
    pub(super) out: BytesMut,
    /// What comes from the server, ...
    incoming: Framing,
    /// ... whether the message that comes is not for the driver, ...
    is_ours: bool,
    /// ... and, until the answer to a splice is complete, what is to come of it.
    answer: Option<Answer>,
    /// A request was answered without an error though nobody asked for its rows: it was no COPY.
    is_out_of_step: bool,
}

/// What is to come of an answer.
struct Answer {
    /// So many messages that are not for the driver, ...
    ours: usize,
    /// ... and the server's word that it is ready for rows, or why not.
    is_asked_for_rows: bool,
}

impl Splicer {
    pub(super) fn new(slot: Slot) -> Splicer {
        Splicer { slot, ..Splicer::default() }
    }

    /// Where its splices come from.
    pub(super) fn slot(&self) -> Slot {
        self.slot.clone()
    }

    /// Whether `out` is to be written before anything else is taken in.
    pub(super) fn is_full(&self) -> bool {
        self.out.len() >= CHUNK_BYTES || self.going.is_none() && !self.out.is_empty()
    }

    /// Takes what the driver writes into `out`: how many bytes of it, which is none while rows go first; `None` where it may
    /// write them itself.
    pub(super) fn take(&mut self, driver: &[u8]) -> Option<usize> {
        if self.going.is_none() {
            let splice = self.slot.take()?;
            self.answer = Some(Answer { ours: splice.answers, is_asked_for_rows: false });
            self.out.put_slice(&splice.before);
            self.going = Some((splice, Framing::default()));
        }
        let (splice, framing) = self.going.as_mut()?;
        let mut request = 0;
        while request < driver.len() && !(framing.is_between() && driver[request] == b'S') {
            request += framing.take(&driver[request..]);
        }
        if request > 0 {
            self.out.put_slice(&driver[..request]);
            return Some(request);
        }
        if !splice.fill(&mut self.out) {
            return Some(0);
        }
        // The Sync, and whatever the driver has behind it.
        self.going = None;
        self.out.put_slice(driver);
        Some(driver.len())
    }

    /// Removes from what the server sent what the driver did not ask for; how many bytes are left, at the front.
    pub(super) fn sift(&mut self, arrived: &mut [u8]) -> usize {
        let (mut at, mut kept) = (0, 0);
        while at < arrived.len() {
            if self.incoming.is_between() {
                self.is_ours = self.answers_ours(arrived[at]);
            }
            let end = at + self.incoming.take(&arrived[at..]);
            if !self.is_ours {
                if kept < at {
                    arrived.copy_within(at..end, kept);
                }
                kept += end - at;
            }
            at = end;
        }
        kept
    }

    /// Whether what the server sent answers something else than what it was sent.
    pub(super) fn is_out_of_step(&self) -> bool {
        self.is_out_of_step
    }

    /// Whether a message with this tag answers what is ours.
    fn answers_ours(&mut self, tag: u8) -> bool {
        let Some(answer) = &mut self.answer else { return false };
        match tag {
            // Of these the server sends some whenever it likes: notices, notifications, settings.
            b'N' | b'A' | b'S' => false,
            b'E' => {
                *answer = Answer { ours: 0, is_asked_for_rows: true };
                false
            }
            b'Z' => {
                self.is_out_of_step |= !answer.is_asked_for_rows;
                self.answer = None;
                false
            }
            _ if answer.ours > 0 => {
                answer.ours -= 1;
                true
            }
            // They are there already.
            b'G' => {
                answer.is_asked_for_rows = true;
                true
            }
            _ => false,
        }
    }
}

/// Where messages begin and end in a stream of them.
#[derive(Default)]
struct Framing {
    /// Bytes of the head that came, and the length as far as it is known.
    head: usize,
    length: u32,
    /// Bytes of the body that are to come.
    body: usize,
}

impl Framing {
    /// Whether the next byte begins a message.
    fn is_between(&self) -> bool {
        self.head == 0
    }

    /// How many of these bytes belong to the same message; some do.
    fn take(&mut self, bytes: &[u8]) -> usize {
        let head = bytes.len().min(HEAD_BYTES - self.head);
        for byte in &bytes[..head] {
            self.head += 1;
            if self.head > 1 {
                self.length = self.length << 8 | u32::from(*byte);
            }
        }
        if head > 0 && self.head == HEAD_BYTES {
            self.body = usize::try_from(self.length).unwrap_or(usize::MAX).saturating_sub(HEAD_BYTES - 1);
        }
        let body = (bytes.len() - head).min(self.body);
        self.body -= body;
        if self.head == HEAD_BYTES && self.body == 0 {
            *self = Framing::default();
        }
        head + body
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(all: &[(u8, &[u8])]) -> BytesMut {
        let mut out = BytesMut::new();
        all.iter().for_each(|(tag, body)| message(&mut out, *tag, &[body]));
        out
    }

    /// The tags and lengths of whole messages.
    fn tags(mut bytes: &[u8]) -> Vec<(char, usize)> {
        let mut out = Vec::new();
        while !bytes.is_empty() {
            let length = usize::try_from(u32::from_be_bytes(bytes[1..5].try_into().unwrap())).unwrap();
            out.push((char::from(bytes[0]), length - 4));
            bytes = &bytes[1 + length..];
        }
        out
    }

    fn splicer(rows: Vec<Bytes>) -> Splicer {
        let slot = Slot::default();
        let mut splice = Splice::default();
        splice.prepare("part", "insert into ledger values ($1)");
        splice.execute("part", &[7]);
        splice.rows(rows);
        slot.put(splice);
        Splicer::new(slot)
    }

    /// Everything that goes to the server when the driver's bytes come in pieces of `size`.
    fn sent(splicer: &mut Splicer, driver: &[u8], size: usize) -> Vec<u8> {
        let mut out = Vec::new();
        for mut piece in driver.chunks(size) {
            while !piece.is_empty() {
                if splicer.is_full() {
                    assert!(splicer.out.len() < 2 * CHUNK_BYTES);
                    out.extend_from_slice(&splicer.out.split());
                }
                match splicer.take(piece) {
                    Some(taken) => piece = &piece[taken..],
                    None => {
                        out.extend_from_slice(piece);
                        break;
                    }
                }
            }
        }
        out.extend_from_slice(&splicer.out.split());
        out
    }

    #[test]
    fn rows_go_between_the_copy_and_its_sync_however_the_driver_writes_them() {
        let request = messages(&[(b'B', b"\0copy\0\0\0\0\0\0\0"), (b'E', &[0; 5]), (b'S', b"")]);
        let later = messages(&[(b'Q', b"select 'S'\0"), (b'S', b"")]);
        let driver = [&request[..], &later[..]].concat();
        let row = Bytes::from(vec![9; 1000]);
        for size in 1..=driver.len() {
            let mut splicer = splicer(vec![row.clone(), Bytes::new(), row.clone()]);
            let sent = sent(&mut splicer, &driver, size);
            let bodies = ["C6", "P38", "B26", "E5", "B12", "E5"];
            let expected = bodies
                .iter()
                .map(|body| body.split_at(1))
                .map(|(tag, length)| (tag.chars().next().unwrap(), length.parse::<usize>().unwrap()));
            let rows = wire::HEADER.len() + 2000 + wire::TRAILER.len();
            let behind = [('d', rows), ('c', 0), ('S', 0), ('Q', 11), ('S', 0)];
            assert_eq!(tags(&sent), expected.chain(behind).collect::<Vec<_>>(), "in pieces of {size}");
            assert_eq!(splicer.take(b"untouched"), None);
        }
    }

    #[test]
    fn rows_larger_than_a_message_go_in_several() {
        let row = Bytes::from((0..200_000_u32).flat_map(u32::to_le_bytes).collect::<Vec<u8>>());
        let request = messages(&[(b'E', &[0; 5]), (b'S', b"")]);
        let mut splicer = splicer(vec![Bytes::from_static(b"first"), row.clone()]);
        let sent = sent(&mut splicer, &request, request.len());
        let mut copied = Vec::new();
        let mut at = 0;
        for (tag, length) in tags(&sent) {
            if tag == 'd' {
                assert!(length <= CHUNK_BYTES);
                copied.extend_from_slice(&sent[at + 5..at + 5 + length]);
            }
            at += 5 + length;
        }
        assert_eq!(copied, [&wire::HEADER, b"first".as_slice(), &row, &wire::TRAILER].concat());
    }

    /// What answers all that goes before the driver's request, and the first part of that.
    fn noted() -> BytesMut {
        messages(&[(b'3', b""), (b'1', b""), (b'2', b""), (b'C', b"INSERT 0 1\0"), (b'2', b"")])
    }

    /// What the driver hears of an answer that comes in pieces of `size`.
    fn heard(splicer: &mut Splicer, answer: &[u8], size: usize) -> Vec<(char, usize)> {
        let mut out = Vec::new();
        for piece in answer.chunks(size) {
            let mut piece = piece.to_vec();
            let kept = splicer.sift(&mut piece);
            out.extend_from_slice(&piece[..kept]);
        }
        tags(&out)
    }

    #[test]
    fn the_driver_hears_what_answers_its_own_request() {
        let answer = messages(&[
            (b'3', b""),
            (b'1', b""),
            (b'N', b"a notice"),
            (b'2', b""),
            (b'C', b"INSERT 0 1\0"),
            (b'2', b""),
            (b'G', b"\x01\0\0"),
            (b'N', b"another"),
            (b'C', b"COPY 100\0"),
            (b'Z', b"I"),
            // Nothing of what comes later is touched.
            (b'G', b"\x01\0\0"),
        ]);
        for size in 1..=answer.len() {
            let mut splicer = splicer(Vec::new());
            splicer.take(b"E");
            let expected = [('N', 8), ('2', 0), ('N', 7), ('C', 9), ('Z', 1), ('G', 3)];
            assert_eq!(heard(&mut splicer, &answer, size), expected, "in pieces of {size}");
        }
    }

    #[test]
    fn errors_reach_the_driver_wherever_they_happen() {
        let early = messages(&[(b'3', b""), (b'E', b"relation"), (b'Z', b"I"), (b'2', b"")]);
        let late = [noted(), messages(&[(b'G', b""), (b'E', b"row"), (b'Z', b"I")])].concat();
        for size in 1..=late.len() {
            let mut splicer = splicer(Vec::new());
            splicer.take(b"E");
            assert_eq!(heard(&mut splicer, &early, size), [('E', 8), ('Z', 1), ('2', 0)]);
            splicer.answer = Some(Answer { ours: 4, is_asked_for_rows: false });
            assert_eq!(heard(&mut splicer, &late, size), [('2', 0), ('E', 3), ('Z', 1)]);
            assert!(!splicer.is_out_of_step());
        }
    }

    #[test]
    fn rows_that_nobody_asked_for_do_not_pass_for_written() {
        let answer = [noted(), messages(&[(b'C', b"SELECT 1\0"), (b'Z', b"I")])].concat();
        let mut splicer = splicer(Vec::new());
        splicer.take(b"E");
        heard(&mut splicer, &answer, answer.len());
        assert!(splicer.is_out_of_step());
    }
}
