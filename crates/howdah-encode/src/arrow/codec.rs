//! The codec of one column: planned once from both types, bound once a batch.

use std::cell::RefCell;

use arrow_array::Array;
use arrow_schema::{DataType, Field};

use super::allowed::Allowed;
use super::created::created_type;
use super::direct::Direct;
use super::extension::Extension;
use super::family::{TypeFamily, value_type};
use super::mapping::NoMapping;
use super::source::{Cell, Source};
use super::target::Target;
use super::value::SqlValue;
use super::{array, composite, hstore, json, vector};
use crate::shape::TypeShape;
use crate::text::TextCodec;
use crate::verdict::{NotEncoded, Verdict};
use crate::wire;

/// The conversion of one Arrow column's values into those of one PostgreSQL column.
#[derive(Debug, Clone)]
pub struct ArrowCodec {
    data_type: DataType,
    extension: Extension,
    target: Target,
    /// The codec of the target's type below its domains, where there is one.
    text: Option<TextCodec>,
    /// The domain that refuses NULL as a part of another value.
    not_null_domain: Option<String>,
    allowed: Allowed,
}

impl ArrowCodec {
    /// Plans the way from a field of a schema into a column of the type that `shape` and `typmod` describe and messages
    /// call `type_name`. `text` is the type's own codec, `None` where only the server reads its literals: rows then
    /// travel as text.
    ///
    /// # Errors
    /// No value of the one type is exactly one of the other, or a loss would be certain that `allowed` does not name.
    pub fn of(
        field: &Field,
        shape: &TypeShape,
        typmod: i32,
        type_name: &str,
        text: Option<&TextCodec>,
        allowed: Allowed,
    ) -> Result<ArrowCodec, NoMapping> {
        let mut shape = shape;
        let mut typmod = typmod;
        let mut not_null_domain = None;
        let mut on_top = None;
        while let TypeShape::Domain { name, over, typmod: below, not_null } = shape {
            // A domain below may refuse NULL; messages name the one on top.
            let name: &String = on_top.get_or_insert(name);
            if *not_null {
                not_null_domain = Some(name.clone());
            }
            shape = over;
            typmod = *below;
        }
        let text = text.map(TextCodec::below_domains);
        let kind = TypeFamily::of(field);
        let no_mapping = |target: Option<&Target>| NoMapping {
            reason: format!("Arrow's {} has no exact value in {type_name}", value_type(field.data_type())),
            hint: hint(field, kind, target),
        };
        let target = match (kind, shape) {
            (TypeFamily::Unknown, _) => return Err(no_mapping(None)),
            (_, TypeShape::Base { oid }) => Target::of(*oid, typmod),
            (TypeFamily::Null | TypeFamily::Text, _) => Target::Read,
            (TypeFamily::List, TypeShape::Array { element_oid, delimiter, element }) => {
                let element_name = type_name.strip_suffix("[]").unwrap_or(type_name);
                let part = text.and_then(TextCodec::element);
                let element = array::Element { shape: element, typmod, name: element_name, text: part };
                let array = array::Array::of(field, *element_oid, *delimiter, element, allowed)?;
                Target::Array(Box::new(array))
            }
            (TypeFamily::List, TypeShape::Vector) if vector::takes(field) => {
                Target::Vector(u16::try_from(typmod).ok())
            }
            (TypeFamily::Struct, TypeShape::Composite { fields }) => {
                Target::Composite(composite::columns(field, fields, type_name, text, allowed)?)
            }
            (TypeFamily::Map, TypeShape::Hstore) => {
                Target::Hstore(Box::new(hstore::entries(field, allowed).ok_or_else(|| no_mapping(None))?))
            }
            _ => return Err(no_mapping(None)),
        };
        let is_planned_by_parts =
            matches!(target, Target::Array(_) | Target::Composite(_) | Target::Vector(_) | Target::Hstore(_));
        if !is_planned_by_parts && !target.takes(kind, allowed) {
            return Err(no_mapping(Some(&target)));
        }
        Ok(ArrowCodec {
            data_type: field.data_type().clone(),
            extension: Extension::of(field),
            target,
            text: text.cloned(),
            not_null_domain,
            allowed,
        })
    }

    /// Typed access to a batch's column, once a batch.
    ///
    /// # Errors
    /// The column is not of the type that was planned.
    pub fn bind<'a>(&'a self, array: &'a dyn Array) -> Result<ArrowColumn<'a>, NoMapping> {
        if !array.data_type().equals_datatype(&self.data_type) {
            let reason =
                format!("the column is {} in this batch, {} was planned", array.data_type(), self.data_type);
            return Err(NoMapping::new(reason));
        }
        let source = Source::bind(array, self.extension)?;
        let direct = Direct::of_column(self, &source);
        Ok(ArrowColumn { codec: self, source, direct, scratch: RefCell::default() })
    }

    pub(super) fn target(&self) -> &Target {
        &self.target
    }

    pub(super) fn text(&self) -> Option<&TextCodec> {
        self.text.as_ref()
    }

    /// Appends NULL as a part of another value, unless a domain refuses that.
    pub(super) fn put_null(&self, out: &mut Vec<u8>) -> Verdict {
        self.check_null()?;
        wire::put_null(out);
        Ok(())
    }

    pub(super) fn check_null(&self) -> Verdict {
        match &self.not_null_domain {
            Some(name) => {
                Err(NotEncoded::invalid("23502", format!("domain {name} does not allow null values")))
            }
            None => Ok(()),
        }
    }

    /// Appends the field of a row that is not NULL. `scratch` is for literals on their way to the type's own codec.
    pub(super) fn put_at(
        &self,
        source: &Source<'_>,
        row: usize,
        scratch: &mut Vec<u8>,
        out: &mut Vec<u8>,
    ) -> Verdict {
        let Some(cell) = source.cell(row) else { return self.put_null(out) };
        match (&self.target, cell) {
            (Target::Array(array), Cell::List(items, range)) => {
                wire::framed(out, |out| array.put(items, range, scratch, out))
            }
            (Target::Composite(columns), Cell::Struct(members, row)) => {
                wire::framed(out, |out| composite::put(columns, members, row, scratch, out))
            }
            (Target::Vector(dimensions), Cell::List(items, range)) => {
                wire::framed(out, |out| vector::put(items, range, *dimensions, self.allowed, out))
            }
            (Target::Json, ref cell) if !cell.is_literal() => self.put_literal(source, row, scratch, out),
            (Target::Hstore(_), Cell::Map(..)) => self.put_literal(source, row, scratch, out),
            (target, cell) => {
                let value = target.value(cell, self.allowed)?;
                if let SqlValue::Text(literal) = value {
                    return self.read(literal, out);
                }
                if let Some(verdict) = target.put(&value, out) {
                    return verdict;
                }
                scratch.clear();
                value.literal(scratch);
                self.read(scratch, out)
            }
        }
    }

    fn put_literal(
        &self,
        source: &Source<'_>,
        row: usize,
        scratch: &mut Vec<u8>,
        out: &mut Vec<u8>,
    ) -> Verdict {
        scratch.clear();
        self.literal_at(source, row, scratch)?;
        self.read(scratch, out)
    }

    /// Lets the type's own codec read a literal.
    fn read(&self, literal: &[u8], out: &mut Vec<u8>) -> Verdict {
        match &self.text {
            Some(text) => text.encode(literal, out),
            None => Err(NotEncoded::Unsure),
        }
    }

    /// Appends the literal of a row that is not NULL; leaves something behind when that fails.
    pub(super) fn literal_at(&self, source: &Source<'_>, row: usize, out: &mut Vec<u8>) -> Verdict {
        let Some(cell) = source.cell(row) else { return self.check_null() };
        match (&self.target, cell) {
            (Target::Array(array), Cell::List(items, range)) => array.literal(items, range, out),
            (Target::Composite(columns), Cell::Struct(members, row)) => {
                composite::literal(columns, members, row, out)
            }
            (Target::Vector(_), Cell::List(items, range)) => vector::literal(items, range, self.allowed, out),
            (Target::Hstore(codecs), Cell::Map(keys, values, range)) => {
                hstore::literal(codecs, keys, values, range, out)
            }
            (Target::Json, ref cell) if !cell.is_literal() => {
                json::put(source, row, out);
                Ok(())
            }
            (target, cell) => {
                target.value(cell, self.allowed)?.literal(out);
                Ok(())
            }
        }
    }
}

/// What a person can do about a pair of types that do not go together.
fn hint(field: &Field, kind: TypeFamily, target: Option<&Target>) -> Option<String> {
    match target.and_then(|target| target.hint(kind)) {
        Some(hint) => Some(hint.to_owned()),
        None => Some(format!("a column of type {} would hold it", created_type(field).ok()?)),
    }
}

/// One column of one batch.
pub struct ArrowColumn<'a> {
    codec: &'a ArrowCodec,
    source: Source<'a>,
    direct: Direct<'a>,
    scratch: RefCell<Vec<u8>>,
}

impl ArrowColumn<'_> {
    /// Whether the row has no value: its own, or the one that its dictionary key names.
    ///
    /// # Panics
    /// When the column has no such row.
    #[inline]
    #[must_use]
    pub fn is_null(&self, row: usize) -> bool {
        self.source.is_null(row)
    }

    /// Appends the field of binary COPY: length and value. Not for NULLs.
    ///
    /// # Errors
    /// When the value is certainly refused, or only the server can judge it: ask it with [`ArrowColumn::literal`].
    /// `out` is then as it was.
    #[inline]
    pub fn put(&self, row: usize, out: &mut Vec<u8>) -> Verdict {
        if self.direct.put(self.source.place(row), out) {
            return Ok(());
        }
        self.put_any(row, out)
    }

    #[inline(never)]
    fn put_any(&self, row: usize, out: &mut Vec<u8>) -> Verdict {
        self.codec.put_at(&self.source, row, &mut self.scratch.borrow_mut(), out)
    }

    /// Appends the literal from which PostgreSQL's input function makes the same value, without COPY's escapes. Not for
    /// NULLs.
    ///
    /// # Errors
    /// When the value is certainly refused; `out` is then as it was.
    pub fn literal(&self, row: usize, out: &mut Vec<u8>) -> Verdict {
        let start = out.len();
        let verdict = self.codec.literal_at(&self.source, row, out);
        if verdict.is_err() {
            out.truncate(start);
        }
        verdict
    }
}

impl std::fmt::Debug for ArrowColumn<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ArrowColumn").field("codec", self.codec).finish_non_exhaustive()
    }
}
