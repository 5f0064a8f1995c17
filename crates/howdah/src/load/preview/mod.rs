//! The first look at the input: how its records are written, and what the first of them hold.

mod batches;
mod headers;
mod keys;
mod tuples;

use std::sync::Arc;

use howdah_message::setting;
use howdah_source::layout::Layouts;
use howdah_source::text::sniff::{self, Unsaid};
use howdah_source::{Cutter, Dialect, Input, MorselSource, Thousands, json};

use crate::catalog::table::Table;
use crate::error::Error;
use crate::infer::head;
use crate::infer::null_marker;
use crate::load::Load;
use crate::plan::header::Head;
use crate::plan::mapping;
use crate::plan::spelling;
use crate::read::queue;
use crate::report::DialectSummary;

/// What was seen, and where rows come from, of which nothing was taken.
pub(super) struct Preview {
    pub(super) morsels: MorselSource,
    pub(super) dialect: Arc<Dialect>,
    pub(super) summary: DialectSummary,
    pub(super) head: Head,
    /// The inputs whose fields are not those of the head.
    pub(super) layouts: Layouts,
    /// What the input comes to, where it was seen to its end or says its rows: about so many bytes.
    pub(super) bytes: Option<u64>,
}

impl Load<'_> {
    /// Looks at the first piece of what `cutter` reads; `usual` is the dialect unless the input says otherwise.
    pub(super) async fn preview(
        &mut self,
        mut cutter: Cutter,
        usual: &Arc<Dialect>,
        existing: Option<&Table>,
    ) -> Result<Preview, Error> {
        let (options, table, usual) = (self.options.clone(), existing.cloned(), usual.clone());
        let (is_one_input, is_format_open) = (self.inputs.len() == 1, !self.is_format_said);
        // Nobody looks at others then.
        let is_all = !self.inputs.iter().all(Input::is_rewindable)
            || existing.is_some() && options.columns.column_list.is_some() && !options.target.evolve;
        let preview = move || -> Result<(Preview, bool), Error> {
            let given = &options.input.dialect;
            let values = spelling::of(&options)?;
            let unsaid = Unsaid {
                delimiter: given.delimiter.is_none() && usual.delimiter == b',',
                // An apostrophe that separates thousands quotes nothing.
                quote: given.quote.is_none() && options.input.thousands != Some(Thousands::Apostrophe),
                escape: given.escape.is_none(),
                decimal_comma: options.input.decimal_comma,
            };
            let fit = |first: &[String]| mapping::fit(first, table.as_ref(), &options);
            let sample = cutter.sample()?;
            let bytes = (is_one_input && sample.is_whole).then_some(sample.bytes.len() as u64);
            let is_like_json =
                is_format_open && !usual.family.is_json() && json::begins_an_object(sample.bytes);
            let mut dialect = sniff::sniff(sample, &usual, unsaid, &fit)?;
            if given.null.is_none()
                && let Some(marker) = null_marker::guess(cutter.sample()?, &dialect)
            {
                dialect.null = marker.into();
            }
            let dialect = Arc::new(dialect);
            spelling::check(&options, &dialect)?;
            let mut summary = DialectSummary::new(&dialect, &usual, cutter.encoding());
            cutter.set_dialect(dialect.clone());
            let first = cutter.peek()?;
            let head = if dialect.family.is_json() {
                summary.format = first.map_or("ndjson", |piece| json::form_name(piece.eol));
                head::keys(first, &dialect, &options, table.as_ref(), is_all)?
            } else {
                head::read(first, &dialect, &values, options.tolerance.on_nul)
            };
            let preview = Preview {
                morsels: MorselSource::text(cutter),
                summary,
                dialect,
                head,
                layouts: Layouts::new(),
                bytes,
            };
            Ok((preview, is_like_json))
        };
        let (mut preview, is_like_json) = queue::off_thread(self.control, preview).await??;
        if is_like_json {
            self.control.notice(message![
                "the input begins like lines of JSON objects and is read as CSV: ",
                setting::FORMAT.word("ndjson"),
                " reads objects"
            ]);
        }
        // The encoding was told when the input was opened.
        let is_guessed = preview.summary.guessed.iter().any(|guessed| *guessed != "encoding");
        let first = self.inputs.first().and_then(Input::ending);
        let is_by_content = preview.dialect.family.is_json()
            && !self.is_format_said
            && !matches!(first.as_deref(), Some("ndjson" | "jsonl" | "json"));
        if is_by_content {
            self.control.notice(message![
                format!("format: {}, by its first line; ", preview.summary.format),
                setting::FORMAT.word("csv"),
                " reads it otherwise"
            ]);
        } else if is_guessed || preview.summary.format.starts_with("json") {
            self.control.notice(message!["format: ", preview.summary.message()]);
        }
        let inputs = self.inputs.clone();
        (preview.head, preview.layouts) =
            self.read_headers(&inputs, &preview.dialect, preview.head, existing).await?;
        Ok(preview)
    }
}
