//! Inputs whose rows have columns and types already: Parquet and Arrow. What they look like, the types that a new table gets
//! from that, and how their values become those of the table.

use howdah_encode::arrow::{self, ArrowCodec, NoMapping};

use super::Load;
use super::look::Look;
use crate::error::{Error, ErrorKind};
use crate::feed;
use crate::head::Head;
use crate::layout::Layouts;
use crate::mapping::{self, Mapping};
use crate::options::{Format, HeaderOption, LoadOptions, WritePath};
use crate::plan::Plan;
use crate::report::DialectSummary;
use crate::source::batches::{BatchFormat, BatchOptions, Batches};
use crate::source::{Input, Supply};
use crate::table::Table;

impl Load<'_> {
    /// Reads the schemas of `inputs`.
    pub(super) async fn look_at_batches(&self, inputs: &[Input]) -> Result<Look, Error> {
        check(self.options)?;
        let batches = self.open_batches(inputs.to_vec()).await?;
        let names: Vec<String> = batches.schema().fields().iter().map(|field| field.name().clone()).collect();
        if let Some(columns) = self.options.columns.as_ref().filter(|columns| columns.len() != names.len()) {
            return Err(Error::usage(format!(
                "--columns names {} columns, the input has {}",
                columns.len(),
                names.len()
            ))
            .with_detail(format!("columns of the input: {}", mapping::listing(&names))));
        }
        let rows = batches.rows();
        Ok(Look {
            supply: Supply::Rows(batches),
            dialect: Default::default(),
            summary: DialectSummary::of(self.options.format.unwrap_or_default()),
            head: Head::of_schema(names, rows),
            layouts: Layouts::new(),
        })
    }

    pub(super) async fn open_batches(&self, inputs: Vec<Input>) -> Result<Batches, Error> {
        let format = match self.options.format {
            Some(Format::Arrow) => BatchFormat::Arrow,
            _ => BatchFormat::Parquet,
        };
        let options = BatchOptions { format, names: self.options.names, hive: self.options.hive };
        let control = self.control.clone();
        feed::off_thread(self.control, move || Batches::open(&inputs, options, &control)).await?
    }
}

/// Refuses options that say how text is written.
pub(super) fn check(options: &LoadOptions) -> Result<(), Error> {
    let dialect = &options.dialect;
    let of_text = [
        (dialect.delimiter.is_some(), "--delimiter"),
        (dialect.null.is_some(), "--null"),
        (dialect.default.is_some(), "--default"),
        (dialect.quote.is_some(), "--quote"),
        (dialect.escape.is_some(), "--escape"),
        (options.header != HeaderOption::Auto, "--header"),
        (options.encoding.is_some(), "--encoding"),
        (options.decimal_comma, "--decimal"),
        (options.date_format.is_some(), "--date-format"),
        (!options.force_null.is_empty(), "--force-null"),
        (!options.force_not_null.is_empty(), "--force-not-null"),
        (options.skip_lines > 0, "--skip-lines"),
        (options.write_path == WritePath::CopyCsv, "--write-path copy-csv"),
    ];
    match of_text.into_iter().find(|(given, _)| *given) {
        None => Ok(()),
        Some((_, option)) => Err(Error::usage(format!(
            "{option} is for text; {} holds values that have types",
            options.format.unwrap_or_default().name()
        ))),
    }
}

/// `(column, type)` pairs for the columns of a new table whose types `declared` does not say.
///
/// # Errors
/// One usage error for all columns whose types have no counterpart in PostgreSQL.
pub(super) fn created_types(
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
    pub(super) fn take_arrow(
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
        let reads_itself = self.write_path == WritePath::Landing;
        let mut problems = Vec::new();
        for column in self.columns.iter_mut().filter(|column| !column.is_file_name) {
            let target = table.columns.iter().find(|target| target.name == column.name);
            let target = target.ok_or_else(|| {
                let reason = format!("the table has no column {} to convert values for", column.name);
                Error::new(ErrorKind::Internal, reason)
            })?;
            let text = column.codec.as_ref().filter(|_| !column.as_text && !reads_itself);
            let field = schema.field(column.field);
            match ArrowCodec::of(field, &target.shape, target.typmod, &target.type_name, text, options.allow)
            {
                Ok(codec) => column.arrow = Some(codec),
                Err(problem) => problems.push((column.name.as_str(), problem)),
            }
            column.field = wanted
                .binary_search(&column.field)
                .map_err(|_| Error::new(ErrorKind::Internal, "a column is read that was not asked for"))?;
        }
        self.arrow_fields = wanted;
        refused(problems).map_or(Ok(()), Err)
    }
}

/// All that does not fit, in one error.
fn refused(problems: Vec<(&str, NoMapping)>) -> Option<Error> {
    let hint = problems.iter().find_map(|(_, problem)| problem.hint.clone());
    let hint = hint.unwrap_or_else(|| "--skip-columns NAME leaves a column out".to_owned());
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
