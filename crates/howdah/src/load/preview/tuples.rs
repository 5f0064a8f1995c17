//! Binary COPY files: rows for a table that exists, field by field in the order of its columns, as the server wrote them.

use howdah_message::setting;
use howdah_source::layout::Layouts;
use howdah_source::tuples::TupleCutter;
use howdah_source::{Input, MorselSource};

use super::Preview;
use super::batches::check;
use crate::catalog::table::Table;
use crate::error::Error;
use crate::load::Load;
use crate::options::{Format, LoadOptions, WritePath};
use crate::plan::header::Head;
use crate::read::queue;
use crate::report::DialectSummary;

impl Load<'_> {
    /// Looks at the first row of `inputs`.
    pub(in crate::load) async fn look_at_tuples(
        &self,
        inputs: &[Input],
        existing: Option<&Table>,
    ) -> Result<Preview, Error> {
        check(self.options)?;
        check_tuples(self.options, existing)?;
        let mut cutter = TupleCutter::new(inputs.to_vec(), self.control.progress().clone());
        let preview = move || cutter.peek().map(|fields| (cutter, fields));
        let (cutter, fields) = queue::off_thread(self.control, preview).await??;
        Ok(Preview {
            morsels: MorselSource::Tuples(cutter.into()),
            dialect: Default::default(),
            summary: DialectSummary::of(Format::Binary),
            head: Head::without_header(fields.unwrap_or_default()),
            layouts: Layouts::new(),
            bytes: None,
        })
    }
}

/// Refuses what cannot be done with values that are not read.
fn check_tuples(options: &LoadOptions, existing: Option<&Table>) -> Result<(), Error> {
    if existing.is_none() {
        return Err(Error::usage("binary COPY files do not say the types of their columns")
            .with_hint("make the table first"));
    }
    if options.writing.write_path != WritePath::CopyBinary {
        return Err(Error::usage(message![
            setting::WRITE_PATH.word(options.writing.write_path.name()),
            ": binary COPY files go by copy-binary only"
        ]));
    }
    if options.columns.file_column.is_some() {
        return Err(Error::usage(message![setting::FILE_COLUMN, " is not for binary COPY files"]));
    }
    Ok(())
}
