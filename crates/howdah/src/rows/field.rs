//! One field: a value of a program in the form that the column's type has.
//!
//! Every value has a literal, and a column stores what its type's input function reads from that. Where both types are
//! the same in all but name the literal is left out.

use howdah_encode::arrow::{ArrowColumn, written};
use howdah_encode::binary_row::split_field;
use howdah_encode::{NotEncoded, TextCodec, Verdict, wire};

use super::literal::with_scratch;
use super::open::OpenField;
use super::row::not_one_field;
use super::shape::RowColumn;
use super::value::Element;
use crate::error::{Error, ErrorKind};

const BYTEA: u32 = 17;
const TEXT: u32 = 25;
const JSON: u32 = 114;
const BPCHAR: u32 = 1042;
const VARCHAR: u32 = 1043;
const TIMESTAMPTZ: u32 = 1184;
const UUID: u32 = 2950;
const JSONB: u32 = 3802;

/// Writes the field of one column. A [`Value`](super::Value) calls one method that puts, once; what fails leaves nothing
/// behind, so that another one may follow.
pub struct FieldWriter<'f> {
    pub(super) column: &'f RowColumn,
    /// Of the column, from 0.
    pub(super) index: usize,
    /// Where the row starts in `out`.
    pub(super) row_start: usize,
    pub(super) out: &'f mut Vec<u8>,
    pub(super) open: &'f mut Vec<OpenField>,
}

impl FieldWriter<'_> {
    /// The column that the field is for.
    pub fn column(&self) -> &RowColumn {
        self.column
    }

    /// Puts NULL.
    ///
    /// # Errors
    /// 23502: the column does not take it.
    #[inline]
    pub fn null(&mut self) -> Result<(), Error> {
        if self.column.null_refusal.is_some() {
            return Err(self.null_refused());
        }
        wire::put_null(self.out);
        Ok(())
    }

    /// Puts a truth value; elsewhere than in a `boolean` column the word `true` or `false`.
    ///
    /// # Errors
    /// The column's type does not read that word.
    #[inline]
    pub fn bool(&mut self, value: bool) -> Result<(), Error> {
        if let Some(TextCodec::Bool) = self.column.codec {
            wire::put_bool(self.out, value);
            return Ok(());
        }
        self.literal(if value { b"true" } else { b"false" })
    }

    /// Puts an integer; elsewhere than in an integer column its digits.
    ///
    /// # Errors
    /// It is out of the column's range (22003), or the type does not read its digits.
    #[inline]
    pub fn int(&mut self, value: i64) -> Result<(), Error> {
        match self.column.codec {
            Some(TextCodec::Int8) => {
                wire::put_i64(self.out, value);
                return Ok(());
            }
            Some(TextCodec::Int4) => {
                if let Ok(value) = i32::try_from(value) {
                    wire::put_i32(self.out, value);
                    return Ok(());
                }
            }
            Some(TextCodec::Int2) => {
                if let Ok(value) = i16::try_from(value) {
                    wire::put_i16(self.out, value);
                    return Ok(());
                }
            }
            _ => {}
        }
        self.literal(itoa::Buffer::new().format(value).as_bytes())
    }

    /// Puts a `real`; in a `double precision` column the same number, elsewhere its shortest literal.
    ///
    /// # Errors
    /// The column's type does not read that literal: `1.5` is no integer.
    #[inline]
    pub fn float4(&mut self, value: f32) -> Result<(), Error> {
        match self.column.codec {
            // PostgreSQL has one NaN, whatever its bits are here.
            Some(TextCodec::Float4) => wire::put_f32(self.out, if value.is_nan() { f32::NAN } else { value }),
            Some(TextCodec::Float8) => return self.float8(value.into()),
            _ => return self.written(|literal| written::put_real(value, literal)),
        }
        Ok(())
    }

    /// Puts a `double precision`; in a `real` column the nearest one, as the server's cast does, elsewhere its shortest
    /// literal.
    ///
    /// # Errors
    /// It is out of the range of `real` (22003), or the column's type does not read its literal: `1.5` is no integer.
    #[inline]
    pub fn float8(&mut self, value: f64) -> Result<(), Error> {
        match self.column.codec {
            Some(TextCodec::Float8) => wire::put_f64(self.out, if value.is_nan() { f64::NAN } else { value }),
            Some(TextCodec::Float4) => {
                #[expect(clippy::cast_possible_truncation, reason = "the nearest one, which is looked at")]
                let nearest = value as f32;
                let overflows = nearest.is_infinite() && value.is_finite();
                if overflows || nearest == 0.0 && value != 0.0 {
                    // Its literal is out of range too, and says so.
                    return self.written(|literal| written::put_double(value, literal));
                }
                wire::put_f32(self.out, if nearest.is_nan() { f32::NAN } else { nearest });
            }
            _ => return self.written(|literal| written::put_double(value, literal)),
        }
        Ok(())
    }

    /// Puts what the column's type reads from this literal, as its input function would.
    ///
    /// # Errors
    /// The type does not read it, or it holds a NUL, which PostgreSQL's text cannot.
    #[inline]
    pub fn text(&mut self, literal: &str) -> Result<(), Error> {
        if memchr::memchr(0, literal.as_bytes()).is_some() {
            let verdict = written::check_text(literal.as_bytes());
            return self.follow(verdict, literal.as_bytes());
        }
        self.literal(literal.as_bytes())
    }

    /// Puts bytes: into a `bytea` column, and sixteen of them into a `uuid` column.
    ///
    /// # Errors
    /// 42804: the column is of another type.
    #[inline]
    pub fn bytes(&mut self, value: &[u8]) -> Result<(), Error> {
        if let Some(TextCodec::Bytea) = self.column.codec {
            let verdict = wire::put_bytes(self.out, value);
            return self.follow(verdict, value);
        }
        match (self.column.base_type.0, <[u8; 16]>::try_from(value)) {
            (BYTEA, _) => self.written(|literal| written::put_bytea(value, literal)),
            (UUID, Ok(uuid)) => self.uuid(uuid),
            _ => Err(self.mismatch("bytes are", "bytes go into bytea, text as a string")),
        }
    }

    /// Puts JSON text: into a `json`, `jsonb` or text column. Whether it is JSON the server judges.
    ///
    /// # Errors
    /// 42804: the column is of another type; 22021: the bytes are no text.
    pub fn json(&mut self, json: &[u8]) -> Result<(), Error> {
        if !matches!(self.column.base_type.0, JSON | JSONB | TEXT | VARCHAR | BPCHAR) {
            return Err(self.mismatch("a JSON document is", "make the column jsonb"));
        }
        if memchr::memchr(0, json).is_some() || simdutf8::basic::from_utf8(json).is_err() {
            let verdict = written::check_text(json);
            return self.follow(verdict, json);
        }
        self.literal(json)
    }

    /// Puts a uuid; into a `bytea` column its bytes, elsewhere its literal.
    ///
    /// # Errors
    /// The column's type does not read that literal.
    #[inline]
    pub fn uuid(&mut self, value: [u8; 16]) -> Result<(), Error> {
        match self.column.codec {
            Some(TextCodec::Uuid) => {
                wire::put_uuid(self.out, value);
                Ok(())
            }
            _ if self.column.base_type.0 == BYTEA => self.bytes(&value),
            _ => self.written(|literal| written::put_uuid(value, literal)),
        }
    }

    /// Puts a point in time, in microseconds since 1970-01-01 00:00 UTC: into a `timestamp with time zone` or text column.
    ///
    /// # Errors
    /// 42804: the column is of another type (a `timestamp` would lose the zone); 22008: outside PostgreSQL's calendar.
    #[inline]
    pub fn timestamptz(&mut self, micros: i64) -> Result<(), Error> {
        let Some(micros) = written::since_2000(micros) else {
            return Err(self.beyond_the_calendar());
        };
        if let Some(TextCodec::Timestamptz { .. }) = self.column.codec {
            wire::put_i64(self.out, micros);
            return Ok(());
        }
        match self.column.base_type.0 {
            TIMESTAMPTZ | TEXT | VARCHAR | BPCHAR => {
                self.written(|literal| written::put_timestamptz(micros, literal))
            }
            _ => Err(self.mismatch("a point in time is", "make the column timestamp with time zone")),
        }
    }

    /// Puts an array of values, each of which has the literal of an element.
    ///
    /// # Errors
    /// 42804: the column is no array; an element is none of the type that the array's elements have.
    pub fn array<'v, V: Element + 'v>(&mut self, items: impl Iterator<Item = &'v V>) -> Result<(), Error> {
        let Some((element, delimiter)) = self.column.element.as_deref() else {
            return Err(self.mismatch("an array is", "make the column an array, or write a literal"));
        };
        with_scratch(|literal| {
            literal.push(b'{');
            with_scratch(|item_field| {
                for (at, item) in items.enumerate() {
                    if at > 0 {
                        literal.push(*delimiter);
                    }
                    put_element(item, element, item_field, literal)?;
                }
                Ok::<(), Error>(())
            })?;
            literal.push(b'}');
            self.literal(literal)
        })
    }

    /// Puts what `write` appends as a literal, which is text without NUL.
    #[inline(never)]
    pub(super) fn written(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> Result<(), Error> {
        with_scratch(|literal| {
            write(literal);
            self.literal(literal)
        })
    }

    /// Puts a value of a batch that is not NULL.
    pub(super) fn arrow(&mut self, values: &ArrowColumn<'_>, row: usize) -> Result<(), Error> {
        if !self.column.as_text {
            match values.put(row, self.out) {
                Err(NotEncoded::Unsure) => {}
                verdict => return self.follow(verdict, &[]),
            }
        }
        with_scratch(|literal| match values.literal(row, literal) {
            Ok(()) => self.literal(literal),
            refused => self.follow(refused, literal),
        })
    }

    /// Puts a literal, which is text without NUL.
    fn literal(&mut self, literal: &[u8]) -> Result<(), Error> {
        let verdict = match &self.column.codec {
            Some(codec) => codec.encode(literal, self.out),
            None => Err(NotEncoded::Unsure),
        };
        self.follow(verdict, literal)
    }

    /// Follows a verdict; a literal that only the server can read stands in the field as it is.
    #[inline]
    fn follow(&mut self, verdict: Verdict, literal: &[u8]) -> Result<(), Error> {
        match verdict {
            Ok(()) => Ok(()),
            Err(NotEncoded::Invalid(invalid)) => {
                Err(self.refused(invalid.sqlstate, &invalid.reason).for_want_of(invalid.loss))
            }
            Err(NotEncoded::Unsure) => self.leave_open(literal),
        }
    }

    #[cold]
    fn leave_open(&mut self, literal: &[u8]) -> Result<(), Error> {
        let at = self.out.len() - self.row_start;
        let (Ok(at), Ok(column)) = (u32::try_from(at), u32::try_from(self.index)) else {
            return Err(self.refused("54000", "the row has more than 4 GiB"));
        };
        if let Err(NotEncoded::Invalid(invalid)) = wire::put_bytes(self.out, literal) {
            return Err(self.refused(invalid.sqlstate, &invalid.reason));
        }
        self.open.push(OpenField { column, at });
        Ok(())
    }

    #[cold]
    pub(super) fn beyond_the_calendar(&self) -> Error {
        self.refused("22008", "timestamp out of range")
    }

    #[cold]
    fn null_refused(&self) -> Error {
        self.refused("23502", self.column.null_refusal.as_deref().unwrap_or_default())
    }

    /// `what` (with its verb) does not go into a column of this type.
    #[cold]
    fn mismatch(&self, what: &str, hint: &str) -> Error {
        let reason = format!("{what} no value of type {}", self.column.type_name);
        self.refused("42804", &reason).with_hint(hint)
    }

    #[cold]
    fn refused(&self, sqlstate: &str, reason: &str) -> Error {
        Error::new(ErrorKind::Data, reason).with_sqlstate(sqlstate).in_column(&self.column.name)
    }
}

/// Appends an item to an array's literal. `element` is a column of literals; `field` is memory.
fn put_element<V: Element>(
    item: &V,
    element: &RowColumn,
    field: &mut Vec<u8>,
    literal: &mut Vec<u8>,
) -> Result<(), Error> {
    field.clear();
    // A column of literals leaves none open.
    let mut open = Vec::new();
    item.put(&mut FieldWriter { column: element, index: 0, row_start: 0, out: field, open: &mut open })?;
    match split_field(field) {
        Ok((None, [])) => literal.extend_from_slice(b"NULL"),
        Ok((Some(value), [])) => written::put_element(value, literal),
        _ => return Err(not_one_field(element)),
    }
    Ok(())
}
