//! Codecs of types that are made of types: which of them a shape gets, and what they have in common.

use std::sync::Arc;

use super::array::ArrayCodec;
use super::label::Labels;
use super::range::Range;
use super::record::Record;
use super::{TextCodec, hstore, vector};
use crate::session::SessionRules;
use crate::shape::{CompositeField, TypeShape};
use crate::verdict::{NotEncoded, Verdict};
use crate::wire;

/// The codec of a type that is made of other types, or described by the catalog.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Nested(NestedKind);

#[derive(Debug, Clone, PartialEq, Eq)]
enum NestedKind {
    Enum(Labels),
    /// A domain that refuses NULL, by the name that `format_type` gives it. Other domains are the type below.
    NotNull(String, TextCodec),
    Array(ArrayCodec),
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
    /// Makes the codec of a type from its description and its modifier; `None` where it, or a type that it is made of, has
    /// none.
    #[must_use]
    pub fn of(shape: &TypeShape, typmod: i32, rules: &SessionRules) -> Option<TextCodec> {
        of(shape, typmod, rules, MAX_DEPTH)
    }

    /// The codec of the type below a domain that refuses NULL; `None` for all other types.
    fn below_not_null(&self) -> Option<&TextCodec> {
        match self {
            TextCodec::Nested(nested) => match &nested.0 {
                NestedKind::NotNull(_, below) => Some(below),
                _ => None,
            },
            _ => None,
        }
    }

    /// Appends NULL as a part of another value, unless its type refuses that.
    #[inline]
    pub(super) fn encode_null(&self, out: &mut Vec<u8>) -> Verdict {
        if let TextCodec::Nested(nested) = self
            && let NestedKind::NotNull(name, _) = &nested.0
        {
            let reason = format!("domain {name} does not allow null values");
            return Err(NotEncoded::invalid("23502", reason));
        }
        wire::put_null(out);
        Ok(())
    }
}

#[cfg(feature = "arrow")]
impl TextCodec {
    /// The codec of the type below all domains.
    pub(crate) fn below_domains(&self) -> &TextCodec {
        self.below_not_null().unwrap_or(self)
    }

    /// The codec of an array's elements; `None` for a type that is not an array.
    pub(crate) fn element(&self) -> Option<&TextCodec> {
        match self {
            TextCodec::Nested(nested) => match &nested.0 {
                NestedKind::Array(array) => Some(array.element()),
                _ => None,
            },
            _ => None,
        }
    }

    /// The codec of a composite type's column; `None` for other types.
    pub(crate) fn column(&self, index: usize) -> Option<&TextCodec> {
        match self {
            TextCodec::Nested(nested) => match &nested.0 {
                NestedKind::Composite(record) => record.column(index),
                _ => None,
            },
            _ => None,
        }
    }
}

fn of(shape: &TypeShape, typmod: i32, rules: &SessionRules, depth: usize) -> Option<TextCodec> {
    let depth = depth.checked_sub(1)?;
    let below = |shape: &TypeShape, typmod| of(shape, typmod, rules, depth);
    // A value with xml in it cannot be taken from the server's answer: what it sends is not what it has stored.
    let part = |shape: &TypeShape, typmod| below(shape, typmod).filter(|codec| *codec != TextCodec::Xml);
    let kind = match shape {
        TypeShape::Base { oid } => return TextCodec::for_type(*oid, typmod, rules),
        TypeShape::Domain { name, over, typmod, not_null } => {
            let below = below(over, *typmod)?;
            // A domain below may refuse NULL as well; messages name the one on top.
            match below.below_not_null() {
                Some(codec) => NestedKind::NotNull(name.clone(), codec.clone()),
                None if *not_null => NestedKind::NotNull(name.clone(), below),
                None => return Some(below),
            }
        }
        TypeShape::Enum { name, labels } => NestedKind::Enum(Labels::new(name, labels)),
        TypeShape::Array { element_oid, delimiter, element } => {
            NestedKind::Array(ArrayCodec::new(*element_oid, *delimiter, part(element, typmod)?))
        }
        TypeShape::Range { subtype, steps } => NestedKind::Range(Range::new(part(subtype, -1)?, *steps)),
        TypeShape::Multirange { subtype, steps } => {
            NestedKind::Multirange(Range::new(part(subtype, -1)?, *steps))
        }
        TypeShape::Composite { fields } => {
            let column = |field: &CompositeField| Some((field.oid, part(&field.shape, field.typmod)?));
            NestedKind::Composite(Record::new(fields.iter().map(column).collect::<Option<_>>()?))
        }
        TypeShape::Hstore => NestedKind::Hstore,
        TypeShape::Vector => NestedKind::Vector { dimensions: u16::try_from(typmod).ok() },
    };
    Some(TextCodec::Nested(Arc::new(Nested(kind))))
}

impl Nested {
    /// Kept out of the loop over scalar columns.
    #[inline(never)]
    pub(super) fn put(&self, literal: &[u8], out: &mut Vec<u8>) -> Verdict {
        match &self.0 {
            NestedKind::Enum(labels) => labels.put(literal, out),
            NestedKind::NotNull(_, over) => over.encode(literal, out),
            NestedKind::Array(array) => wire::framed(out, |out| array.put(literal, out)),
            NestedKind::Range(range) => range.put(literal, out).map(drop),
            NestedKind::Multirange(range) => wire::framed(out, |out| range.put_many(literal, out)),
            NestedKind::Composite(record) => wire::framed(out, |out| record.put(literal, out)),
            NestedKind::Hstore => wire::framed(out, |out| hstore::put(literal, out)),
            NestedKind::Vector { dimensions } => {
                wire::framed(out, |out| vector::put(literal, *dimensions, out))
            }
        }
    }

    /// The counterpart of [`TextCodec::judging`], applied to every part.
    pub(super) fn judging(&self, server_is_utf8: bool) -> Nested {
        let part = |codec: &TextCodec| codec.clone().judging(server_is_utf8);
        Nested(match &self.0 {
            NestedKind::NotNull(name, over) => NestedKind::NotNull(name.clone(), part(over)),
            NestedKind::Array(array) => NestedKind::Array(array.with_parts(part)),
            NestedKind::Range(range) => NestedKind::Range(range.with_parts(part)),
            NestedKind::Multirange(range) => NestedKind::Multirange(range.with_parts(part)),
            NestedKind::Composite(record) => NestedKind::Composite(record.with_parts(part)),
            NestedKind::Enum(_) | NestedKind::Hstore | NestedKind::Vector { .. } => self.0.clone(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INT4: TypeShape = TypeShape::Base { oid: 23 };

    fn codec(shape: &TypeShape, typmod: i32) -> Option<TextCodec> {
        TextCodec::of(shape, typmod, &SessionRules::from_settings("UTC", "ISO, MDY", "postgres", "C"))
    }

    fn domain(over: TypeShape, typmod: i32, not_null: bool) -> TypeShape {
        let name = if not_null { "no_null" } else { "d" };
        TypeShape::Domain { name: name.to_owned(), over: Box::new(over), typmod, not_null }
    }

    fn array(element: TypeShape) -> TypeShape {
        TypeShape::Array { element_oid: 1, delimiter: b',', element: Box::new(element) }
    }

    #[test]
    fn a_domain_is_the_type_below_with_its_modifier() {
        let limited = TextCodec::Varchar { limit: Some(3) };
        assert_eq!(codec(&domain(TypeShape::Base { oid: 1043 }, 7, false), -1), Some(limited.clone()));
        let twice = domain(domain(TypeShape::Base { oid: 1043 }, 7, false), -1, false);
        assert_eq!(codec(&twice, -1), Some(limited));
    }

    #[test]
    fn a_domain_without_null_refuses_it_inside_other_types() {
        let numbers = codec(&array(domain(domain(INT4, -1, true), -1, false)), -1).unwrap();
        let mut out = Vec::new();
        let reason = "domain d does not allow null values".to_owned();
        assert_eq!(numbers.encode(b"{1,NULL}", &mut out), Err(NotEncoded::invalid("23502", reason)));
        assert_eq!(numbers.encode(b"{1,2}", &mut out), Ok(()));
    }

    #[test]
    fn a_modifier_of_an_array_is_one_of_its_elements() {
        let texts = codec(&array(TypeShape::Base { oid: 1043 }), 7).unwrap();
        assert!(texts.encode(b"{abc,\"abc  \"}", &mut Vec::new()).is_ok());
        assert!(texts.encode(b"{abcd}", &mut Vec::new()).is_err());
    }

    #[test]
    fn a_type_with_an_unknown_part_has_no_codec() {
        let unknown = TypeShape::Base { oid: 3614 };
        let field = |shape: &TypeShape| CompositeField {
            name: "f".to_owned(),
            oid: 1,
            typmod: -1,
            shape: shape.clone(),
        };
        let row = |fields: &[&TypeShape]| TypeShape::Composite {
            fields: fields.iter().map(|f| field(f)).collect(),
        };
        assert!(codec(&row(&[&INT4, &array(INT4)]), -1).is_some());
        assert!(codec(&row(&[&INT4, &array(unknown.clone())]), -1).is_none());
        assert!(codec(&domain(unknown, -1, true), -1).is_none());
        let mut deep = INT4;
        for _ in 0..MAX_DEPTH {
            deep = array(deep);
        }
        assert!(codec(&deep, -1).is_none());
    }

    #[test]
    fn json_inside_other_types_is_judged_too() {
        let documents = codec(&array(TypeShape::Base { oid: 114 }), -1).unwrap();
        assert!(documents.encode(b"{\"[1\"}", &mut Vec::new()).is_ok());
        assert!(documents.judging(true).encode(b"{\"[1\"}", &mut Vec::new()).is_err());
    }
}
