//! The start of an input, read in one of the dialects it may have: whether its records agree on the number of fields, and
//! whether quotes stand where a writer puts them.

use crate::dialect::{Dialect, Eol};
use crate::text::line_end::first_eol;
use crate::text::split::{self, Field, Form, Splitter};

/// The start of an input: decompressed, decoded, from the first line that is not skipped.
#[derive(Debug, Clone, Copy)]
pub struct Sample<'s> {
    /// Its bytes.
    pub bytes: &'s [u8],
    /// The input has no more.
    pub is_whole: bool,
}

/// What a dialect makes of a sample.
#[derive(Debug, Clone)]
pub struct SampleReading {
    /// The dialect under which the sample was read.
    pub dialect: Dialect,
    /// The values of record 1.
    pub first: Vec<String>,
    /// Records, without empty lines and without one that the sample cut in two.
    pub records: usize,
    /// Those that are whole, tidy, and have as many fields as record 1.
    agreeing: usize,
    /// Those with quotes in the middle of a field, or text around them.
    untidy: usize,
    quoted: usize,
    /// Quotes kept a delimiter, a line end or a quote from being one.
    earned: bool,
    /// Fields that are neither quoted nor numbers nor empty.
    bare_words: usize,
    /// Quotes and escapes that are escaped.
    escapes: usize,
    /// Quotes that are escaped.
    escaped_quotes: usize,
    /// The escape in quotes before something that needs none.
    lone_escapes: usize,
    columns: Vec<Column>,
}

/// How a column is written, below record 1.
#[derive(Debug, Clone, Copy, Default)]
struct Column {
    quoted: bool,
    bare: bool,
}

/// A share of records in which some disagree: they may be bad ones.
const NEARLY_ALL: f64 = 0.95;
/// Below so many records a share says nothing.
const ENOUGH_FOR_A_SHARE: usize = 20;

impl SampleReading {
    /// Reads `sample`; a `strict` reading ends where it turns out not to be [`SampleReading::is_good`].
    pub fn of(sample: Sample<'_>, dialect: &Dialect, strict: bool) -> SampleReading {
        let mut reading = SampleReading {
            dialect: dialect.clone(),
            first: Vec::new(),
            records: 0,
            agreeing: 0,
            untidy: 0,
            quoted: 0,
            earned: false,
            bare_words: 0,
            escapes: 0,
            escaped_quotes: 0,
            lone_escapes: 0,
            columns: Vec::new(),
        };
        let bytes = sample.bytes;
        let eol = first_eol(bytes, dialect, sample.is_whole).unwrap_or(Eol::Nl);
        let mut splitter = Splitter::new(bytes, dialect, eol);
        let (mut fields, mut scratch) = (Vec::new(), Vec::new());
        loop {
            let start = splitter.position();
            let next = splitter.next_record(&mut fields);
            if splitter.position() >= bytes.len() && !sample.is_whole {
                // The sample may end inside this record. One that fills half of it is a quote that was none.
                if bytes.len() - start > bytes.len() / 2 {
                    reading.records += 1;
                }
                return reading;
            }
            let agrees = match next {
                Ok(None) => return reading,
                Ok(Some(span)) if span.start == span.end => continue,
                Ok(Some(_)) => reading.take(bytes, &fields, &mut scratch),
                Err(_) => false,
            };
            reading.records += 1;
            reading.agreeing += usize::from(agrees);
            if strict && (!agrees || reading.first.len() < 2) {
                return reading;
            }
        }
    }

    /// Looks at one record; whether it is like the first.
    fn take(&mut self, bytes: &[u8], fields: &[Field], scratch: &mut Vec<u8>) -> bool {
        let is_first = self.records == 0;
        if is_first {
            self.columns = vec![Column::default(); fields.len()];
            for field in fields {
                let value = split::value(*field, bytes, &self.dialect, scratch).unwrap_or_default();
                self.first.push(String::from_utf8_lossy(value).into_owned());
            }
        }
        let mut tidy = true;
        for (at, field) in fields.iter().enumerate() {
            let raw = &bytes[field.range()];
            let quoted = match field.form() {
                Form::Quoted => {
                    Some(Quotes { earned: raw.iter().any(|b| self.needs_quotes(*b)), ..Quotes::default() })
                }
                Form::CsvEscaped => {
                    let quotes = self.inspect(raw);
                    tidy &= quotes.is_some();
                    quotes
                }
                _ => None,
            };
            if let Some(quotes) = quoted {
                self.quoted += 1;
                self.earned |= quotes.earned;
                self.escapes += quotes.escapes;
                self.escaped_quotes += quotes.escaped_quotes;
                self.lone_escapes += quotes.lone_escapes;
            } else if !raw.is_empty() && !is_number(raw) {
                self.bare_words += 1;
            }
            if let Some(column) = self.columns.get_mut(at).filter(|_| !is_first) {
                column.quoted |= quoted.is_some();
                column.bare |= quoted.is_none() && !raw.is_empty();
            }
        }
        self.untidy += usize::from(!tidy);
        tidy && fields.len() == self.first.len()
    }

    fn needs_quotes(&self, byte: u8) -> bool {
        byte == self.dialect.delimiter.first() || matches!(byte, b'\n' | b'\r')
    }

    /// What stands between the quotes of `raw`; `None` where they do not enclose it.
    fn inspect(&self, raw: &[u8]) -> Option<Quotes> {
        let Dialect { quote, escape, .. } = self.dialect;
        let inner = raw.strip_prefix(&[quote])?.strip_suffix(&[quote])?;
        let mut quotes = Quotes::default();
        let mut at = 0;
        while let Some(&byte) = inner.get(at) {
            at += 1;
            match inner.get(at) {
                Some(&next) if byte == escape && (next == quote || next == escape) => {
                    quotes.earned |= next == quote;
                    quotes.escaped_quotes += usize::from(next == quote);
                    quotes.escapes += 1;
                    at += 1;
                }
                _ if byte == quote => return None,
                _ => {
                    quotes.lone_escapes += usize::from(byte == escape);
                    quotes.earned |= self.needs_quotes(byte);
                }
            }
        }
        Some(quotes)
    }

    /// Every record has the same fields, of which there are several, and every quote stands where a writer puts it.
    pub fn is_good(&self) -> bool {
        self.first.len() > 1 && self.agreeing == self.records
    }

    /// Every record has the same number of fields, and nothing is cut from their middle.
    pub fn is_consistent(&self) -> bool {
        self.records > 0 && self.agreeing == self.records
    }

    /// Good but for a few records, which may be bad ones.
    pub fn is_nearly_good(&self) -> bool {
        self.first.len() > 1
            && self.records >= ENOUGH_FOR_A_SHARE
            && self.agreeing as f64 >= NEARLY_ALL * self.records as f64
    }

    /// Whether its quotes are no accident: some of them were needed, or a whole column has them.
    pub fn means_its_quotes(&self) -> bool {
        self.earned || self.columns.iter().any(|column| column.quoted && !column.bare)
    }

    /// Whether everything is quoted that is not a number.
    pub fn quotes_all_words(&self) -> bool {
        self.quoted > 0 && self.bare_words == 0 && self.means_its_quotes()
    }

    /// Whether quotes occur at all.
    pub fn has_quotes(&self) -> bool {
        self.quoted > 0
    }

    /// Whether its escapes are no accident: they escape quotes, and nothing in quotes contradicts them.
    pub fn means_its_escapes(&self) -> bool {
        self.escaped_quotes > 0 && self.lone_escapes == 0
    }

    /// Whether escapes occur at all.
    pub fn has_escapes(&self) -> bool {
        self.escapes > 0
    }
}

#[derive(Default, Clone, Copy)]
struct Quotes {
    earned: bool,
    escapes: usize,
    escaped_quotes: usize,
    lone_escapes: usize,
}

fn is_number(raw: &[u8]) -> bool {
    raw.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b',' | b'e' | b'E'))
}

/// The first record of `sample` that two dialects read differently, read by both.
pub fn first_difference(sample: Sample<'_>, one: &Dialect, other: &Dialect) -> [Vec<String>; 2] {
    let eol = |dialect| first_eol(sample.bytes, dialect, sample.is_whole).unwrap_or(Eol::Nl);
    let mut splitters =
        [one, other].map(|dialect| (Splitter::new(sample.bytes, dialect, eol(dialect)), dialect));
    let (mut fields, mut scratch) = (Vec::new(), Vec::new());
    loop {
        let records = splitters.each_mut().map(|(splitter, dialect)| {
            let found = matches!(splitter.next_record(&mut fields), Ok(Some(_)));
            let values = fields.iter().map(|field| {
                let value = split::value(*field, sample.bytes, dialect, &mut scratch).unwrap_or_default();
                String::from_utf8_lossy(value).into_owned()
            });
            found.then(|| values.collect::<Vec<_>>())
        });
        match records {
            [Some(one), Some(other)] if one == other => {}
            records => return records.map(Option::unwrap_or_default),
        }
    }
}
