//! Why a record is none: errors that name its place.

use howdah_message::{Message, setting};
use howdah_source::open::{guess, transcode};
use howdah_source::text::open_quote::open_quote;
use howdah_source::{Dialect, Encoding, Family, Fault, FaultReason, Location, Piece, Span, Splitter, json};

use super::text_check::not_allowed;
use crate::error::{Error, ErrorKind};
use crate::options::OnNul;
use crate::plan::Plan;
use crate::plan::planned_column::PlanColumn;

/// An error in the record at `span`.
pub(crate) fn data_error(piece: &Piece, span: Span, reason: impl Into<Message>) -> Error {
    Error::new(ErrorKind::Data, reason)
        .at(piece.origin.locate(span.start as u64, u64::from(span.lines_before)))
}

/// The refusal of the record at `span`, of which `length` bytes at `at` are not text.
#[cold]
pub(super) fn not_text(piece: &Piece, span: Span, at: usize, length: usize, with_hint: bool) -> Error {
    let bad = span.start + at;
    let sequence = &piece.bytes()[bad..bad + length];
    let is_nul = sequence == [0];
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("0x{byte:02x}")).collect::<Vec<_>>().join(" ");
    let place = piece.origin.byte_offset + bad as u64;
    let (error, hint) = match piece.encoding.filter(|_| !is_nul) {
        None => {
            let reason = format!("invalid byte sequence for encoding \"UTF8\": {}", hex(sequence));
            let detail = format!("the bad byte is at offset {place}");
            let hint = if is_nul && guess::utf16(piece.bytes()).is_none() {
                Some(message![
                    "PostgreSQL cannot store the character NUL in text; ",
                    setting::ON_NUL.word("strip"),
                    " drops it"
                ])
            } else if with_hint {
                let likely = guess::likely(piece.bytes());
                let names: Vec<&str> = likely.iter().map(Encoding::name).collect();
                let options = names.iter().map(|name| message![setting::ENCODING.word(*name)]);
                Some(message![
                    "the input is not UTF-8; it looks like ",
                    names.join(" or "),
                    ": ",
                    Message::joined(options, ", or ")
                ])
            } else {
                None
            };
            (data_error(piece, span, reason).with_sqlstate("22021").with_detail(detail), hint)
        }
        Some(encoding) => {
            let (name, shown) = (encoding.name(), hex(&transcode::marked(&piece.bytes()[bad..])));
            let error = if encoding.is_bytewise() {
                let reason = format!(
                    "character with byte sequence {shown} in encoding {name:?} has no equivalent in encoding \"UTF8\""
                );
                data_error(piece, span, reason).with_sqlstate("22P05")
            } else {
                let reason = format!("invalid byte sequence for encoding {name:?}: {shown}");
                data_error(piece, span, reason).with_sqlstate("22021")
            };
            let detail = format!("the bad byte is at offset {place} of the input as UTF-8");
            (error.with_detail(detail), Some(message![setting::ENCODING, " names another encoding"]))
        }
    };
    match hint {
        Some(hint) => error.with_hint(hint),
        None => error,
    }
}

/// Where the quote was opened that leaves the record at `span` open.
#[cold]
pub(crate) fn quote_left_open(piece: &Piece, span: Span, dialect: &Dialect) -> Option<Location> {
    let bytes = &piece.bytes()[span.start..span.end];
    let quote = open_quote(bytes, dialect)?;
    let lines = memchr::memchr_iter(piece.eol.last_byte(), &bytes[..quote]).count();
    Some(piece.origin.locate((span.start + quote) as u64, u64::from(span.lines_before) + lines as u64))
}

/// The error for text that cannot be split into fields. A quote that is left open is named by its own place, if that is given.
#[cold]
pub(crate) fn unsplit(piece: &Piece, fault: &Fault, quote: Option<Location>) -> Error {
    let mut error = data_error(piece, fault.span, fault.reason.as_str()).with_sqlstate("22P04");
    match fault.reason {
        FaultReason::OpenQuote => {
            if let Some(quote) = quote {
                error = error.at(quote);
            }
            error.with_hint(message![
                "a quote is opened on this line and never closed; ",
                setting::QUOTE,
                " names the quote character"
            ])
        }
        FaultReason::UnquotedNewline | FaultReason::UnquotedCarriageReturn => {
            error.with_hint("line ends are mixed: quote fields that contain line ends, or convert the file")
        }
        _ => error,
    }
}

/// The error for what stands where a record of JSON should, or does not.
#[cold]
pub(crate) fn faulty(piece: &Piece, fault: &Fault) -> Error {
    let error = data_error(piece, fault.span, fault.reason.as_str()).with_sqlstate("22P02");
    if fault.reason == FaultReason::JsonCutOff {
        return error.with_hint("the input was cut off, or a quote or a bracket before its end is lost");
    }
    error
}

/// The error for a record of JSON that is refused; `plan` knows the columns.
#[cold]
pub(crate) fn refused(piece: &Piece, span: Span, refusal: json::Refusal, plan: Option<&Plan>) -> Error {
    let field = refusal.field;
    let fault = refusal.fault;
    let mut error = without_place(refusal);
    if let Some((at, expected)) = fault {
        // As many bytes as a character may have.
        let found = piece.bytes().get(at..span.end.min(at + 4)).unwrap_or_default();
        let found = String::from_utf8_lossy(found).chars().next();
        let found = found.map_or_else(|| "the end of the record".to_owned(), |c| format!("{c:?}"));
        error = error.with_detail(match piece.origin.lines {
            // In a reject file nobody looks for an offset.
            Some(_) => format!("expected {expected}, found {found}"),
            None => {
                let place = piece.origin.byte_offset + at as u64;
                format!("expected {expected} at offset {place}, found {found}")
            }
        });
    }
    let of_field = |column: &&PlanColumn| Some(column.field) == field && !column.is_file_name;
    if let Some(column) = plan.and_then(|plan| plan.columns.iter().find(of_field)) {
        error = error.in_column(&column.name);
    }
    error.at(piece.origin.locate(span.start as u64, u64::from(span.lines_before)))
}

/// The error for a refusal, which may be about more than one record.
#[cold]
pub(crate) fn without_place(refusal: json::Refusal) -> Error {
    let mut error = Error::new(ErrorKind::Data, refusal.reason).with_sqlstate(refusal.sqlstate);
    if let Some(detail) = refusal.detail {
        error = error.with_detail(detail);
    }
    if let Some(hint) = refusal.hint.map(|hint| *hint) {
        error = error.with_hint(hint);
    }
    error
}

/// What is wrong with the bytes of record 1, which names columns if it is a header.
pub(crate) fn head_fault(piece: &Piece, span: Span, on_nul: OnNul) -> Option<Error> {
    let (at, length) = not_allowed(&piece.bytes()[span.start..span.end], on_nul)?;
    Some(not_text(piece, span, at, length, true))
}

/// A quote of record 1 that takes other lines along, which are no name, or ends nowhere.
pub(crate) fn torn_head(piece: &Piece, span: Span, dialect: &Dialect) -> Option<Error> {
    if dialect.family != Family::Csv {
        return None;
    }
    let bytes = &piece.bytes()[span.start..span.end];
    let before = &bytes[..open_quote(bytes, dialect)?];
    let mut fields = Vec::new();
    // A field that begins with its quote is not there yet.
    let _ = Splitter::new(before, dialect, piece.eol).next_record(&mut fields);
    let detail =
        format!("field {} of record 1 opens a quote that its line does not close", fields.len().max(1));
    let fault = Fault { span, reason: FaultReason::OpenQuote };
    Some(unsplit(piece, &fault, quote_left_open(piece, span, dialect)).with_detail(detail))
}
