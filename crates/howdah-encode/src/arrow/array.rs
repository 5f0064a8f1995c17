//! Arrays from lists, of one dimension or several.

use std::ops::Range;

use arrow_schema::Field;

use super::allowed::Allowed;
use super::codec::ArrowCodec;
use super::direct::Direct;
use super::family::item;
use super::mapping::NoMapping;
use super::source::{Cell, Source};
use super::strings::put_quoted;
use crate::shape::TypeShape;
use crate::text::TextCodec;
use crate::text::space::is_space;
use crate::verdict::{NotEncoded, Verdict};
use crate::wire;

/// The most dimensions of an array in PostgreSQL (`MAXDIM`).
const MAX_DIMENSIONS: usize = 6;
/// Most elements that are decided here, as for literals.
const MAX_ELEMENTS: usize = 1 << 24;

/// How lists become arrays of one type.
#[derive(Debug, Clone)]
pub(super) struct Array {
    element: ArrowCodec,
    element_oid: u32,
    delimiter: u8,
    /// Lists within lists, each a dimension.
    dimensions: usize,
}

/// The type of an array's elements.
pub(super) struct Element<'a> {
    pub(super) shape: &'a TypeShape,
    pub(super) typmod: i32,
    /// The name of the type in messages.
    pub(super) name: &'a str,
    pub(super) text: Option<&'a TextCodec>,
}

/// Elements in each dimension, `None` where nothing was found; all of them `Some(1..)` when there are elements.
type Lengths = [Option<usize>; MAX_DIMENSIONS];

impl Array {
    pub(super) fn of(
        list: &Field,
        element_oid: u32,
        delimiter: u8,
        element: Element<'_>,
        allowed: Allowed,
    ) -> Result<Self, NoMapping> {
        let no_list = || NoMapping::new(format!("Arrow's {} is no list", list.data_type()));
        let mut items = item(list.data_type()).ok_or_else(no_list)?;
        let mut dimensions = 1;
        // A list can be a dimension, or a value that an element takes.
        while let Some(inner) = item(items.data_type()) {
            let is_dimension = match base(element.shape) {
                TypeShape::Base { oid: 114 | 3802 } => false,
                TypeShape::Array { .. } | TypeShape::Vector => item(inner.data_type()).is_some(),
                _ => true,
            };
            if !is_dimension {
                break;
            }
            items = inner;
            dimensions += 1;
        }
        if dimensions > MAX_DIMENSIONS {
            let reason = format!(
                "number of array dimensions ({dimensions}) exceeds the maximum allowed ({MAX_DIMENSIONS})"
            );
            return Err(NoMapping::new(reason));
        }
        let Element { shape, typmod, name, text } = element;
        let element = ArrowCodec::of(items, shape, typmod, name, text, allowed)
            .map_err(|no_mapping| no_mapping.within("the items of the list"))?;
        Ok(Array { element, element_oid, delimiter, dimensions })
    }

    /// Appends the array without the length in front.
    pub(super) fn put(
        &self,
        items: &Source<'_>,
        range: Range<usize>,
        scratch: &mut Vec<u8>,
        out: &mut Vec<u8>,
    ) -> Verdict {
        let lengths = self.lengths(items, &range)?;
        out.extend_from_slice(&wire::count(lengths.as_ref().map_or(0, |_| self.dimensions))?);
        let flags = out.len();
        out.extend_from_slice(&[0; 4]);
        out.extend_from_slice(&self.element_oid.to_be_bytes());
        let Some(lengths) = lengths else { return Ok(()) };
        let elements = lengths.iter().flatten().fold(1_usize, |count, length| count.saturating_mul(*length));
        if elements > MAX_ELEMENTS {
            return Err(NotEncoded::Unsure);
        }
        for length in lengths.into_iter().take(self.dimensions) {
            // Every dimension has a length where there are elements.
            out.extend_from_slice(&wire::count(length.ok_or(NotEncoded::Unsure)?)?);
            out.extend_from_slice(&1_u32.to_be_bytes());
        }
        let mut has_nulls = false;
        self.put_elements(1, items, range, &mut has_nulls, scratch, out)?;
        out[flags..flags + 4].copy_from_slice(&u32::from(has_nulls).to_be_bytes());
        Ok(())
    }

    fn put_elements(
        &self,
        depth: usize,
        items: &Source<'_>,
        range: Range<usize>,
        has_nulls: &mut bool,
        scratch: &mut Vec<u8>,
        out: &mut Vec<u8>,
    ) -> Verdict {
        if depth < self.dimensions {
            for row in range {
                if let Some(Cell::List(inner, range)) = items.cell(row) {
                    self.put_elements(depth + 1, inner, range, has_nulls, scratch, out)?;
                }
            }
            return Ok(());
        }
        let direct = Direct::of(&self.element, items);
        for row in range {
            if items.is_null(row) {
                *has_nulls = true;
                self.element.put_null(out)?;
            } else if !direct.put(items.place(row), out) {
                self.element.put_at(items, row, scratch, out)?;
            }
        }
        Ok(())
    }

    /// Appends the literal.
    pub(super) fn literal(&self, items: &Source<'_>, range: Range<usize>, out: &mut Vec<u8>) -> Verdict {
        if self.lengths(items, &range)?.is_none() {
            out.extend_from_slice(b"{}");
            return Ok(());
        }
        self.write(1, items, range, &mut Vec::new(), out)
    }

    fn write(
        &self,
        depth: usize,
        items: &Source<'_>,
        range: Range<usize>,
        element: &mut Vec<u8>,
        out: &mut Vec<u8>,
    ) -> Verdict {
        out.push(b'{');
        let first = range.start;
        for row in range {
            if row > first {
                out.push(self.delimiter);
            }
            if depth < self.dimensions {
                if let Some(Cell::List(inner, range)) = items.cell(row) {
                    self.write(depth + 1, inner, range, element, out)?;
                }
            } else if items.is_null(row) {
                self.element.check_null()?;
                out.extend_from_slice(b"NULL");
            } else {
                element.clear();
                self.element.literal_at(items, row, element)?;
                self.quote(element, out);
            }
        }
        out.push(b'}');
        Ok(())
    }

    /// Appends an element's literal, in quotes where it would mean something else without.
    fn quote(&self, element: &[u8], out: &mut Vec<u8>) {
        let is_special = |&byte: &u8| {
            byte == self.delimiter || matches!(byte, b'"' | b'\\' | b'{' | b'}') || is_space(byte)
        };
        let is_plain =
            !element.is_empty() && !element.eq_ignore_ascii_case(b"null") && !element.iter().any(is_special);
        if is_plain {
            out.extend_from_slice(element);
        } else {
            put_quoted(element, out);
        }
    }

    /// How many elements each dimension has; `None` when there is no element at all.
    fn lengths(&self, items: &Source<'_>, range: &Range<usize>) -> Result<Option<Lengths>, NotEncoded> {
        let mut lengths = [None; MAX_DIMENSIONS];
        self.measure(0, items, range.clone(), &mut lengths)?;
        let has_elements =
            lengths[..self.dimensions].iter().all(|length| length.is_some_and(|length| length > 0));
        Ok(has_elements.then_some(lengths))
    }

    fn measure(
        &self,
        depth: usize,
        items: &Source<'_>,
        range: Range<usize>,
        lengths: &mut Lengths,
    ) -> Verdict {
        if *lengths[depth].get_or_insert(range.len()) != range.len() {
            let reason = "multidimensional arrays must have array expressions with matching dimensions";
            return Err(NotEncoded::invalid("2202E", reason.to_owned()));
        }
        if depth + 1 < self.dimensions {
            for row in range {
                if items.is_null(row) {
                    return Err(NotEncoded::invalid("22004", "cannot accumulate null arrays".to_owned()));
                }
                if let Some(Cell::List(inner, range)) = items.cell(row) {
                    self.measure(depth + 1, inner, range, lengths)?;
                }
            }
        }
        Ok(())
    }
}

/// A type below its domains.
fn base(shape: &TypeShape) -> &TypeShape {
    match shape {
        TypeShape::Domain { over, .. } => base(over),
        other => other,
    }
}
