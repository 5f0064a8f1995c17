//! Inputs that hold Arrow batches: Parquet, Arrow IPC, record batch readers. The sister of the cutter: workers pull batches.
//!
//! A *scan* is a row group, a batch of an Arrow file, or everything from the first input on whose batches nobody can
//! count (a stream). A worker opens the next scan; when none is left, it takes batches from another worker's.

mod arrow;
mod decoder;
mod limits;
mod message;
mod origin;
#[cfg(feature = "parquet")]
mod parquet;
#[cfg(not(feature = "parquet"))]
#[path = "no_parquet.rs"]
mod parquet;
mod part;
mod scan;
#[cfg(test)]
mod tests;
mod union_by_name;

use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{DataType, Field, Schema, SchemaRef};

pub use self::decoder::silence_decoder_panics;
pub use self::part::{BatchPart, InputPart};

use self::origin::ScanInput;
use self::scan::{Arrangement, Common, MOST_BATCHES, OpenScan, Scan, Source, Step};
use self::union_by_name::Places;
use crate::Progress;
use crate::error::Error;
use crate::hive;
use crate::open::Input;
use crate::open::blob::Blob;

/// So many objects of stores are asked at once what is in them.
const INPUTS_AT_ONCE: usize = 32;

/// The formats of inputs that hold batches. Inputs that are record batch readers have neither.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BatchFormat {
    /// Apache Parquet.
    Parquet,
    /// Arrow IPC, the file or the stream.
    Arrow,
}

/// How inputs of batches are read.
#[derive(Debug, Clone, Copy)]
pub struct BatchOptions {
    /// What the inputs are.
    pub format: BatchFormat,
    /// Whether two names in the headers of several inputs mean one column.
    pub same_name: fn(&str, &str) -> bool,
    /// Directories' names (`year=2024/`) become columns.
    pub hive: bool,
}

/// Rows to encode.
#[derive(Debug)]
pub struct Batch {
    /// The projected columns in the order of [`Batches::schema`]; what the input lacks is NULL.
    pub rows: RecordBatch,
    /// Where the rows stand.
    pub place: Arc<BatchPlace>,
    /// Of the input, or of the row group where there is one; from 0.
    pub first_row: u64,
    /// Grows in input order, below 2^31, and follows from the input and what is read of it alone.
    pub ordinal: u64,
}

/// Where rows come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BatchPlace {
    /// The input's name.
    pub source: Arc<str>,
    /// Counted from 0, if the format has row groups.
    pub row_group: Option<u64>,
}

/// What one worker has open.
#[derive(Default)]
pub struct BatchWorker(Option<Arc<OpenScan>>);

/// The inputs, for any number of workers.
pub struct Batches {
    common: Common,
    /// Of all inputs and their directories.
    schema: SchemaRef,
    /// Where each input has the columns of `schema`, and the keys of its directories.
    places: Vec<Places>,
    keys: Vec<Vec<(String, Option<String>)>>,
    /// The columns of `schema` that are read.
    columns: Vec<usize>,
    limit: Option<u64>,
    rows: Option<u64>,
    /// Why nothing can be read, noticed while it was planned.
    failure: Option<Error>,
    work: Mutex<Work>,
}

/// Scans that nobody opened, in order, and those that somebody reads.
#[derive(Default)]
struct Work {
    waiting: VecDeque<Scan>,
    open: Vec<Arc<OpenScan>>,
}

impl Batches {
    /// Reads the schemas of all inputs.
    ///
    /// # Errors
    /// An input that cannot be read or is of another format; columns that no type unites; the request to stop.
    pub fn open(inputs: &[Input], options: BatchOptions, progress: &Progress) -> Result<Batches, Error> {
        let mut origins = Vec::with_capacity(inputs.len());
        for inputs in inputs.chunks(INPUTS_AT_ONCE) {
            if progress.is_cancelled() {
                return Err(Error::cancelled());
            }
            let blobs = inputs.iter().map(|input| input.blob(progress)).collect::<Result<Vec<_>, Error>>()?;
            Blob::warm(blobs.iter().flatten());
            for (input, blob) in inputs.iter().zip(&blobs) {
                origins.push(ScanInput::open(input, blob.clone(), options.format, progress)?);
            }
            blobs.iter().flatten().for_each(Blob::cool);
        }
        let schemas: Vec<_> =
            origins.iter().map(|origin| (origin.name.clone(), origin.schema().clone())).collect();
        let (schema, places) = union_by_name::unite(&schemas, options.same_name, progress)?;
        let keys = inputs.iter().map(|input| if options.hive { hive::keys(&input.name) } else { Vec::new() });
        let keys: Vec<_> = keys.collect();
        let schema = with_keys(&schema, &keys, progress);
        let columns = (0..schema.fields().len()).collect();
        let common =
            Common { origins, arrangements: Vec::new(), schema: schema.clone(), progress: progress.clone() };
        let mut batches = Batches {
            common,
            schema,
            places,
            keys,
            columns,
            limit: None,
            rows: None,
            failure: None,
            work: Mutex::default(),
        };
        batches.arrange();
        batches.lay_out();
        Ok(batches)
    }

    /// The columns of all inputs, united by name in order of appearance, and the keys of directories behind them.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Rows in all, if the inputs' metadata tell.
    pub fn rows(&self) -> Option<u64> {
        self.rows
    }

    /// Only these columns of the schema are read and given, in its order. Before the first batch is taken.
    pub fn project(&mut self, columns: &[usize]) {
        self.columns = columns.to_vec();
        self.columns.sort_unstable();
        self.columns.dedup();
        self.arrange();
        for (origin, arrangement) in self.common.origins.iter_mut().zip(&self.common.arrangements) {
            if let Err(error) = origin.project(&arrangement.columns) {
                self.failure.get_or_insert(error);
            }
        }
        self.lay_out();
    }

    /// Only the first `rows` rows are given. Before the first batch is taken.
    pub fn limited(&mut self, rows: Option<u64>) {
        self.limit = rows;
        self.lay_out();
    }

    /// The next batch for the worker that holds `hold`; `None` at the end. After an error nothing more is worth taking.
    ///
    /// # Errors
    /// An input that is damaged, lies about itself, or cannot be read.
    pub fn next(&self, state: &mut BatchWorker) -> Result<Option<Batch>, Error> {
        if let Some(failure) = &self.failure {
            return Err(failure.clone());
        }
        loop {
            let open = match &state.0 {
                Some(open) => open,
                None => match self.choose() {
                    Some(open) => state.0.insert(open),
                    None => return Ok(None),
                },
            };
            if let Some(batch) = open.next(&self.common)? {
                return Ok(Some(batch));
            }
            state.0 = None;
        }
    }

    /// A scan that nobody opened, or else the one that the fewest read.
    fn choose(&self) -> Option<Arc<OpenScan>> {
        let mut work = self.work.lock();
        work.open.retain(|open| !open.is_done());
        match work.waiting.pop_front() {
            Some(scan) => {
                let open = Arc::new(OpenScan::new(scan));
                work.open.push(open.clone());
                Some(open)
            }
            None => work.open.iter().min_by_key(|open| Arc::strong_count(open)).cloned(),
        }
    }

    /// Finds out which columns of each input are read, and where they go.
    fn arrange(&mut self) {
        let fields = self.columns.iter().map(|at| self.schema.field(*at).clone());
        self.common.schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        let arrangement = |(places, keys): (&Places, &Vec<(String, Option<String>)>)| {
            let place = |at: &usize| places.get(*at).copied().flatten();
            let mut columns: Vec<usize> = self.columns.iter().filter_map(place).collect();
            columns.sort_unstable();
            let source = |at: &usize| match place(at) {
                Some(column) => Source::Column(columns.partition_point(|other| *other < column)),
                None if *at < places.len() => Source::Nowhere,
                None => {
                    let name = self.schema.field(*at).name();
                    let key = keys.iter().find(|(key, _)| key == name);
                    key.map_or(Source::Nowhere, |(_, value)| Source::Key(value.clone()))
                }
            };
            let sources = self.columns.iter().map(source).collect();
            Arrangement { columns, sources }
        };
        self.common.arrangements = self.places.iter().zip(&self.keys).map(arrangement).collect();
    }

    /// Divides the inputs into scans.
    fn lay_out(&mut self) {
        let mut waiting = VecDeque::new();
        let (mut ordinal, mut left, mut rows) = (0, self.limit, Some(0));
        // Nobody can count the batches from here on.
        let mut chain = VecDeque::new();
        for (at, origin) in self.common.origins.iter().enumerate() {
            for part_info in origin.parts(&self.common.arrangements[at].columns) {
                let (claimed, batch_rows) = (part_info.rows, part_info.batch_rows.unwrap_or(1));
                let step = Step { origin: at, part_info };
                match claimed.filter(|_| chain.is_empty()) {
                    None => {
                        chain.push_back(step);
                        rows = None;
                    }
                    Some(_) if left == Some(0) => {}
                    // Opened all the same: there might be rows that it does not claim.
                    Some(claimed) => {
                        let keep = left.filter(|left| *left < claimed);
                        let steps = VecDeque::from([step]);
                        waiting.push_back(Scan { steps, ordinal, keep });
                        ordinal += claimed.div_ceil(batch_rows);
                        left = left.map(|left| left - keep.unwrap_or(claimed));
                        rows = rows.map(|rows: u64| rows + keep.unwrap_or(claimed));
                    }
                }
            }
        }
        if !chain.is_empty() {
            waiting.push_back(Scan { steps: chain, ordinal, keep: left });
        }
        if ordinal >= MOST_BATCHES {
            self.failure.get_or_insert_with(scan::too_many);
        }
        self.rows = rows;
        *self.work.get_mut() = Work { waiting, open: Vec::new() };
    }
}

/// `schema` with the keys of directories behind it, but for those that are columns of the inputs.
fn with_keys(schema: &SchemaRef, keys: &[Vec<(String, Option<String>)>], progress: &Progress) -> SchemaRef {
    let mut fields: Vec<Arc<Field>> = schema.fields().iter().cloned().collect();
    let mut told: Vec<&str> = Vec::new();
    for (key, _) in keys.iter().flatten() {
        if schema.fields().iter().any(|field| field.name() == key) {
            if !told.contains(&&**key) {
                told.push(key);
                progress
                    .notice(format!("column {key} is in the files: what directories say of it is not read"));
            }
        } else if !fields.iter().any(|field| field.name() == key) {
            fields.push(Arc::new(Field::new(key, DataType::Utf8, true)));
        }
    }
    Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()))
}
