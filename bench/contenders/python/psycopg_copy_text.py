"""Load with psycopg's COPY in text format, a row at a time with write_row."""

import psycopg

from contract import Task, go, run


def load(task: Task) -> int:
    """Pass the fields as they are; the server reads them."""
    with psycopg.connect(task.url) as connection, connection.cursor() as cursor:
        go()
        with cursor.copy(f"COPY {task.table} ({task.names}) FROM STDIN") as copy:
            for record in task.texts():
                copy.write_row(record)
        return int(cursor.rowcount)  # leaving the connection commits, or fails


if __name__ == "__main__":
    run(load)
