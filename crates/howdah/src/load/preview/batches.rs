//! Inputs whose rows have columns and types already: Parquet and Arrow. What they look like, the types that a new table gets
//! from that, and how their values become those of the table.

use howdah_encode::arrow::{self, ArrowCodec, NoMapping};
use howdah_message::{Mention, Message, setting};
use howdah_source::batches::{BatchFormat, BatchOptions, Batches};
use howdah_source::layout::Layouts;
use howdah_source::listing::listing;
use howdah_source::{Input, MorselSource};

use super::Preview;
use crate::catalog::table::Table;
use crate::error::{Error, ErrorKind};
use crate::load::Load;
use crate::options::{Format, HeaderOption, LoadOptions, WritePath};
use crate::plan::Plan;
use crate::plan::header::Head;
use crate::plan::header_match;
use crate::plan::mapping::Mapping;
use crate::read::queue;
use crate::report::DialectSummary;

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
        Ok(Preview {
            morsels: MorselSource::Rows(batches),
            dialect: Default::default(),
            summary: DialectSummary::of(self.options.input.format.unwrap_or_default()),
            head: Head::of_schema(names, rows),
            layouts: Layouts::new(),
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
    let of_text: [(bool, Mention); 13] = [
        (dialect.delimiter.is_some(), setting::DELIMITER.into()),
        (dialect.null.is_some(), setting::NULL.into()),
        (dialect.default.is_some(), setting::DEFAULT.into()),
        (dialect.quote.is_some(), setting::QUOTE.into()),
        (dialect.escape.is_some(), setting::ESCAPE.into()),
        (options.columns.header != HeaderOption::Auto, setting::HEADER.into()),
        (options.input.encoding.is_some(), setting::ENCODING.into()),
        (options.input.decimal_comma, setting::DECIMAL.into()),
        (options.input.date_format.is_some(), setting::DATE_FORMAT.into()),
        (!options.columns.force_null.is_empty(), setting::FORCE_NULL.into()),
        (!options.columns.force_not_null.is_empty(), setting::FORCE_NOT_NULL.into()),
        (options.input.skip_lines > 0, setting::SKIP_LINES.into()),
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

/// `(column, type)` pairs for the columns of a new table whose types `declared` does not say.
///
/// # Errors
/// One usage error for all columns whose types have no counterpart in PostgreSQL.
pub(in crate::load) fn created_types(
    batches: &Batches,
    mapping: &Mapping,
    declared: &[(String, String)],
) -> Result<Vec<(String, String)>, Error> {
    let mut created = Vec::with_capacity(mapping.pairs.len());
    let mut problems = Vec::new();
    for pair in &mapping.pairs {
        let is_declared = declared.iter().any(|(name, _)| name.eq_ignore_ascii_case(&pair.target));
        if pair.is_file_name || is_declared {
            continue;
        }
        match arrow::created_type(batches.schema().field(pair.field)) {
            Ok(sql) => created.push((pair.target.clone(), sql)),
            Err(problem) => problems.push((pair.target.as_str(), problem)),
        }
    }
    match refused(problems) {
        None => Ok(created),
        Some(error) => Err(error),
    }
}

impl Plan {
    /// Plans how the values of `batches`, of which only the planned columns are read, become those of `table`; with
    /// [`WritePath::Landing`] their literals are those of the types that they are promoted to.
    ///
    /// # Errors
    /// One usage error for all columns between whose types there is no exact way.
    pub(in crate::load) fn take_arrow(
        &mut self,
        batches: &mut Batches,
        table: &Table,
        options: &LoadOptions,
    ) -> Result<(), Error> {
        let schema = batches.schema().clone();
        let mut wanted: Vec<usize> =
            self.columns.iter().filter(|column| !column.is_file_name).map(|column| column.field).collect();
        wanted.sort_unstable();
        batches.project(&wanted);
        let reads_itself = self.sending.write_path == WritePath::Landing;
        let mut problems = Vec::new();
        for column in self.columns.iter_mut().filter(|column| !column.is_file_name) {
            let target = table.columns.iter().find(|target| target.name == column.name);
            let target = target.ok_or_else(|| {
                let reason = format!("the table has no column {} to convert values for", column.name);
                Error::new(ErrorKind::Internal, reason)
            })?;
            let text = column.codec.as_ref().filter(|_| !column.as_text && !reads_itself);
            let field = schema.field(column.field);
            match ArrowCodec::of(
                field,
                &target.shape,
                target.typmod,
                &target.type_name,
                text,
                options.input.allow_loss,
            ) {
                Ok(codec) => column.arrow = Some(codec),
                Err(problem) => problems.push((column.name.as_str(), problem)),
            }
            column.field = wanted
                .binary_search(&column.field)
                .map_err(|_| Error::new(ErrorKind::Internal, "a column is read that was not asked for"))?;
        }
        self.reading.arrow_fields = wanted;
        refused(problems).map_or(Ok(()), Err)
    }
}

/// All that does not fit, in one error.
fn refused(problems: Vec<(&str, NoMapping)>) -> Option<Error> {
    let hint = problems.iter().find_map(|(_, problem)| problem.hint.clone()).map(Message::from);
    let hint =
        hint.unwrap_or_else(|| message![setting::SKIP_COLUMNS.placeholder("NAME"), " leaves a column out"]);
    let told = |(column, problem): &(&str, NoMapping)| format!("column {column:?}: {}", problem.reason);
    let message = match &problems[..] {
        [] => return None,
        [one] => told(one),
        many => {
            let all: Vec<String> = many.iter().map(told).collect();
            format!("{} columns do not fit:\n  - {}", many.len(), all.join("\n  - "))
        }
    };
    Some(Error::usage(message).with_hint(hint))
}
