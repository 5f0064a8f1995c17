//! Where a record stands in the bytes it was read from, or why there is none.

/// One record, as a range of the piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// First byte.
    pub start: usize,
    /// One past the last byte, without the line end.
    pub end: usize,
    /// Physical lines of the piece before this record.
    pub lines_before: u32,
}

/// A record that COPY would refuse.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The record.
    pub span: Span,
    /// What is wrong with it.
    pub reason: FaultReason,
}

/// Why COPY, or a reader of JSON, would refuse a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FaultReason {
    /// A quote without its other half.
    OpenQuote,
    /// A CR that ends no record, in CSV.
    UnquotedCarriageReturn,
    /// An LF that ends no record, in CSV.
    UnquotedNewline,
    /// A CR that ends no record, in COPY's text format.
    LiteralCarriageReturn,
    /// An LF that ends no record, in COPY's text format.
    LiteralNewline,
    /// `\.` before a line end that is not the input's.
    MarkerBeforeOtherLineEnd,
    /// `\.` and something else on one line.
    MarkerNotAlone,
    /// No value of JSON where one should stand.
    NoJsonValue,
    /// An array of JSON that the input's end cuts off.
    JsonCutOff,
    /// Something behind the end of the array of JSON.
    BehindJsonArray,
}

impl FaultReason {
    /// In PostgreSQL's words, where it has some.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::OpenQuote => "unterminated CSV quoted field",
            Self::UnquotedCarriageReturn => "unquoted carriage return found in data",
            Self::UnquotedNewline => "unquoted newline found in data",
            Self::LiteralCarriageReturn => "literal carriage return found in data",
            Self::LiteralNewline => "literal newline found in data",
            Self::MarkerBeforeOtherLineEnd => "end-of-copy marker does not match previous newline style",
            Self::MarkerNotAlone => "end-of-copy marker is not alone on its line",
            Self::NoJsonValue => {
                "invalid input syntax for type json: a value is missing between the commas of the array"
            }
            Self::JsonCutOff => "invalid input syntax for type json: the input ends inside of its array",
            Self::BehindJsonArray => {
                "invalid input syntax for type json: something follows the end of the array"
            }
        }
    }
}
