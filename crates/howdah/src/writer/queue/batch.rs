//! Rows on their way through the queue: one that is to be queued, those that share an acknowledgement, those of a batch.

use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;

use crate::rows::OpenField;
use crate::writer::ack::Group;
use crate::writer::lanes::Lane;
use crate::writer::ledger::Tag;
use crate::writer::statistics::Reason;
use crate::writer::unreported::UnreportedFailures;

/// Rows that share a [`Group`], at the most: few enough that a batch can be cut where it is due, many enough that a row
/// costs no allocation.
pub(super) const SEGMENT_ROWS: usize = 64;
// A group has a bit for each.
const _: () = assert!(SEGMENT_ROWS <= u64::BITS as usize);

/// So many bytes end a segment too.
pub(super) const SEGMENT_BYTES: usize = 256 * 1024;

/// A row that is to be queued.
#[derive(Clone)]
pub(in crate::writer) struct NewRow<'r> {
    pub(in crate::writer) bytes: &'r [u8],
    pub(in crate::writer) open: &'r [OpenField],
    pub(in crate::writer) lane: Lane,
    /// What it is to whoever keeps something in step with rows: all rows of a writer have one, or none.
    pub(in crate::writer) tag: Option<Tag>,
    pub(in crate::writer) wants_ack: bool,
}

/// Rows that were written one after the other, and are settled together.
pub(in crate::writer) struct Segment {
    pub(super) id: u64,
    pub(super) lane: usize,
    pub(in crate::writer) tags: Vec<Tag>,
    pub(in crate::writer) bytes: Vec<u8>,
    /// Where each row ends in `bytes`.
    pub(in crate::writer) ends: Vec<usize>,
    /// Literals that the server has to read, by the row's number.
    pub(in crate::writer) open: Vec<(usize, OpenField)>,
    pub(in crate::writer) group: Arc<Group>,
    pub(in crate::writer) first: Instant,
    pub(in crate::writer) last: Instant,
}

impl Segment {
    pub(super) fn new(id: u64, lane: usize, now: Instant, unreported: Arc<UnreportedFailures>) -> Segment {
        let (bytes, ends, open, tags) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let group = Arc::new(Group::new(unreported));
        Segment { id, lane, tags, bytes, ends, open, group, first: now, last: now }
    }

    pub(in crate::writer) fn rows(&self) -> usize {
        self.ends.len()
    }
}

/// What one transaction is made of.
pub(in crate::writer) struct Batch {
    pub(in crate::writer) segments: Vec<Segment>,
    pub(in crate::writer) reason: Reason,
}

impl Batch {
    pub(in crate::writer) fn rows(&self) -> usize {
        self.segments.iter().map(Segment::rows).sum()
    }

    pub(in crate::writer) fn bytes(&self) -> usize {
        self.segments.iter().map(|segment| segment.bytes.len()).sum()
    }

    /// The lane of all of them.
    pub(in crate::writer) fn lane(&self) -> usize {
        self.segments.first().map_or(0, |segment| segment.lane)
    }

    /// What rows are to whoever keeps something in step with them.
    pub(in crate::writer) fn tags(&self) -> Vec<Tag> {
        self.segments.iter().flat_map(|segment| segment.tags.iter().cloned()).collect()
    }

    /// Each row by itself, without copying.
    pub(in crate::writer) fn split(self) -> (Vec<Bytes>, Vec<SentSegment>) {
        let mut rows = Vec::with_capacity(self.rows());
        let mut settling = Vec::with_capacity(self.segments.len());
        for segment in self.segments {
            let (whole, mut start) = (Bytes::from(segment.bytes), 0);
            settling.push(SentSegment {
                id: segment.id,
                lane: segment.lane,
                rows: segment.ends.len(),
                bytes: whole.len(),
                group: segment.group,
                first: segment.first,
                last: segment.last,
            });
            for end in segment.ends {
                rows.push(whole.slice(start..end));
                start = end;
            }
        }
        (rows, settling)
    }
}

/// A segment of which only the end is awaited.
pub(in crate::writer) struct SentSegment {
    pub(super) id: u64,
    pub(super) lane: usize,
    pub(in crate::writer) rows: usize,
    pub(in crate::writer) bytes: usize,
    pub(in crate::writer) group: Arc<Group>,
    pub(in crate::writer) first: Instant,
    pub(in crate::writer) last: Instant,
}
