//! Codecs of literals, one for each PostgreSQL type: chosen once per column, they turn what an input function would read
//! into the binary field that the type's receive function takes.
//!
//! The families of types have a file each; `iso` and `fixed` (dates and times), `digits` (numbers) and `space` are shared.

mod array;
mod bit;
mod bool;
mod bytea;
mod date;
mod designators;
mod digits;
mod fixed;
mod float;
mod geometry;
mod hstore;
mod inet;
mod int;
mod interval;
mod interval_sum;
mod ipv6;
mod iso;
mod label;
mod lsn;
mod mac;
mod money;
mod name;
mod nested;
pub(crate) mod numeric;
mod oid;
mod order;
mod part;
mod range;
mod record;
pub(crate) mod space;
mod string;
mod time;
mod timestamp;
mod tokens;
mod uuid;
mod vector;
mod xml;

use std::ops::Range;
use std::sync::Arc;

use crate::json::is_jsonb;
use crate::session::{SessionRules, Zone};
use crate::verdict::{NotEncoded, Verdict};
use crate::wire;

pub use self::geometry::Shape;
pub use self::nested::Nested;
pub use self::numeric::NumericLimit;

/// Turns literals of one column into binary fields.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum TextCodec {
    /// `boolean`
    Bool,
    /// `smallint`
    Int2,
    /// `integer`
    Int4,
    /// `bigint`
    Int8,
    /// `real`
    Float4,
    /// `double precision`
    Float8,
    /// `numeric`
    Numeric {
        /// Precision and scale, when the column has them.
        limit: Option<NumericLimit>,
    },
    /// `text`
    Text,
    /// `character varying`
    Varchar {
        /// Most characters, when the column has a limit.
        limit: Option<usize>,
    },
    /// `character`; the server pads.
    Bpchar {
        /// Characters of the column, when it has a length.
        limit: Option<usize>,
    },
    /// `bytea`
    Bytea,
    /// `uuid`
    Uuid,
    /// `date`
    Date,
    /// `timestamp without time zone`; its precision is applied by the server.
    Timestamp,
    /// `timestamp with time zone`; its precision is applied by the server.
    Timestamptz {
        /// Zone of a literal that names none.
        zone: Zone,
    },
    /// `time without time zone`; its precision is applied by the server.
    Time,
    /// `time with time zone`; its precision is applied by the server.
    Timetz {
        /// Zone of a literal that names none.
        zone: Zone,
    },
    /// `interval` with or without precision, also `to second`; its modifier is applied by the server.
    Interval {
        /// Whether the session's `IntervalStyle` is `sql_standard`.
        sql_style: bool,
    },
    /// `oid`
    Oid,
    /// `"char"`
    Char,
    /// `name`
    Name,
    /// `money` of the C locale
    Money,
    /// `json`; the server validates.
    Json,
    /// `jsonb`; the server validates.
    Jsonb,
    /// `json`, accepted only when certainly valid
    JudgedJson {
        /// Whether the server can store every character.
        server_is_utf8: bool,
    },
    /// `jsonb`, accepted only when certainly valid
    JudgedJsonb {
        /// Whether the server can store every character.
        server_is_utf8: bool,
    },
    /// `inet`
    Inet,
    /// `cidr`
    Cidr,
    /// `macaddr`
    Macaddr,
    /// `macaddr8`
    Macaddr8,
    /// `bit`
    Bit {
        /// Bits of the column, when it has a length.
        length: Option<u32>,
    },
    /// `bit varying`
    Varbit {
        /// Most bits, when the column has a limit.
        limit: Option<u32>,
    },
    /// `pg_lsn`
    Lsn,
    /// `point`, `lseg`, `path`, `box`, `polygon`, `line`, `circle`
    Geometric {
        /// Which of them.
        shape: Shape,
    },
    /// `xml`; the server validates.
    Xml,
    /// A type that the catalog describes: see [`TextCodec::of`].
    Nested(Arc<Nested>),
}

impl TextCodec {
    /// Finds the codec of a built-in type by its OID (`pg_type.oid`) and modifier (`pg_attribute.atttypmod`).
    ///
    /// `None` where only the server can read the type's literals. Domains are resolved to their base types by the caller,
    /// or described as a [`TypeShape`](crate::TypeShape) to [`TextCodec::of`]. Lengths of strings are counted in Unicode
    /// characters, as a UTF-8 database counts them.
    #[must_use]
    pub fn for_type(type_oid: u32, typmod: i32, rules: &SessionRules) -> Option<TextCodec> {
        Some(match type_oid {
            16 => TextCodec::Bool,
            17 => TextCodec::Bytea,
            18 => TextCodec::Char,
            19 => TextCodec::Name,
            20 => TextCodec::Int8,
            21 => TextCodec::Int2,
            23 => TextCodec::Int4,
            25 => TextCodec::Text,
            26 => TextCodec::Oid,
            114 => TextCodec::Json,
            142 => TextCodec::Xml,
            600 => TextCodec::Geometric { shape: Shape::Point },
            601 => TextCodec::Geometric { shape: Shape::Lseg },
            602 => TextCodec::Geometric { shape: Shape::Path },
            603 => TextCodec::Geometric { shape: Shape::Box },
            604 => TextCodec::Geometric { shape: Shape::Polygon },
            628 => TextCodec::Geometric { shape: Shape::Line },
            650 => TextCodec::Cidr,
            700 => TextCodec::Float4,
            701 => TextCodec::Float8,
            718 => TextCodec::Geometric { shape: Shape::Circle },
            774 => TextCodec::Macaddr8,
            829 => TextCodec::Macaddr,
            869 => TextCodec::Inet,
            790 if rules.plain_money => TextCodec::Money,
            1042 => TextCodec::Bpchar { limit: string::limit(typmod) },
            1043 => TextCodec::Varchar { limit: string::limit(typmod) },
            1082 => TextCodec::Date,
            1083 => TextCodec::Time,
            1114 => TextCodec::Timestamp,
            1184 => TextCodec::Timestamptz { zone: rules.zone },
            1560 => TextCodec::Bit { length: bit::limit(typmod) },
            1562 => TextCodec::Varbit { limit: bit::limit(typmod) },
            1186 if interval::reads_as_usual(typmod) => {
                TextCodec::Interval { sql_style: rules.sql_intervals }
            }
            1266 => TextCodec::Timetz { zone: rules.zone },
            1700 => TextCodec::Numeric { limit: NumericLimit::from_typmod(typmod) },
            2950 => TextCodec::Uuid,
            3220 => TextCodec::Lsn,
            3802 => TextCodec::Jsonb,
            _ => return None,
        })
    }

    /// Turns the codec into one that decides about `json` and `jsonb` itself, where the server would otherwise validate them
    /// after the value was sent.
    ///
    /// What it cannot decide is unsure, among that `\u` escapes where the server's encoding is not UTF-8: the characters
    /// that they name may not exist there.
    #[must_use]
    pub fn judging(self, server_is_utf8: bool) -> TextCodec {
        match self {
            TextCodec::Json => TextCodec::JudgedJson { server_is_utf8 },
            TextCodec::Jsonb => TextCodec::JudgedJsonb { server_is_utf8 },
            TextCodec::Nested(nested) => TextCodec::Nested(Arc::new(nested.judging(server_is_utf8))),
            other => other,
        }
    }

    /// Appends the binary field of `literal` to `out`: a four-byte length and the value. `literal` is valid UTF-8 without NUL.
    ///
    /// # Errors
    /// [`NotEncoded::Invalid`] when the server would certainly refuse the literal, with its SQLSTATE (54000 for a value of
    /// more than [`wire::MAX_FIELD_BYTES`]), and [`NotEncoded::Unsure`] when only the server can tell. `out` is then
    /// unchanged.
    #[inline]
    pub fn encode(&self, literal: &[u8], out: &mut Vec<u8>) -> Verdict {
        match *self {
            TextCodec::Float8 => wire::put_f64(out, float::parse_f64(literal)?),
            TextCodec::Int4 => wire::put_i32(out, int::parse_i32(literal)?),
            TextCodec::Int8 => wire::put_i64(out, int::parse_i64(literal)?),
            TextCodec::Timestamptz { zone } => {
                wire::put_i64(out, timestamp::parse_timestamptz(literal, zone)?)
            }
            TextCodec::Timestamp => wire::put_i64(out, timestamp::parse_timestamp(literal)?),
            TextCodec::Text | TextCodec::Json => return wire::put_bytes(out, literal),
            TextCodec::Bool => wire::put_bool(out, bool::parse_bool(literal)?),
            TextCodec::Int2 => wire::put_i16(out, int::parse_i16(literal)?),
            TextCodec::Float4 => wire::put_f32(out, float::parse_f32(literal)?),
            TextCodec::Numeric { limit } => return numeric::put_literal(literal, limit, out),
            TextCodec::Varchar { limit } => return string::put_varchar(literal, limit, out),
            TextCodec::Bpchar { limit } => return string::put_bpchar(literal, limit, out),
            TextCodec::Bytea => return bytea::put_literal(literal, out),
            TextCodec::Uuid => wire::put_uuid(out, uuid::parse_uuid(literal)?),
            TextCodec::Date => wire::put_i32(out, date::parse_date(literal)?),
            TextCodec::Jsonb => return wire::put_jsonb(out, literal),
            TextCodec::Time => wire::put_i64(out, time::parse_time(literal)?),
            TextCodec::Timetz { zone } => {
                let (micros, east) = time::parse_timetz(literal, zone)?;
                wire::put_timetz(out, micros, east);
            }
            TextCodec::Interval { sql_style } => {
                let (months, days, micros) = interval::parse_interval(literal, sql_style)?;
                wire::put_interval(out, months, days, micros);
            }
            TextCodec::Oid => wire::put_oid(out, oid::parse_oid(literal)?),
            TextCodec::Char => wire::put_char(out, name::parse_char(literal)?),
            TextCodec::Name => return name::put_name(literal, out),
            TextCodec::Money => wire::put_i64(out, money::parse_money(literal)?),
            TextCodec::JudgedJson { server_is_utf8 } | TextCodec::JudgedJsonb { server_is_utf8 }
                if !is_jsonb(literal)
                    || !(server_is_utf8 || memchr::memmem::find(literal, b"\\u").is_none()) =>
            {
                return Err(NotEncoded::Unsure);
            }
            TextCodec::JudgedJson { .. } => return wire::put_bytes(out, literal),
            TextCodec::JudgedJsonb { .. } => return wire::put_jsonb(out, literal),
            TextCodec::Inet => return inet::put_inet(literal, out),
            TextCodec::Cidr => return inet::put_cidr(literal, out),
            TextCodec::Macaddr => wire::put_macaddr(out, mac::parse_macaddr(literal)?),
            TextCodec::Macaddr8 => wire::put_macaddr8(out, mac::parse_macaddr8(literal)?),
            TextCodec::Bit { length } => return bit::put_bit(literal, length, out),
            TextCodec::Varbit { limit } => return bit::put_varbit(literal, limit, out),
            TextCodec::Geometric { shape } => return geometry::put_shape(literal, shape, out),
            TextCodec::Nested(ref nested) => return nested.put(literal, out),
            TextCodec::Xml => return xml::put_xml(literal, out),
            TextCodec::Lsn => wire::put_lsn(out, lsn::parse_lsn(literal)?),
        }
        Ok(())
    }
}

impl TextCodec {
    /// Like [`TextCodec::encode`], but for the literal at `range` of a longer text. Short numbers are loaded together with
    /// the bytes before them, which are masked, and short texts copied together with those behind them: that spares the branches
    /// on their length.
    ///
    /// # Errors
    /// The errors of [`TextCodec::encode`].
    ///
    /// # Panics
    /// When `range` does not lie within `text`.
    #[inline]
    pub fn encode_within(&self, text: &[u8], range: Range<usize>, out: &mut Vec<u8>) -> Verdict {
        match *self {
            TextCodec::Float8 => {
                if let Some(value) = float::short_f64_within(text, range.clone()) {
                    wire::put_f64(out, value);
                    return Ok(());
                }
            }
            TextCodec::Int4 => {
                if let Some(value) = int::short_i32_within(text, range.clone()) {
                    wire::put_i32(out, value);
                    return Ok(());
                }
            }
            TextCodec::Int8 => {
                if let Some(value) = int::short_i32_within(text, range.clone()) {
                    wire::put_i64(out, value.into());
                    return Ok(());
                }
            }
            TextCodec::Text | TextCodec::Json if wire::put_short_bytes(out, text, range.clone()) => {
                return Ok(());
            }
            TextCodec::Varchar { limit }
                if limit.is_none_or(|limit| range.len() <= limit)
                    && wire::put_short_bytes(out, text, range.clone()) =>
            {
                return Ok(());
            }
            _ => {}
        }
        self.encode(&text[range], out)
    }
}
