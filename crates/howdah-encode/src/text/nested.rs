//! Codecs of types that are made of types: which of them a shape gets, and what they have in common.

use std::sync::Arc;

use super::array::Array;
use super::label::Labels;
use super::range::Range;
use super::record::Record;
use super::{TextCodec, hstore, vector};
use crate::session::SessionRules;
use crate::shape::{CompositeField, TypeShape};
use crate::verdict::{NotEncoded, Verdict, shown};
use crate::wire;

/// The codec of a type that is made of other types, or described by the catalog.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Nested(Kind);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Kind {
    Enum(Labels),
    /// A domain that refuses NULL, by the name that `format_type` gives it. Other domains are the type below.
    NotNull(String, TextCodec),
    Array(Array),
    Range(Range),
    Multirange(Range),
    Composite(Record),
    Hstore,
    Vector {
        dimensions: Option<u16>,
    },
}

/// Shapes are finite, because no type can contain itself; deeper ones than this are left to the server.
const MAX_DEPTH: usize = 32;

impl TextCodec {
    /// The codec of a type by its shape and modifier; `None` where it, or a type that it is made of, has none.
    #[must_use]
    pub fn of(shape: &TypeShape, typmod: i32, rules: &SessionRules) -> Option<TextCodec> {
        of(shape, typmod, rules, MAX_DEPTH)
    }

    /// Appends NULL as a part of another value, unless its type refuses that.
    #[inline]
    pub(super) fn encode_null(&self, out: &mut Vec<u8>) -> Verdict {
        if let TextCodec::Nested(nested) = self
            && let Kind::NotNull(name, _) = &nested.0
        {
            let reason = format!("domain {name} does not allow null values");
            return Err(NotEncoded::invalid("23502", reason));
        }
        wire::put_null(out);
        Ok(())
    }
}

fn of(shape: &TypeShape, typmod: i32, rules: &SessionRules, depth: usize) -> Option<TextCodec> {
    let depth = depth.checked_sub(1)?;
    let part = |shape: &TypeShape, typmod| of(shape, typmod, rules, depth);
    let kind = match shape {
        TypeShape::Base { oid } => return TextCodec::for_type(*oid, typmod, rules),
        TypeShape::Domain { over, typmod, not_null: false, .. } => return part(over, *typmod),
        TypeShape::Domain { name, over, typmod, .. } => Kind::NotNull(name.clone(), part(over, *typmod)?),
        TypeShape::Enum { name, labels } => Kind::Enum(Labels::new(name, labels)),
        TypeShape::Array { element_oid, delimiter, element } => {
            Kind::Array(Array::new(*element_oid, *delimiter, part(element, typmod)?))
        }
        TypeShape::Range { subtype, steps } => Kind::Range(Range::new(part(subtype, -1)?, *steps)),
        TypeShape::Multirange { subtype, steps } => Kind::Multirange(Range::new(part(subtype, -1)?, *steps)),
        TypeShape::Composite { fields } => {
            let column = |field: &CompositeField| Some((field.oid, part(&field.shape, field.typmod)?));
            Kind::Composite(Record::new(fields.iter().map(column).collect::<Option<_>>()?))
        }
        TypeShape::Hstore => Kind::Hstore,
        TypeShape::Vector => Kind::Vector { dimensions: u16::try_from(typmod).ok() },
    };
    Some(TextCodec::Nested(Arc::new(Nested(kind))))
}

impl Nested {
    #[inline(never)]
    pub(super) fn put(&self, literal: &[u8], out: &mut Vec<u8>) -> Verdict {
        match &self.0 {
            Kind::Enum(labels) => labels.put(literal, out),
            Kind::NotNull(_, over) => over.encode(literal, out),
            Kind::Array(array) => wire::framed(out, |out| array.put(literal, out)),
            Kind::Range(range) => range.put(literal, out).map(drop),
            Kind::Multirange(range) => wire::framed(out, |out| range.put_many(literal, out)),
            Kind::Composite(record) => wire::framed(out, |out| record.put(literal, out)),
            Kind::Hstore => wire::framed(out, |out| hstore::put(literal, out)),
            Kind::Vector { dimensions } => wire::framed(out, |out| vector::put(literal, *dimensions, out)),
        }
    }

    /// See [`TextCodec::judging`].
    pub(super) fn judging(&self, server_is_utf8: bool) -> Nested {
        let part = |codec: &TextCodec| codec.clone().judging(server_is_utf8);
        Nested(match &self.0 {
            Kind::NotNull(name, over) => Kind::NotNull(name.clone(), part(over)),
            Kind::Array(array) => Kind::Array(array.with_parts(part)),
            Kind::Range(range) => Kind::Range(range.with_parts(part)),
            Kind::Multirange(range) => Kind::Multirange(range.with_parts(part)),
            Kind::Composite(record) => Kind::Composite(record.with_parts(part)),
            Kind::Enum(_) | Kind::Hstore | Kind::Vector { .. } => self.0.clone(),
        })
    }
}

/// `malformed … literal`, for readers that know no white space but ASCII's wherever they run.
#[cold]
pub(super) fn malformed(kind: &str, literal: &[u8]) -> NotEncoded {
    NotEncoded::invalid("22P02", format!("malformed {kind} literal: \"{}\"", shown(literal)))
}

/// The same for readers that ask the server's locale what white space is.
#[cold]
pub(super) fn malformed_here(kind: &str, literal: &[u8], detail: &str) -> NotEncoded {
    if !literal.is_ascii() {
        return NotEncoded::Unsure;
    }
    let reason = format!("malformed {kind} literal: \"{}\": {detail}", shown(literal));
    NotEncoded::invalid("22P02", reason)
}
