//! Rows out of Arrow record batches: which column of a batch is which of the shape's, and how its values become fields.

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use howdah_encode::arrow::{Allowed, ArrowCodec, ArrowColumn};

use super::field::FieldWriter;
use super::open::OpenField;
use super::shape::{RowColumn, RowShape};
use crate::error::{Error, ErrorKind};

/// The way from batches of one schema to rows of one shape.
pub(super) struct BatchPlan {
    schema: SchemaRef,
    shape: RowShape,
    /// By the shape's columns: which column of the batch, and how its values become the column's.
    codecs: Vec<(usize, ArrowCodec)>,
}

/// A batch whose rows can be encoded.
pub(super) struct BatchRows<'b> {
    shape: &'b RowShape,
    columns: Vec<ArrowColumn<'b>>,
}

impl BatchPlan {
    /// Columns meet by name.
    ///
    /// # Errors
    /// A usage error for all that does not fit: names that only one side has, and types between which there is no exact way.
    pub(super) fn new(schema: SchemaRef, shape: &RowShape) -> Result<BatchPlan, Error> {
        let mut problems = Vec::new();
        let mut hint = None;
        let mut codecs = Vec::with_capacity(shape.columns().len());
        for column in shape.columns() {
            match codec(&schema, column) {
                Ok(codec) => codecs.push(codec),
                Err((reason, advice)) => {
                    problems.push(format!("column {:?}: {reason}", column.name));
                    hint = hint.or(advice);
                }
            }
        }
        for field in schema.fields() {
            if !shape.columns().iter().any(|column| column.name == *field.name()) {
                problems.push(format!("column {:?}: the writer is not for it", field.name()));
            }
        }
        if problems.is_empty() {
            return Ok(BatchPlan { schema, shape: shape.clone(), codecs });
        }
        let error = Error::usage(format!("the batch does not fit: {}", problems.join("; ")));
        Err(error.with_hint(hint.unwrap_or_else(|| "select and rename the batch's columns first".to_owned())))
    }

    /// Whether it is for batches of this schema.
    pub(super) fn is_for(&self, schema: &SchemaRef) -> bool {
        std::sync::Arc::ptr_eq(&self.schema, schema) || self.schema == *schema
    }

    /// Typed access to the batch's columns.
    ///
    /// # Errors
    /// The batch is not of the schema.
    pub(super) fn rows<'b>(&'b self, batch: &'b RecordBatch) -> Result<BatchRows<'b>, Error> {
        let bound = self.codecs.iter().map(|(at, codec)| codec.bind(batch.column(*at).as_ref()));
        let columns = bound.collect::<Result<_, _>>();
        let columns = columns.map_err(|no_mapping| Error::new(ErrorKind::Internal, no_mapping.reason))?;
        Ok(BatchRows { shape: &self.shape, columns })
    }
}

impl BatchRows<'_> {
    /// Appends row `row` (from 0), as [`RowShape::encode`] does.
    ///
    /// # Errors
    /// A value that the column cannot hold as it is.
    pub(super) fn encode(
        &self,
        row: usize,
        out: &mut Vec<u8>,
        open: &mut Vec<OpenField>,
    ) -> Result<(), Error> {
        self.shape.put_row(out, open, |fields| {
            self.columns.iter().try_for_each(|values| {
                fields.put_by(
                    |field: &mut FieldWriter<'_>| {
                        if values.is_null(row) { field.null() } else { field.arrow(values, row) }
                    },
                )
            })
        })
    }
}

/// The batch's column of that name, and the way from its type; or why there is none, and what to do about it.
fn codec(schema: &SchemaRef, column: &RowColumn) -> Result<(usize, ArrowCodec), (String, Option<String>)> {
    let named = |(_, field): &(usize, &arrow_schema::FieldRef)| *field.name() == column.name;
    let mut found = schema.fields().iter().enumerate().filter(named);
    let Some((at, field)) = found.next() else { return Err(("the batch has none".to_owned(), None)) };
    if found.next().is_some() {
        return Err(("the batch has two of that name".to_owned(), None));
    }
    let text = column.codec.as_ref().filter(|_| !column.as_text);
    ArrowCodec::of(field, &column.shape, column.typmod, &column.type_name, text, Allowed::default())
        .map(|codec| (at, codec))
        .map_err(|problem| (problem.reason, problem.hint))
}
