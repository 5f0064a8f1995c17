"""Load with psycopg's executemany: one INSERT a row, sent in pipeline mode, in one transaction."""

import psycopg

from contract import Task, go, run


def load(task: Task) -> int:
    """Let the server read the fields: psycopg sends text of unknown type, as for any str."""
    places = ", ".join(["%s"] * len(task.columns))
    with psycopg.connect(task.url) as connection, connection.cursor() as cursor:
        go()
        cursor.executemany(f"INSERT INTO {task.table} ({task.names}) VALUES ({places})", task.texts())
        return int(cursor.rowcount)  # leaving the connection commits, or fails


if __name__ == "__main__":
    run(load)
