//! The inputs of a load: their format, and their records, read once or again.

use std::sync::Arc;

use howdah_source::json::begins_an_object;
use howdah_source::tuples::{SIGNATURE, TupleCutter};
use howdah_source::{Cutter, Dialect, Input, MorselSource, PIECE_BYTES, Progress, Widths};

use super::Load;
use crate::error::Error;
use crate::options::{Format, LoadOptions, OnError, json};
use crate::plan::Plan;
use crate::rejects::corrected;

/// The inputs, and the options under which they are read.
pub(super) fn resolve(inputs: Vec<Input>, options: &LoadOptions) -> Result<(Vec<Input>, LoadOptions), Error> {
    match options.input.format.unwrap_or_else(|| format_of(&inputs, options)) {
        Format::Rejects => corrected::resolve(&inputs, options),
        format => {
            if matches!(format, Format::Json | Format::Ndjson) {
                json::check(options)?;
            }
            let inputs = inputs.into_iter().map(|input| input.written_in(options.input.encoding)).collect();
            Ok((Input::guessing(inputs), options.clone().format(format)))
        }
    }
}

impl Load<'_> {
    pub(super) fn cutter(&self, inputs: &[Input], dialect: &Arc<Dialect>, has_header: bool) -> Cutter {
        self.cutter_under(self.control.progress().clone(), inputs, dialect, has_header)
    }

    /// The whole input once more, to find records that were read before.
    pub(super) async fn supply_again(&self, plan: &Plan) -> Result<MorselSource, Error> {
        let has_header = plan.reading.header.is_some();
        let morsels = match self.options.input.format.unwrap_or_default() {
            Format::Parquet | Format::Arrow => {
                let mut batches = self.open_batches(self.inputs.clone()).await?;
                batches.project(&plan.reading.arrow_fields);
                MorselSource::Rows(batches)
            }
            _ => self.supply(&self.inputs, plan, Progress::new(), false),
        };
        Ok(morsels.limited(self.options.input.limit, has_header))
    }

    /// The records of `inputs`, of text or tuples, as the plan has it; whether it is said where empty lines were dropped.
    pub(super) fn supply(
        &self,
        inputs: &[Input],
        plan: &Plan,
        progress: Progress,
        says_dropped: bool,
    ) -> MorselSource {
        if self.options.input.format == Some(Format::Binary) {
            let mut cutter = TupleCutter::new(inputs.to_vec(), progress);
            cutter.expect(plan.columns.len());
            return MorselSource::Tuples(cutter.into());
        }
        let has_header = plan.reading.header.is_some();
        let cutter = self.cutter_under(progress, inputs, &plan.reading.dialect, has_header);
        let cutter = cutter.confining_stray_quotes(plan.reading.widths());
        MorselSource::text(cutter.dropping_empty_lines(plan.reading.has_several_fields(), says_dropped))
    }

    /// A cutter that reports to another `progress` than the load's: what it reads was read, or will be.
    fn cutter_under(
        &self,
        progress: Progress,
        inputs: &[Input],
        dialect: &Arc<Dialect>,
        has_header: bool,
    ) -> Cutter {
        Cutter::new(inputs.to_vec(), dialect.clone(), progress, PIECE_BYTES)
            .skipping_lines(self.options.input.skip_lines)
            .limited(self.options.input.limit, has_header)
            .confining_stray_quotes(self.widths_of_record_one())
    }

    /// How many fields records have, as far as it is known without a plan; see [`ReadingPlan::widths`].
    ///
    /// [`ReadingPlan::widths`]: crate::plan::reading::ReadingPlan::widths
    pub(super) fn widths_of_record_one(&self) -> Option<Widths> {
        (self.options.tolerance.on_error == OnError::Ignore).then(Widths::default)
    }
}

/// What the first bytes say, or else the name.
fn format_of(inputs: &[Input], options: &LoadOptions) -> Format {
    let Some(first) = inputs.first() else { return Format::Csv };
    if first.is_batches() {
        return Format::Arrow;
    }
    if let Some(format) = first.signature().and_then(|bytes| format_signed(&bytes)) {
        return format;
    }
    match first.ending().as_deref() {
        Some("tsv" | "tab") => Format::Tsv,
        Some("copy" | "pgcopy") => Format::Text,
        Some("parquet" | "pq" | "parq") => Format::Parquet,
        Some("arrow" | "arrows" | "ipc" | "feather") => Format::Arrow,
        Some("jsonl") if inputs.iter().all(|input| input.name.contains(".rejects.jsonl")) => Format::Rejects,
        Some("ndjson" | "jsonl" | "json") => Format::Json,
        Some("csv") => Format::Csv,
        // What is said of fields is said of CSV.
        _ if json::check(options).is_ok()
            && options.columns.column_list.is_none()
            && options.columns.map.is_empty()
            && first.first_line().is_some_and(|line| begins_an_object(&line)) =>
        {
            Format::Json
        }
        _ => Format::Csv,
    }
}

fn format_signed(bytes: &[u8]) -> Option<Format> {
    match bytes {
        [b'P', b'A', b'R', b'1' | b'E', ..] => Some(Format::Parquet),
        [b'A', b'R', b'R', b'O', b'W', b'1', ..] => Some(Format::Arrow),
        bytes if bytes.starts_with(SIGNATURE) => Some(Format::Binary),
        _ => None,
    }
}
