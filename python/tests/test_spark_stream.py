"""Spark streams through howdah: epochs that come again, drivers that are killed, tasks that die."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import require
from conftest import Database
from test_cluster import left

import howdah

require.spark()

from pyspark.errors import PySparkException  # noqa: E402

IDS = "SELECT string_agg(id::text, ' ' ORDER BY id) FROM t"
STREAMS = "SELECT rows, epoch FROM howdah_jobs WHERE state = 'stream'"


def file_of(place: Path, number: int, ids: range) -> None:
    folder = place / "in"
    folder.mkdir(exist_ok=True)
    lines = "".join(json.dumps({"id": number, "word": f"w{number % 2}"}) + "\n" for number in ids)
    path = folder / f"{number}.json"
    path.write_text(lines)
    # Spark takes the oldest first.
    os.utime(path, (1_700_000_000 + number, 1_700_000_000 + number))


def source(spark: Any, place: Path) -> Any:  # noqa: ANN401
    kind = spark.readStream.schema("id bigint, word string").option("maxFilesPerTrigger", 1)
    return kind.json(str(place / "in"))


def streamed(frame: Any, database: Database, place: Path, *, mode: str = "append", **options: Any) -> Any:  # noqa: ANN401
    url = f"dbname={database.dsn.rsplit('/', 1)[1]}"
    writer = frame.writeStream.format(options.pop("format", "howdah")).outputMode(mode)
    writer = writer.options(url=url, dbtable="t", checkpointLocation=str(place / "checkpoint"), **options)
    query = writer.trigger(availableNow=True).start()
    query.awaitTermination()
    return query


def test_a_stream_begins_again_where_it_was_not(spark: Any, database: Database, tmp_path: Path) -> None:  # noqa: ANN401
    for number in range(2):
        file_of(tmp_path, number, range(3 * number, 3 * number + 3))
    first = streamed(source(spark, tmp_path), database, tmp_path, key="id")
    assert database.value(IDS) == "0 1 2 3 4 5"
    file_of(tmp_path, 2, range(6, 8))
    second = streamed(source(spark, tmp_path), database, tmp_path, key="id")
    assert database.value(IDS) == "0 1 2 3 4 5 6 7"
    assert first.id == second.id
    assert database.sql("SELECT job, state, rows, epoch FROM howdah_jobs") == [f"{first.id}|stream|8|2"]
    assert left(database) == []


def test_all_groups_are_added_in_each_epoch(spark: Any, database: Database, tmp_path: Path) -> None:  # noqa: ANN401
    for number in range(2):
        file_of(tmp_path, number, range(4 * number, 4 * number + 4))
    counts = source(spark, tmp_path).groupBy("word").count()
    with pytest.raises(PySparkException, match="leave truncate and write_mode out"):
        streamed(counts, database, tmp_path, mode="complete", write_mode="replace")
    streamed(counts, database, tmp_path, mode="complete")
    assert database.sql("SELECT word, count FROM t ORDER BY word") == ["w0|4", "w1|4"]
    assert left(database) == []


def dying() -> Any:  # noqa: ANN401
    """Make a format like howdah's whose tasks die: by value, as tests are no module of the executors."""
    import os  # noqa: PLC0415
    import signal  # noqa: PLC0415

    from pyspark import TaskContext  # noqa: PLC0415

    from howdah.spark._source import HowdahDataSource  # noqa: PLC0415
    from howdah.spark._stream import HowdahStreamWriter  # noqa: PLC0415

    class DyingWriter(HowdahStreamWriter):
        def write(self, iterator: Any) -> Any:  # noqa: ANN401
            written = super().write(iterator)
            if TaskContext.get().attemptNumber() == 0:
                # Its rows are committed, and nobody hears of it.
                os.kill(os.getpid(), signal.SIGKILL)
            return written

    class DyingDataSource(HowdahDataSource):
        @classmethod
        def name(cls) -> str:
            return "dying"

        def streamWriter(self, schema: Any, overwrite: bool) -> Any:  # noqa: ANN401, FBT001, N802
            return DyingWriter(super().streamWriter(schema, overwrite)._job)  # noqa: SLF001

    return DyingDataSource


def test_a_task_that_dies_or_fails_leaves_something(spark: Any, database: Database, tmp_path: Path) -> None:  # noqa: ANN401
    spark.dataSource.register(dying())
    file_of(tmp_path, 0, range(4))
    streamed(source(spark, tmp_path), database, tmp_path, format="dying")
    assert database.value(IDS) == "0 1 2 3"
    database.sql("ALTER TABLE t ALTER id TYPE smallint")
    file_of(tmp_path, 1, range(40_000, 40_002))
    with pytest.raises(PySparkException, match="40000"):
        streamed(source(spark, tmp_path), database, tmp_path)
    assert database.value(IDS) == "0 1 2 3"
    database.sql("ALTER TABLE t ALTER id TYPE bigint")
    streamed(source(spark, tmp_path), database, tmp_path)
    assert database.value(IDS) == "0 1 2 3 40000 40001"
    assert left(database) == []


def test_a_killed_driver_loses_or_repeats_an_epoch(
    server: howdah.Server, database: Database, tmp_path: Path
) -> None:
    for number in range(3):
        file_of(tmp_path, number, range(10 * number, 10 * number + 10))
    environment = {
        **os.environ,
        "PGHOST": "127.0.0.1",
        "PGPORT": str(server.port),
        "PGUSER": "howdah",
        "PGPASSWORD": server.dsn.split(":")[2].split("@")[0],
        "PYSPARK_PYTHON": sys.executable,
    }
    program = [sys.executable, str(Path(__file__).parent / "spark_stream_driver.py")]
    name = database.dsn.rsplit("/", 1)[1]
    # Spark does not hear that epoch 0 is published; epoch 1 is staged when its driver dies.
    for where, rows in [("after 0", "10|0"), ("before 1", "10|0"), ("nowhere", "30|2")]:
        log = tmp_path / f"{where}.log"
        with (
            log.open("w") as told,
            subprocess.Popen(
                [*program, str(tmp_path), name, where],
                stdin=subprocess.DEVNULL,
                stdout=told,
                stderr=told,
                env=environment,
                start_new_session=True,
            ) as driver,
        ):
            try:
                ended_or_stands(driver, tmp_path / "marker")
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(driver.pid, signal.SIGKILL)
        assert driver.returncode == (0 if where == "nowhere" else -signal.SIGKILL), log.read_text()
        assert database.sql(STREAMS) == [rows], log.read_text()
        stages = {"after 0": 0, "before 1": 1, "nowhere": 0}[where]
        assert len(left(database)) == stages
    assert database.value("SELECT count(*), count(DISTINCT id), max(id) FROM t") == "30|30|29"
    assert database.sql("SELECT state FROM howdah_jobs") == ["stream"]


def ended_or_stands(driver: subprocess.Popen[str] | subprocess.Popen[bytes], marker: Path) -> None:
    for _ in range(6000):
        if driver.poll() is not None:
            return
        if marker.exists():
            marker.unlink()
            return
        time.sleep(0.1)
    raise AssertionError(marker)
