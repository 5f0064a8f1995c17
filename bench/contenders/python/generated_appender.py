"""Load sensor readings with the appender that howdah generated: its dataclasses, written as binary COPY."""

from typing import TYPE_CHECKING

import psycopg
from readings import HowdahBenchRow, Readings

from contract import Task, go, run

if TYPE_CHECKING:
    from collections.abc import Iterator


def rows(task: Task) -> "Iterator[HowdahBenchRow]":
    """Make rows of the table's class."""
    return (HowdahBenchRow(*values) for values in task.values())


def load(task: Task) -> int:
    """Append all rows in one transaction."""
    with psycopg.connect(task.url) as connection:
        readings = Readings(connection)
        go()
        return int(readings.bulk_insert_howdah_bench_rows(rows(task)))  # leaving the connection commits


if __name__ == "__main__":
    run(load)
