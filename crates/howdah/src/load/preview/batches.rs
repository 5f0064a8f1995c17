//! Inputs whose rows have columns and types already: Parquet and Arrow. What they look like, the types that a new table gets
//! from that, and how their values become those of the table.

use howdah_message::{Mention, setting};
use howdah_source::batches::{BatchFormat, BatchOptions, Batches};
use howdah_source::layout::Layouts;
use howdah_source::listing::listing;
use howdah_source::{Input, MorselSource};

use super::Preview;
use crate::error::Error;
use crate::load::Load;
use crate::options::{Format, HeaderOption, Inference, LoadOptions, WritePath};
use crate::plan::header::Head;
use crate::plan::header_match;
use crate::read::queue;
use crate::report::DialectSummary;

/// About so long is a value, for a guess at what rows in memory come to.
const BYTES_PER_VALUE: u64 = 16;

impl Load<'_> {
    /// Reads the schemas of `inputs`.
    pub(in crate::load) async fn preview_batches(&self, inputs: &[Input]) -> Result<Preview, Error> {
        check(self.options)?;
        let batches = self.open_batches(inputs.to_vec()).await?;
        let names: Vec<String> = batches.schema().fields().iter().map(|field| field.name().clone()).collect();
        if let Some(columns) =
            self.options.columns.column_list.as_ref().filter(|columns| columns.len() != names.len())
        {
            let (named, there) = (columns.len(), names.len());
            return Err(Error::usage(message![
                setting::COLUMNS,
                " names {named} columns, the input has {there}"
            ])
            .with_detail(format!("columns of the input: {}", listing(&names))));
        }
        let rows = batches.rows();
        let known: Option<u64> = inputs.iter().map(Input::rows).sum();
        let bytes = known.map(|rows| rows.saturating_mul(names.len() as u64 * BYTES_PER_VALUE));
        Ok(Preview {
            morsels: MorselSource::Rows(batches),
            dialect: Default::default(),
            summary: DialectSummary::of(self.options.input.format.unwrap_or_default()),
            head: Head::of_schema(names, rows),
            layouts: Layouts::new(),
            bytes,
        })
    }

    pub(in crate::load) async fn open_batches(&self, inputs: Vec<Input>) -> Result<Batches, Error> {
        let format = match self.options.input.format {
            Some(Format::Arrow) => BatchFormat::Arrow,
            _ => BatchFormat::Parquet,
        };
        let options = BatchOptions {
            format,
            same_name: header_match::same_name(self.options.columns.column_names),
            hive: self.options.input.hive_partitions,
        };
        let progress = self.control.progress().clone();
        Ok(queue::off_thread(self.control, move || Batches::open(&inputs, options, &progress)).await??)
    }
}

/// Refuses options that say how text is written.
pub(super) fn check(options: &LoadOptions) -> Result<(), Error> {
    let dialect = &options.input.dialect;
    let of_text: [(bool, Mention); 16] = [
        (dialect.delimiter.is_some(), setting::DELIMITER.into()),
        (dialect.null.is_some(), setting::NULL.into()),
        (dialect.default.is_some(), setting::DEFAULT.into()),
        (dialect.quote.is_some(), setting::QUOTE.into()),
        (dialect.escape.is_some(), setting::ESCAPE.into()),
        (options.columns.header != HeaderOption::Auto, setting::HEADER.into()),
        (options.input.encoding.is_some(), setting::ENCODING.into()),
        (options.input.decimal_comma, setting::DECIMAL.into()),
        (options.input.thousands.is_some(), setting::THOUSANDS.into()),
        (!options.input.booleans.is_empty(), setting::BOOLEANS.into()),
        (options.input.date_format.is_some(), setting::DATE_FORMAT.into()),
        (!options.columns.force_null.is_empty(), setting::FORCE_NULL.into()),
        (!options.columns.force_not_null.is_empty(), setting::FORCE_NOT_NULL.into()),
        (options.input.skip_lines > 0, setting::SKIP_LINES.into()),
        (options.columns.infer != Inference::All, setting::INFER.word(options.columns.infer.name())),
        (options.writing.write_path == WritePath::CopyCsv, setting::WRITE_PATH.word("copy-csv")),
    ];
    match of_text.into_iter().find(|(given, _)| *given) {
        None => Ok(()),
        Some((_, option)) => Err(Error::usage(message![
            option,
            " is for text; ",
            options.input.format.unwrap_or_default().name(),
            " holds values that have types"
        ])),
    }
}
