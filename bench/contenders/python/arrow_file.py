"""The CSV or Parquet file as Arrow batches of the columns' types, for the contenders that take Arrow."""

import re

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import csv

from contract import Task

TYPES: dict[str, pa.DataType] = {
    "text": pa.string(),
    "jsonb": pa.string(),
    "smallint": pa.int16(),
    "integer": pa.int32(),
    "bigint": pa.int64(),
    "double precision": pa.float64(),
    "boolean": pa.bool_(),
    "timestamptz": pa.timestamp("us", tz="UTC"),
    # The CSV reader makes neither: they stay text.
    "uuid": pa.string(),
    "text[]": pa.string(),
}


def documents(task: Task) -> pa.RecordBatchReader:
    """Open the file as `reader` does, and mark documents as JSON: text without the mark is no jsonb."""
    batches = reader(task)
    marks = [
        pa.field(field.name, pa.json_(pa.string())) if task.columns[field.name] == "jsonb" else field
        for field in batches.schema
    ]
    schema = pa.schema(marks)

    def mark(batch: pa.RecordBatch) -> pa.RecordBatch:
        columns = [column.cast(field.type) for column, field in zip(batch.columns, schema, strict=True)]
        return pa.record_batch(columns, schema)

    return pa.RecordBatchReader.from_batches(schema, map(mark, batches))


def arrow_type(type_: str) -> pa.DataType:
    """Give the Arrow type for a column's type."""
    numeric = re.fullmatch(r"numeric\((\d+),(\d+)\)", type_)
    return pa.decimal128(int(numeric[1]), int(numeric[2])) if numeric else TYPES[type_]


def reader(task: Task) -> pa.RecordBatchReader:
    """Open the file; records may span lines, an empty field is null."""
    if task.input.suffix == ".parquet":
        file = pq.ParquetFile(task.input)
        return pa.RecordBatchReader.from_batches(file.schema_arrow, file.iter_batches())
    types = {name: arrow_type(type_) for name, type_ in task.columns.items()}
    return csv.open_csv(
        task.input,
        parse_options=csv.ParseOptions(newlines_in_values=True),
        convert_options=csv.ConvertOptions(column_types=types, null_values=[""], strings_can_be_null=True),
    )
