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
    columns: Vec<Column>,
    /// The column of the next value.
    at: usize,
    rows: usize,
}

impl<W: Write + Send> Parquet<W> {
    pub(super) fn new(dataset: Dataset, out: W) -> io::Result<Self> {
        let columns: Vec<Column> = dataset.types().map(|(_, sql)| Column::of(sql)).collect();
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
            let arrays = self.columns.iter_mut().map(Column::finish).collect();
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
enum Column {
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

impl Column {
    /// For the SQL type of a data set's column.
    fn of(sql: &str) -> Column {
        match sql {
            "boolean" => Column::Boolean(BooleanBuilder::new()),
            "smallint" => Column::Smallint(Int16Builder::new()),
            "integer" => Column::Integer(Int32Builder::new()),
            "bigint" => Column::Bigint(Int64Builder::new()),
            "double precision" => Column::Double(Float64Builder::new()),
            "timestamptz" => {
                Column::Timestamptz(TimestampMicrosecondBuilder::new().with_data_type(instants()))
            }
            "uuid" => Column::Uuid(FixedSizeBinaryBuilder::new(16)),
            "text[]" => Column::TextArray(ListBuilder::new(StringBuilder::new())),
            _ => match numeric(sql) {
                Some((precision, scale)) => {
                    let data_type = DataType::Decimal128(precision, scale);
                    Column::Numeric(Decimal128Builder::new().with_data_type(data_type), precision, scale)
                }
                None => Column::Text(StringBuilder::new()),
            },
        }
    }

    fn data_type(&self) -> DataType {
        match self {
            Column::Boolean(_) => DataType::Boolean,
            Column::Smallint(_) => DataType::Int16,
            Column::Integer(_) => DataType::Int32,
            Column::Bigint(_) => DataType::Int64,
            Column::Double(_) => DataType::Float64,
            Column::Numeric(_, precision, scale) => DataType::Decimal128(*precision, *scale),
            Column::Timestamptz(_) => instants(),
            Column::Uuid(_) => DataType::FixedSizeBinary(16),
            Column::Text(_) => DataType::Utf8,
            Column::TextArray(_) => DataType::List(Arc::new(Field::new("item", DataType::Utf8, true))),
        }
    }

    fn put(&mut self, value: Value<'_>) {
        match (self, value) {
            (Column::Boolean(column), Value::Boolean(value)) => column.append_value(value),
            (Column::Smallint(column), Value::Smallint(value)) => column.append_value(value),
            (Column::Integer(column), Value::Integer(value)) => column.append_value(value),
            (Column::Bigint(column), Value::Bigint(value)) => column.append_value(value),
            (Column::Double(column), Value::Double(value)) => column.append_value(value),
            (Column::Double(column), Value::Gauge { scaled, decimals }) => {
                column.append_value(gauge(scaled, decimals));
            }
            (Column::Numeric(column, _, to), Value::Numeric { scaled, scale }) => {
                let missing = u32::from(to.unsigned_abs()).saturating_sub(scale);
                column.append_value(i128::from(scaled) * 10_i128.pow(missing));
            }
            (Column::Timestamptz(column), Value::Timestamptz(micros)) => column.append_value(micros),
            (Column::Uuid(column), Value::Uuid(bytes)) => {
                column.append_value(bytes).expect("a uuid has 16 bytes");
            }
            (Column::Text(column), Value::Text(text) | Value::Jsonb(text)) => {
                column.append_value(std::str::from_utf8(text).expect("generated text is UTF-8"));
            }
            (Column::TextArray(column), Value::TextArray(elements)) => {
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
            Column::Boolean(column) => column.append_null(),
            Column::Smallint(column) => column.append_null(),
            Column::Integer(column) => column.append_null(),
            Column::Bigint(column) => column.append_null(),
            Column::Double(column) => column.append_null(),
            Column::Numeric(column, ..) => column.append_null(),
            Column::Timestamptz(column) => column.append_null(),
            Column::Uuid(column) => column.append_null(),
            Column::Text(column) => column.append_null(),
            Column::TextArray(column) => column.append(false),
        }
    }

    fn finish(&mut self) -> ArrayRef {
        let builder: &mut dyn ArrayBuilder = match self {
            Column::Boolean(column) => column,
            Column::Smallint(column) => column,
            Column::Integer(column) => column,
            Column::Bigint(column) => column,
            Column::Double(column) => column,
            Column::Numeric(column, ..) => column,
            Column::Timestamptz(column) => column,
            Column::Uuid(column) => column,
            Column::Text(column) => column,
            Column::TextArray(column) => column,
        };
        builder.finish()
    }
}

/// Precision and scale of `numeric(p,s)`.
fn numeric(sql: &str) -> Option<(u8, i8)> {
    let (precision, scale) = sql.strip_prefix("numeric(")?.strip_suffix(')')?.split_once(',')?;
    Some((precision.parse().ok()?, scale.parse().ok()?))
}
