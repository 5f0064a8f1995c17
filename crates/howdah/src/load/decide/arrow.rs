//! Columns of Arrow arrays: the types of a new table for them, and the codecs into the types of one that exists.

use howdah_encode::arrow::{self, ArrowCodec, NoMapping};
use howdah_message::{Message, setting};
use howdah_source::batches::Batches;

use crate::catalog::table::Table;
use crate::error::{Error, ErrorKind};
use crate::options::{LoadOptions, WritePath};
use crate::plan::Plan;
use crate::plan::mapping::Mapping;

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
