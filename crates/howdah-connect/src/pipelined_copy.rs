//! A COPY whose rows follow its statement without waiting, with statements before it: one transaction in one round trip.

use bytes::{Buf, Bytes, BytesMut};
use postgres_protocol::IsNull;
use postgres_protocol::message::frontend::{self, BindError, CopyData};

use crate::error::{Error, ErrorKind};
use crate::framing::HEAD_BYTES;

/// The longest message of rows, in bytes. The rows go to the socket in pieces of this size.
pub(crate) const CHUNK_BYTES: usize = 64 * 1024;

/// The server is to return no columns: the statements of a pipelined COPY have none.
const NO_RESULT: [i16; 0] = [];
/// Every parameter is binary.
const BINARY: i16 = 1;

/// Statements, and a COPY FROM STDIN with its data, for [`Connection::copy`](crate::Connection::copy).
///
/// The driver can do all this, but ends every statement with a Sync of its own, which makes each a transaction and a round
/// trip, and sends no row before the server has asked for rows. Here all messages go out together with one Sync at their
/// end: the server runs them as one transaction, and commits it at the Sync, or skips the rest at the first error
/// ([Pipelining](https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-FLOW-PIPELINING)).
///
/// Statements are named by the caller and prepared along with their first use; the server keeps them until the connection
/// ends. After a failure it is not known which of them were prepared: prepare them again, which is always allowed.
///
/// # Example
///
/// ```
/// use bytes::Bytes;
/// use howdah_connect::PipelinedCopy;
///
/// let rows = vec![Bytes::from_static(b"1\tone\n"), Bytes::from_static(b"2\ttwo\n")];
/// let mut copy = PipelinedCopy::new("copy_rows", rows);
/// copy.prepare("copy_rows", "COPY numbers FROM STDIN")?;
/// copy.run("SET LOCAL lock_timeout = '2s'")?;
/// # Ok::<(), howdah_connect::Error>(())
/// ```
#[derive(Debug)]
pub struct PipelinedCopy {
    /// The messages up to the COPY's own Bind and Execute.
    before: BytesMut,
    /// The tags of the server's answers to them, in order.
    answers: Vec<u8>,
    statement: String,
    data: Pieces,
}

impl PipelinedCopy {
    /// A COPY by the prepared `statement`, and all of its data in the format that the statement names: for a binary COPY
    /// with header and trailer. The pieces may be cut anywhere.
    pub fn new(statement: impl Into<String>, data: impl IntoIterator<Item = Bytes>) -> PipelinedCopy {
        PipelinedCopy {
            before: BytesMut::new(),
            answers: Vec::new(),
            statement: statement.into(),
            data: Pieces::new(data),
        }
    }

    /// Prepares a statement under a name, in place of any statement that has it.
    ///
    /// # Errors
    /// [`ErrorKind::Unsendable`]: the name or the SQL has a NUL in it, or is longer than a message can be (2 GiB).
    pub fn prepare(&mut self, name: &str, sql: &str) -> Result<(), Error> {
        self.append([CLOSE_COMPLETE, PARSE_COMPLETE], |out| {
            frontend::close(b'S', name, out).map_err(unsendable)?;
            frontend::parse(name, sql, [], out).map_err(unsendable)
        })
    }

    /// Executes a prepared statement that returns no rows, with parameters of type `bigint`.
    ///
    /// # Errors
    /// [`ErrorKind::Unsendable`]: the name has a NUL in it, or there are more than 65,535 parameters.
    pub fn execute(&mut self, name: &str, parameters: &[i64]) -> Result<(), Error> {
        self.append([BIND_COMPLETE, COMMAND_COMPLETE], |out| bind_and_execute(name, parameters, out))
    }

    /// Executes SQL that returns no rows: one statement.
    ///
    /// # Errors
    /// [`ErrorKind::Unsendable`]: the SQL has a NUL in it, or is longer than a message can be (2 GiB).
    pub fn run(&mut self, sql: &str) -> Result<(), Error> {
        self.prepare("", sql)?;
        self.execute("", &[])
    }

    /// Appends messages with the tags of their answers; after an error nothing of them is left, not even half a message.
    fn append(
        &mut self,
        answers: [u8; 2],
        write: impl FnOnce(&mut BytesMut) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let complete = self.before.len();
        let written = write(&mut self.before);
        match written {
            Ok(()) => self.answers.extend(answers),
            Err(_) => self.before.truncate(complete),
        }
        written
    }

    /// Closes the list of statements with the COPY's own, so that nothing can fail any more once it is being sent.
    pub(crate) fn seal(mut self) -> Result<Sealed, Error> {
        let statement = std::mem::take(&mut self.statement);
        self.append([BIND_COMPLETE, COPY_IN_RESPONSE], |out| bind_and_execute(&statement, &[], out))?;
        Ok(Sealed { before: self.before, answers: self.answers, data: self.data })
    }
}

/// The tags of the server's answers.
pub(crate) const CLOSE_COMPLETE: u8 = b'3';
pub(crate) const PARSE_COMPLETE: u8 = b'1';
pub(crate) const BIND_COMPLETE: u8 = b'2';
pub(crate) const COMMAND_COMPLETE: u8 = b'C';
pub(crate) const COPY_IN_RESPONSE: u8 = b'G';

/// A pipelined COPY that is ready to be sent.
#[derive(Debug)]
pub(crate) struct Sealed {
    /// All messages before the data.
    pub(crate) before: BytesMut,
    /// The tags of the server's answers to them; the COPY's own CommandComplete and ReadyForQuery follow.
    pub(crate) answers: Vec<u8>,
    pub(crate) data: Pieces,
}

/// The data of a COPY as one buffer.
#[derive(Debug)]
pub(crate) struct Pieces {
    /// Empty only when nothing is left.
    current: Bytes,
    others: std::vec::IntoIter<Bytes>,
    remaining: usize,
}

impl Pieces {
    fn new(pieces: impl IntoIterator<Item = Bytes>) -> Pieces {
        let pieces: Vec<Bytes> = pieces.into_iter().filter(|piece| !piece.is_empty()).collect();
        let remaining = pieces.iter().map(Bytes::len).sum();
        let mut others = pieces.into_iter();
        Pieces { current: others.next().unwrap_or_default(), others, remaining }
    }

    /// Appends the next message of data; behind the last one, that the data is complete, and the Sync. Whether that was all.
    pub(crate) fn write_next(&mut self, out: &mut BytesMut) -> std::io::Result<bool> {
        if self.has_remaining() {
            CopyData::new((&mut *self).take(CHUNK_BYTES - HEAD_BYTES))?.write(out);
        }
        if self.has_remaining() {
            return Ok(false);
        }
        frontend::copy_done(out);
        frontend::sync(out);
        Ok(true)
    }
}

impl Buf for Pieces {
    fn remaining(&self) -> usize {
        self.remaining
    }

    fn chunk(&self) -> &[u8] {
        &self.current
    }

    fn advance(&mut self, count: usize) {
        let mut left = count;
        while left > 0 {
            let step = left.min(self.current.len());
            self.current.advance(step);
            left -= step;
            if self.current.is_empty() {
                self.current = self.others.next().unwrap_or_default();
                assert!(left == 0 || !self.current.is_empty(), "advanced past the end");
            }
        }
        self.remaining -= count;
    }
}

fn bind_and_execute(statement: &str, parameters: &[i64], out: &mut BytesMut) -> Result<(), Error> {
    let value = |value: &i64, out: &mut BytesMut| {
        bytes::BufMut::put_i64(out, *value);
        Ok(IsNull::No)
    };
    frontend::bind("", statement, [BINARY], parameters, value, NO_RESULT, out).map_err(
        |error| match error {
            BindError::Serialization(error) => unsendable(error),
            BindError::Conversion(error) => Error::new(ErrorKind::Unsendable, error.to_string()),
        },
    )?;
    frontend::execute("", 0, out).map_err(unsendable)
}

fn unsendable(error: std::io::Error) -> Error {
    Error::new(ErrorKind::Unsendable, format!("a statement cannot be sent: {error}")).caused_by(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_that_no_message_can_carry_is_an_error_and_not_another_statement() {
        let mut copy = PipelinedCopy::new("copy", []);
        for refused in [
            copy.prepare("a\0b", "select 1"),
            copy.prepare("a", "select '\0'"),
            copy.run("select '\0'"),
            copy.execute("\0", &[]),
            copy.execute("a", &vec![0; 65_536]),
            PipelinedCopy::new("\0", []).seal().map(|_| ()),
        ] {
            assert_eq!(refused.unwrap_err().kind(), ErrorKind::Unsendable);
        }
        assert!(copy.before.is_empty() && copy.answers.is_empty(), "half a message is left: {copy:?}");
    }

    #[test]
    fn data_goes_in_messages_that_fit_however_it_was_cut() {
        let whole = Bytes::from((0..200_000_u32).flat_map(u32::to_le_bytes).collect::<Vec<u8>>());
        for piece in [1_000, CHUNK_BYTES - HEAD_BYTES, CHUNK_BYTES, whole.len()] {
            let cut = whole.chunks(piece).flat_map(|piece| [Bytes::copy_from_slice(piece), Bytes::new()]);
            let (mut data, mut copied) = (Pieces::new(cut), Vec::new());
            loop {
                let mut out = BytesMut::new();
                let is_last = data.write_next(&mut out).unwrap();
                assert_eq!(out[0], b'd');
                let length = usize::try_from(u32::from_be_bytes(out[1..5].try_into().unwrap())).unwrap();
                assert!(length < CHUNK_BYTES);
                copied.extend_from_slice(&out[HEAD_BYTES..=length]);
                if is_last {
                    assert_eq!(&out[length + 1..], b"c\0\0\0\x04S\0\0\0\x04");
                    break;
                }
                assert_eq!(out.len(), length + 1);
            }
            assert!(copied == whole, "in pieces of {piece}");
        }
    }

    #[test]
    fn a_copy_without_data_is_complete_at_once() {
        let mut out = BytesMut::new();
        assert!(Pieces::new([Bytes::new()]).write_next(&mut out).unwrap());
        assert_eq!(&out[..], b"c\0\0\0\x04S\0\0\0\x04");
    }
}
