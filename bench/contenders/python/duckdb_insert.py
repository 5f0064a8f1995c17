"""Load with DuckDB's postgres extension: INSERT INTO the attached table SELECT FROM the file or Arrow."""

import sys
from pathlib import Path

import duckdb
import duckdb_extension_postgres_scanner as extension

import arrow_file
from contract import Task, go, run

TYPES = {"jsonb": "JSON", "text": "VARCHAR", "double precision": "DOUBLE", "text[]": "VARCHAR"}


def value(name: str, type_: str) -> str:
    """Give the expression for a column: DuckDB writes a list as [a,b], where the file has {a,b}."""
    column = f'"{name}"'
    return f"CAST('[' || {column}[2:-2] || ']' AS VARCHAR[])" if type_ == "text[]" else column


def load(task: Task) -> int:
    """Let DuckDB read the file, or take the batches that pyarrow reads; it commits once."""
    wheel = Path(extension.__file__).parent
    file = wheel / f"extensions/v{duckdb.__version__}/postgres_scanner.duckdb_extension"
    types = {name: TYPES.get(type_, type_) for name, type_ in task.columns.items()}
    with duckdb.connect() as connection:
        connection.load_extension(str(file))
        connection.execute(f"ATTACH '{task.url}' AS pg (TYPE postgres)")
        connection.execute("SET TimeZone = 'UTC'")
        go()
        if "arrow" in sys.argv[1:]:
            connection.register("batches", arrow_file.reader(task))
            source = "batches"
        elif task.input.suffix == ".parquet":
            source = f"read_parquet('{task.input}')"
        else:
            source = f"read_csv('{task.input}', header = true, columns = {types})"
        values = ", ".join(value(name, type_) for name, type_ in task.columns.items())
        connection.execute(f"INSERT INTO pg.{task.table} ({task.names}) SELECT {values} FROM {source}")
        inserted = connection.fetchone()
    return int(inserted[0]) if inserted else 0


if __name__ == "__main__":
    run(load)
