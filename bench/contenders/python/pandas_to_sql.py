"""Load with pandas: read_csv and to_sql, as INSERTs of one row or, with `multi`, of many."""

import sys
from typing import Any, Literal

import pandas as pd
from sqlalchemy import create_engine
from sqlalchemy.dialects.postgresql import JSONB

from contract import Task, go, run

TYPES = {
    "text": "string",
    "jsonb": "string",
    "integer": "Int32",
    "bigint": "Int64",
    "double precision": "float64",
    "boolean": "boolean",
}
# The protocol counts a statement's parameters with 16 bits.
PARAMETERS = 65_535


def load(task: Task) -> int:
    """Read and write in chunks, all in one transaction. Documents are text already."""
    method: Literal["multi"] | None = "multi" if "multi" in sys.argv[1:] else None
    chunk = min(task.batch, PARAMETERS // len(task.columns)) if method else task.batch
    columns = task.columns.items()
    times = [name for name, type_ in columns if type_ == "timestamptz"]
    documents: Any = {name: JSONB for name, type_ in columns if type_ == "jsonb"}
    types: Any = {name: TYPES[type_] for name, type_ in columns if type_ in TYPES}
    url = task.url.replace("postgresql://", "postgresql+psycopg://", 1)
    engine = create_engine(url, json_serializer=lambda document: document)
    rows = 0
    with engine.begin() as connection:
        go()
        frames = pd.read_csv(task.input, dtype=types, keep_default_na=False, na_values=[""], chunksize=chunk)
        for frame in frames:
            for name in times:
                frame[name] = pd.to_datetime(frame[name], utc=True, format="ISO8601")
            frame.to_sql(
                task.table, connection, if_exists="append", index=False, method=method, dtype=documents
            )
            rows += len(frame)  # what to_sql returns is -1 with this driver
    return rows


if __name__ == "__main__":
    run(load)
