//! A chunk: encoded rows and where they came from. The unit of queueing, sending and progress.

use std::sync::Arc;

use bytes::Bytes;
use howdah_source::Span;
use howdah_source::batches::BatchPlace;
use howdah_source::{Eol, Origin};

use crate::error::Location;
use crate::plan::row_form::RowForm;

/// Encoded rows of one morsel of input.
#[derive(Debug)]
pub(crate) struct Chunk {
    /// Whole rows, without COPY's header and trailer.
    pub(crate) bytes: Bytes,
    /// What the bytes are.
    pub(crate) form: RowForm,
    /// Where each row came from.
    pub(crate) rows: RowOrigins,
}

/// The place of a record in the input, as a number that grows with it: its morsel, and where it starts in that.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Ordinal(pub(crate) u64);

impl Ordinal {
    /// The record that starts at byte, or row, `start` of the morsel `ordinal`.
    pub(crate) fn new(ordinal: u64, start: usize) -> Self {
        // A morsel has less than 2^31 bytes, or rows.
        Ordinal((ordinal << 32) | start as u64)
    }

    /// The ordinal of the morsel.
    pub(crate) fn morsel(self) -> u64 {
        self.0 >> 32
    }

    /// The first byte of the record in its piece, or the row in its batch.
    pub(crate) fn start(self) -> usize {
        usize::try_from(self.0 & u64::from(u32::MAX)).unwrap_or(usize::MAX)
    }
}

/// Leads the n-th row of a chunk back to its record in the input.
#[derive(Debug)]
pub(crate) struct RowOrigins {
    origin: MorselOrigin,
    /// Offset of each record in the piece, or its number in the batch.
    starts: Vec<u32>,
    /// Physical lines before each record; empty while every record so far took one line.
    lines: Vec<u32>,
    /// Records before the first row (the header).
    skipped_lines: u32,
    /// Rows of CSV, from 0, for which COPY counts more than one line, with how many more.
    longer: Vec<(usize, usize)>,
    /// How many more for the first row, if the COPY starts with it.
    first_more: usize,
}

/// Where the rows of a chunk came from.
#[derive(Debug)]
enum MorselOrigin {
    Text(Origin),
    /// And the first row.
    Rows(Arc<BatchPlace>, u64),
}

impl RowOrigins {
    /// Of records of text.
    pub(crate) fn of_text(origin: Origin) -> Self {
        RowOrigins::new(MorselOrigin::Text(origin))
    }

    /// Of rows without lines; `first_row` is that of the morsel.
    pub(crate) fn of_rows(place: Arc<BatchPlace>, first_row: u64) -> Self {
        RowOrigins::new(MorselOrigin::Rows(place, first_row))
    }

    fn new(origin: MorselOrigin) -> Self {
        RowOrigins {
            origin,
            starts: Vec::new(),
            lines: Vec::new(),
            skipped_lines: 0,
            longer: Vec::new(),
            first_more: 0,
        }
    }

    /// Notes the next row's record.
    #[inline]
    pub(crate) fn push(&mut self, record: Span) {
        let lines_before = record.lines_before;
        let row = self.starts.len();
        if row == 0 {
            self.skipped_lines = lines_before;
        }
        if !self.lines.is_empty() {
            self.lines.push(lines_before);
        } else if lines_before as usize != row + self.skipped_lines as usize {
            // The first record that did not take one line: from here on lines are kept one by one.
            self.lines = (0..).map(|n| n + self.skipped_lines).take(row).collect();
            self.lines.push(lines_before);
        }
        #[expect(clippy::cast_possible_truncation, reason = "the cutter holds pieces below 2^31 bytes")]
        self.starts.push(record.start as u32);
    }

    /// Notes the next row's number in the morsel.
    #[inline]
    pub(crate) fn push_row(&mut self, row: u32) {
        self.starts.push(row);
    }

    /// Notes how many more lines than one COPY counts for the last row: line feeds, or carriage returns where these end
    /// records, and also in the first record of all, when COPY does not know yet what does.
    pub(crate) fn note_lines(&mut self, line_feeds: usize, carriage_returns: usize, eol: Eol) {
        let more = if eol == Eol::Nl { line_feeds } else { carriage_returns };
        if self.starts.len() == 1 {
            self.first_more = carriage_returns;
        }
        if more > 0 {
            self.longer.push((self.starts.len() - 1, more));
        }
    }

    /// The row in which COPY counts line `line`, both from 0; or by how many lines it lies behind the last row. The first
    /// chunk of a COPY `starts` it.
    pub(crate) fn row_of_line(&self, line: usize, starts: bool) -> Result<usize, usize> {
        let first = Some((0, self.first_more)).filter(|_| starts);
        let rest = self.longer.iter().copied().filter(|(row, _)| !starts || *row > 0);
        let mut before = 0;
        for (row, more) in first.into_iter().chain(rest) {
            if line <= row + before + more {
                return Ok(row.min(line - before));
            }
            before += more;
        }
        let row = line - before;
        if row < self.starts.len() { Ok(row) } else { Err(row - self.starts.len()) }
    }

    /// How many rows.
    pub(crate) fn len(&self) -> u64 {
        self.starts.len() as u64
    }

    /// Where the record of row `row` (from 0) starts in the morsel.
    pub(crate) fn start(&self, row: usize) -> Option<usize> {
        self.starts.get(row).map(|start| *start as usize)
    }

    /// The record of row `row` (from 0).
    pub(crate) fn locate(&self, row: usize) -> Option<Location> {
        let start = u64::from(*self.starts.get(row)?);
        Some(match &self.origin {
            MorselOrigin::Rows(place, first_row) => place.locate(first_row + start),
            MorselOrigin::Text(origin) => {
                let line = match self.lines.get(row) {
                    Some(line) => u64::from(*line),
                    None => row as u64 + u64::from(self.skipped_lines),
                };
                origin.locate(start, line)
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_found_in_both_forms() {
        let text = b"a\tb\n\\n\tx\n";
        assert_eq!(RowForm::Text.row_ranges(text), [0..4, 4..9]);
        let one = [&[0, 2, 0, 0, 0, 1, b'\n'][..], &[0xff; 4]].concat();
        let two = [one.clone(), one].concat();
        assert_eq!(RowForm::Binary.row_ranges(&two), [0..11, 11..22]);
    }

    #[test]
    fn rows_lead_back_to_their_lines_with_and_without_newlines_in_fields() {
        let origin = Origin { source: "f".into(), byte_offset: 100, first_line: 11, lines: None };
        let mut rows = RowOrigins::of_text(origin);
        // A header took line 11; the second row takes two lines.
        for (start, lines) in [(10, 1), (20, 2), (40, 4), (50, 5)] {
            rows.push(Span { start, end: start, lines_before: lines });
        }
        let at = |row| rows.locate(row).map(|l| (l.line.unwrap(), l.byte_offset.unwrap()));
        assert_eq!(at(0), Some((12, 110)));
        assert_eq!(at(1), Some((13, 120)));
        assert_eq!(at(2), Some((15, 140)));
        assert_eq!(at(3), Some((16, 150)));
        assert_eq!(at(4), None);
    }

    #[test]
    fn a_line_that_copy_counts_leads_to_the_row_that_has_it() {
        let origin = Origin { source: "f".into(), byte_offset: 0, first_line: 1, lines: None };
        let mut rows = RowOrigins::of_text(origin);
        for (start, more) in [(0, 0), (1, 2), (4, 0), (5, 1)] {
            rows.push(Span { start, end: start, lines_before: 0 });
            rows.note_lines(more, usize::from(start == 0), Eol::Nl);
        }
        // Lines: 0 | 1 2 3 | 4 | 5 6
        let found: Vec<_> = (0..9).map(|line| rows.row_of_line(line, false)).collect();
        assert_eq!(found, [Ok(0), Ok(1), Ok(1), Ok(1), Ok(2), Ok(3), Ok(3), Err(0), Err(1)]);
        // Lines: 0 1 | 2 3 4 | 5 | 6 7
        assert_eq!([1, 2, 7].map(|line| rows.row_of_line(line, true)), [Ok(0), Ok(1), Ok(3)]);
    }
}
