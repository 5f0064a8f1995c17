"""Writes through howdah as a client of Spark Connect. A process has one kind of Spark, so this is a program.

``spark_remote.py connect|sail DATABASE MARKS`` writes into the tables appended, exchanged, matched, died and
checked, and prints what it was told, as JSON.
"""

import contextlib
import json
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from spark_session import SETTINGS

from howdah.spark import HowdahDataSource, register
from howdah.spark._source import HowdahWriter


@contextlib.contextmanager
def connect() -> Iterator[Any]:
    """Give a session of a Spark whose server is a JVM beside this process."""
    # A task may fail four times.
    builder = SparkSession.builder.remote("local[2,4]")
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    yield session
    session.stop()


@contextlib.contextmanager
def sail() -> Iterator[Any]:
    """Give a session of Sail, whose server is in this process."""
    from pysail.spark import SparkConnectServer  # noqa: PLC0415

    server = SparkConnectServer("127.0.0.1", 0)
    server.start()
    _, port = server.listening_address
    session = SparkSession.builder.remote(f"sc://127.0.0.1:{port}").getOrCreate()
    yield session
    session.stop()
    server.stop()


class Faulty(HowdahDataSource):
    """A format like howdah's: one of its tasks fails when its rows are committed, and nobody hears of it."""

    @classmethod
    def name(cls) -> str:
        return "faulty"

    def writer(self, schema: Any, overwrite: bool) -> Any:  # noqa: ANN401, FBT001
        mark = self.options.pop("mark")
        return FaultyWriter(super().writer(schema, overwrite)._job, mark)  # noqa: SLF001


class FaultyWriter(HowdahWriter):
    """Its writer."""

    def __init__(self, job: Any, mark: str) -> None:  # noqa: ANN401
        super().__init__(job)
        self._mark = mark

    def write(self, iterator: Any) -> Any:  # noqa: ANN401
        done = super().write(iterator)
        try:
            Path(self._mark).touch(exist_ok=False)
        except FileExistsError:
            return done
        message = "the first task fails"
        raise RuntimeError(message)


def written(frame: Any, database: str, table: str, mode: str = "append", **options: str) -> str:  # noqa: ANN401
    """Write it; give what was told of it."""
    form = options.pop("format", "howdah")
    writer = frame.write.format(form).options(url=f"dbname={database}", dbtable=table, **options)
    try:
        writer.mode(mode).save()
    except PySparkException as refused:
        return str(refused)
    return ""


def told(spark: Any, database: str, marks: Path) -> Iterator[tuple[str, str]]:  # noqa: ANN401
    """Write all tables."""
    frame = spark.range(0, 9000, 1, 3)
    yield "found by itself", written(frame, database, "appended")
    register(spark)
    yield "appended", written(frame, database, "appended", connections="2")
    for truncate in ("false", "true"):
        few = spark.range(0, 10, 1, 2)
        yield f"truncate {truncate}", written(few, database, "exchanged", "overwrite", truncate=truncate)
    changes = spark.sql("SELECT id, 'new' AS v FROM range(0, 3)")
    yield "matched", written(changes, database, "matched", write_mode="upsert", key="id")
    spark.dataSource.register(Faulty)
    mark = str(marks / "failed")
    yield "died", written(frame, database, "died", format="faulty", mark=mark)
    yield "checked", written(frame, database, "checked")
    yield "parts", written(frame, database, "parts", commit="tasks", job_id="nightly")
    yield "password", written(frame, database, "appended", password="x")  # noqa: S106


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    _, kind, database, marks = sys.argv
    with {"connect": connect, "sail": sail}[kind]() as spark:
        print(json.dumps(dict(told(spark, database, Path(marks)))))  # noqa: T201 - the test reads it
