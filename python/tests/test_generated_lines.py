"""Optional lines and choices: what runs is SQL as written by hand, and no text of a caller is in it."""

import asyncio
import itertools
import json
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import go_program
import node_program
import pytest
import rust_program
from conftest import Database
from generated import ROOT, Sql, builtin, column, line, parameter, write
from java_program import PROGRAMS, compiled, run
from require import library
from test_generated_appenders import HOSTILE

psycopg = library("psycopg")
Generated = Any
Connection = Any

ITEMS = """
CREATE TABLE items (id int PRIMARY KEY, kind text, n int NOT NULL, gone boolean NOT NULL);
INSERT INTO items SELECT i, (ARRAY['a', 'b', NULL])[i % 3 + 1], i * 7 % 10, i % 4 = 0
FROM generate_series(1, 40) i;
"""
SORTS = ["n DESC, id", "kind NULLS FIRST, id DESC", "id"]
OPERATORS = ["<", "<=", "<>"]
TEXTS = [HOSTILE, "%s%%(x)s", "'?'::??", "a\r\n\tb\\", '"""', "\u2028\U0001f600", "; DROP TABLE items --"]
"""Texts that want to be code of SQL, psycopg, pgjdbc, Python, Java or Go."""

VALUE = "? %s ' \" ;"

Combination = tuple[str | None, int | None, int, bool, int, int | None]


def literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def choice(options: Iterable[str]) -> dict[str, Any]:
    return {"choice": {"options": list(options)}}


def lines() -> Sql:
    """Give statements with every way to be optional."""
    code = Sql("lines")
    text, number = builtin("text"), builtin("int4")
    parameters = [
        parameter("kind", text),
        parameter("least", number),
        parameter("span", number, nullable=False),
        parameter("present", builtin("bool"), nullable=False, role="switch"),
        parameter("op", text, nullable=False, role=choice(OPERATORS)),
        parameter("sort", text, role=choice(SORTS)),
    ]
    where = [
        line(0, "\n  AND kind = ", 0),
        line(1, "\n  AND n >= ", 1),
        line(1, "\n  AND n < ", 1, " + ", 2),
        line(3, "\n  AND NOT gone"),
    ]
    code.statement(
        "find_items",
        ["SELECT id FROM items WHERE n ", {"choice": 4}, " 8", *where, line(5, "\n ORDER BY ", {"choice": 5})],  # noqa: E501
        pluck=True, batch=True, parameters=parameters, columns=[column("id", number, nullable=False)],
    )  # fmt: skip
    sent = [*parameters[:4], parameter("by", number, nullable=False)]
    code.statement(
        "move_items",
        [line(0, "/* of a kind */ "), "UPDATE items SET n = n + ", 4, " WHERE true", *where],
        kind="exec", batch=True, parameters=sent,
    )  # fmt: skip
    code.statement(
        "moved_item",
        ["UPDATE items SET n = n + ", 1, " WHERE id = ", 0, line(2, " AND NOT gone"), " RETURNING id"],
        one=True, pluck=True, batch=True, columns=[column("id", number, nullable=False)],
        parameters=[
            parameter("id", number, nullable=False), parameter("by", number, nullable=False),
            parameter("present", builtin("bool"), nullable=False, role="switch"),
        ],
    )  # fmt: skip
    # Names that bodies of methods have, too.
    code.statement(
        "hostile",
        ["SELECT ", {"choice": 1}, line(0, ' || \'%s?\' || "x"."y', '" || ', 0), " AS v FROM (SELECT '!' AS y) AS x"],  # noqa: E501
        one=True, pluck=True, batch=True, columns=[column("v", text)],
        parameters=[parameter("sql", text), parameter("rows", text, nullable=False, role=choice(map(literal, TEXTS)))],  # noqa: E501
    )  # fmt: skip
    code.statement(
        "operators", ["SELECT '{\"a\": 1}'::jsonb ", {"choice": 0}, " 'a' AS v"], one=True, pluck=True,
        parameters=[parameter("class", text, nullable=False, role=choice(["?", "? 'b' OR '{\"a?\": 1}' ?"]))],
        columns=[column("v", builtin("bool"))],
    )  # fmt: skip
    code.statement(
        "nobody", ["SELECT 1", line(0, " + 1"), line(1, " + 2"), " AS v"], one=True, pluck=True, columns=[column("v", number)],  # noqa: E501
        parameters=[
            parameter("changed", builtin("bool"), nullable=False, role="switch"),
            parameter("place", builtin("bool"), nullable=False, role="switch"),
        ],
    )  # fmt: skip
    # The server takes both places for one value, or refuses it.
    code.statement(
        "twice", ["SELECT n % 1 + ", 0, " AS v FROM items", line(1, " WHERE id > 0"), " GROUP BY n % 1 + ", 0],  # noqa: E501
        pluck=True, batch=True, columns=[column("v", number)],
        parameters=[
            parameter("by", number), parameter("few", builtin("bool"), nullable=False, role="switch"),
        ],
    )  # fmt: skip
    return code


def combinations() -> Iterator[Combination]:
    """Give all: a kind, a least with its span, presence, the indices of an operator and an order."""
    orders = [None, *range(len(SORTS))]
    yield from itertools.product(["a", None], [3, None], [4], [True, False], range(len(OPERATORS)), orders)


def by_hand(combination: Combination) -> str:
    """Give the conditions that somebody would have written."""
    kind, least, span, present, _, _ = combination
    where = f" AND kind = '{kind}'" if kind else ""
    where += f" AND n >= {least} AND n < {least + span}" if least is not None else ""
    return where + (" AND NOT gone" if present else "")


def found(database: Database) -> list[str]:
    """Give what hand-written SQL finds for each combination."""
    queries = []
    for each in combinations():
        order = SORTS[each[5]] if each[5] is not None else "id"
        queries.append(
            f"SELECT coalesce(string_agg(id::text, ' ' ORDER BY {order}), '') FROM items"
            f" WHERE n {OPERATORS[each[4]]} 8{by_hand(each)};"
        )
    return database.sql("\n".join(queries))


def shown(ids: Iterable[int], combination: Combination) -> str:
    """Without an order, that of the server means nothing."""
    return " ".join(map(str, ids if combination[5] is not None else sorted(ids)))


@pytest.fixture
def code(tmp_path: Path) -> Generated:
    return lines().load(tmp_path)


@pytest.fixture
def connection(database: Database) -> Iterator[Connection]:
    database.sql(ITEMS)
    with psycopg.connect(database.dsn, autocommit=True) as connection:
        yield connection


def values(code: Generated, combination: Combination) -> dict[str, Any]:
    """Give the parameters, without those that are not needed."""
    kind, least, span, present, op, order = combination
    given = {"span": span, "op": list(code.FindItemsOp)[op], "kind": kind, "least": least}
    if present:
        given["present"] = True
    return given if order is None else given | {"sort": list(code.FindItemsSort)[order]}


def in_order(given: dict[str, Any]) -> tuple[Any, ...]:
    """Give them as a batch takes them."""
    names = ("kind", "least", "span", "present", "op", "sort")
    return tuple(given.get(name, False if name == "present" else None) for name in names)


def test_a_combination_runs_another_statement_than_its_own(
    code: Generated, connection: Connection, database: Database
) -> None:
    shop = code.Lines(connection)
    expected = found(database)
    assert len(set(expected)) > 20
    all_values = [values(code, each) for each in combinations()]
    ways = {
        "all": [shop.find_items(**each) for each in all_values],
        "stream": [shop.find_items_stream(**each, fetch_size=3) for each in all_values],
        "batch": shop.find_items_batch(map(in_order, all_values)),
    }
    for way, rows in ways.items():
        assert [shown(ids, each) for ids, each in zip(rows, combinations(), strict=True)] == expected, way

    async def run() -> list[list[int]]:
        async with await psycopg.AsyncConnection.connect(database.dsn, autocommit=True) as other:
            shop = code.AsyncLines(other)
            return [
                *await shop.find_items_batch(map(in_order, all_values[:-1])),
                await shop.find_items(**all_values[-1]),
            ]

    rows = asyncio.run(run())
    assert [shown(ids, each) for ids, each in zip(rows, combinations(), strict=True)] == expected


def test_a_change_is_another_than_that_of_hand_written_sql(
    code: Generated, connection: Connection, database: Database
) -> None:
    shop = code.Lines(connection)
    database.sql("CREATE TABLE other AS TABLE items")
    moves = [(*each[:4], number) for number, each in enumerate(combinations())]
    counts = [
        shop.move_items(span, by, kind=kind, least=least, present=present)
        for kind, least, span, present, by in moves[:20]
    ]
    counts.append(shop.move_items_batch(moves[20:]))
    by_hand_counts = [
        connection.execute(f"UPDATE other SET n = n + {number} WHERE true{by_hand(each)}").rowcount
        for number, each in enumerate(combinations())
    ]
    assert counts == [*by_hand_counts[:20], sum(by_hand_counts[20:])]
    assert database.sql("TABLE items EXCEPT TABLE other") == []


@pytest.mark.parametrize("autocommit", [True, False])
def test_a_batch_that_fails_leaves_half_of_it(code: Generated, database: Database, autocommit: bool) -> None:  # noqa: FBT001
    database.sql(ITEMS)
    before = database.sql("TABLE items ORDER BY id")
    with psycopg.connect(database.dsn, autocommit=autocommit) as connection:
        shop = code.Lines(connection)
        with pytest.raises(psycopg.errors.NumericValueOutOfRange):
            shop.move_items_batch([(None, None, 0, False, 1), (None, None, 0, True, 2**31 - 1)])
        connection.rollback()
        assert database.sql("TABLE items ORDER BY id") == before
        assert shop.moved_item_batch([(1, 2, True), (4, 2, True), (4, 2, False)]) == [1, None, 4]
        # The transaction is the connection's.
        idle = connection.info.transaction_status == psycopg.pq.TransactionStatus.IDLE
        assert idle == autocommit


def test_a_hostile_text_of_a_choice_becomes_code(code: Generated, connection: Connection) -> None:
    shop = code.Lines(connection)
    kind = code.HostileRows
    assert [member.value for member in kind] == [literal(text) for text in TEXTS]
    assert [shop.hostile(rows_=member) for member in kind] == TEXTS
    assert [shop.hostile(sql_=HOSTILE, rows_=member) for member in kind] == [
        f"{text}%s?!{HOSTILE}" for text in TEXTS
    ]
    assert shop.hostile_batch([(None, member) for member in kind]) == TEXTS
    assert [shop.operators(class_=member) for member in code.OperatorsClass] == [True, False]
    assert [*shop.twice(by=7, few=True), *shop.twice(by=8)] == [7, 8]
    assert [shop.nobody(changed_=a, place=b) for a in (False, True) for b in (False, True)] == [1, 3, 2, 4]


def test_a_text_of_a_caller_reaches_the_server(code: Generated, connection: Connection) -> None:
    shop = code.Lines(connection)
    for text in ("id; DROP TABLE items", "", "ID", HOSTILE):
        with pytest.raises(ValueError, match="is not a valid FindItemsSort"):
            shop.find_items(1, op=code.FindItemsOp.X3C, sort=text)
    with pytest.raises(ValueError, match="is not a valid FindItemsOp"):
        shop.find_items(1, op=None)
    # A text of the list is one of its members.
    assert shop.find_items(1, op="<", sort="id")[:2] == [1, 2]


def test_generated_lines_fail_strict_checks(tmp_path: Path) -> None:
    path = lines().write(tmp_path)
    mypy = [sys.executable, "-m", "mypy", "--strict", "--config-file="]
    mypy += [f"--cache-dir={ROOT / 'build' / 'mypy'}", path.name]
    ruff = [sys.executable, "-m", "ruff", "check", "--isolated", "--no-cache", "--target-version=py311"]
    ruff += ["--select=E,F,W,UP,B,SIM,PLE", "--ignore=E501,W291", "."]
    for command in (mypy, ruff):
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


def check(
    database: Database, run: Callable[[], list[str]], batched: Callable[[list[int]], list[int]]
) -> None:
    """Compare what a program of another language prints with what hand-written SQL does."""
    database.sql(ITEMS)
    database.sql("CREATE TABLE other AS TABLE items")
    expected = found(database)
    printed = run()
    for way in ("all", "stream", "batch"):
        rows = [text.removeprefix(f"{way}:").strip() for text in printed if text.startswith(f"{way}:")]
        ids = [list(map(int, row.split())) for row in rows]
        assert [shown(row, each) for row, each in zip(ids, combinations(), strict=True)] == expected, way
    texts = [text.removeprefix("text:").split() for text in printed if text.startswith("text:")]
    hostile = ["".join(chr(int(point)) for point in points) for points in texts]
    assert hostile == [*TEXTS, *(f"{text}%s?!{VALUE}" for text in TEXTS), *TEXTS]
    counts = [
        len(database.sql(f"UPDATE other SET n = n + {number} WHERE true{by_hand(each)} RETURNING 1"))
        for number, each in enumerate(combinations())
    ]
    moved = [*counts[:20], *batched(counts[20:])]
    assert [text for text in printed if text.startswith("moved:")] == [f"moved: {moved}"]
    database.sql("UPDATE other SET n = n + 2 WHERE id = 4")
    assert database.sql("TABLE items EXCEPT TABLE other") == []
    kinds = ("all:", "stream:", "batch:", "text:", "moved:")
    assert [text for text in printed if not text.startswith(kinds)] == []


def test_java_runs_another_statement_than_that_of_the_combination(database: Database, tmp_path: Path) -> None:
    program = {"OptionalLines.java": (PROGRAMS / "OptionalLines.java").read_text()}
    program["Check.java"] = (PROGRAMS / "Check.java").read_text()
    class_path = compiled(tmp_path, [lines()], program)
    check(database, lambda: run(class_path, "OptionalLines", database, VALUE), list)


def test_go_runs_another_statement_than_that_of_the_combination(database: Database, tmp_path: Path) -> None:
    text = (go_program.PROGRAMS / "lines" / "main.go").read_text()
    program = go_program.built(tmp_path, {"lines": [lines()]}, {"main.go": text})
    check(database, lambda: go_program.run(program, database, VALUE), lambda counts: [sum(counts)])


def test_typescript_runs_another_statement_than_that_of_the_combination(
    database: Database, tmp_path: Path
) -> None:
    write([lines()], "typescript/postgres", tmp_path)
    programs = {name: (node_program.PROGRAMS / name).read_text() for name in ("check.ts", "optionallines.ts")}
    code = node_program.compiled(tmp_path, programs)
    texts = json.dumps({"ops": OPERATORS, "sorts": SORTS, "rows": [literal(text) for text in TEXTS]})
    check(database, lambda: node_program.run(code, "optionallines.js", database, VALUE, texts), list)


def test_rust_runs_another_statement_than_that_of_the_combination(database: Database) -> None:
    text = (rust_program.PROGRAMS / "lines.rs").read_text()
    program = rust_program.compiled([lines()], {"main.rs": text})
    rust_program.lint("lines", "howdah_postgres")
    check(database, lambda: rust_program.run(program, database, VALUE), list)
