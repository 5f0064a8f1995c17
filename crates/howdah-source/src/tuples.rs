//! Binary COPY files: cut into pieces of whole rows, whose fields travel as they are.

use std::collections::VecDeque;
use std::io::Read;
use std::sync::Arc;

use howdah_message::setting;

use crate::batches::BatchPlace;
use crate::error::{Error, ErrorKind, Location};
use crate::open::{Input, cannot_read};
use crate::progress::{Progress, Reading};
use crate::text::piece::PIECE_BYTES;
use crate::text::record_ends::MAX_RECORD_BYTES;

/// The first bytes of a binary COPY file: <https://www.postgresql.org/docs/18/sql-copy.html#SQL-COPY-BINARY-FORMAT>.
pub const SIGNATURE: &[u8] = b"PGCOPY\n\xff\r\n\0";

/// Behind the signature: flags, and the length of the header's extension.
const HEADER_BYTES: usize = 8;

/// Of the flags, those that a reader must know; and the one of them that there was once, for OIDs.
const CRITICAL: u32 = 0xffff_0000;
const WITH_OIDS: u32 = 1 << 16;

/// Whole rows of one input.
#[derive(Debug)]
pub struct Tuples {
    bytes: Vec<u8>,
    /// Where each row's fields start and end; its field count stands before them.
    fields: Vec<(u32, u32)>,
    /// Where the rows stand.
    pub place: Arc<BatchPlace>,
    /// Of the input, from 0.
    pub first_row: u64,
    /// Counts the pieces of a load from 0, in input order.
    pub ordinal: u64,
}

impl Tuples {
    /// The fields of every row, each with its length.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        self.fields.iter().map(|(start, end)| &self.bytes[*start as usize..*end as usize])
    }

    /// Row `row` (from 0) as it stood in the input, with its field count.
    pub fn raw(&self, row: usize) -> Option<Vec<u8>> {
        let (start, end) = *self.fields.get(row)?;
        Some(self.bytes[start as usize - 2..end as usize].to_vec())
    }

    /// Where row `row` (from 0) stands.
    pub fn locate(&self, row: usize) -> Location {
        self.place.locate(self.first_row + row as u64)
    }

    /// The memory, for the next piece; what one huge row blew up is let go.
    pub fn into_spare(self) -> Vec<u8> {
        if self.bytes.capacity() > 4 * PIECE_BYTES { Vec::new() } else { self.bytes }
    }
}

/// Reads inputs in order and cuts them.
pub struct TupleCutter {
    progress: Progress,
    of: usize,
    waiting: VecDeque<Input>,
    current: Option<TupleInput>,
    /// Rows still wanted.
    limit: Option<u64>,
    /// Fields of every row, once the plan says it.
    columns: usize,
    pieces: u64,
}

struct TupleInput {
    reader: Box<dyn Read + Send>,
    place: Arc<BatchPlace>,
    /// What was read behind the last cut.
    tail: Vec<u8>,
    row: u64,
    ended: bool,
}

impl TupleCutter {
    /// Over inputs of which nothing was read yet.
    pub fn new(inputs: Vec<Input>, progress: Progress) -> Self {
        TupleCutter {
            progress,
            of: inputs.len(),
            waiting: inputs.into(),
            current: None,
            limit: None,
            columns: 0,
            pieces: 0,
        }
    }

    /// Every row must have so many fields.
    pub fn expect(&mut self, columns: usize) {
        self.columns = columns;
    }

    /// The number of fields of the first row; nothing is taken.
    ///
    /// # Errors
    /// An input that cannot be read, or is no binary COPY file.
    pub fn peek(&mut self) -> Result<Option<usize>, Error> {
        loop {
            if let Some(current) = &mut self.current {
                current.read_to(2)?;
                match field_count(&current.tail) {
                    Some(-1) => {
                        current.ended = true;
                        current.check_end()?;
                    }
                    // What is not there, or makes no sense, is said when it is cut.
                    count => return Ok(count.and_then(|count| usize::try_from(count).ok())),
                }
            }
            if !self.open_next()? {
                return Ok(None);
            }
        }
    }

    /// Stops after so many rows.
    pub fn limit(&mut self, rows: Option<u64>) {
        self.limit = rows;
    }

    /// The next piece, in `spare`'s memory; `None` at the end of the last input.
    ///
    /// # Errors
    /// An input that cannot be read, or is no binary COPY file as the server would take it.
    pub fn cut(&mut self, mut spare: Vec<u8>) -> Result<Option<Tuples>, Error> {
        loop {
            if self.limit == Some(0) {
                return Ok(None);
            }
            if let Some(current) = &mut self.current
                && !current.ended
            {
                let most = self.limit.unwrap_or(u64::MAX);
                let piece = current.cut(std::mem::take(&mut spare), self.columns, most)?;
                if !piece.fields.is_empty() {
                    let rows = piece.fields.len() as u64;
                    self.limit = self.limit.map(|left| left - rows);
                    self.pieces += 1;
                    return Ok(Some(Tuples { ordinal: self.pieces - 1, ..piece }));
                }
                spare = piece.into_spare();
                continue;
            }
            if !self.open_next()? {
                return Ok(None);
            }
        }
    }

    fn open_next(&mut self) -> Result<bool, Error> {
        let Some(input) = self.waiting.pop_front() else { return Ok(false) };
        let current = TupleInput::open(&input, &self.progress)?;
        let number = self.of - self.waiting.len();
        self.progress.enter_input(Reading { name: input.name.clone(), number, of: self.of });
        self.current = Some(current);
        Ok(true)
    }
}

/// The field count at the start of `bytes`.
fn field_count(bytes: &[u8]) -> Option<i16> {
    bytes.first_chunk().map(|count| i16::from_be_bytes(*count))
}

impl TupleInput {
    /// Opens `input` and reads its header.
    fn open(input: &Input, progress: &Progress) -> Result<Self, Error> {
        let reader = input.content(progress)?;
        let place = Arc::new(BatchPlace { source: input.name.clone(), row_group: None });
        let mut this = TupleInput { reader, place, tail: Vec::new(), row: 0, ended: false };
        this.read_to(SIGNATURE.len() + HEADER_BYTES)?;
        let Some(header) = this.tail.strip_prefix(SIGNATURE) else {
            return Err(this.refuse("COPY file signature not recognized").with_hint(message![
                "is it text? ",
                setting::FORMAT.word("csv"),
                ", ",
                setting::FORMAT.word("text")
            ]));
        };
        let word = |at: usize| header.get(at..).and_then(|rest| rest.first_chunk()).copied();
        let (Some(flags), Some(extension)) = (word(0), word(4)) else {
            return Err(this.refuse("invalid COPY file header (missing length)"));
        };
        let flags = u32::from_be_bytes(flags);
        if flags & WITH_OIDS != 0 {
            return Err(this.refuse("invalid COPY file header (WITH OIDS)"));
        }
        if flags & CRITICAL != 0 {
            return Err(this.refuse("unrecognized critical flags in COPY file header"));
        }
        let Ok(extension) = usize::try_from(i32::from_be_bytes(extension)) else {
            return Err(this.refuse("invalid COPY file header (missing length)"));
        };
        this.tail.drain(..SIGNATURE.len() + HEADER_BYTES);
        this.skip(extension)?;
        Ok(this)
    }

    /// Passes over the header's extension, whose length may be a lie.
    fn skip(&mut self, mut bytes: usize) -> Result<(), Error> {
        while bytes > 0 {
            let step = bytes.min(PIECE_BYTES);
            self.read_to(step)?;
            if self.tail.len() < step {
                return Err(self.refuse("invalid COPY file header (wrong length)"));
            }
            self.tail.drain(..step);
            bytes -= step;
        }
        Ok(())
    }

    /// Reads until `wanted` bytes are at hand, or the input ends.
    fn read_to(&mut self, wanted: usize) -> Result<(), Error> {
        let missing = wanted.saturating_sub(self.tail.len());
        // Memory grows with what is read, and not with what a length says.
        let read = (&mut self.reader).take(missing as u64).read_to_end(&mut self.tail);
        read.map(drop).map_err(|error| cannot_read(&self.place.source, error))
    }

    /// As many whole rows as a piece takes, `most` at most; none at the end.
    fn cut(&mut self, mut bytes: Vec<u8>, columns: usize, most: u64) -> Result<Tuples, Error> {
        let mut wanted = PIECE_BYTES;
        let mut fields = Vec::new();
        let end = loop {
            self.read_to(wanted)?;
            let is_whole = self.tail.len() < wanted;
            let mut at = 0;
            fields.clear();
            while (fields.len() as u64) < most {
                let row = self.row + fields.len() as u64;
                match row_end(&self.tail[at..], columns) {
                    Ok(Next::Row(length)) => {
                        // A piece has less than 2^31 bytes.
                        let place = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
                        fields.push((place(at + 2), place(at + length)));
                        at += length;
                    }
                    Ok(Next::End) => {
                        self.ended = true;
                        break;
                    }
                    Ok(Next::More) if is_whole => {
                        let error = Error::new(ErrorKind::Data, "unexpected EOF in COPY data");
                        return Err(error.with_sqlstate("22P04").at(self.place.locate(row)));
                    }
                    Ok(Next::More) => break,
                    Err(reason) => {
                        let error = Error::new(ErrorKind::Data, reason);
                        return Err(error.with_sqlstate("22P04").at(self.place.locate(row)));
                    }
                }
            }
            if !fields.is_empty() || self.ended {
                break at;
            }
            if wanted >= MAX_RECORD_BYTES {
                let error =
                    Error::new(ErrorKind::Data, "the row has 1 GiB or more, which PostgreSQL cannot take");
                return Err(error.with_sqlstate("54000").at(self.place.locate(self.row)));
            }
            wanted = wanted.saturating_mul(2).min(MAX_RECORD_BYTES);
        };
        bytes.clear();
        bytes.extend_from_slice(&self.tail[..end]);
        self.tail.drain(..end);
        if self.ended {
            self.check_end()?;
        }
        let first_row = self.row;
        self.row += fields.len() as u64;
        Ok(Tuples { bytes, fields, place: self.place.clone(), first_row, ordinal: 0 })
    }

    /// Behind the trailer there is nothing.
    fn check_end(&mut self) -> Result<(), Error> {
        self.read_to(3)?;
        if self.tail.len() > 2 {
            return Err(self.refuse("received copy data after EOF marker"));
        }
        Ok(())
    }

    fn refuse(&self, reason: &str) -> Error {
        Error::new(ErrorKind::Source, format!("cannot read {}: {reason}", self.place.source))
            .with_sqlstate("22P04")
    }
}

/// What stands at the start of some bytes.
enum Next {
    /// A row of so many bytes.
    Row(usize),
    /// The trailer.
    End,
    /// A part of a row.
    More,
}

fn row_end(bytes: &[u8], columns: usize) -> Result<Next, String> {
    let Some(count) = field_count(bytes) else { return Ok(Next::More) };
    if count == -1 {
        return Ok(Next::End);
    }
    if usize::try_from(count) != Ok(columns) {
        return Err(format!("row field count is {count}, expected {columns}"));
    }
    let mut at = 2;
    for _ in 0..columns {
        let Some(length) = bytes.get(at..).and_then(|rest| rest.first_chunk()) else { return Ok(Next::More) };
        at += 4;
        match i32::from_be_bytes(*length) {
            -1 => {}
            length => match usize::try_from(length) {
                Ok(length) => at = at.saturating_add(length),
                Err(_) => return Err("invalid field size".to_owned()),
            },
        }
    }
    Ok(if at <= bytes.len() { Next::Row(at) } else { Next::More })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(rows: &[&[u8]]) -> Vec<u8> {
        [SIGNATURE, &[0; 8], &rows.concat(), &[0xff, 0xff]].concat()
    }

    fn cut_all(bytes: Vec<u8>, columns: usize, limit: Option<u64>) -> Result<Vec<Vec<u8>>, Error> {
        let input = Input::memory("f", bytes.into());
        let mut cutter = TupleCutter::new(vec![input], Progress::new());
        cutter.expect(columns);
        cutter.limit(limit);
        let mut rows = Vec::new();
        while let Some(piece) = cutter.cut(Vec::new())? {
            rows.extend(piece.rows().map(<[u8]>::to_vec));
        }
        Ok(rows)
    }

    const ONE: &[u8] = &[0, 2, 0, 0, 0, 1, b'x', 0xff, 0xff, 0xff, 0xff];
    const TWO: &[u8] = &[0, 2, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0];

    #[test]
    fn rows_are_cut_whole_and_the_trailer_ends_them() {
        let rows = cut_all(file(&[ONE, TWO, ONE]), 2, None).unwrap();
        assert_eq!(rows, [&ONE[2..], &TWO[2..], &ONE[2..]]);
        assert_eq!(cut_all(file(&[ONE, TWO, ONE]), 2, Some(2)).unwrap().len(), 2);
        assert!(cut_all(file(&[]), 2, None).unwrap().is_empty());
    }

    #[test]
    fn no_cut_and_no_flipped_byte_is_believed_or_makes_it_panic() {
        let whole = file(&[ONE, TWO]);
        for length in 0..whole.len() {
            let _ = cut_all(whole[..length].to_vec(), 2, None);
            for mask in [0x80, 0xff, 1] {
                let mut flipped = whole.clone();
                flipped[length] ^= mask;
                let _ = cut_all(flipped, 2, None);
            }
        }
        // Without its trailer the file may be a part of another one.
        let message = |bytes: &[u8]| cut_all(bytes.to_vec(), 2, None).unwrap_err().message().to_owned();
        assert_eq!(message(&whole[..whole.len() - 2]), "unexpected EOF in COPY data");
        assert!(message(&[&whole[..], b"x"].concat()).contains("after EOF marker"));
        assert!(message(b"id,name\n1,2\n").contains("signature"));
        let huge = [SIGNATURE, &[0; 4], &[0x7f, 0xff, 0xff, 0xff]].concat();
        assert!(message(&huge).contains("wrong length"));
        let long = [SIGNATURE, &[0; 8], &[0, 2, 0x7f, 0xff, 0xff, 0xff]].concat();
        assert_eq!(message(&long), "unexpected EOF in COPY data");
    }
}
