//! The headers of all inputs, read before the plan is made: columns may differ from file to file. The keys of JSON are a
//! scan of their own.

use std::sync::Arc;

use howdah_source::layout::{self, Header, Layouts};
use howdah_source::listing::listing;
use howdah_source::{Cutter, Dialect, Input, Progress, Spelling, Widths};

use crate::catalog::kept;
use crate::catalog::table::Table;
use crate::control::Control;
use crate::error::Error;
use crate::infer::head;
use crate::load::Load;
use crate::options::OnNul;
use crate::plan::header::Head;
use crate::plan::header_match;
use crate::read::queue;

/// Enough for a header, as a rule; a longer one is read all the same.
const HEADER_BYTES: usize = 16 * 1024;

/// So many files are named one by one.
const FILES_TO_NAME: usize = 10;

impl Load<'_> {
    /// The head with the columns of all inputs, and where their fields differ from that. Streams cannot be looked at first:
    /// theirs must be equal, as must those of inputs without a header.
    pub(super) async fn read_headers(
        &mut self,
        inputs: &[Input],
        dialect: &Arc<Dialect>,
        head: Head,
        existing: Option<&Table>,
    ) -> Result<(Head, Layouts), Error> {
        if dialect.family.is_json() {
            return Ok((self.scan_keys(inputs, dialect, head, existing).await?, Layouts::new()));
        }
        let options = self.options;
        let can_differ = inputs.len() > 1
            && options.columns.column_list.is_none()
            && inputs.iter().all(Input::is_rewindable);
        if !can_differ {
            return Ok((head, Layouts::new()));
        }
        let head = head.decided(existing, options)?;
        if !head.has_header() {
            return Ok((head, Layouts::new()));
        }
        let (inputs, dialect, skip) = (inputs.to_vec(), dialect.clone(), options.input.skip_lines);
        let on_nul = options.tolerance.on_nul;
        let (notices, widths) = (self.control.clone(), self.widths_of_record_one());
        let read = move || headers(&inputs, &dialect, skip, widths.as_ref(), on_nul, &notices);
        let headers = queue::off_thread(self.control, read).await??;
        if headers.iter().all(|(_, header)| *header == head.first) {
            return Ok((head, Layouts::new()));
        }
        header_match::check(&headers, existing, options)?;
        let names: Vec<Vec<String>> = headers.iter().map(|(_, header)| kept::alone(header)).collect();
        let same = header_match::same_name(options.columns.column_names);
        let (union, layouts) = layout::unite(&headers, &names, same);
        self.tell_what_files_lack(&headers, &union, &layouts);
        Ok((head.with_names(union), layouts))
    }

    fn tell_what_files_lack(&self, headers: &[Header], union: &[String], layouts: &Layouts) {
        let mut told = 0;
        for (input, _) in headers {
            let Some(layout) = layouts.get(input) else { continue };
            let lacking = union.iter().zip(&layout.sources).filter(|(_, source)| source.is_none());
            let lacking: Vec<&str> = lacking.map(|(name, _)| &**name).collect();
            if lacking.is_empty() {
                continue;
            }
            told += 1;
            if told <= FILES_TO_NAME {
                self.control.notice(format!("{input} has no {}: NULL in its rows", listing(&lacking)));
            }
        }
        if told > FILES_TO_NAME {
            self.control
                .notice(format!("{} more files lack columns: NULL in their rows", told - FILES_TO_NAME));
        }
    }
}

/// Record 1 of every input that has one.
fn headers(
    inputs: &[Input],
    dialect: &Arc<Dialect>,
    skip_lines: u64,
    widths: Option<&Widths>,
    on_nul: OnNul,
    notices: &Control,
) -> Result<Vec<Header>, Error> {
    let mut headers = Vec::with_capacity(inputs.len());
    for input in inputs {
        // A count of its own: these bytes are read again.
        let progress = Progress::new();
        let mut cutter = Cutter::new(vec![input.clone()], dialect.clone(), progress.clone(), HEADER_BYTES)
            .skipping_lines(skip_lines)
            .confining_stray_quotes(widths.cloned());
        let names = head::read(cutter.peek()?, dialect, &Spelling::default(), on_nul).names()?;
        progress.take_notices().into_iter().for_each(|notice| notices.notice(notice));
        if !names.is_empty() {
            headers.push((input.name.clone(), names));
        }
    }
    Ok(headers)
}
