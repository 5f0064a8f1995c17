//! Looks at the start of the input: record 1 and the types of the fields below it, or the keys of JSON's first records.

use std::sync::Arc;

use howdah_source::text::split::{self, Splitter};
use howdah_source::{Dialect, Piece, Spelling};

use crate::catalog::table::Table;
use crate::error::Error;
use crate::infer::json_keys::{self, KeyQuestion, KeyScan};
use crate::infer::lattice::{ColumnLattice, Observed};
use crate::options::LoadOptions;
use crate::plan::header::Head;
use crate::read::records;

/// Looks at the first piece. Records that cannot be split are passed over.
pub(crate) fn read(piece: Option<&Piece>, dialect: &Dialect, spelling: &Spelling) -> Head {
    let mut head = Head::default();
    let Some(piece) = piece else { return head };
    let mut splitter = Splitter::new(piece.bytes(), dialect, piece.eol);
    let (mut fields, mut scratch, mut spelled) = (Vec::new(), Vec::new(), Default::default());
    match splitter.next_record(&mut fields) {
        Ok(Some(span)) => head.fault = records::head_fault(piece, span),
        Ok(None) => return head,
        Err(fault) => {
            head.fault = Some(records::unsplit(piece, &fault));
            return head;
        }
    }
    for field in &fields {
        let value = split::value(*field, piece.bytes(), dialect, &mut scratch);
        let mut alone = ColumnLattice::default();
        alone.observe(value.map(|value| Observed::of(value, spelling, &mut spelled)));
        head.first_types.push(alone.decide());
        head.first.push(String::from_utf8_lossy(value.unwrap_or_default()).into_owned());
    }
    let mut rest = vec![ColumnLattice::default(); fields.len()];
    loop {
        match splitter.next_record(&mut fields) {
            Ok(None) => {
                head.rest_types = rest.iter().map(ColumnLattice::decide).collect();
                return head;
            }
            // Reported, or kept apart, when it is its turn.
            Err(_) => continue,
            Ok(Some(_)) => head.has_rest = true,
        }
        for (at, (field, lattice)) in fields.iter().zip(&mut rest).enumerate() {
            let value = split::value(*field, piece.bytes(), dialect, &mut scratch);
            head.recurs |= value.is_some_and(|value| !value.is_empty() && value == head.first[at].as_bytes());
            if std::str::from_utf8(value.unwrap_or_default()).is_ok() {
                lattice.observe(value.map(|value| Observed::of(value, spelling, &mut spelled)));
            }
        }
    }
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
