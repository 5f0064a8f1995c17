//! Keeps stray quotes to their lines: a record over several lines that does not fit ends with its first line, and reading goes on
//! at the next one. Every cut is then made at a true record.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::text::extent::{Extent, RecordForm, extent};
use crate::text::quoted_lines;

/// How many fields the records of an input have.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Widths {
    /// Where nothing else is said; `None`: as many as record 1 of the input.
    pub usual: Option<usize>,
    /// Those of inputs that differ, by their names.
    pub by_input: BTreeMap<Arc<str>, usize>,
}

impl Widths {
    /// How many a record of `input` has, whose record 1 has `first`, if that is known.
    pub(super) fn of(&self, input: &str, first: Option<usize>) -> Option<usize> {
        self.by_input.get(input).copied().or(self.usual).or(first)
    }
}

/// Where to cut, and where the lines before begin that are no records.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Cut {
    pub(super) end: usize,
    pub(super) strays: Vec<usize>,
}

/// No cut can be made yet.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Uncut {
    /// Nor will it be, before a quote or an escape comes.
    pub(super) is_quoted: bool,
}

/// What of a window is to be looked at.
#[derive(Clone, Copy)]
pub(super) struct Reach {
    /// A cut is made at the last record end before so many bytes, unless the first record has more.
    pub(super) target: usize,
    /// The input ends where the window does.
    pub(super) is_end: bool,
    /// No record is longer than the window.
    pub(super) is_longest: bool,
}

/// The cut of `window`, which starts a record.
///
/// # Errors
/// More of the input is needed.
pub(super) fn cut(window: &[u8], form: RecordForm<'_>, reach: Reach) -> Result<Cut, Uncut> {
    let line_end = form.eol.last_byte();
    let mut strays = Vec::new();
    let mut uncut = Uncut { is_quoted: false };
    let mut at = 0;
    let end = loop {
        let limit = if at == 0 { window.len() } else { reach.target.clamp(at, window.len().max(at)) };
        let last_line_end = |from: usize, to: usize| memchr::memrchr(line_end, &window[from..to]);
        let Some(quoted) = quoted_lines::first(&window[at..limit], form.dialect, form.eol) else {
            break match last_line_end(at, limit) {
                _ if reach.is_end && limit == window.len() => limit,
                Some(last) => at + last + 1,
                None => at,
            };
        };
        let start = last_line_end(at, at + quoted).map_or(at, |last| at + last + 1);
        at = match extent(window, start, form, reach.is_end) {
            Extent::Record { end, .. } => end,
            Extent::Open { next_line: Some(next_line), .. } if reach.is_longest && start == 0 => {
                strays.push(start);
                next_line
            }
            Extent::Stray { next_line } => {
                strays.push(start);
                next_line
            }
            Extent::Open { is_quoted, .. } => {
                uncut = Uncut { is_quoted };
                break start;
            }
        };
    };
    if end > 0 || window.is_empty() && reach.is_end { Ok(Cut { end, strays }) } else { Err(uncut) }
}
