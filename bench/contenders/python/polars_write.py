"""Load with polars: read_csv, then write_database with the ADBC engine."""

import adbc_driver_postgresql.dbapi as adbc
import polars as pl

from contract import Task, go, run

TYPES: dict[str, pl.DataType | type[pl.DataType]] = {
    "text": pl.String,
    "jsonb": pl.String,
    "integer": pl.Int32,
    "bigint": pl.Int64,
    "double precision": pl.Float64,
    "boolean": pl.Boolean,
    "timestamptz": pl.Datetime("us", "UTC"),
}
JSON = pl.Extension("arrow.json", pl.String, "")


def load(task: Task) -> int:
    """Read the whole file, append the whole frame."""
    types = {name: TYPES[type_] for name, type_ in task.columns.items()}
    # The driver stores a text as jsonb only where it is marked as JSON.
    documents = [pl.col(name).ext.to(JSON) for name, type_ in task.columns.items() if type_ == "jsonb"]
    with adbc.connect(task.url) as connection:
        go()
        if task.input.suffix == ".parquet":
            frame = pl.read_parquet(task.input)
        else:
            frame = pl.read_csv(task.input, schema_overrides=types)
        frame = frame.with_columns(documents)
        rows = frame.write_database(task.table, connection, engine="adbc", if_table_exists="append")
        connection.commit()
    return int(rows)


if __name__ == "__main__":
    run(load)
