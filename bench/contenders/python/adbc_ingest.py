"""Load with ADBC: adbc_ingest of the record batches that pyarrow reads from the CSV file."""

import adbc_driver_postgresql.dbapi as adbc

import arrow_file
from contract import Task, go, run


def load(task: Task) -> int:
    """Append to the table that is there."""
    with adbc.connect(task.url) as connection, connection.cursor() as cursor:
        go()
        rows = cursor.adbc_ingest(task.table, arrow_file.documents(task), mode="append")
        connection.commit()
    return int(rows)


if __name__ == "__main__":
    run(load)
