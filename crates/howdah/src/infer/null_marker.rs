//! Finds out what stands for NULL where the user does not say: a marker among values of another type, in an input that leaves no
//! field empty.

use howdah_source::text::line_end::first_eol;
use howdah_source::text::reading::Sample;
use howdah_source::text::split::{self, Splitter};
use howdah_source::{Dialect, Eol, Family, Form};

use crate::catalog::inferred_type::InferredType;
use crate::infer::lattice::{ColumnLattice, NULL_MARKERS};

/// Fewer values beside the markers say nothing about a column.
const ENOUGH: u64 = 3;

/// What is seen of one column below record 1.
#[derive(Default, Clone)]
struct ColumnSample {
    /// Its values without markers.
    others: ColumnLattice,
    values: u64,
    /// Fields that are the marker at the same place in [`NULL_MARKERS`].
    markers: [u64; NULL_MARKERS.len()],
}

/// The marker that makes values of a type out of what would otherwise be text, if there is exactly one.
pub(crate) fn guess(sample: Sample<'_>, dialect: &Dialect) -> Option<&'static str> {
    if dialect.family != Family::Csv || !dialect.null.is_empty() || !mentions_marker(sample.bytes) {
        return None;
    }
    let columns = look(sample, dialect)?;
    let found: Vec<usize> = (0..NULL_MARKERS.len()).filter(|&at| means_null(&columns, at)).collect();
    match found[..] {
        [only] => Some(NULL_MARKERS[only]),
        _ => None,
    }
}

/// Cheap, and true of few inputs.
fn mentions_marker(bytes: &[u8]) -> bool {
    NULL_MARKERS.into_iter().any(|marker| memchr::memmem::find(bytes, marker.as_bytes()).is_some())
}

/// The columns of the sample; `None` where an empty field is NULL already.
fn look(sample: Sample<'_>, dialect: &Dialect) -> Option<Vec<ColumnSample>> {
    let bytes = sample.bytes;
    let eol = first_eol(bytes, dialect, sample.is_whole).unwrap_or(Eol::Nl);
    let mut splitter = Splitter::new(bytes, dialect, eol);
    let (mut fields, mut scratch) = (Vec::new(), Vec::new());
    let mut columns: Option<Vec<ColumnSample>> = None;
    loop {
        let next = splitter.next_record(&mut fields);
        let is_cut = splitter.position() >= bytes.len() && !sample.is_whole;
        match next {
            _ if is_cut => return columns,
            Ok(None) => return columns,
            Err(_) => continue,
            Ok(Some(_)) => {}
        }
        // Record 1 may be a header.
        let Some(columns) = &mut columns else {
            columns = Some(vec![ColumnSample::default(); fields.len()]);
            continue;
        };
        if fields.len() != columns.len() {
            continue;
        }
        for (field, column) in fields.iter().zip(columns) {
            let value = split::value(*field, bytes, dialect, &mut scratch)?;
            let marker = NULL_MARKERS.into_iter().position(|marker| value == marker.as_bytes());
            match marker.filter(|_| field.form() == Form::Plain) {
                Some(marker) => column.markers[marker] += 1,
                None if std::str::from_utf8(value).is_ok() => {
                    column.others.observe(Some(value.into()));
                    column.values += 1;
                }
                None => {}
            }
        }
    }
}

/// Whether the marker spoils a column of another type, and is nowhere among words, where it may be one of them.
fn means_null(columns: &[ColumnSample], marker: usize) -> bool {
    // No word begins with a backslash.
    let may_be_word = !NULL_MARKERS[marker].starts_with('\\');
    let with_marker = || columns.iter().filter(|column| column.markers[marker] > 0);
    let is_text = |column: &ColumnSample| column.others.decide() == InferredType::Text;
    let spoils = |column: &ColumnSample| column.values >= ENOUGH && !is_text(column);
    with_marker().any(spoils)
        && !(may_be_word && with_marker().any(|column| column.values > 0 && is_text(column)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::{DialectOptions, Format};

    fn guessed(csv: &str) -> Option<&'static str> {
        let dialect = Dialect::resolve(Format::Csv, &DialectOptions::default()).unwrap();
        guess(Sample { bytes: csv.as_bytes(), is_whole: true }, &dialect)
    }

    #[test]
    fn a_marker_among_numbers_means_null_and_one_among_words_may_be_a_word() {
        for (csv, marker) in [
            ("id,score\n1,NA\n2,3.5\n3,4\n4,7\n", Some("NA")),
            ("id,at\n1,2024-01-01\n2,NULL\n3,2024-01-03\n4,2024-01-04\n", Some("NULL")),
            ("n,s\n1,\\N\n\\N,x\n3,y\n4,\\N\n5,z\n", Some("\\N")),
            // Namibia.
            ("n,country\n1,NA\nNA,DE\n3,FR\n4,IT\n5,CH\n", None),
            ("s,t\nNA,x\ny,NA\nz,w\nv,u\n", None),
            // Empty fields are NULL, so the marker is something else.
            ("id,score\n1,NA\n2,\n3,4\n4,7\n5,8\n", None),
            ("id,score\n1,\"NA\"\n2,3\n3,4\n4,7\n", None),
            ("id,score\n1,NA\n2,NULL\n3,4\n4,7\n5,1\n", None),
            ("id,score\n1,NA\n2,3\n", None),
            ("id,score\n1,2\n2,3\n", None),
            ("", None),
        ] {
            assert_eq!(guessed(csv), marker, "{csv}");
        }
    }
}
