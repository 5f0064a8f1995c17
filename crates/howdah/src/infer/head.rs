//! Looks at the start of the input: record 1 and the types of the fields below it, or the keys of JSON's first records.

use std::sync::Arc;

use howdah_source::text::split::{self, Splitter};
use howdah_source::{Dialect, Field, Piece, Spelling};

use crate::catalog::table::Table;
use crate::error::Error;
use crate::infer::json_keys::{self, KeyQuestion, KeyScan};
use crate::infer::lattice::{ColumnLattice, Observed};
use crate::options::{LoadOptions, OnNul};
use crate::plan::column_look::ColumnLook;
use crate::plan::header::Head;
use crate::plan::header_words::is_missing;
use crate::read::faults;
use crate::read::text_check::without_nuls;

/// Looks at the first piece. Records that cannot be split are passed over.
pub(crate) fn read(piece: Option<&Piece>, dialect: &Dialect, spelling: &Spelling, on_nul: OnNul) -> Head {
    let mut head = Head::default();
    let Some(piece) = piece else { return head };
    let mut splitter = Splitter::of(piece, dialect);
    let (mut fields, mut scratch, mut spelled) = (Vec::new(), Vec::new(), Default::default());
    let mut stripped = Vec::new();
    let mut first = piece.bytes();
    match splitter.next_record(&mut fields) {
        Ok(Some(span)) => {
            // What is wrong with it is said when it is its turn.
            first = without_nuls(piece, span, dialect, on_nul, &mut fields, &mut stripped).unwrap_or(first);
            head.fault = faults::head_fault(piece, span, on_nul);
            head.torn = faults::torn_head(piece, span, dialect);
        }
        Ok(None) => return head,
        Err(fault) => {
            let quote = faults::quote_left_open(piece, fault.span, dialect);
            head.fault = Some(faults::unsplit(piece, &fault, quote));
            head.torn = faults::torn_head(piece, fault.span, dialect);
            head.by_line = head.torn.is_some().then(|| Box::new(by_line(piece, dialect)));
            return head;
        }
    }
    for field in &fields {
        let value = split::value(*field, first, dialect, &mut scratch);
        let mut alone = ColumnLattice::default();
        alone.observe(value.map(|value| Observed::of(value, spelling, &mut spelled)));
        head.first_types.push(alone.decide());
        head.first.push(String::from_utf8_lossy(value.unwrap_or_default()).into_owned());
    }
    let mut below = vec![(ColumnLattice::default(), ColumnLook::default()); fields.len()];
    loop {
        match splitter.next_record(&mut fields) {
            Ok(None) => {
                let look = |(lattice, look): (ColumnLattice, ColumnLook)| look.of_type(lattice.decide());
                head.below = below.into_iter().map(look).collect();
                return head;
            }
            // Reported, or kept apart, when it is its turn.
            Err(_) => continue,
            // An empty line is no record of several columns.
            Ok(Some(span)) if span.start == span.end && head.first.len() > 1 => continue,
            Ok(Some(span)) => {
                head.has_rest = true;
                let mut is_same = |(field, name): (&Field, &String)| {
                    split::value(*field, piece.bytes(), dialect, &mut scratch).unwrap_or_default()
                        == name.as_bytes()
                };
                let is_again =
                    fields.len() == head.first.len() && fields.iter().zip(&head.first).all(&mut is_same);
                if is_again {
                    // A second header says nothing of the values, nor does the first row once more.
                    let place = piece.origin.locate(span.start as u64, u64::from(span.lines_before));
                    head.again = head.again.or(place.line);
                    head.recurs = true;
                    continue;
                }
            }
        }
        for ((field, (lattice, look)), name) in fields.iter().zip(&mut below).zip(&head.first) {
            let value = split::value(*field, piece.bytes(), dialect, &mut scratch);
            head.recurs |= value.is_some_and(|value| !value.is_empty() && value == name.as_bytes());
            let Ok(text) = value.map(std::str::from_utf8).transpose() else { continue };
            look.see(text, name);
            // Words for a missing value say nothing of the type.
            if text.is_none_or(|text| !is_missing(text)) {
                lattice.observe(value.map(|value| Observed::of(value, spelling, &mut spelled)));
            }
        }
    }
}

/// The first line alone, without its quotes.
fn by_line(piece: &Piece, dialect: &Dialect) -> Head {
    let (bytes, end) = (piece.bytes(), piece.eol.last_byte());
    let line_end = memchr::memchr(end, bytes).map_or(bytes.len(), |at| at + 1);
    let bare: Vec<u8> = bytes[..line_end].iter().copied().filter(|byte| *byte != dialect.quote).collect();
    let mut head = Head::default();
    head.has_rest = line_end < bytes.len();
    let (mut fields, mut scratch, mut spelled) = (Vec::new(), Vec::new(), Default::default());
    if !matches!(Splitter::new(&bare, dialect, piece.eol).next_record(&mut fields), Ok(Some(_))) {
        return head;
    }
    for field in &fields {
        let value = split::value(*field, &bare, dialect, &mut scratch);
        let mut alone = ColumnLattice::default();
        alone.observe(value.map(|value| Observed::of(value, &Spelling::default(), &mut spelled)));
        head.first_types.push(alone.decide());
        head.first.push(String::from_utf8_lossy(value.unwrap_or_default()).into_owned());
    }
    head
}

/// The keys of the first piece's records. Those that are no JSON are passed over. `is_all`: others are never looked at.
///
/// # Errors
/// More keys than a table has columns.
pub(crate) fn keys(
    piece: Option<&Piece>,
    dialect: &Arc<Dialect>,
    options: &LoadOptions,
    existing: Option<&Table>,
    is_all: bool,
) -> Result<Head, Error> {
    let mut scan = KeyScan::new(KeyQuestion::about_names(dialect, options, existing, is_all));
    if let Some(piece) = piece {
        scan.see(piece)?;
    }
    Ok(Head::of_keys(json_keys::conclude(vec![scan])?))
}

#[cfg(test)]
mod tests;
