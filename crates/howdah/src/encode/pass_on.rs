//! CSV passed on: the records of a piece are checked and counted, and their bytes travel as they are.

use std::ops::Range;

use howdah_message::setting;
use howdah_source::Span;
use howdah_source::{Field, Piece};

use crate::encode::chunk::RowOrigins;
use crate::error::Error;
use crate::plan::Plan;
use crate::plan::sending::EndMarker;
use crate::read::faults::data_error;
use crate::read::records::Records;

/// A record that ends the data for servers before PostgreSQL 18, and holds a value for later ones.
const END_OF_DATA: &[u8] = b"\\.";

/// Appends the records of `piece`, without its header, to `out`. `fields` is memory to reuse.
///
/// # Errors
/// The first record that cannot be a row, as far as that can be seen without reading its values.
pub(crate) fn rows(
    piece: &Piece,
    plan: &Plan,
    fields: &mut Vec<Field>,
    out: &mut Vec<u8>,
) -> Result<RowOrigins, Error> {
    let (bytes, line_end) = (piece.bytes(), piece.eol.bytes());
    let mut rows = RowOrigins::of_text(piece.origin.clone());
    let mut records = Records::new(piece, plan, std::mem::take(fields))?;
    let mut whole: Option<Range<usize>> = None;
    loop {
        let plain = records.plain().map(|record| record.end());
        let span = match plain {
            Some(end) => records.take_plain(end),
            None => match records.next() {
                None => break,
                Some(Ok(record)) => record.span,
                Some(Err(bad)) => return Err(bad.error),
            },
        };
        if plan.sending.end_marker == EndMarker::EndsData && &bytes[span.start..span.end] == END_OF_DATA {
            return Err(end_of_data(piece, span));
        }
        whole = Some(whole.map_or(span.start, |whole| whole.start)..span.end);
        rows.push(span);
        if plain.is_none() {
            let count = |byte| memchr::memchr_iter(byte, &bytes[span.start..span.end]).count();
            rows.note_lines(count(b'\n'), count(b'\r'), piece.eol);
        }
    }
    *fields = records.into_fields();
    if let Some(whole) = whole {
        out.extend_from_slice(&bytes[whole]);
        // The last record of an input may lack it, and another input's may follow.
        out.extend_from_slice(line_end);
    }
    Ok(rows)
}

#[cold]
fn end_of_data(piece: &Piece, span: Span) -> Error {
    data_error(piece, span, "a record that is \\. ends the data for this server")
        .with_sqlstate("22P04")
        .with_hint(message![
            setting::WRITE_PATH.word("copy-binary"),
            " and copy-text load it; so does PostgreSQL 18"
        ])
}
