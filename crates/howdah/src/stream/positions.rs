//! Where records stand among all bytes of a stream that were ever read, for the place that the database keeps: offsets count on from
//! file to file.

use std::ops::Range;

use howdah_source::{Piece, Span};

use super::place::Place;
use super::state_table::SharedTable;
use super::trace::FileMark;
use crate::error::Error;
use crate::writer::Tag;

/// Counts, if there is a place in the database to count for.
pub(super) struct Positions {
    table: Option<SharedTable>,
    /// That of the file that is read; `None`: it is yet to be entered.
    base: Option<i64>,
    /// Behind what was read last.
    read: i64,
    /// Where the last record ended.
    tagged: i64,
    /// What earlier streams have settled, in order.
    settled: Vec<Range<i64>>,
}

impl Positions {
    /// From a place on, the file of which is known and has been read up to `read`.
    pub(super) fn new(table: Option<SharedTable>, start: &Place, read: u64) -> Positions {
        let settled = table.as_ref().map(SharedTable::settled).unwrap_or_default();
        let at = |offset| start.base + i64::try_from(offset).unwrap_or(i64::MAX);
        Positions { table, base: Some(start.base), read: at(read), tagged: at(start.offset), settled }
    }

    /// See [`Place::base`].
    pub(super) fn base(&self) -> i64 {
        self.base.unwrap_or(self.read)
    }

    /// `file` has been read up to `offset`.
    ///
    /// # Errors
    /// Its base cannot be noted.
    pub(super) fn read(&mut self, file: Option<&FileMark>, offset: u64) -> Result<(), Error> {
        let Some(table) = &self.table else { return Ok(()) };
        if let (None, Some(file)) = (self.base, file) {
            let base = table.enter(file, self.read)?;
            (self.base, self.tagged) = (Some(base), base);
        }
        self.read = self.base() + i64::try_from(offset).unwrap_or(i64::MAX);
        Ok(())
    }

    /// What is read from now on is another file.
    pub(super) fn leave(&mut self) {
        self.base = None;
    }

    /// What a record settles: it begins where the last one ended, so that neighbours are one range.
    pub(super) fn tag(&mut self, piece: &Piece, span: Span) -> Option<Tag> {
        self.table.as_ref()?;
        let end = piece.origin.byte_offset + span.end as u64;
        let end = self.base() + i64::try_from(end).unwrap_or(i64::MAX);
        let start = std::mem::replace(&mut self.tagged, end);
        Some(start..end)
    }

    /// Whether a record is in the table, or never will be, by what an earlier stream did.
    pub(super) fn is_settled(&self, tag: Option<&Tag>) -> bool {
        let Some(last) = tag.map(|tag| tag.end - 1) else { return false };
        let at = self.settled.partition_point(|range| range.end <= last);
        self.settled.get(at).is_some_and(|range| range.contains(&last))
    }
}
