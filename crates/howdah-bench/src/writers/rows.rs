//! Rows that are encoded before the clock starts, so that no figure is the generator's own speed.

use std::ops::Range;

use bytes::Bytes;

use super::parameter::Field;
use super::shape::{Form, Shape};
use crate::dataset::{COPY_HEADER, Dataset, Generator, Part};
use crate::error::Error;

/// The rows of a generator in memory, in the form that a shape sends.
#[derive(Debug)]
pub struct ShapedRows {
    dataset: Dataset,
    form: Form,
    bytes: Bytes,
    /// Where each row begins, and the end of the last one.
    bounds: Vec<usize>,
}

impl ShapedRows {
    /// Makes and encodes the rows for a shape.
    ///
    /// # Errors
    /// There are more than this machine can count.
    pub fn new(generator: Generator, shape: Shape) -> Result<ShapedRows, Error> {
        let doing = || Error::io("could not encode rows");
        let count = usize::try_from(generator.rows)
            .map_err(|_| Error::Usage("the rows do not fit into memory".to_owned()))?;
        let form = shape.form();
        let mut bytes = Vec::new();
        let bounds = match form {
            Form::Binary => {
                generator.write_binary(Part::WHOLE, &mut bytes).map_err(doing())?;
                binary_bounds(&bytes, count)
            }
            Form::Csv => {
                generator.write_csv(&mut bytes).map_err(doing())?;
                csv_bounds(&bytes)
            }
            Form::Nothing => vec![0; count + 1],
        };
        Ok(ShapedRows { dataset: generator.dataset, form, bytes: bytes.into(), bounds })
    }

    /// Returns the number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.bounds.len() - 1
    }

    /// Returns true if there are no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(super) fn check(&self, dataset: Dataset, shape: Shape) -> Result<(), Error> {
        if (self.dataset, self.form) == (dataset, shape.form()) {
            return Ok(());
        }
        Err(Error::Usage(format!("these rows were not encoded for {} as {shape:?}", dataset.name())))
    }

    /// The bytes of some rows as they lie.
    pub(super) fn slice(&self, rows: Range<usize>) -> Bytes {
        self.bytes.slice(self.bounds[rows.start]..self.bounds[rows.end])
    }

    /// The fields of some rows, row by row. They must lie in binary form.
    pub(super) fn fields(&self, rows: Range<usize>) -> Vec<Field<'_>> {
        let mut fields = Vec::with_capacity(rows.len() * self.dataset.columns().len());
        for row in rows {
            let mut rest = &self.bytes[self.bounds[row] + 2..self.bounds[row + 1]];
            while let Some((length, values)) = rest.split_first_chunk() {
                // A negative length is that of NULL.
                let value = usize::try_from(i32::from_be_bytes(*length)).ok().map(|length| &values[..length]);
                rest = &values[value.map_or(0, <[u8]>::len)..];
                fields.push(Field(value));
            }
        }
        fields
    }
}

/// A row is a count of fields, and for each its length and its bytes.
fn binary_bounds(bytes: &[u8], rows: usize) -> Vec<usize> {
    let mut bounds = Vec::with_capacity(rows + 1);
    let mut at = COPY_HEADER.len();
    for _ in 0..rows {
        bounds.push(at);
        let fields = u16::from_be_bytes([bytes[at], bytes[at + 1]]);
        at += 2;
        for _ in 0..fields {
            let length = i32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
            // NULL has the length -1 and no bytes.
            at += 4 + usize::try_from(length).unwrap_or(0);
        }
    }
    bounds.push(at);
    bounds
}

/// A row ends at a line end outside of quotes; the first one is the header, which no batch begins with.
fn csv_bounds(bytes: &[u8]) -> Vec<usize> {
    let mut bounds = Vec::new();
    let mut quoted = false;
    for at in memchr::memchr2_iter(b'"', b'\n', bytes) {
        if bytes[at] == b'"' {
            quoted = !quoted;
        } else if !quoted {
            bounds.push(at + 1);
        }
    }
    bounds
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_cut_where_they_end_in_every_data_set() {
        for dataset in Dataset::ALL {
            for hostile in [false, true] {
                let generator = Generator { hostile, ..dataset.generator(300, 7) };
                let binary = ShapedRows::new(generator, Shape::CopyBinary).unwrap();
                let csv = ShapedRows::new(generator, Shape::CopyCsv).unwrap();
                assert_eq!((binary.len(), csv.len()), (300, 300), "{generator:?}");
                let columns = dataset.columns().len();
                assert_eq!(binary.fields(0..300).len(), 300 * columns, "{generator:?}");
                assert_eq!(binary.fields(299..300).len(), columns);
                let mut whole = Vec::new();
                generator.write_csv(&mut whole).unwrap();
                let header = dataset.header().len() + 1;
                let rows: Vec<u8> = (0..300).flat_map(|row| csv.slice(row..row + 1)).collect();
                assert!(rows == whole[header..], "{generator:?}");
            }
        }
    }

    #[test]
    fn rows_for_one_shape_are_not_sent_by_another() {
        let rows = ShapedRows::new(Dataset::Tasks.generator(3, 1), Shape::CopyCsv).unwrap();
        assert!(rows.check(Dataset::Tasks, Shape::CopyCsv).is_ok());
        assert!(rows.check(Dataset::Tasks, Shape::Values).is_err());
        assert!(rows.check(Dataset::Instest, Shape::CopyCsv).is_err());
    }
}
