"""Generated classes with an observer: it hears of every call, its rows and its error, in each language."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import java_program
import node_program
import pytest
from conftest import Database
from generated import Sql, builtin, column, line, parameter, write
from require import library

psycopg = library("psycopg")
Generated = Any
NUMBER = builtin("int4")
COLUMNS = [column("i", NUMBER, nullable=False)]
DUPLICATE = 'duplicate key value violates unique constraint "t_pkey"'
HEARD = [
    "seen.numbers 5", "seen.numbers 5", "seen.numbers 2", "seen.first 1", "seen.first 0", "seen.add 1",
    f"seen.add 0 {DUPLICATE}", "seen.add 2", "seen.first 2", "seen.until 5", "seen.varied 2", "seen.t 3",
    f"seen.t 0 {DUPLICATE}", "seen.upsert_t 1", "seen.broken 2 division by zero",
]  # fmt: skip


def seen() -> Sql:
    """Give a statement of each form."""
    code = Sql("seen")
    n = parameter("n", NUMBER, nullable=False)
    plucked: dict[str, Any] = {"columns": COLUMNS, "pluck": True}
    code.statement("numbers", ["SELECT i FROM generate_series(1, 5) i"], **plucked)
    code.statement("broken", ["SELECT 6 / (3 - i) FROM generate_series(1, 5) i"], **plucked)
    code.statement("first", ["SELECT 1 WHERE 0 < ", 0], one=True, batch=True, parameters=[n], **plucked)
    code.statement(
        "until", ["SELECT i FROM generate_series(1, ", 0, ") i"], batch=True, parameters=[n], **plucked
    )
    few = parameter("few", builtin("bool"), nullable=False, role="switch")
    code.statement(
        "varied",
        ["SELECT i FROM generate_series(1, 5) i", line(0, " WHERE i < 3")],
        parameters=[few],
        **plucked,
    )
    code.statement(
        "add",
        ["INSERT INTO t VALUES (", 0, ")"],
        kind="exec",
        batch=True,
        parameters=[parameter("a", NUMBER)],
    )
    code.table("t", {"a": NUMBER}, upsert={"name": "t_pkey", "columns": ["a"], "nulls_distinct": True})
    return code


class Heard:
    """Writes down what an observer hears."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def __call__(self, name: str) -> Callable[[int, BaseException | None], None]:
        def ended(rows: int, error: BaseException | None) -> None:
            self.lines.append(f"{name} {rows}" + (f" {str(error).splitlines()[0]}" if error else ""))

        return ended


@pytest.fixture
def module(database: Database, tmp_path: Path) -> Generated:
    database.sql("CREATE TABLE t (a int PRIMARY KEY)")
    return seen().load(tmp_path, "observer")


def test_an_observer_of_python_does_not_hear_of_a_call(module: Generated, database: Database) -> None:
    heard = Heard()
    rows = [module.TRow(a) for a in range(10, 14)]
    with psycopg.connect(database.dsn, autocommit=True) as connection:
        shop = module.Seen(connection, heard)
        assert shop.numbers() == [1, 2, 3, 4, 5]
        assert len(list(shop.numbers_stream())) == 5
        with contextlib.closing(shop.numbers_stream()) as numbers:
            assert [next(numbers), next(numbers)] == [1, 2]
        assert (shop.first(1), shop.first(0)) == (1, None)
        assert shop.add(7) == 1
        with pytest.raises(psycopg.errors.UniqueViolation):
            shop.add(7)
        assert shop.add_batch([(8,), (9,)]) == 2
        assert shop.first_batch([(1,), (0,), (1,)]) == [1, None, 1]
        assert shop.until_batch([(2,), (3,)]) == [[1, 2], [1, 2, 3]]
        assert shop.varied(few=True) == [1, 2]
        assert shop.bulk_insert_t_rows(rows[:3]) == 3
        with pytest.raises(psycopg.errors.UniqueViolation):
            shop.bulk_insert_t_rows(rows[:3])
        assert shop.upsert_t(rows) == 1
        with pytest.raises(psycopg.errors.DivisionByZero):
            list(shop.broken_stream(fetch_size=1))
        assert len(module.Seen(connection).numbers()) == 5
    assert heard.lines == HEARD


def test_an_observer_of_asyncio_does_not_hear_of_a_call(module: Generated, database: Database) -> None:
    heard = Heard()
    rows = [module.TRow(a) for a in range(10, 14)]

    async def listed(numbers: AsyncIterator[int]) -> list[int]:
        return [number async for number in numbers]

    async def run() -> None:
        async with await psycopg.AsyncConnection.connect(database.dsn, autocommit=True) as connection:
            shop = module.AsyncSeen(connection, heard)
            assert await shop.numbers() == [1, 2, 3, 4, 5]
            assert len(await listed(shop.numbers_stream())) == 5
            async with contextlib.aclosing(shop.numbers_stream()) as numbers:
                assert [await anext(numbers), await anext(numbers)] == [1, 2]
            assert (await shop.first(1), await shop.first(0)) == (1, None)
            assert await shop.add(7) == 1
            with pytest.raises(psycopg.errors.UniqueViolation):
                await shop.add(7)
            assert await shop.add_batch([(8,), (9,)]) == 2
            assert await shop.first_batch([(1,), (0,), (1,)]) == [1, None, 1]
            assert await shop.until_batch([(2,), (3,)]) == [[1, 2], [1, 2, 3]]
            assert await shop.varied(few=True) == [1, 2]
            assert await shop.bulk_insert_t_rows(rows[:3]) == 3
            with pytest.raises(psycopg.errors.UniqueViolation):
                await shop.bulk_insert_t_rows(rows[:3])
            assert await shop.upsert_t(rows) == 1
            with pytest.raises(psycopg.errors.DivisionByZero):
                await listed(shop.broken_stream(fetch_size=1))
            assert len(await module.AsyncSeen(connection).numbers()) == 5

    asyncio.run(run())
    assert heard.lines == HEARD


def rows_at_once(lines: Iterator[str] | list[str]) -> list[str]:
    """Pass over how many rows were read before an error: these drivers read many at once."""
    return [line.replace("seen.broken 2 ", "seen.broken 0 ") for line in lines]


def test_an_observer_of_java_does_not_hear_of_a_call(database: Database, tmp_path: Path) -> None:
    java_program.driver()
    database.sql("CREATE TABLE t (a int PRIMARY KEY)")
    write([seen()], "java/postgres", tmp_path, "observer")
    names = {"Check.java": "Check.java", "Observing.java": "observing/Observing.java"}
    programs = {name: (java_program.PROGRAMS / path).read_text() for name, path in names.items()}
    class_path = java_program.compiled(tmp_path, None, programs)
    heard = [line.replace("ERROR: ", "") for line in java_program.run(class_path, "Observing", database)]
    assert heard == rows_at_once(HEARD)


def test_an_observer_of_typescript_does_not_hear_of_a_call(database: Database, tmp_path: Path) -> None:
    node_program.driver()
    database.sql("CREATE TABLE t (a int PRIMARY KEY)")
    write([seen()], "typescript/postgres", tmp_path, "observer")
    names = {"check.ts": "check.ts", "observing.ts": "observing/main.ts"}
    programs = {name: (node_program.PROGRAMS / path).read_text() for name, path in names.items()}
    code = node_program.compiled(tmp_path, programs)
    assert node_program.run(code, "observing.js", database) == rows_at_once(HEARD)
