"""Rows into one COPY: all of them or none."""

import gc
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import pytest
from conftest import Database
from require import library
from test_rows import VALUES

import howdah


@pytest.mark.parametrize(("column", "value", "stored"), VALUES)
def test_a_value_is_stored_as_what_it_is(database: Database, column: str, value: object, stored: str) -> None:
    database.sql(f"CREATE TABLE t (id int, v {column})")
    with howdah.bulk("t", database.dsn) as bulk:
        bulk.write((1, value))
    assert bulk.rows == 1
    assert database.value("SET timezone = 'UTC'; SELECT v FROM t") == stored


def write_all(bulk: howdah.BulkWriter, rows: Iterable[object]) -> None:
    with bulk:
        for row in rows:
            bulk.write(row)


@dataclass
class Row:
    v: str
    id: int


class Pair(NamedTuple):
    v: str
    id: int


def test_rows_come_in_every_form_and_are_counted(table: Database) -> None:
    with howdah.bulk("t", table.dsn) as bulk:
        assert bulk.columns == ["id", "v"]
        for row in [(1, "a"), [2, "b"], {"v": "c", "id": 3}, Row("d", 4), Pair("e", 5), {"id": 6}]:
            bulk.write(row)
        assert table.value("SELECT count(*) FROM t") == "0", "nothing is seen before it is finished"
        assert bulk.rows == 0
    assert bulk.rows == 6
    assert table.sql("SELECT * FROM t ORDER BY id") == ["1|a", "2|b", "3|c", "4|d", "5|e", "6|∅"]


def test_many_rows_arrive_in_order(database: Database) -> None:
    database.sql(
        "CREATE TABLE t (n int GENERATED ALWAYS AS IDENTITY, id int, v text, at timestamptz DEFAULT now())"
    )

    def rows() -> Iterator[dict[str, object]]:
        for n in range(100_000):
            yield {"id": n, "v": "x" * (n % 50)}

    with howdah.bulk("t", database.dsn) as bulk:
        for row in rows():
            bulk.write(row)
    assert bulk.rows == 100_000
    assert (
        database.value("SELECT count(*), min(id - n), max(id - n), count(at) FROM t") == "100000|-1|-1|100000"
    )


def test_what_a_producer_raises_leaves_nothing(table: Database) -> None:
    def rows() -> Iterator[tuple[int, str]]:
        for n in range(50_000):
            yield (n, "x")
        message = "the well is dry"
        raise LookupError(message)

    bulk = howdah.bulk("t", table.dsn)
    with pytest.raises(LookupError, match="the well is dry"):
        write_all(bulk, rows())
    assert bulk.rows == 0
    assert table.value("SELECT count(*) FROM t") == "0"
    with pytest.raises(howdah.InterfaceError, match="finished"):
        bulk.write((1, "x"))


def test_one_that_is_forgotten_leaves_nothing_and_warns(table: Database) -> None:
    bulk = howdah.bulk("t", table.dsn)
    for n in range(50_000):
        bulk.write((n, "x"))
    with pytest.warns(ResourceWarning, match="unfinished <howdah.BulkWriter into t on "):
        del bulk
    gc.collect()
    # Its lock on the table goes with it.
    table.sql("SET lock_timeout = '10s'; TRUNCATE t")
    assert table.value("SELECT count(*) FROM t") == "0"


def test_a_row_that_is_wrong_by_itself_does_not_end_it(table: Database) -> None:
    with howdah.bulk("t", table.dsn) as bulk:
        bulk.write((1, "a"))
        with pytest.raises(howdah.DataError) as caught:
            bulk.write(("x", "b"))
        assert caught.value.column == "id"
        with pytest.raises(howdah.ProgrammingError):
            bulk.write((2,))
        bulk.write((3, "c"))
    assert table.sql("SELECT id FROM t ORDER BY id") == ["1", "3"]


def test_what_the_server_refuses_names_the_row_and_leaves_nothing(table: Database) -> None:
    with pytest.raises(howdah.IntegrityError) as caught:
        write_all(howdah.bulk("t", table.dsn), ((n, "bad" if n == 700 else "x") for n in range(1000)))
    assert caught.value.constraint == "t_v_check"
    assert caught.value.location is not None
    assert caught.value.location.row == 700
    assert not caught.value.committed
    assert table.value("SELECT count(*) FROM t") == "0"


def test_arrow_tables_go_in_by_name(table: Database) -> None:
    pyarrow = library("pyarrow")
    tables = pyarrow.table({"v": ["a", "b", None], "id": [1, 2, 3]})
    with howdah.bulk("t", table.dsn) as bulk:
        bulk.write(tables)
        bulk.write((4, "row"))
        bulk.write(tables.slice(0, 1).set_column(1, "id", [[5]]).to_batches()[0])
    assert bulk.rows == 5
    assert table.sql("SELECT * FROM t ORDER BY id") == ["1|a", "2|b", "3|∅", "4|row", "5|a"]


def test_pandas_and_polars_are_tables_and_no_rows(table: Database) -> None:
    pandas, polars = library("pandas"), library("polars")
    with howdah.bulk("t", table.dsn) as bulk:
        bulk.write(pandas.DataFrame({"id": [1], "v": ["a"]}))
        bulk.write(polars.DataFrame({"id": [2], "v": ["b"]}))
    assert table.sql("SELECT * FROM t ORDER BY id") == ["1|a", "2|b"]
    with howdah.Writer("t", table.dsn) as writer, pytest.raises(howdah.ProgrammingError, match="is a table"):
        writer.write(polars.DataFrame({"id": [2], "v": ["b"]}))


def test_an_empty_one_commits_nothing_and_a_table_that_is_not_there_is_an_error(table: Database) -> None:
    with howdah.bulk("t", table.dsn) as bulk:
        pass
    assert bulk.rows == 0
    with pytest.raises(howdah.ProgrammingError, match="does not exist"):
        howdah.bulk("nowhere", table.dsn)
    with pytest.raises(howdah.ProgrammingError, match="zz"):
        howdah.bulk("t", table.dsn, columns=["zz"])


def test_threads_write_bulks_side_by_side(database: Database) -> None:
    database.sql("CREATE TABLE t (id int, v int)")

    def write(thread: int) -> None:
        with howdah.bulk("t", database.dsn) as bulk:
            for n in range(20_000):
                bulk.write((n, thread))

    threads = [threading.Thread(target=write, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert database.value("SELECT count(*), count(DISTINCT v) FROM t") == "80000|4"


ENDED = """
import sys, howdah
bulk = howdah.bulk("t", sys.argv[1])
for n in range(50_000):
    bulk.write((n, "x"))
print("ending", flush=True)
"""


def test_the_end_of_the_interpreter_leaves_nothing(table: Database) -> None:
    command = [sys.executable, "-c", ENDED, table.dsn]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert (done.stdout, done.returncode) == ("ending\n", 0), done.stderr
    assert table.value("SELECT count(*) FROM t") == "0"
