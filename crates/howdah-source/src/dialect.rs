//! How records are written: COPY's options, resolved and checked as COPY checks them.

use howdah_message::{Message, setting};

use crate::Format;
use crate::delimiter::Delimiter;
use crate::error::Error;

/// COPY's options of the same names. `None` = the format's default.
///
/// ```
/// use howdah_source::DialectOptions;
///
/// let options = DialectOptions::default().delimiter(b';').null("NA");
/// assert_eq!(options.delimiter.unwrap().as_bytes(), b";");
/// ```
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct DialectOptions {
    /// What stands between fields, in CSV and TSV up to four bytes; default `,` (CSV), tab (TSV, text).
    pub delimiter: Option<Delimiter>,
    /// The string that stands for NULL; default: empty (CSV, TSV), `\N` (text).
    pub null: Option<String>,
    /// The string that stands for the column's DEFAULT; PostgreSQL 16 and later; default: none.
    pub default: Option<String>,
    /// The quote of CSV and TSV; default `"`.
    pub quote: Option<u8>,
    /// The byte that escapes a quote inside quotes; default: the quote itself.
    pub escape: Option<u8>,
}

impl DialectOptions {
    /// Sets what stands between fields: a byte, or a [`Delimiter`].
    #[must_use]
    pub fn delimiter(mut self, delimiter: impl Into<Delimiter>) -> Self {
        self.delimiter = Some(delimiter.into());
        self
    }

    /// Sets the string that stands for NULL.
    #[must_use]
    pub fn null(mut self, null: impl Into<String>) -> Self {
        self.null = Some(null.into());
        self
    }

    /// Sets [`default`](field@DialectOptions::default), the string that stands for the column's DEFAULT.
    #[must_use]
    pub fn default_marker(mut self, marker: impl Into<String>) -> Self {
        self.default = Some(marker.into());
        self
    }

    /// Sets the quote of CSV and TSV.
    #[must_use]
    pub fn quote(mut self, quote: u8) -> Self {
        self.quote = Some(quote);
        self
    }

    /// Sets the byte that escapes a quote inside quotes.
    #[must_use]
    pub fn escape(mut self, escape: u8) -> Self {
        self.escape = Some(escape);
        self
    }
}

/// A checked dialect. One byte each for the structural characters, as in COPY, but for delimiters of CSV.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dialect {
    /// CSV rules, COPY's text rules, or JSON, of which the others say nothing.
    pub family: Family,
    /// Between fields.
    pub delimiter: Delimiter,
    /// CSV: starts and ends quoting, anywhere in a field.
    pub quote: u8,
    /// CSV: inside quotes, makes the next quote or escape literal.
    pub escape: u8,
    /// The raw, unquoted field that is NULL.
    pub null: Vec<u8>,
    /// The raw field that stands for the column's DEFAULT.
    pub default: Option<Vec<u8>>,
}

/// The two sets of rules COPY knows, and JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// Quotes; no backslash escapes.
    Csv,
    /// Backslash escapes; no quotes.
    Text,
    /// An array of objects, objects one after the other, or one a line: the first bytes of an input tell.
    Json,
    /// An object a line, whatever the first bytes look like.
    Ndjson,
}

impl Family {
    /// Whether records are JSON objects, whose keys take the place of a header.
    pub fn is_json(self) -> bool {
        matches!(self, Family::Json | Family::Ndjson)
    }
}

impl Default for Dialect {
    /// COPY's CSV.
    fn default() -> Self {
        let (null, default) = (Vec::new(), None);
        Dialect { family: Family::Csv, delimiter: b','.into(), quote: b'"', escape: b'"', null, default }
    }
}

impl Dialect {
    /// Fills in the format's defaults and refuses what COPY refuses.
    ///
    /// # Errors
    /// A usage error that names the option, in the cases of `ProcessCopyOptions` in PostgreSQL.
    pub fn resolve(format: Format, options: &DialectOptions) -> Result<Self, Error> {
        let family = match format {
            Format::Text => Family::Text,
            Format::Json => Family::Json,
            Format::Ndjson => Family::Ndjson,
            _ => Family::Csv,
        };
        if family.is_json() {
            return Ok(Dialect {
                family,
                delimiter: b'\n'.into(),
                quote: b'"',
                escape: b'\\',
                null: Vec::new(),
                default: None,
            });
        }
        if family == Family::Text {
            for (given, name) in [(options.quote, setting::QUOTE), (options.escape, setting::ESCAPE)] {
                if given.is_some() {
                    return Err(Error::usage(message![
                        name,
                        " is for CSV; the text format has backslash escapes"
                    ]));
                }
            }
        }
        let quote = options.quote.unwrap_or(b'"');
        let null = options.null.clone().unwrap_or_else(|| match family {
            Family::Text => "\\N".to_owned(),
            _ => String::new(),
        });
        let dialect = Dialect {
            family,
            delimiter: options.delimiter.unwrap_or(if format == Format::Csv { b',' } else { b'\t' }.into()),
            quote,
            escape: options.escape.unwrap_or(quote),
            null: null.into_bytes(),
            default: options.default.clone().map(String::into_bytes),
        };
        dialect.check()?;
        Ok(dialect)
    }

    /// Refuses what COPY refuses.
    pub fn check(&self) -> Result<(), Error> {
        let refuse = |message: Message| Err(Error::usage(message));
        let is_line_end = |byte: &u8| matches!(byte, b'\n' | b'\r');
        for (byte, name) in [
            (self.delimiter.byte(), setting::DELIMITER),
            (Some(self.quote), setting::QUOTE),
            (Some(self.escape), setting::ESCAPE),
        ] {
            if byte.is_some_and(|byte| is_line_end(&byte) || byte == 0 || !byte.is_ascii()) {
                return refuse(message![name, " must be one ASCII character other than a line end"]);
            }
        }
        for (marker, name) in [(Some(&self.null), setting::NULL), (self.default.as_ref(), setting::DEFAULT)] {
            let Some(marker) = marker else { continue };
            if marker.iter().any(is_line_end) {
                return refuse(message![name, " cannot contain a line end"]);
            }
            if self.delimiter.is_in(marker) {
                return refuse(message![name, " cannot contain the delimiter"]);
            }
            if self.family == Family::Csv && marker.contains(&self.quote) {
                return refuse(message![name, " cannot contain the quote character"]);
            }
        }
        if self.default.as_ref() == Some(&self.null) {
            return refuse(message![setting::DEFAULT, " and ", setting::NULL, " cannot be the same string"]);
        }
        match self.family {
            Family::Csv if self.delimiter == self.quote => {
                refuse(message![setting::DELIMITER, " and ", setting::QUOTE, " must be different"])
            }
            Family::Csv if self.delimiter.as_bytes().contains(&self.quote) => {
                refuse(message![setting::DELIMITER, " cannot contain the quote character"])
            }
            Family::Text => match self.delimiter.byte() {
                None => refuse(message![
                    setting::DELIMITER,
                    " is one byte in the text format; CSV can have up to four"
                ]),
                Some(byte) if b"\\.abcdefghijklmnopqrstuvwxyz0123456789".contains(&byte) => refuse(
                    "the text format cannot use this delimiter: it would be read as part of an escape".into(),
                ),
                Some(_) => Ok(()),
            },
            _ => Ok(()),
        }
    }
}

/// What ends a record; the first record end of an input decides, as in COPY.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Eol {
    /// Line feed.
    Nl,
    /// Carriage return.
    Cr,
    /// Both.
    CrNl,
    /// The end of a JSON value: records may have several lines, or share one.
    Value,
    /// The comma behind an element of a JSON array, or the array's end.
    Element,
}

impl Eol {
    /// The line end itself.
    pub fn bytes(self) -> &'static [u8] {
        match self {
            Eol::Nl | Eol::Value | Eol::Element => b"\n",
            Eol::Cr => b"\r",
            Eol::CrNl => b"\r\n",
        }
    }

    /// The last byte of the line end: where a piece of lines may be cut, and what counts as a physical line.
    pub fn last_byte(self) -> u8 {
        match self {
            Eol::Nl | Eol::CrNl | Eol::Value | Eol::Element => b'\n',
            Eol::Cr => b'\r',
        }
    }
}
