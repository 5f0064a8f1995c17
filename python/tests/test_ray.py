"""Ray writes through howdah: tasks in two workers, each a process, into one server."""

import datetime as dt
import os
import signal
import sys
import threading
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import require
from conftest import Database
from test_cluster import left

import howdah

require.ray()
pa = require.library("pyarrow")

import ray  # noqa: E402

from howdah.ray import Datasink, _sink  # noqa: E402

# Tests are no module of the workers.
ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])
pytestmark = [
    pytest.mark.usefixtures("ray_cluster"),
    # Ray leaves its logs to the garbage collector.
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
]

SUMS = "SELECT count(*), count(DISTINCT id), max(id) FROM t"


def place(database: Database) -> str:
    """Give the database without the password, which is in the environment."""
    return f"dbname={database.dsn.rsplit('/', 1)[1]}"


def written(dataset: Any, database: Database, table: str = "t", **options: Any) -> None:  # noqa: ANN401
    dataset.write_datasink(Datasink(table, place(database), **options))


def numbers(rows: int, blocks: int) -> Any:  # noqa: ANN401
    return ray.data.range(rows, override_num_blocks=blocks)


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give each block a task."""
    monkeypatch.setattr(_sink, "_BYTES_A_TASK", 1)


@pytest.fixture
def checked(database: Database) -> Database:
    database.sql("CREATE TABLE t (id bigint CHECK (id <> 77))")
    return database


def test_rows_of_some_task_are_missing_or_twice(database: Database) -> None:
    written(numbers(20_000, 5), database, connections=2, key="id")
    assert database.value(SUMS) == "20000|20000|19999"
    assert database.value("SELECT indisprimary FROM pg_index WHERE indrelid = 't'::regclass") == "t"
    written(numbers(10, 2), database, mode="truncate")
    assert database.value(SUMS) == "10|10|9"
    written(ray.data.from_items([{"word": "a"}]), database, mode="replace")
    assert database.types("t") == {"word": "text"}
    assert database.sql("SELECT state, attempt, rows FROM howdah_jobs ORDER BY at") == [
        "published|0|20000",
        "published|0|10",
        "published|0|1",
    ]
    assert left(database) == []


def test_rows_are_not_matched_by_their_key(database: Database) -> None:
    database.sql(
        "CREATE TABLE t (id bigint PRIMARY KEY, v text); INSERT INTO t VALUES (1, 'old'), (7, 'old')"
    )
    changes = ray.data.from_items([{"id": number, "v": "new"} for number in range(3)])
    written(changes, database, mode="upsert", key="id")
    assert database.value("SELECT string_agg(id || v, ' ' ORDER BY id) FROM t") == "0new 1new 2new 7old"


# Of each type that a dataset may have, some value.
VALUES = {
    "id": (pa.int32(), 1),
    "b": (pa.bool_(), True),
    "i1": (pa.int8(), -128),
    "u8": (pa.uint64(), 2**64 - 1),
    "f4": (pa.float32(), 1.5),
    "f8": (pa.float64(), float("-inf")),
    "n": (pa.decimal128(20, 4), Decimal("-1234567890123456.0700")),
    "s": (pa.string(), 'Zoë, "so" \\ n'),
    "ls": (pa.large_string(), ""),
    "di": (pa.dictionary(pa.int32(), pa.string()), "often"),
    "x": (pa.binary(), b"\x00\xff\\"),
    "d": (pa.date32(), dt.date(1, 1, 1)),
    "ts": (pa.timestamp("us", "UTC"), dt.datetime(2026, 3, 29, 1, 30, 0, 123456, dt.UTC)),
    "tn": (pa.timestamp("us"), dt.datetime(1969, 12, 31, 23, 59, 59, 999999)),  # noqa: DTZ001 - without
    "t": (pa.time64("us"), dt.time(23, 59, 59, 999999)),
    "iv": (pa.duration("us"), dt.timedelta(days=1, microseconds=5)),
    "a": (pa.list_(pa.int32()), [1, None, 3]),
    "m": (pa.struct([("p", pa.int32()), ("q", pa.list_(pa.string()))]), {"p": 1, "q": ["z"]}),
}


def all_types() -> Any:  # noqa: ANN401
    """Make a table of a value of each type, and a row of nulls."""
    columns = {name: pa.array([value, None], kind) for name, (kind, value) in VALUES.items()}
    columns["id"] = pa.array([1, 2], pa.int32())
    return pa.table(columns)


def test_a_value_is_not_what_a_load_of_the_table_would_have_stored(database: Database) -> None:
    table = all_types()
    howdah.load(table, "by_load", database.dsn)
    blocks = [table.slice(0, 1), table.slice(1, 1)]
    written(ray.data.from_arrow(blocks), database, "by_ray")
    # Steps before the write change the columns, in the task that writes.
    renamed = ray.data.from_arrow([block.rename_columns([f"{n}_" for n in VALUES]) for block in blocks])
    named = renamed.map_batches(lambda block: block.rename_columns(list(VALUES)), batch_format="pyarrow")
    written(named, database, "by_steps")
    for found in ("by_ray", "by_steps"):
        assert database.types(found) == database.types("by_load")
        assert database.copied(found) == database.copied("by_load")


def test_frames_of_pandas_are_something_else(database: Database) -> None:
    table = pa.table({"id": [1, 2, 3], "v": ["a", None, "c"], "x": [0.5, 1.5, 2.5]})
    howdah.load(table, "by_load", database.dsn)
    frames = ray.data.from_arrow(table).map_batches(lambda frame: frame, batch_format="pandas")
    written(frames, database, "by_ray")
    assert database.types("by_ray") == database.types("by_load")
    assert database.copied("by_ray") == database.copied("by_load")


class Faulty(Datasink):
    """A sink whose first tasks die: in the middle of a COPY, and when their rows are committed."""

    def __init__(self, marks: Path, table: str, dsn: str) -> None:
        super().__init__(table, dsn)
        self._marks = marks

    def write(self, blocks: Any, ctx: Any) -> Any:  # noqa: ANN401
        from howdah._cluster import _attempt  # noqa: PLC0415

        # It asks for a connection when it has a batch.
        _attempt._HELD_BYTES = 1  # noqa: SLF001

        def some() -> Iterator[Any]:
            yield from blocks
            self._die_once("amid", ctx)

        done = super().write(some(), ctx)
        self._die_once("done", ctx)
        return done

    def _die_once(self, when: str, ctx: Any) -> None:  # noqa: ANN401
        mark = self._marks / when
        if ctx.task_idx == ["amid", "done"].index(when) and not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)


def test_a_task_that_dies_loses_or_repeats_rows(database: Database, tmp_path: Path) -> None:
    numbers(9000, 3).write_datasink(Faulty(tmp_path, "t", place(database)))
    assert {mark.name for mark in tmp_path.iterdir()} == {"amid", "done"}
    assert database.value(SUMS) == "9000|9000|8999"


def test_a_step_before_the_write_that_dies_loses_or_repeats_rows(database: Database, tmp_path: Path) -> None:
    def dying(batch: Any) -> Any:  # noqa: ANN401
        mark = tmp_path / "died"
        if 77 in batch["id"] and not mark.exists():
            mark.touch()
            os._exit(1)
        return batch

    written(numbers(9000, 3).map_batches(dying), database)
    assert (tmp_path / "died").exists()
    assert database.value(SUMS) == "9000|9000|8999"


def test_a_job_that_fails_leaves_something(checked: Database) -> None:
    with pytest.raises(howdah.IntegrityError, match="violates check constraint"):
        written(numbers(100, 2), checked)
    assert checked.sql("SELECT count(*) FROM t") == ["0"]
    assert checked.sql("SELECT state FROM howdah_jobs WHERE attempt = 0") == ["aborted"]
    # What still wrote when the job was given up keeps the stage until the next one.
    written(numbers(3, 1), checked)
    assert left(checked) == []
    assert checked.value(SUMS) == "3|3|2"


def test_two_jobs_at_once_mix_their_rows(database: Database) -> None:
    database.sql("CREATE TABLE t (id bigint)")
    failures: list[Exception] = []

    def one() -> None:
        try:
            written(numbers(5000, 3), database, mode="append")
        except Exception as failed:  # noqa: BLE001 - a thread's is lost
            failures.append(failed)

    jobs = [threading.Thread(target=one) for _ in range(2)]
    for job in jobs:
        job.start()
    for job in jobs:
        job.join()
    assert failures == []
    assert database.value(SUMS) == "10000|5000|4999"
    assert left(database) == []


def test_a_sink_that_is_used_again_writes_nothing(database: Database) -> None:
    sink = Datasink("t", place(database))
    for _ in range(2):
        numbers(10, 2).write_datasink(sink)
    assert database.value(SUMS) == "20|10|9"


def test_a_dataset_without_rows_fails_or_leaves_rows(database: Database) -> None:
    nothing = ray.data.from_arrow(pa.schema([("id", pa.int64())]).empty_table())
    written(nothing, database)
    assert database.types("t") == {"id": "bigint"}
    written(numbers(10, 2), database)
    written(numbers(10, 2).map_batches(lambda batch: {"id": batch["id"][:0]}), database)
    written(ray.data.from_items([]), database)
    assert database.value("SELECT count(*) FROM t") == "10"
    with pytest.raises(howdah.ProgrammingError, match="says no columns, which truncate needs"):
        written(ray.data.from_items([]), database, mode="truncate")
    assert database.value("SELECT count(*) FROM t") == "10"
    written(nothing, database, mode="truncate")
    assert database.value("SELECT count(*) FROM t") == "0"
    assert left(database) == []


def test_blocks_with_other_columns_lose_them(database: Database) -> None:
    blocks = [pa.table({"id": [1], "v": ["a"]}), pa.table({"v": pa.nulls(1), "id": [2]})]
    written(ray.data.from_arrow(blocks), database)
    assert database.sql("SELECT id, v FROM t ORDER BY id") == ["1|a", "2|∅"]
    for other in (pa.table({"id": [3]}), pa.table({"id": [3], "v": ["c"], "w": [0]})):
        with pytest.raises(howdah.ProgrammingError, match="a block has the columns"):
            written(ray.data.from_arrow([blocks[0], other]), database)
    assert database.value("SELECT count(*) FROM t") == "2"


def test_a_column_of_a_new_table_gets_a_type_by_chance(database: Database) -> None:
    blocks = [pa.table({"id": [1], "v": pa.nulls(1)}), pa.table({"id": [2], "v": [0.5]})]
    with pytest.raises(howdah.ProgrammingError, match="first rows of v are null"):
        written(ray.data.from_arrow(blocks), database)
    assert database.value("SELECT to_regclass('t')") == "∅"
    assert left(database) == []
    written(ray.data.from_arrow(blocks), database, types={"v": "float8"})
    assert database.sql("SELECT id, v FROM t ORDER BY id") == ["1|∅", "2|0.5"]


def test_a_job_that_goes_on_begins_again(checked: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    order = ray.data.DataContext.get_current().execution_options
    monkeypatch.setattr(order, "preserve_order", True)

    def dataset() -> Any:  # noqa: ANN401
        return ray.data.from_arrow(
            [pa.table({"id": range(start, start + 25)}) for start in range(0, 100, 25)]
        )

    part: dict[str, Any] = {"commit": "tasks", "job_id": "nightly", "connections": 1}
    with pytest.raises(howdah.IntegrityError, match="violates check constraint"):
        written(dataset(), checked, **part)
    checked.sql("ALTER TABLE t DROP CONSTRAINT t_id_check")
    there = int(checked.value("SELECT count(*) FROM t"))
    assert there in {0, 25, 50, 75}
    for _ in range(2):
        written(dataset(), checked, **part)
        assert checked.value(SUMS) == "100|100|99"
    with pytest.raises(howdah.DatabaseError, match="has other rows than those"):
        written(dataset().map_batches(lambda batch: {"id": batch["id"] + 1}), checked, **part)
    assert checked.value(SUMS) == "100|100|99"
    assert left(checked) == []


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"table": " "}, "table is a name"),
        ({"dsn": None}, "dsn is a text"),
        ({"dsn": "postgresql://me:secret@db.example/shop"}, "PGPASSWORD"),
        ({"dsn": "host=db.example password=secret"}, "PGPASSWORD"),
        ({"mode": "merge"}, "mode is one of"),
        ({"mode": "upsert"}, "needs key"),
        ({"connections": 0}, "from 1 to 1000"),
        ({"connections": True}, "from 1 to 1000"),
        ({"lock_timeout": -1}, "number of seconds"),
        ({"lock_timeout": float("nan")}, "number of seconds"),
        ({"ledger": ""}, "ledger is a name"),
        ({"types": {"id": 4}}, "types is a name"),
        ({"allow": "all"}, "allow takes"),
        ({"commit": "tasks"}, "needs job_id"),
        ({"job_id": "nightly"}, "job_id goes with commit tasks"),
        ({"commit": "tasks", "job_id": "n", "mode": "replace"}, "only adds rows"),
    ],
)
def test_an_option_is_ignored_or_a_password_sent_along(options: dict[str, Any], told: str) -> None:
    given = {"table": "t", "dsn": "service=shop", **options}
    with pytest.raises(howdah.ProgrammingError) as error:
        Datasink(**given)
    assert told in str(error.value)
    assert "secret" not in str(error.value)
    assert error.value.visible == "nothing was changed"


def test_an_older_ray_says_other_columns_than_those_that_are_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(ray.data.Datasink, "min_bytes_per_write")
    with pytest.raises(howdah.NotSupportedError, match="needs a later Ray than"):
        Datasink("t", "service=shop")


def test_what_does_not_fit_is_found_when_rows_were_sent(database: Database) -> None:
    database.sql("CREATE TABLE t (id date)")
    with pytest.raises(howdah.ProgrammingError, match="id"):
        written(numbers(10, 2), database)
    assert database.value("SELECT to_regclass('howdah_jobs')") == "∅"
