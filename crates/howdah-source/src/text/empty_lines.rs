//! Empty lines at the ends of inputs: where they begin, and what is said of those that are no records.

use std::sync::Arc;

use crate::dialect::Eol;
use crate::progress::Progress;

/// Where the empty lines begin with which `bytes` end; their end if there are none.
pub(super) fn begin(bytes: &[u8], eol: Eol) -> usize {
    let line_end = eol.bytes();
    let mut end = bytes.len();
    while let Some(before) = bytes[..end].strip_suffix(line_end) {
        if !before.is_empty() && !before.ends_with(line_end) {
            break;
        }
        end = before.len();
    }
    end
}

/// Empty lines at the ends of inputs that are no records.
#[derive(Debug, Default)]
pub(super) struct EmptyLines {
    /// Whether somebody is to be told.
    told: bool,
    dropped: u64,
    /// How many inputs had them, and the first that did.
    inputs: u64,
    first: Option<Arc<str>>,
}

impl EmptyLines {
    pub(super) fn new(told: bool) -> EmptyLines {
        EmptyLines { told, ..EmptyLines::default() }
    }

    /// Counts those at the end of `input`.
    pub(super) fn add(&mut self, input: &Arc<str>, dropped: usize) {
        self.dropped += dropped as u64;
        self.inputs += 1;
        self.first.get_or_insert_with(|| input.clone());
    }

    /// Says how many there were, if somebody is to be told.
    pub(super) fn tell(self, progress: &Progress) {
        let lines = match self.dropped {
            1 => "1 empty line".to_owned(),
            many => format!("{many} empty lines"),
        };
        match (self.first, self.inputs) {
            _ if !self.told => {}
            (None, _) => {}
            (Some(input), 1) => progress.notice(format!("{input}: not loaded: {lines} at its end")),
            (Some(_), inputs) => {
                progress.notice(format!("not loaded: {lines} at the ends of {inputs} inputs"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_lines_begin_behind_the_last_that_is_not() {
        for (text, eol, expected) in [
            ("a\n\n\n", Eol::Nl, 2),
            ("a\n", Eol::Nl, 2),
            ("a\n\nb", Eol::Nl, 4),
            ("\n\n", Eol::Nl, 0),
            ("a\r\n\r\n", Eol::CrNl, 3),
            ("a\r\n\n", Eol::CrNl, 4),
            ("a\r\r", Eol::Cr, 2),
            ("", Eol::Nl, 0),
        ] {
            assert_eq!(begin(text.as_bytes(), eol), expected, "{text:?}");
        }
    }
}
