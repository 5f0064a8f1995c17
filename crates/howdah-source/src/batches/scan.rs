//! Scans of the input, each read in order by one reader behind a lock; any number of workers take batches from it.

use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arrow_array::{Array, RecordBatch, RecordBatchOptions, StringArray, new_null_array};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::{DataType, SchemaRef};

use super::decoder::{decoded, reason};
use super::limits::rows_per_batch;
use super::origin::{PartInfo, PartRows, ScanInput};
use super::{Batch, BatchPlace};
use crate::error::{Error, ErrorKind};
use crate::progress::{Progress, Reading};

/// Ordinals stay below this.
pub(super) const MOST_BATCHES: u64 = 1 << 31;

/// A part of an input, and which input it is of.
#[derive(Debug, Clone)]
pub(super) struct Step {
    pub(super) origin: usize,
    pub(super) part_info: PartInfo,
}

/// Parts that are read one after the other: a single one, or all from the first on whose batches nobody can count.
#[derive(Debug, Clone)]
pub(super) struct Scan {
    pub(super) steps: VecDeque<Step>,
    /// Of its first batch.
    pub(super) ordinal: u64,
    /// Rows that are wanted; `None`: all.
    pub(super) keep: Option<u64>,
}

/// Where the columns of a batch come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Source {
    /// The column of the input, counted among those that are read.
    Column(usize),
    /// A directory's name; `None` is NULL.
    Key(Option<String>),
    /// The input lacks it.
    Nowhere,
}

/// Which columns of an input are read, and which of a batch they become.
#[derive(Debug, Clone, Default)]
pub(super) struct Arrangement {
    pub(super) columns: Vec<usize>,
    pub(super) sources: Vec<Source>,
}

/// What is the same for all scans.
pub(super) struct Common {
    pub(super) origins: Vec<ScanInput>,
    pub(super) arrangements: Vec<Arrangement>,
    /// Of the batches.
    pub(super) schema: SchemaRef,
    pub(super) progress: Progress,
}

/// A scan that somebody reads.
pub(super) struct OpenScan {
    running: Mutex<Running>,
    is_done: AtomicBool,
}

struct Running {
    scan: Scan,
    current: Option<OpenPart>,
}

/// The part that is being read.
struct OpenPart {
    step: Step,
    place: Arc<BatchPlace>,
    rows: PartRows,
    /// Rows that its reader gave.
    seen: u64,
    /// What the reader gave, and how much of it became batches.
    rest: Option<Rest>,
    /// Of the next batch.
    first_row: u64,
}

struct Rest {
    rows: RecordBatch,
    given: usize,
    batch_rows: usize,
}

impl OpenScan {
    pub(super) fn new(scan: Scan) -> Self {
        OpenScan { running: Mutex::new(Running { scan, current: None }), is_done: AtomicBool::new(false) }
    }

    /// Whether nothing is left of it.
    pub(super) fn is_done(&self) -> bool {
        self.is_done.load(Ordering::Relaxed)
    }

    /// The next batch; `None` at the end, and after a failure.
    pub(super) fn next(&self, common: &Common) -> Result<Option<Batch>, Error> {
        let mut running = self.running.lock();
        if self.is_done() {
            return Ok(None);
        }
        let next = running.next(common);
        if !matches!(next, Ok(Some(_))) {
            self.is_done.store(true, Ordering::Relaxed);
            running.current = None;
        }
        drop(running);
        let Some((step, batch)) = next? else { return Ok(None) };
        let sources = &common.arrangements[step.origin].sources;
        match decoded(|| arrange(&batch.rows, sources, &common.schema)) {
            Ok(rows) => Ok(Some(Batch { rows, ..batch })),
            Err(reason) => {
                self.is_done.store(true, Ordering::Relaxed);
                Err(common.origins[step.origin].cannot_read(&step.part_info, &reason))
            }
        }
    }
}

impl Running {
    /// The next batch, with the columns that its input has, and which part it is of.
    fn next(&mut self, common: &Common) -> Result<Option<(Step, Batch)>, Error> {
        loop {
            if self.scan.keep == Some(0) {
                return Ok(None);
            }
            let Some(current) = &mut self.current else {
                let Some(step) = self.scan.steps.pop_front() else { return Ok(None) };
                self.current = Some(OpenPart::open(step, common)?);
                continue;
            };
            let Some(rows) = current.slice(self.scan.keep) else {
                // A reader may give empty batches without an end.
                if common.progress.is_cancelled() {
                    return Err(Error::cancelled());
                }
                if !current.read(common)? {
                    self.current = None;
                }
                continue;
            };
            let count = rows.num_rows() as u64;
            let ordinal = self.scan.ordinal;
            if ordinal >= MOST_BATCHES {
                return Err(too_many());
            }
            let batch = Batch { rows, place: current.place.clone(), first_row: current.first_row, ordinal };
            current.first_row += count;
            self.scan.ordinal += 1;
            self.scan.keep = self.scan.keep.map(|keep| keep - count);
            return Ok(Some((current.step.clone(), batch)));
        }
    }
}

/// The error of an input with more batches than there are ordinals.
pub(super) fn too_many() -> Error {
    Error::new(ErrorKind::Source, format!("the input has more than {MOST_BATCHES} batches"))
        .with_hint("load it in several runs")
}

impl OpenPart {
    fn open(step: Step, common: &Common) -> Result<Self, Error> {
        let origin = &common.origins[step.origin];
        common.progress.enter_input(Reading {
            name: origin.name.clone(),
            number: step.origin + 1,
            of: common.origins.len(),
        });
        let columns = &common.arrangements[step.origin].columns;
        let rows = origin.read(&step.part_info, columns, &common.progress)?;
        let (place, first_row) = (origin.place(&step.part_info), step.part_info.first_row);
        Ok(OpenPart { step, place, rows, seen: 0, rest: None, first_row })
    }

    /// Rows for the next batch, at most `keep`.
    fn slice(&mut self, keep: Option<u64>) -> Option<RecordBatch> {
        let rest = self.rest.as_mut()?;
        let keep = keep.and_then(|keep| usize::try_from(keep).ok()).unwrap_or(usize::MAX);
        let count = (rest.rows.num_rows() - rest.given).min(rest.batch_rows).min(keep);
        if count == 0 {
            self.rest = None;
            return None;
        }
        let slice = rest.rows.slice(rest.given, count);
        rest.given += count;
        Some(slice)
    }

    /// Reads on; whether there was more.
    fn read(&mut self, common: &Common) -> Result<bool, Error> {
        let fail = |current: &OpenPart, reason: &str| {
            Err(common.origins[current.step.origin].cannot_read(&current.step.part_info, reason))
        };
        let rows = match self.rows.next() {
            Ok(rows) => rows,
            Err(reason) => return fail(self, &reason),
        };
        let claimed = self.step.part_info.rows;
        let Some(rows) = rows else {
            return match claimed {
                Some(claimed) if claimed != self.seen => {
                    let seen = self.seen;
                    fail(self, &format!("it claims {claimed} rows and has {seen}"))
                }
                _ => Ok(false),
            };
        };
        self.seen += rows.num_rows() as u64;
        if claimed.is_some_and(|claimed| claimed < self.seen) {
            return fail(self, &format!("it has more rows than it claims, {}", claimed.unwrap_or_default()));
        }
        let batch_rows =
            self.step.part_info.batch_rows.unwrap_or_else(|| rows_per_batch(bytes_per_row(&rows)));
        let batch_rows = usize::try_from(batch_rows).unwrap_or(usize::MAX);
        self.rest = Some(Rest { rows, given: 0, batch_rows });
        Ok(true)
    }
}

/// What a row takes in memory, without what other rows of the same arrays take.
fn bytes_per_row(rows: &RecordBatch) -> u64 {
    let bytes = rows.columns().iter().map(|column| {
        let bytes = column.to_data().get_slice_memory_size();
        bytes.unwrap_or_else(|_| column.get_array_memory_size()) as u64
    });
    bytes.fold(0, u64::saturating_add) / (rows.num_rows() as u64).max(1)
}

/// The rows with the columns, types and order of the load.
fn arrange(rows: &RecordBatch, sources: &[Source], schema: &SchemaRef) -> Result<RecordBatch, String> {
    let count = rows.num_rows();
    let columns = schema.fields().iter().zip(sources).map(|(field, source)| {
        let column = match source {
            Source::Column(at) => {
                rows.columns().get(*at).ok_or("it has fewer columns than its schema says")?
            }
            Source::Key(Some(value)) if *field.data_type() == DataType::Utf8 => {
                return Ok(Arc::new(StringArray::new_repeated(value, count)) as Arc<dyn Array>);
            }
            Source::Key(_) | Source::Nowhere => return Ok(new_null_array(field.data_type(), count)),
        };
        if column.data_type() == field.data_type() {
            return Ok(column.clone());
        }
        let exactly = CastOptions { safe: false, ..CastOptions::default() };
        cast_with_options(column, field.data_type(), &exactly)
            .map_err(|error| format!("column {}: {}", field.name(), reason(&error)))
    });
    let columns = columns.collect::<Result<Vec<_>, String>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(count));
    RecordBatch::try_new_with_options(schema.clone(), columns, &options).map_err(|error| reason(&error))
}
