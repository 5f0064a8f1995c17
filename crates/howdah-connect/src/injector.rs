//! Puts a pipelined COPY among the driver's messages, and takes its answers out of what the driver reads.
//!
//! # What must hold
//!
//! PostgreSQL reads one message after the other and answers in that order; a failed message makes it skip all others up to
//! the next Sync, and it answers each Sync, and each simple query, with one ReadyForQuery that names the state of the
//! transaction ([Message Flow](https://www.postgresql.org/docs/current/protocol-flow.html)). The driver counts on it: the
//! messages up to a ReadyForQuery answer its oldest open request. Whoever adds messages must therefore add them between two
//! requests of the driver, add exactly one request, and remove every answer that the driver did not ask for. It works so:
//!
//! 1. [`Slot::offer`] leaves a COPY in the slot and names a *ticket*: a simple query that is only a comment, with a number.
//!    The caller has the driver send the ticket. Where it comes by, there the driver has room for one request.
//! 2. [`ProtocolInjector::route`] replaces the ticket by the COPY if the connection is idle: as many ReadyForQuery have come
//!    as requests were sent, and the last one said that no transaction is open. If not, the ticket goes on to the server,
//!    which answers the comment as an empty query, the slot says why ([`Verdict`]), and nothing of the COPY is sent.
//! 3. Until all data is in [`ProtocolInjector::out`] and that has been written, nothing else of the driver's is taken.
//! 4. [`ProtocolInjector::filter_responses`] knows every answer that may come, in order. It passes on what answers a simple
//!    query: CommandComplete with the number of rows, or ErrorResponse, then ReadyForQuery; and what the server may send at
//!    any time. Any other message means that the two sides no longer talk about the same thing: an error that closes the
//!    connection, since rows that the server did not ask for must not pass for written.
//!
//! Requests are counted from the first ReadyForQuery on, which ends the login. In COPY mode the server ignores a Sync
//! ([COPY Operations](https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-COPY)), and the driver sends one
//! right behind the statement of each of its own COPYs: so a CopyInResponse for the driver takes one request back.

use parking_lot::Mutex;
use std::io;
use std::sync::Arc;

use bytes::{BufMut, Bytes, BytesMut};
use postgres_protocol::message::frontend;

use crate::framing::Framing;
use crate::pipelined_copy::{CHUNK_BYTES, COMMAND_COMPLETE, COPY_IN_RESPONSE, Pieces, Sealed};

const ERROR_RESPONSE: u8 = b'E';
const READY_FOR_QUERY: u8 = b'Z';
/// What the server may send at any time: notices, notifications, settings.
const ASYNCHRONOUS: [u8; 3] = [b'N', b'A', b'S'];

/// The driver's messages that are answered with a ReadyForQuery: simple query, Sync, function call.
const REQUESTS: [u8; 3] = [b'Q', b'S', b'F'];

/// The state in ReadyForQuery when no transaction is open.
const IDLE: u8 = b'I';

/// Where a COPY waits for its ticket to come by. Shared by a connection and its stream.
#[derive(Clone, Default)]
pub(crate) struct Slot(Arc<Mutex<Waiting>>);

#[derive(Default)]
struct Waiting {
    copy: Option<Sealed>,
    /// The ticket as the driver sends it; empty before the first.
    ticket: Bytes,
    number: u64,
    verdict: Verdict,
    /// Why the conversation cannot go on: the driver does not pass the reason on.
    fault: Option<&'static str>,
}

/// What became of a ticket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Verdict {
    /// It has not come by yet.
    #[default]
    Waiting,
    /// The COPY is being sent, or was.
    Sent,
    /// Nothing was sent: answers to earlier requests were still to come.
    InFlight,
    /// Nothing was sent: a transaction is open.
    InTransaction,
}

impl Slot {
    /// Leaves a COPY, in place of any that was not sent; the ticket, as SQL.
    pub(crate) fn offer(&self, copy: Sealed) -> io::Result<String> {
        self.0.lock().copy = Some(copy);
        self.next_ticket()
    }

    /// A new ticket for the COPY that is waiting.
    pub(crate) fn next_ticket(&self) -> io::Result<String> {
        let mut waiting = self.0.lock();
        waiting.number += 1;
        let sql = format!("-- pipelined COPY {}", waiting.number);
        let mut message = BytesMut::new();
        frontend::query(&sql, &mut message)?;
        waiting.ticket = message.freeze();
        waiting.verdict = Verdict::Waiting;
        Ok(sql)
    }

    /// What became of the last ticket.
    pub(crate) fn verdict(&self) -> Verdict {
        self.0.lock().verdict
    }

    /// Takes a COPY back that was not sent. Its ticket is then a comment like any other.
    pub(crate) fn withdraw(&self) {
        self.0.lock().copy = None;
    }

    /// Why the stream closed the connection, if it did, to be told once.
    pub(crate) fn take_fault(&self) -> Option<&'static str> {
        self.0.lock().fault.take()
    }

    /// An error that closes the connection.
    fn out_of_step(&self, fault: &'static str) -> io::Error {
        self.0.lock().fault = Some(fault);
        io::Error::new(io::ErrorKind::InvalidData, fault)
    }
}

/// What is to become of bytes that the driver writes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Disposition {
    /// So many go to the server as they are.
    Forward(usize),
    /// So many are taken: the ticket, or a part of it. Where none are, [`ProtocolInjector::out`] is to be written first.
    Taken(usize),
}

/// One stream's messages, as far as they matter here.
#[derive(Default)]
pub(crate) struct ProtocolInjector {
    slot: Slot,
    /// Bytes for the server that are to be written before anything else of the driver's.
    pub(crate) out: BytesMut,
    /// The data of the COPY that is being sent.
    data: Option<Pieces>,
    /// How far the driver's last message has come.
    outgoing: Framing,
    /// How far the server's last message has come, its tag, and whether it is kept from the driver.
    incoming: Framing,
    incoming_tag: u8,
    is_ours: bool,
    /// The beginning of what looks like the ticket, while the rest is to come.
    withheld: BytesMut,
    /// Requests that are not answered with a ReadyForQuery yet. `None` before the login is over.
    open_requests: Option<u64>,
    /// The state in the last ReadyForQuery.
    transaction: u8,
    /// What is still to come of the answer to a COPY.
    answer: Option<Answer>,
}

/// The rest of an answer.
#[derive(Debug)]
enum Answer {
    /// The tags of messages that the driver does not get to see.
    Withheld(std::vec::IntoIter<u8>),
    /// CommandComplete.
    Rows,
    /// ReadyForQuery.
    End,
}

impl ProtocolInjector {
    pub(crate) fn new(slot: Slot) -> ProtocolInjector {
        ProtocolInjector { slot, ..ProtocolInjector::default() }
    }

    /// Where its COPYs come from.
    pub(crate) fn slot(&self) -> Slot {
        self.slot.clone()
    }

    /// Puts more of a COPY into [`out`](ProtocolInjector::out), up to a limit. Nothing is in it afterwards only if nothing is
    /// left to be written.
    ///
    /// # Errors
    /// A message that cannot be: the connection is of no use any more.
    pub(crate) fn fill(&mut self) -> io::Result<()> {
        while let Some(data) = &mut self.data
            && self.out.len() < CHUNK_BYTES
        {
            if data.write_next(&mut self.out)? {
                self.data = None;
            }
        }
        Ok(())
    }

    /// Decides about bytes that the driver writes, of which there is at least one. To be asked only after everything of
    /// [`fill`](ProtocolInjector::fill) has been written. What [`Disposition::Forward`] allows is to be confirmed by
    /// [`forwarded`](ProtocolInjector::forwarded).
    pub(crate) fn route(&mut self, driver: &[u8]) -> Disposition {
        if self.open_requests.is_none() || self.withheld.is_empty() && self.slot.0.lock().copy.is_none() {
            return Disposition::Forward(driver.len());
        }
        let slot = self.slot.clone();
        let mut waiting = slot.0.lock();
        let ticket = waiting.ticket.clone();
        if self.withheld.is_empty() {
            let start = self.before_ticket(driver, &ticket);
            if start > 0 {
                return Disposition::Forward(start);
            }
        }
        let rest = ticket.strip_prefix(&self.withheld[..]).filter(|_| waiting.copy.is_some());
        let rest = rest.filter(|rest| rest.iter().zip(driver).all(|(expected, byte)| expected == byte));
        let Some(rest) = rest else {
            // It only began like the ticket.
            let other = self.withheld.split();
            self.forwarded(&other);
            self.out.put_slice(&other);
            return Disposition::Taken(0);
        };
        let length = rest.len().min(driver.len());
        if length < rest.len() {
            self.withheld.put_slice(&driver[..length]);
        } else {
            self.withheld.clear();
            self.judge(&mut waiting, &ticket);
        }
        Disposition::Taken(length)
    }

    /// How many bytes stand before the first message that begins like the ticket.
    fn before_ticket(&self, driver: &[u8], ticket: &[u8]) -> usize {
        let mut framing = self.outgoing.clone();
        let mut at = 0;
        while at < driver.len() {
            let rest = &driver[at..];
            let length = rest.len().min(ticket.len());
            if framing.is_between() && rest[..length] == ticket[..length] {
                break;
            }
            at += framing.take(rest);
        }
        at
    }

    /// Sends the COPY in place of its ticket, or the ticket.
    fn judge(&mut self, waiting: &mut Waiting, ticket: &[u8]) {
        waiting.verdict = match self.open_requests {
            Some(0) if self.transaction == IDLE => Verdict::Sent,
            Some(0) => Verdict::InTransaction,
            _ => Verdict::InFlight,
        };
        match waiting.copy.take() {
            Some(copy) if waiting.verdict == Verdict::Sent => {
                self.out.put_slice(&copy.before);
                self.data = Some(copy.data);
                self.answer = Some(Answer::Withheld(copy.answers.into_iter()));
                self.open_requests = Some(1);
            }
            copy => {
                waiting.copy = copy;
                self.out.put_slice(ticket);
                self.forwarded(ticket);
            }
        }
    }

    /// Counts what went to the server as the driver wrote it.
    pub(crate) fn forwarded(&mut self, mut bytes: &[u8]) {
        let Some(open) = &mut self.open_requests else { return };
        while let Some(first) = bytes.first() {
            if self.outgoing.is_between() && REQUESTS.contains(first) {
                *open += 1;
            }
            let taken = self.outgoing.take(bytes);
            bytes = &bytes[taken..];
        }
    }

    /// Removes what the driver did not ask for from what the server sent: how many bytes are left, at the front.
    ///
    /// # Errors
    /// The server's answer is not one to what was sent: the connection must not be used any more.
    pub(crate) fn filter_responses(&mut self, arrived: &mut [u8]) -> io::Result<usize> {
        let (mut at, mut kept) = (0, 0);
        while at < arrived.len() {
            if self.incoming.is_between() {
                self.incoming_tag = arrived[at];
                self.is_ours = self.begins(arrived[at])?;
            }
            let end = at + self.incoming.take(&arrived[at..]);
            if self.incoming_tag == READY_FOR_QUERY && self.incoming.is_between() {
                self.ready(arrived[end - 1])?;
            }
            if !self.is_ours {
                if kept < at {
                    arrived.copy_within(at..end, kept);
                }
                kept += end - at;
            }
            at = end;
        }
        Ok(kept)
    }

    /// Whether a message with this tag is kept from the driver.
    fn begins(&mut self, tag: u8) -> io::Result<bool> {
        if ASYNCHRONOUS.contains(&tag) {
            return Ok(false);
        }
        let Some(answer) = &mut self.answer else {
            if tag == COPY_IN_RESPONSE
                && let Some(open) = &mut self.open_requests
            {
                *open = open
                    .checked_sub(1)
                    .ok_or_else(|| self.slot.out_of_step("the server asks for rows unasked"))?;
            }
            return Ok(false);
        };
        match (&mut *answer, tag) {
            (_, ERROR_RESPONSE) => {
                *answer = Answer::End;
                Ok(false)
            }
            (Answer::Withheld(tags), tag) => match tags.next() {
                Some(expected) if expected == tag => {
                    if tags.len() == 0 {
                        *answer = Answer::Rows;
                    }
                    Ok(true)
                }
                Some(COPY_IN_RESPONSE) => {
                    Err(self.slot.out_of_step("the server took no rows: the statement is no COPY FROM STDIN"))
                }
                _ => Err(self
                    .slot
                    .out_of_step("the server's answer to a statement before a COPY has another form")),
            },
            (Answer::Rows, COMMAND_COMPLETE) => {
                *answer = Answer::End;
                Ok(false)
            }
            (Answer::End, READY_FOR_QUERY) => {
                self.answer = None;
                Ok(false)
            }
            _ => Err(self.slot.out_of_step("the server's answer to a COPY has another form")),
        }
    }

    /// Takes note of a ReadyForQuery.
    fn ready(&mut self, transaction: u8) -> io::Result<()> {
        self.transaction = transaction;
        self.open_requests = match self.open_requests {
            None => Some(0),
            Some(open) => Some(
                open.checked_sub(1).ok_or_else(|| self.slot.out_of_step("the server answers no request"))?,
            ),
        };
        Ok(())
    }
}

#[cfg(test)]
mod tests;
