//! The parts of a shared load: they follow from the inputs alone, so that all processes agree on them.

use std::ops::Range;
use std::sync::Arc;

use howdah_source::batches::{Batches, InputPart};
use howdah_source::{Input, MorselSource};

use crate::error::Error;
use crate::load::Load;
use crate::plan::Plan;

/// Row groups of one Parquet file are one part until they hold so many rows: about a second's work, beside which a
/// transaction of its own costs nothing.
const ENOUGH_ROWS: u64 = 1_000_000;

/// What one process takes at a time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SharedPart {
    /// The input's name.
    pub(super) input: String,
    /// Which row groups of it; `None`: all of it.
    pub(super) row_groups: Option<Range<usize>>,
    /// What tells the input from another of that name.
    pub(super) version: String,
    /// About so many of it.
    pub(super) bytes: u64,
}

/// All parts, and where their records come from.
pub(super) struct SharedParts {
    pub(super) list: Vec<SharedPart>,
    source: PartRecords,
}

enum PartRecords {
    /// Each part is one of the load's inputs.
    Inputs,
    /// Each part is one of these.
    Batches(Arc<Batches>, Vec<InputPart>),
}

impl SharedPart {
    /// As a person reads it.
    pub(super) fn name(&self) -> String {
        match &self.row_groups {
            None => self.input.clone(),
            Some(groups) if groups.len() == 1 => format!("{} (row group {})", self.input, groups.start),
            Some(groups) => format!("{} (row groups {} to {})", self.input, groups.start, groups.end - 1),
        }
    }
}

/// How many parts, in words.
pub(super) fn counted(parts: u64) -> String {
    format!("{parts} {}", if parts == 1 { "part" } else { "parts" })
}

impl SharedParts {
    /// The parts of `inputs`, which `morsels` reads as the plan has it.
    ///
    /// # Errors
    /// An input that only this process can read.
    pub(super) fn of(inputs: &[Input], morsels: MorselSource) -> Result<SharedParts, Error> {
        let whole = |input: &Input| {
            let version = input.version().ok_or_else(Error::bug)?;
            let bytes = input.size().unwrap_or_default();
            Ok(SharedPart { input: input.name.to_string(), row_groups: None, version, bytes })
        };
        let whole = inputs.iter().map(whole).collect::<Result<Vec<SharedPart>, Error>>()?;
        let MorselSource::Rows(batches) = morsels else {
            return Ok(SharedParts { list: whole, source: PartRecords::Inputs });
        };
        let parts = batches.parts(ENOUGH_ROWS);
        let (mut counts, mut rows) = (vec![0; inputs.len()], vec![0_u64; inputs.len()]);
        for part in &parts {
            counts[part.input] += 1;
            rows[part.input] = rows[part.input].saturating_add(part.rows.unwrap_or_default());
        }
        let list = parts.iter().map(|part| {
            let of = &whole[part.input];
            // A file that is one part is called by its name.
            let is_all = counts[part.input] == 1;
            let share = u128::from(of.bytes) * u128::from(part.rows.unwrap_or_default())
                / u128::from(rows[part.input].max(1));
            SharedPart {
                row_groups: part.row_groups.clone().filter(|_| !is_all),
                bytes: if is_all { of.bytes } else { u64::try_from(share).unwrap_or(of.bytes) },
                ..of.clone()
            }
        });
        Ok(SharedParts { list: list.collect(), source: PartRecords::Batches(Arc::new(batches), parts) })
    }

    /// The records of part `at`.
    pub(super) fn records(&self, at: usize, load: &Load<'_>, plan: &Plan) -> MorselSource {
        match &self.source {
            PartRecords::Inputs => {
                let progress = load.control.progress().clone();
                load.supply(&load.inputs[at..=at], plan, progress, true)
            }
            PartRecords::Batches(batches, parts) => MorselSource::Part(batches.part(&parts[at])),
        }
    }
}
