"""Rows written continuously: each is committed and acknowledged, or refused by itself."""

import asyncio
import datetime as dt
import gc
import itertools
import os
import threading
import time
import uuid
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal, NamedTuple

import pytest
from conftest import Database
from require import missing
from test_rows import VALUES

import howdah


def slow_down(database: Database, seconds: float) -> None:
    """Make every row of t take so long."""
    database.sql(
        "CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS"
        f" $$BEGIN PERFORM pg_sleep({seconds}); RETURN NEW; END$$;"
        " CREATE TRIGGER slow AFTER INSERT ON t FOR EACH ROW EXECUTE FUNCTION slow()"
    )


@pytest.mark.parametrize(("column", "value", "stored"), VALUES)
def test_a_value_is_stored_as_what_it_is(database: Database, column: str, value: object, stored: str) -> None:
    database.sql(f"CREATE TABLE t (id int, v {column})")
    with howdah.Writer("t", database.dsn) as writer:
        assert writer.write((1, value)).result() is None
    assert database.value("SET timezone = 'UTC'; SELECT v FROM t") == stored


@pytest.mark.parametrize(
    ("column", "value", "stored"),
    [
        ("int[]", [1, None, -2], "{1,NULL,-2}"),
        ("text[]", ["a", "", "NULL", 'q"\\', "x,y", None], '{a,"","NULL","q\\"\\\\","x,y",NULL}'),
        ("int[]", [[1, 2], (3, 4)], "{{1,2},{3,4}}"),
        ("float8[]", [], "{}"),
        ("jsonb[]", [{"a": 'b"'}], '{"{\\"a\\": \\"b\\\\\\"\\"}"}'),
        ("date[]", [dt.date(2024, 1, 31)], "{2024-01-31}"),
        ("bytea[]", [b"\x00\xff"], '{"\\\\x00ff"}'),
        ("jsonb", [1, "a", None], '[1, "a", null]'),
        ("json", {"a": [1]}, '{"a":[1]}'),
        ("text", {"a": 1}, '{"a":1}'),
        ("numeric", 1, "1"),
        ("text", 1.5, "1.5"),
        ("text", True, "true"),
        ("date", "2024-02-29", "2024-02-29"),
        ("real", 0.1, "0.1"),
        ("int4range", "[1,5)", "[1,5)"),
    ],
)
def test_a_value_becomes_what_its_column_is(
    database: Database, column: str, value: object, stored: str
) -> None:
    database.sql(f"CREATE TABLE t (v {column})")
    with howdah.Writer("t", database.dsn) as writer:
        writer.write([value]).result()
    assert database.value("SELECT v FROM t") == stored


def test_literals_that_only_the_server_reads_are_its_to_read(database: Database) -> None:
    database.sql("CREATE TABLE t (id int, d date)")
    with howdah.Writer("t", database.dsn) as writer:
        writer.write((1, "today")).result()
        with pytest.raises(howdah.DataError) as caught:
            writer.write((2, "someday")).result()
    assert (caught.value.sqlstate, caught.value.column) == ("22007", "d")
    assert database.value("SELECT id, d = current_date FROM t") == "1|t"


class Pair(NamedTuple):
    v: str
    id: int


@dataclass
class Row:
    v: str
    id: int


def test_rows_come_in_every_form(table: Database) -> None:
    with howdah.Writer("t", table.dsn) as writer:
        assert writer.columns == ["id", "v"]
        for row in [
            (1, "tuple"),
            [2, "list"],
            {"v": "dict", "id": 3},
            Pair("named tuple", 4),
            Row("dataclass", 5),
        ]:
            writer.write(row)
        writer.write({"id": 6})
    assert table.sql("SELECT * FROM t ORDER BY id") == [
        "1|tuple",
        "2|list",
        "3|dict",
        "4|named tuple",
        "5|dataclass",
        "6|∅",
    ]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ((1,), "the row has 1 value, and the columns are 2: id, v"),
        ((1, "a", "b"), "3 values"),
        ({"id": 1, "w": "a"}, '"w", which is none of the columns that are written'),
        ({"id": 1, 2: "a"}, '"2", which is none'),
        (7, "a value of type int is no row"),
        ((1, object()), "no form in PostgreSQL"),
        (("x", "a"), "invalid input syntax for type integer"),
        ((2**31, "a"), "out of range"),
        ((None, "a"), "null value in column"),
        ((1, "a\0"), "invalid byte sequence"),
        ((1, b"a"), "bytes"),
    ],
)
def test_a_row_that_is_wrong_by_itself_is_refused_at_once(table: Database, row: object, message: str) -> None:
    with howdah.Writer("t", table.dsn) as writer:
        with pytest.raises(howdah.Error) as caught:
            writer.write(row)
        assert message in str(caught.value)
        writer.write((1, "good")).result()
    assert table.sql("SELECT * FROM t") == ["1|good"]


def test_what_python_raises_on_the_way_is_raised_again(table: Database) -> None:
    class Odd(int):
        def __format__(self, spec: str) -> str:
            raise ZeroDivisionError

    with howdah.Writer("t", table.dsn) as writer:
        with pytest.raises(ZeroDivisionError) as caught:
            writer.write((Odd(2**70), "a"))
        assert caught.value.__notes__ == ["howdah: in column id"]
        writer.write((1, "a")).result()


def test_a_value_may_write_a_row_itself(table: Database) -> None:
    class Chatty(int):
        def __format__(self, spec: str) -> str:
            writer.write((1, "inner"))
            return "2"

    with howdah.Writer("t", table.dsn) as writer:
        writer.write((Chatty(2**70), "outer"))
    assert table.sql("SELECT * FROM t ORDER BY id") == ["1|inner", "2|outer"]


def test_columns_that_the_server_fills_in_are_left_to_it(database: Database) -> None:
    database.sql(
        "CREATE TABLE t (id bigint GENERATED ALWAYS AS IDENTITY, at timestamptz DEFAULT now(), a int, b int,"
        " s int GENERATED ALWAYS AS (a + b) STORED)"
    )
    with howdah.Writer("t", database.dsn) as writer:
        assert writer.columns == ["a", "b"]
        writer.write((1, 2))
    with howdah.Writer("t", database.dsn, columns=["b", "at"]) as writer:
        writer.write({"at": dt.datetime(2024, 1, 1, tzinfo=dt.UTC), "b": 3, "other": "ignored"}).result()
        writer.write(("4", None))
    assert database.sql("SELECT id, at > '2024-01-02', a, b, s FROM t ORDER BY id") == [
        "1|t|1|2|3",
        "2|f|∅|3|∅",
        "3|∅|∅|4|∅",
    ]


def test_a_refused_row_fails_alone(table: Database) -> None:
    with howdah.Writer("t", table.dsn) as writer:
        acks = [writer.write((n, "bad" if n == 500 else "good")) for n in range(1000)]
        acks.append(writer.write((7, "twice")))
        errors = {}
        for n, ack in enumerate(acks):
            try:
                ack.result(20)
            except howdah.IntegrityError as error:
                errors[n] = (error.sqlstate, error.constraint)
        assert errors == {500: ("23514", "t_v_check"), 1000: ("23505", "t_pkey")}
        assert acks[500].done()
        assert repr(acks[500]) == "<howdah.Ack: refused>"
        assert repr(acks[0]) == "<howdah.Ack: committed>"
        assert (writer.statistics.rows_written, writer.statistics.rows_refused) == (999, 2)
    assert table.value("SELECT count(*), max(v) FROM t") == "999|good"


def test_conflicts_are_ignored_or_update(table: Database) -> None:
    table.sql("INSERT INTO t VALUES (1, 'old')")
    with howdah.Writer("t", table.dsn, on_conflict="ignore") as writer:
        for row in [(1, "new"), (2, "a")]:
            writer.write(row).result()
    assert table.sql("SELECT * FROM t ORDER BY id") == ["1|old", "2|a"]
    with howdah.Writer("t", table.dsn, on_conflict="update", conflict_key="id") as writer:
        for n in range(100):
            writer.write((1, f"new {n}"))
    assert table.sql("SELECT * FROM t ORDER BY id") == ["1|new 99", "2|a"]


RETURNED = [
    ("bigint", "-7", -7),
    ("smallint", "7", 7),
    ("oid", "4294967295", 4294967295),
    ("double precision", "0.1", 0.1),
    ("real", "0.1", 0.1),
    ("real", "infinity", float("inf")),
    ("boolean", "true", True),
    ("text", "ü", "ü"),
    ("char(3)", "a", "a  "),
    ("bytea", "\\x00ff", b"\x00\xff"),
    ("numeric", "-1.50", Decimal("-1.50")),
    ("numeric", "12345678901234567890.000001", Decimal("12345678901234567890.000001")),
    ("numeric", "0.00001234", Decimal("0.00001234")),
    ("numeric", "100000", Decimal(100000)),
    ("date", "1999-12-31", dt.date(1999, 12, 31)),
    ("date", "infinity", "infinity"),
    ("timestamp", "1999-12-31 23:59:59.5", dt.datetime(1999, 12, 31, 23, 59, 59, 500000)),  # noqa: DTZ001
    ("timestamptz", "2024-01-01 12:00+01", dt.datetime(2024, 1, 1, 11, tzinfo=dt.UTC)),
    ("timestamptz", "-infinity", "-infinity"),
    ("time", "12:30:01.000002", dt.time(12, 30, 1, 2)),
    ("uuid", "12345678-1234-5678-1234-567812345678", uuid.UUID("12345678-1234-5678-1234-567812345678")),
    ("jsonb", '{"a": 1}', '{"a": 1}'),
    ("int[]", "{1,NULL}", [1, None]),
    ("text", None, None),
]


@pytest.mark.parametrize(("column", "value", "returned"), RETURNED)
def test_what_is_returned_is_a_value_of_python_s(
    database: Database, column: str, value: object, returned: object
) -> None:
    database.sql(f"CREATE TABLE t (id int GENERATED ALWAYS AS IDENTITY, v {column})")
    with howdah.Writer("t", database.dsn, returning=["id", "v"]) as writer:
        row = writer.write((value,)).result()
    assert row is not None
    assert row == (1, returned)
    assert type(row[1]) is type(returned)
    assert row._fields == ("id", "v")  # type: ignore[attr-defined]


def test_each_row_gets_the_values_of_its_own(database: Database) -> None:
    database.sql("CREATE TABLE t (id int GENERATED ALWAYS AS IDENTITY, v int)")
    with howdah.Writer("t", database.dsn, returning=["id", "v"]) as writer:
        acks = [writer.write((n,)) for n in range(1000)]
        rows = [ack.result() for ack in acks]
    assert [row[1] for row in rows if row] == list(range(1000))
    assert len({row[0] for row in rows if row}) == 1000


def test_flush_settles_what_was_written_and_names_a_refusal(table: Database) -> None:
    with howdah.Writer("t", table.dsn, max_age=60) as writer:
        for n in range(10):
            writer.send((n, "good"))
        writer.flush()
        assert table.value("SELECT count(*) FROM t") == "10"
        writer.send((10, "bad"))
        writer.send((11, "good"))
        with pytest.raises(howdah.IntegrityError):
            writer.flush()
        assert table.value("SELECT count(*) FROM t") == "11"
        writer.flush()


def test_close_writes_what_is_queued_and_then_takes_nothing(table: Database) -> None:
    writer = howdah.Writer("t", table.dsn)
    acks = [writer.write((n, "x")) for n in range(5000)]
    statistics = writer.close()
    assert statistics.rows_written == 5000
    assert all(ack.done() for ack in acks)
    assert table.value("SELECT count(*) FROM t") == "5000"
    with pytest.raises(howdah.InterfaceError, match="closed"):
        writer.write((5000, "x"))
    assert writer.close().rows_written == 5000
    assert "closed" in repr(writer)


def test_a_deadline_ends_a_close_and_its_acknowledgements(table: Database) -> None:
    slow_down(table, 30)
    writer = howdah.Writer("t", table.dsn)
    ack = writer.write((1, "x"))
    start = time.monotonic()
    with pytest.raises(howdah.OperationalError):
        writer.close(deadline=0.3)
    with pytest.raises(howdah.Error):
        ack.result(10)
    assert time.monotonic() - start < 60


def test_a_result_that_is_not_there_in_time_is_a_timeout(table: Database) -> None:
    with howdah.Writer("t", table.dsn) as writer:
        slow_down(table, 0.5)
        ack = writer.write((1, "x"))
        with pytest.raises(TimeoutError):
            ack.result(timeout=0.05)
        assert not ack.done()
        assert ack.result(timeout=20) is None


@pytest.mark.parametrize("on_full", ["fail", 0.05])
def test_a_full_queue_refuses_when_it_is_to(table: Database, on_full: float) -> None:
    slow_down(table, 0.5)
    with howdah.Writer("t", table.dsn, queue_rows=1, on_full=on_full) as writer:
        ack = writer.write((1, "x"))
        with pytest.raises(howdah.QueueFull) as caught:
            writer.write((2, "x"))
        assert isinstance(caught.value, howdah.OperationalError)
        ack.result(20)
        writer.write((3, "x"))


def test_a_full_queue_waits_and_loses_nothing(table: Database) -> None:
    with howdah.Writer("t", table.dsn, queue_rows=100) as writer:
        for n in range(20_000):
            writer.send((n, "x"))
    assert table.value("SELECT count(*), count(DISTINCT id) FROM t") == "20000|20000"
    assert writer.statistics.peak_queued_rows <= 100


def test_threads_share_a_writer(table: Database) -> None:
    with howdah.Writer("t", table.dsn, connections=2, queue_rows=1000) as writer:

        def produce(thread: int) -> int:
            acks = [writer.write((thread * 10_000 + n, f"from {thread}")) for n in range(2000)]
            return sum(ack.result() is None for ack in acks)

        with ThreadPoolExecutor(8) as pool:
            assert sum(pool.map(produce, range(8))) == 16_000
    assert table.value("SELECT count(*), count(DISTINCT v) FROM t") == "16000|8"


def test_python_goes_on_while_a_thread_waits(table: Database) -> None:
    slow_down(table, 0.5)
    ticks = 0
    stop = threading.Event()

    def tick() -> None:
        nonlocal ticks
        while not stop.wait(0.01):
            ticks += 1

    with howdah.Writer("t", table.dsn) as writer:
        clock = threading.Thread(target=tick)
        clock.start()
        writer.write((1, "x")).result()
        stop.set()
        clock.join()
    assert ticks > 20


def test_statistics_say_what_happened_and_speak_to_prometheus(table: Database) -> None:
    with howdah.Writer("t", table.dsn) as writer:
        for n in range(100):
            writer.write((n, "x")).result()
        statistics = writer.statistics
    assert statistics.rows_written == 100
    assert statistics.bytes_written > 100
    assert sum(statistics.flushes.values()) == 100
    assert 0 < statistics.latency_p50 <= statistics.latency_p99 <= statistics.latency_max < 30
    assert statistics.queued_rows == 0
    text = statistics.prometheus(table='public."t"', service="shop")
    assert 'service="shop"' in text
    assert 'table="public.\\"t\\""' in text
    assert "# TYPE howdah_writer_" in text
    assert "100" in str(statistics)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_rows": 0}, "max_rows takes a number from 1"),
        ({"max_age": "soon"}, "max_age takes a number of seconds, not 'soon'"),
        ({"on_full": "explode"}, 'on_full takes "wait", "fail" or a number of seconds'),
        ({"on_conflict": "merge"}, "on_conflict takes"),
        ({"connections": True}, "connections takes"),
        ({"columns": ["id", "id"]}, "twice"),
        ({"columns": ["zz"]}, "zz"),
        ({"conflict_key": "id"}, "on_conflict"),
    ],
)
def test_options_that_make_no_sense_are_named(
    table: Database, options: dict[str, object], message: str
) -> None:
    with pytest.raises(howdah.ProgrammingError) as caught:
        howdah.Writer("t", table.dsn, **options)  # type: ignore[arg-type]
    assert message in str(caught.value)


def test_a_table_that_is_not_there_and_an_option_that_is_none(database: Database) -> None:
    with pytest.raises(howdah.ProgrammingError, match="does not exist"):
        howdah.Writer("nowhere", database.dsn)
    with pytest.raises(TypeError, match="'batch'"):
        howdah.Writer("t", database.dsn, batch=1)  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("made", "warned"),
    [
        ("CREATE UNLOGGED TABLE u (id int)", "u is UNLOGGED: a crash of the server empties it"),
        (
            """
            CREATE TABLE u (id int);
            CREATE FUNCTION nothing() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN RETURN NULL; END$$;
            CREATE TRIGGER none BEFORE INSERT ON u FOR EACH ROW EXECUTE FUNCTION nothing()
            """,
            "triggers or rules of .*u may drop rows",
        ),
    ],
)
def test_what_makes_acknowledgements_worth_less_is_warned_of(
    database: Database, made: str, warned: str
) -> None:
    database.sql(made)
    with pytest.warns(howdah.WriterWarning, match=warned) as caught:
        writer = howdah.Writer("u", database.dsn)
    assert [warning.filename for warning in caught] == [__file__]
    with writer:
        writer.write((1,)).result(20)
        assert any(str(caught[0].message) == notice for notice in writer.notices)
    # Where warnings are errors, no connection is left.
    with pytest.raises(howdah.WriterWarning):
        howdah.Writer("u", database.dsn)

    async def main() -> None:
        with pytest.warns(howdah.WriterWarning, match=warned):
            writer = await howdah.AsyncWriter("u", database.dsn).connect()
        assert writer.notices
        await writer.close()

    asyncio.run(main())


def test_a_session_that_does_not_wait_for_the_disk_is_warned_of_but_on_servers_for_tests(
    database: Database,
) -> None:
    database.sql("CREATE TABLE t (id int)")
    with howdah.Writer("t", database.dsn) as writer:
        assert [notice.split(":")[0] for notice in writer.notices] == ["synchronous_commit is off"]
    with howdah.server(fsync="on") as server:
        howdah.load([{"id": 1}], "t", server.dsn)
        with pytest.warns(howdah.WriterWarning, match="synchronous_commit is off"):
            howdah.Writer("t", server.dsn).close()


def test_a_writer_that_is_forgotten_warns_and_goes_on(table: Database) -> None:
    writer = howdah.Writer("t", table.dsn)
    ack = writer.write((1, "x"))
    with pytest.warns(ResourceWarning, match="unclosed <howdah.Writer into t on "):
        del writer
    assert ack.result(20) is None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with howdah.Writer("t", table.dsn) as writer:
            writer.write((2, "x"))
        del writer
        gc.collect()


def test_rows_of_a_generator_are_written_one_by_one(table: Database) -> None:
    def rows() -> Iterator[tuple[int, str]]:
        for n in range(1000):
            yield (n, "x")

    with howdah.Writer("t", table.dsn) as writer:
        for ack in [writer.write(row) for row in rows()]:
            ack.result()
    assert table.value("SELECT count(*) FROM t") == "1000"


def test_a_null_lane_acknowledges_and_writes_nothing(table: Database) -> None:
    with howdah.Writer("t", table.dsn, discard=True) as writer:
        acks = [writer.write((n, "x")) for n in range(10_000)]
        assert all(ack.result(20) is None for ack in acks)
    assert table.value("SELECT count(*) FROM t") == "0"


def test_many_writes_leave_no_memory_behind(table: Database) -> None:
    def pages() -> int:
        gc.collect()
        with open("/proc/self/statm") as statm:  # noqa: PTH123
            return int(statm.read().split()[1])

    if not os.path.exists("/proc/self/statm"):  # noqa: PTH110
        missing("proc", "there is no /proc")
    table.sql("ALTER TABLE t DROP CONSTRAINT t_pkey")
    numbers = itertools.count()
    with howdah.Writer("t", table.dsn) as writer:

        def writes(rounds: int) -> None:
            for _ in range(rounds):
                writer.write((next(numbers), "x" * 1000)).done()
                with pytest.raises(howdah.Error):
                    writer.write(("x", "y"))
                if next(numbers) % 100 == 0:
                    refused = writer.write((1, "bad"))
                    with pytest.raises(howdah.Error):
                        refused.result()

        writes(1000)
        before = pages()
        writes(9000)
        grown = (pages() - before) * os.sysconf("SC_PAGE_SIZE")
    assert grown < 8_000_000, f"{grown} bytes in 18,000 writes"


@pytest.mark.parametrize("on_conflict", [None, "ignore", "update"])
@pytest.mark.parametrize("connections", [1, 4])
@pytest.mark.parametrize("columns", [None, ["v", "id"]])
def test_values_come_back_whatever_else_is_asked_for(
    table: Database,
    on_conflict: Literal["ignore", "update"] | None,
    connections: int,
    columns: list[str] | None,
) -> None:
    with howdah.Writer(
        "t",
        table.dsn,
        returning=["v", "id"],
        on_conflict=on_conflict,
        connections=connections,
        columns=columns,
    ) as writer:
        rows = [{"id": n, "v": f"v{n}"} for n in range(30)]
        first = writer.write(rows[0]).result()
        acks = [writer.write(row) for row in rows[1:]]
        for row, back in zip(rows, [first, *(ack.result() for ack in acks)], strict=True):
            assert back is not None
            assert tuple(back) == (row["v"], row["id"])
    assert table.value("SELECT count(*) FROM t") == "30"
