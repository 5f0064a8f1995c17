//! Rows as a Parquet file: row groups of a million rows, Snappy, dictionaries, as most writers make them by default.

use std::io::{self, Write};
use std::sync::Arc;

use arrow_array::builder::{
    ArrayBuilder, BooleanBuilder, Decimal128Builder, FixedSizeBinaryBuilder, Float64Builder, Int16Builder,
    Int32Builder, Int64Builder, ListBuilder, StringBuilder, TimestampMicrosecondBuilder,
};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, Schema, SchemaRef, TimeUnit};
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;

use super::decimal::gauge;
use super::set::Dataset;
use super::value::{Sink, Value};

/// Rows collected before they are handed to the writer.
const BATCH_ROWS: usize = 16_384;

/// Rows in a row group: the default of Arrow's writers.
const GROUP_ROWS: usize = 1 << 20;

/// Writes rows, and at the end the footer.
pub(super) struct Parquet<W: Write + Send> {
    writer: ArrowWriter<W>,
    schema: SchemaRef,
    columns: Vec<ColumnValues>,
    /// The column of the next value.
    at: usize,
    rows: usize,
}

impl<W: Write + Send> Parquet<W> {
    pub(super) fn new(dataset: Dataset, out: W) -> io::Result<Self> {
        let columns: Vec<ColumnValues> = dataset.types().map(|(_, sql)| ColumnValues::of(sql)).collect();
        let fields: Vec<Field> = dataset
            .types()
            .zip(&columns)
            .map(|((name, _), column)| Field::new(name, column.data_type(), true))
            .collect();
        let schema: SchemaRef = Arc::new(Schema::new(fields));
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_max_row_group_row_count(Some(GROUP_ROWS))
            .build();
        let writer = ArrowWriter::try_new(out, schema.clone(), Some(properties))?;
        Ok(Parquet { writer, schema, columns, at: 0, rows: 0 })
    }

    /// Writes what is left. Returns the number of bytes of the whole file.
    pub(super) fn finish(mut self) -> io::Result<u64> {
        self.write()?;
        self.writer.finish()?;
        Ok(self.writer.bytes_written() as u64)
    }

    fn write(&mut self) -> io::Result<()> {
        if self.rows > 0 {
            let arrays = self.columns.iter_mut().map(ColumnValues::finish).collect();
            let batch = RecordBatch::try_new(self.schema.clone(), arrays).map_err(io::Error::other)?;
            self.writer.write(&batch)?;
            self.rows = 0;
        }
        Ok(())
    }
}

impl<W: Write + Send> Sink for Parquet<W> {
    fn begin(&mut self, _: usize) {
        self.at = 0;
    }

    fn put(&mut self, value: Value<'_>) {
        self.columns[self.at].put(value);
        self.at += 1;
    }

    fn end(&mut self) -> io::Result<()> {
        self.rows += 1;
        if self.rows == BATCH_ROWS { self.write() } else { Ok(()) }
    }
}

/// A column's values, collected.
enum ColumnValues {
    Boolean(BooleanBuilder),
    Smallint(Int16Builder),
    Integer(Int32Builder),
    Bigint(Int64Builder),
    Double(Float64Builder),
    /// With its precision and scale.
    Numeric(Decimal128Builder, u8, i8),
    Timestamptz(TimestampMicrosecondBuilder),
    Uuid(FixedSizeBinaryBuilder),
    Text(StringBuilder),
    TextArray(ListBuilder<StringBuilder>),
}

/// Microseconds since 1970, UTC.
fn instants() -> DataType {
    DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()))
}

impl ColumnValues {
    /// For the SQL type of a data set's column.
    fn of(sql: &str) -> ColumnValues {
        match sql {
            "boolean" => ColumnValues::Boolean(BooleanBuilder::new()),
            "smallint" => ColumnValues::Smallint(Int16Builder::new()),
            "integer" => ColumnValues::Integer(Int32Builder::new()),
            "bigint" => ColumnValues::Bigint(Int64Builder::new()),
            "double precision" => ColumnValues::Double(Float64Builder::new()),
            "timestamptz" => {
                ColumnValues::Timestamptz(TimestampMicrosecondBuilder::new().with_data_type(instants()))
            }
            "uuid" => ColumnValues::Uuid(FixedSizeBinaryBuilder::new(16)),
            "text[]" => ColumnValues::TextArray(ListBuilder::new(StringBuilder::new())),
            _ => match numeric(sql) {
                Some((precision, scale)) => {
                    let data_type = DataType::Decimal128(precision, scale);
                    ColumnValues::Numeric(
                        Decimal128Builder::new().with_data_type(data_type),
                        precision,
                        scale,
                    )
                }
                None => ColumnValues::Text(StringBuilder::new()),
            },
        }
    }

    fn data_type(&self) -> DataType {
        match self {
            ColumnValues::Boolean(_) => DataType::Boolean,
            ColumnValues::Smallint(_) => DataType::Int16,
            ColumnValues::Integer(_) => DataType::Int32,
            ColumnValues::Bigint(_) => DataType::Int64,
            ColumnValues::Double(_) => DataType::Float64,
            ColumnValues::Numeric(_, precision, scale) => DataType::Decimal128(*precision, *scale),
            ColumnValues::Timestamptz(_) => instants(),
            ColumnValues::Uuid(_) => DataType::FixedSizeBinary(16),
            ColumnValues::Text(_) => DataType::Utf8,
            ColumnValues::TextArray(_) => DataType::List(Arc::new(Field::new("item", DataType::Utf8, true))),
        }
    }

    fn put(&mut self, value: Value<'_>) {
        match (self, value) {
            (ColumnValues::Boolean(column), Value::Boolean(value)) => column.append_value(value),
            (ColumnValues::Smallint(column), Value::Smallint(value)) => column.append_value(value),
            (ColumnValues::Integer(column), Value::Integer(value)) => column.append_value(value),
            (ColumnValues::Bigint(column), Value::Bigint(value)) => column.append_value(value),
            (ColumnValues::Double(column), Value::Double(value)) => column.append_value(value),
            (ColumnValues::Double(column), Value::Gauge { scaled, decimals }) => {
                column.append_value(gauge(scaled, decimals));
            }
            (ColumnValues::Numeric(column, _, to), Value::Numeric { scaled, scale }) => {
                let missing = u32::from(to.unsigned_abs()).saturating_sub(scale);
                column.append_value(i128::from(scaled) * 10_i128.pow(missing));
            }
            (ColumnValues::Timestamptz(column), Value::Timestamptz(micros)) => column.append_value(micros),
            (ColumnValues::Uuid(column), Value::Uuid(bytes)) => {
                column.append_value(bytes).expect("a uuid has 16 bytes");
            }
            (ColumnValues::Text(column), Value::Text(text) | Value::Jsonb(text)) => {
                column.append_value(std::str::from_utf8(text).expect("generated text is UTF-8"));
            }
            (ColumnValues::TextArray(column), Value::TextArray(elements)) => {
                for element in elements {
                    let text =
                        element.map(|text| std::str::from_utf8(text).expect("generated text is UTF-8"));
                    column.values().append_option(text);
                }
                column.append(true);
            }
            (column, Value::Null) => column.put_null(),
            (column, value) => panic!("{value:?} in a column of {}", column.data_type()),
        }
    }

    fn put_null(&mut self) {
        match self {
            ColumnValues::Boolean(column) => column.append_null(),
            ColumnValues::Smallint(column) => column.append_null(),
            ColumnValues::Integer(column) => column.append_null(),
            ColumnValues::Bigint(column) => column.append_null(),
            ColumnValues::Double(column) => column.append_null(),
            ColumnValues::Numeric(column, ..) => column.append_null(),
            ColumnValues::Timestamptz(column) => column.append_null(),
            ColumnValues::Uuid(column) => column.append_null(),
            ColumnValues::Text(column) => column.append_null(),
            ColumnValues::TextArray(column) => column.append(false),
        }
    }

    fn finish(&mut self) -> ArrayRef {
        let builder: &mut dyn ArrayBuilder = match self {
            ColumnValues::Boolean(column) => column,
            ColumnValues::Smallint(column) => column,
            ColumnValues::Integer(column) => column,
            ColumnValues::Bigint(column) => column,
            ColumnValues::Double(column) => column,
            ColumnValues::Numeric(column, ..) => column,
            ColumnValues::Timestamptz(column) => column,
            ColumnValues::Uuid(column) => column,
            ColumnValues::Text(column) => column,
            ColumnValues::TextArray(column) => column,
        };
        builder.finish()
    }
}

/// Precision and scale of `numeric(p,s)`.
fn numeric(sql: &str) -> Option<(u8, i8)> {
    let (precision, scale) = sql.strip_prefix("numeric(")?.strip_suffix(')')?.split_once(',')?;
    Some((precision.parse().ok()?, scale.parse().ok()?))
}
