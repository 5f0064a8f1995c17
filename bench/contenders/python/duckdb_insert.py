"""Load with DuckDB's postgres extension: INSERT INTO the attached table SELECT FROM the file or Arrow."""

import sys
from pathlib import Path

import duckdb
import duckdb_extension_postgres_scanner as extension

import arrow_csv
from contract import Task, go, run

TYPES = {"jsonb": "JSON", "text": "VARCHAR", "double precision": "DOUBLE"}


def load(task: Task) -> int:
    """Let DuckDB read the file, or take the batches that pyarrow reads; it writes one COPY."""
    wheel = Path(extension.__file__).parent
    file = wheel / f"extensions/v{duckdb.__version__}/postgres_scanner.duckdb_extension"
    types = {name: TYPES.get(type_, type_) for name, type_ in task.columns.items()}
    with duckdb.connect() as connection:
        connection.load_extension(str(file))
        connection.execute(f"ATTACH '{task.url}' AS pg (TYPE postgres)")
        connection.execute("SET TimeZone = 'UTC'")
        insert = f"INSERT INTO pg.{task.table} ({task.names})"
        go()
        if "arrow" in sys.argv[1:]:
            connection.register("batches", arrow_csv.reader(task))
            result = connection.execute(f"{insert} SELECT * FROM batches").fetchone()
        else:
            source = f"read_csv('{task.input}', header = true, columns = {types})"
            result = connection.execute(f"{insert} SELECT * FROM {source}").fetchone()
    return int(result[0]) if result else 0


if __name__ == "__main__":
    run(load)
