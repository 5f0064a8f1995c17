"""Load with psycopg's COPY in binary format: set_types and write_row."""

import psycopg
from psycopg.types.json import set_json_dumps

from contract import Task, go, run


def load(task: Task) -> int:
    """Make Python values of the columns' types. Documents are text already and stay as they are."""
    set_json_dumps(lambda document: document)
    with psycopg.connect(task.url) as connection, connection.cursor() as cursor:
        go()
        with cursor.copy(f"COPY {task.table} ({task.names}) FROM STDIN (FORMAT binary)") as copy:
            copy.set_types([type_.partition("(")[0] for type_ in task.columns.values()])
            for row in task.values():
                copy.write_row(row)
        return int(cursor.rowcount)  # leaving the connection commits, or fails


if __name__ == "__main__":
    run(load)
