//! Where things stand in a file: lines as PostgreSQL counts them (`\n`, `\r\n`, `\r`), columns in characters.

use std::ops::Range;

use super::Place;

/// A text and where its lines begin.
pub(crate) struct Lines<'a> {
    text: &'a str,
    starts: Vec<usize>,
}

impl<'a> Lines<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        let bytes = text.as_bytes();
        let ends = bytes
            .iter()
            .enumerate()
            .filter(|&(at, byte)| *byte == b'\n' || (*byte == b'\r' && bytes.get(at + 1) != Some(&b'\n')));
        Self { text, starts: std::iter::once(0).chain(ends.map(|(at, _)| at + 1)).collect() }
    }

    /// The index of the line that an offset is in.
    fn index(&self, offset: usize) -> usize {
        self.starts.partition_point(|start| *start <= offset) - 1
    }

    /// A line from 1, without its end.
    pub(crate) fn text(&self, line: usize) -> Option<&'a str> {
        let start = *self.starts.get(line.checked_sub(1)?)?;
        let end = self.starts.get(line).copied().unwrap_or(self.text.len());
        Some(self.text[start..end].trim_end_matches(['\n', '\r']))
    }

    /// Where a line begins that an offset is in.
    pub(crate) fn start(&self, offset: usize) -> usize {
        self.starts[self.index(offset)]
    }

    /// Whether only blanks stand before an offset in its line.
    pub(crate) fn opens(&self, offset: usize) -> bool {
        let before = self.text[self.start(offset)..offset].trim_start_matches('\u{feff}');
        before.bytes().all(|byte| byte == b' ' || byte == b'\t')
    }

    /// The place of a range: as much of it as its first line has, at least a character.
    pub(crate) fn place(&self, file: &str, range: Range<usize>) -> Place {
        let index = self.index(range.start);
        let column = self.text[self.starts[index]..range.start].chars().count() + 1;
        let meant = self.text[range].split(['\n', '\r']).next().unwrap_or_default();
        let length = meant.chars().count().max(1);
        Place { file: file.to_owned(), line: index + 1, column, length }
    }
}
