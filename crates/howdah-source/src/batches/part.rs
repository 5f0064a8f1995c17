//! What of the inputs can be read by itself: consecutive row groups of one Parquet file, else all of one input. Parts follow
//! from the inputs alone, so that several processes agree on them.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use super::origin::Part;
use super::scan::{OpenScan, Scan, Step};
use super::{Batch, Batches};
use crate::error::Error;

/// A part of the inputs.
#[derive(Debug, Clone)]
pub struct InputPart {
    /// Which input, from 0.
    pub input: usize,
    /// Which row groups of it; `None`: it has none, or nobody cuts it.
    pub row_groups: Option<Range<usize>>,
    /// Its rows, where the input's metadata tell.
    pub rows: Option<u64>,
    steps: VecDeque<Step>,
}

/// The batches of one part, which one worker reads in order.
pub struct BatchPart {
    batches: Arc<Batches>,
    open: OpenScan,
}

impl InputPart {
    fn of(input: usize) -> Self {
        InputPart { input, row_groups: None, rows: Some(0), steps: VecDeque::new() }
    }

    fn add(&mut self, step: Step) {
        if let Part::RowGroup(at) = step.part_info.part {
            let start = self.row_groups.as_ref().map_or(at, |groups| groups.start);
            self.row_groups = Some(start..at + 1);
        }
        self.rows = self.rows.zip(step.part_info.rows).map(|(rows, more)| rows.saturating_add(more));
        self.steps.push_back(step);
    }
}

impl Batches {
    /// The parts of all inputs, in order: row groups of one file are one part until they hold `enough_rows`.
    pub fn parts(&self, enough_rows: u64) -> Vec<InputPart> {
        let mut parts = Vec::new();
        for (input, origin) in self.common.origins.iter().enumerate() {
            let mut part = InputPart::of(input);
            for part_info in origin.parts(&self.common.arrangements[input].columns) {
                let is_enough = part.rows.is_some_and(|rows| rows >= enough_rows);
                if is_enough && matches!(part_info.part, Part::RowGroup(_)) {
                    parts.push(std::mem::replace(&mut part, InputPart::of(input)));
                }
                part.add(Step { origin: input, part_info });
            }
            parts.push(part);
        }
        parts
    }

    /// Opens one of the [`parts`](Batches::parts), by which nothing is taken from the others.
    pub fn part(self: &Arc<Self>, part: &InputPart) -> BatchPart {
        let scan = Scan { steps: part.steps.clone(), ordinal: 0, keep: None };
        BatchPart { batches: self.clone(), open: OpenScan::new(scan) }
    }
}

impl BatchPart {
    /// The next batch; `None` at the end.
    ///
    /// # Errors
    /// As of [`Batches::next`].
    pub fn next(&self) -> Result<Option<Batch>, Error> {
        match &self.batches.failure {
            Some(failure) => Err(failure.clone()),
            None => self.open.next(&self.batches.common),
        }
    }
}
