"""Generated appenders: whatever ends one early, none of its rows are there, and the connection goes on."""

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import Database
from generated import ROOT, Sql, builtin, column, own, quoted
from require import library

psycopg = library("psycopg")
Generated = Any
Connection = Any

HOSTILE = 'a"b\'$$\\c%s*/ """ ${x} `\u202e\r\n class'


def double(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


@pytest.fixture(params=["binary", "text"])
def shop(request: pytest.FixtureRequest, database: Database, tmp_path: Path) -> Generated:
    """Tables of which one has a type without a binary codec."""
    last = "int" if request.param == "binary" else "point"
    database.sql(f"CREATE TABLE t (a int, b date, c {last}); CREATE TABLE other (a int)")
    code = Sql("shop")
    kinds = {"a": builtin("int4"), "b": builtin("date"), "c": builtin("int4" if last == "int" else "point")}
    code.table("t", kinds)
    return code.load(tmp_path)


@pytest.fixture
def connection(database: Database) -> Iterator[Generated]:
    with psycopg.connect(database.dsn, autocommit=True) as connection:
        yield connection


def rows(shop: Generated, count: int) -> Iterator[Generated]:
    for number in range(count):
        yield shop.TRow(number, None, None)


def left(connection: Connection) -> int:
    """Count the rows by the connection of the appender, which shows that it goes on."""
    (count,) = connection.execute("SELECT count(*) FROM t").fetchone()
    return int(count)


def test_a_producer_that_fails_leaves_rows(shop: Generated, connection: Connection) -> None:
    def failing() -> Iterator[Generated]:
        yield from rows(shop, 100_000)
        message = "row k"
        raise KeyError(message)

    with pytest.raises(KeyError, match="row k"):
        shop.Shop(connection).bulk_insert_t_rows(failing())
    assert left(connection) == 0


@pytest.mark.parametrize(("place", "value"), [("a", "x"), ("a", 2**31), ("b", 1), ("a", 1.5)])
def test_a_bad_value_is_not_named_or_leaves_rows(
    shop: Generated, connection: Connection, place: str, value: object
) -> None:
    values = {"a": 1, "b": None, "c": None} | {place: value}
    appender = shop.Shop(connection).create_t_appender()

    def run() -> None:
        with appender as a:
            a.append(shop.TRow(1, None, None))
            a.append(shop.TRow(**values))

    with pytest.raises(psycopg.DataError) as raised:
        run()
    told = str(raised.value)
    # Of text, the server finds what does not fit the type, and says so in its own words.
    assert f"row 2, column {place}" in told or f"line 2, column {place}" in told
    assert left(connection) == 0


def test_an_error_that_was_caught_inside_of_the_block_is_forgotten(
    shop: Generated, connection: Connection
) -> None:
    def swallow() -> None:
        with shop.Shop(connection).create_t_appender() as a:
            a.append(shop.TRow(1, None, None))
            with pytest.raises(psycopg.DataError):
                a.append(shop.TRow(2, "no date", None))

    with pytest.raises(psycopg.DataError, match="row 2, column b"):
        swallow()
    assert left(connection) == 0


def test_a_block_that_is_never_left_leaves_rows(shop: Generated, connection: Connection) -> None:
    def forgetful() -> Iterator[None]:
        with shop.Shop(connection).create_t_appender() as a:
            a.append(shop.TRow(1, None, None))
            yield

    generator = forgetful()
    next(generator)
    del generator
    assert left(connection) == 0


def test_a_connection_that_is_lost_leaves_rows(
    shop: Generated, connection: Connection, database: Database
) -> None:
    def cut() -> Iterator[Generated]:
        yield from rows(shop, 1000)
        database.sql(f"SELECT pg_terminate_backend({connection.info.backend_pid}, 10000)")
        yield from rows(shop, 1_000_000)

    with pytest.raises(psycopg.OperationalError):
        shop.Shop(connection).bulk_insert_t_rows(cut())
    assert database.value("SELECT count(*) FROM t") == "0"


def test_rows_that_a_trigger_dropped_are_counted(
    shop: Generated, connection: Connection, database: Database
) -> None:
    database.sql("""
        CREATE FUNCTION nothing() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
        CREATE TRIGGER drop_it BEFORE INSERT ON t FOR EACH ROW WHEN (new.a = 1) EXECUTE FUNCTION nothing()""")
    with pytest.raises(psycopg.Error, match="the server counted 2 of 3 rows"):
        shop.Shop(connection).bulk_insert_t_rows(rows(shop, 3))


def test_a_finished_appender_takes_rows_or_counts_wrongly(shop: Generated, connection: Connection) -> None:
    with shop.Shop(connection).create_t_appender() as a:
        for row in rows(shop, 10):
            a.append(row)
        assert a.finish() == 10
        with pytest.raises(psycopg.Error):
            a.append(shop.TRow(11, None, None))
    assert left(connection) == 10


def hostile() -> Sql:
    """Everything has a name that wants to be code."""
    labels = ["happy", "Happy", "", HOSTILE, "class", "None", "mro"]
    code = Sql("hostile", types=[
        {"schema": HOSTILE, "name": HOSTILE + "1", "kind": "enum", "labels": labels},
        {"schema": HOSTILE, "name": HOSTILE + "2", "kind": "composite", "fields": [
            {"name": HOSTILE, "type": own(HOSTILE + "1", schema=HOSTILE)}, {"name": "class", "type": builtin("int4")}]},  # noqa: E501
    ])  # fmt: skip
    kinds = {HOSTILE: own(HOSTILE + "1", schema=HOSTILE), "self": own(HOSTILE + "2", schema=HOSTILE),
             "int": builtin("int4"), "pg": builtin("text"), "a b": builtin("date"), "a_b": builtin("int4", array=True)}  # fmt: skip  # noqa: E501
    code.table(HOSTILE, kinds, schema=HOSTILE)
    code.tables[0]["name"] = "t"
    names = ", ".join(map(double, kinds))
    text = f"SELECT {names} FROM {double(HOSTILE)}.{double(HOSTILE)} WHERE 7 %% 4 = 3 OR '%s' <> '\\\"\"\"' OR pg = "  # noqa: E501
    text = text.replace("%%", "%")
    parameter = {"name": "self", "type": builtin("text"), "nullable": True, "why": ""}
    columns = [column(name, kind) for name, kind in kinds.items()]
    note = ['"""', HOSTILE, "\\"]
    for name in ("import", "get", "GET", HOSTILE):
        code.statement(
            name,
            [text, 0],
            parameters=[parameter],
            columns=columns,
            documentation=note,
            batch=True,
            one=name == "get",
        )
    code.migration(HOSTILE, f'SELECT {quoted(HOSTILE)} AS "%s", 7 % 4 /* ? \\ */', 'SELECT 1 AS """"')
    code.migration("2", "CREATE INDEX CONCURRENTLY IF NOT EXISTS i ON pg_temp.t (a)", alone=True)
    code.statement(
        "one", ["SELECT ", 0], parameters=[parameter], columns=[column("?column?", builtin("text"))], one=True
    )
    code.statement("do", ["SELECT ", 0], parameters=[parameter], kind="exec", batch=True)
    return code


def test_a_hostile_name_becomes_code(database: Database, tmp_path: Path, connection: Connection) -> None:
    module = hostile().load(tmp_path)
    name, labels = double(HOSTILE), ["happy", "Happy", "", HOSTILE, "class", "None", "mro"]
    listed = ", ".join(map(quoted, labels))
    database.sql(f"""
        CREATE SCHEMA {name}; CREATE TYPE {name}.{double(HOSTILE + "1")} AS ENUM ({listed});
        CREATE TYPE {name}.{double(HOSTILE + "2")} AS ({name} {name}.{double(HOSTILE + "1")}, class int);
        CREATE TABLE {name}.{name} ({name} {name}.{double(HOSTILE + "1")},
            self {name}.{double(HOSTILE + "2")}, int int, pg text,
            "a b" date, a_b int[])""")
    kinds: list[Any] = [kind for kind in vars(module).values() if isinstance(kind, type)]
    (enum,) = (kind for kind in kinds if hasattr(kind, "MRO"))
    (pair,) = (kind for kind in kinds if kind.__doc__ and kind.__doc__.startswith("A value of"))
    assert [label.value for label in enum] == labels
    shop = module.Hostile(connection)
    written = [module.TRow(label, pair(label, 1), 2, HOSTILE, None, [3, None]) for label in enum]
    assert shop.bulk_insert_t_rows(written) == len(written)
    assert shop.import_(HOSTILE) == written
    assert shop.get(HOSTILE) == written[0]
    assert shop.get_2(HOSTILE) == written
    assert shop.get_batch([(HOSTILE,), (None,)]) == [written[0], written[0]]
    assert shop.one(HOSTILE) == module.OneRow(HOSTILE)
    assert shop.do_batch([("a",), ("b",)]) == 2


def test_generated_code_fails_strict_checks(tmp_path: Path) -> None:
    path = hostile().write(tmp_path)
    mypy = [
        sys.executable,
        "-m",
        "mypy",
        "--strict",
        "--config-file=",
        f"--cache-dir={ROOT / 'build' / 'mypy'}",
        path.name,
    ]
    ruff = [sys.executable, "-m", "ruff", "check", "--isolated", "--no-cache", "--target-version=py311"]
    ruff += ["--select=E,F,W,UP,B,SIM,PLE", "--ignore=E501", "."]
    for command in (mypy, ruff):
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


def test_a_statement_that_no_cursor_takes_has_a_stream(connection: Connection, tmp_path: Path) -> None:
    connection.execute("CREATE TABLE t (a int)")
    code = Sql("streams")
    texts = {
        "select": "SELECT 1 AS a",
        "values": "(VALUES (1))", "with_select": "WITH x AS (SELECT 1) SELECT * FROM x",
        "returning": "INSERT INTO t VALUES (1) RETURNING a",
        "with_insert": "WITH x AS (INSERT INTO t VALUES (1) RETURNING a) SELECT * FROM x",
        "commented": "/* select */ INSERT INTO t VALUES (1) RETURNING a",
    }  # fmt: skip
    for name, text in texts.items():
        code.statement(name, [text], columns=[column("a", builtin("int4"))])
    shop = code.load(tmp_path).Streams(connection)
    streamed = [name for name in texts if hasattr(shop, f"{name}_stream")]
    assert {"select", "values", "with_select"} <= set(streamed)
    for name in texts:
        assert [row.a for row in getattr(shop, name)()] == [1]
    for name in streamed:
        assert [row.a for row in getattr(shop, f"{name}_stream")()] == [1]


def test_a_stream_that_is_left_early_undoes_what_ran_meanwhile(
    connection: Connection, database: Database, tmp_path: Path
) -> None:
    database.sql("CREATE TABLE t (a int)")
    code = Sql("early")
    number = builtin("int4")
    code.statement(
        "numbers", ["SELECT i FROM generate_series(1, 100) i"], columns=[column("i", number, nullable=False)]
    )
    parameter = {"name": "a", "type": number, "nullable": False, "why": ""}
    code.statement("add", ["INSERT INTO t VALUES (", 0, ")"], kind="exec", parameters=[parameter])
    module = code.load(tmp_path)
    early = module.Early(connection)
    for row in early.numbers_stream():
        assert early.add(row.i) == 1
        if row.i == 3:
            break
    assert database.sql("SELECT a FROM t ORDER BY a") == ["1", "2", "3"]

    def failing() -> None:
        for row in early.numbers_stream(fetch_size=2):
            early.add(row.i + 100)
            message = "of the reader"
            raise KeyError(message)

    with pytest.raises(KeyError, match="of the reader"):
        failing()
    assert database.value("SELECT count(*) FROM t") == "4"
    for size in (0, -1):
        with pytest.raises(psycopg.DataError, match="fetch_size"):
            next(early.numbers_stream(fetch_size=size))


@pytest.fixture
def beside(database: Database, tmp_path: Path) -> Generated:
    """A table, and a statement of each form beside its appender."""
    database.sql("CREATE TABLE t (a int PRIMARY KEY)")
    code = Sql("beside")
    number = builtin("int4")
    columns = [column("i", number, nullable=False)]
    code.statement("numbers", ["SELECT i FROM generate_series(1, 100) i"], columns=columns)
    code.statement("first", ["SELECT 1 AS i"], columns=columns, one=True)
    code.statement("add", ["INSERT INTO t VALUES (", 0, ")"], kind="exec", batch=True, parameters=[
        {"name": "a", "type": number, "nullable": False, "why": ""}
    ])  # fmt: skip
    code.table("t", {"a": number})
    return code.load(tmp_path)


@pytest.mark.parametrize("autocommit", [True, False])
def test_a_statement_beside_an_open_appender_waits_for_ever(
    beside: Generated, database: Database, *, autocommit: bool
) -> None:
    with psycopg.connect(database.dsn, autocommit=autocommit) as connection:
        shop = beside.Beside(connection)
        statements = [
            shop.first, shop.numbers, lambda: shop.add(1), lambda: shop.add_batch([1]),
            lambda: next(shop.numbers_stream()), lambda: shop.create_t_appender().__enter__(),
            lambda: shop.bulk_insert_t_rows([]),
        ]  # fmt: skip
        for statement in statements:
            with shop.create_t_appender() as appender:
                appender.append(beside.TRow(1))
                with pytest.raises(psycopg.ProgrammingError, match="an appender is open on this connection"):
                    statement()
                # The appender goes on.
                appender.append(beside.TRow(2))
            connection.rollback()
            assert connection.execute("DELETE FROM t").rowcount == (2 if autocommit else 0)
            connection.rollback()
        # Between two rows that are fetched, rows may be appended.
        for row in shop.numbers_stream(fetch_size=7):
            assert shop.bulk_insert_t_rows([beside.TRow(row.i)]) == 1
        assert left(connection) == 100


@pytest.mark.parametrize("autocommit", [True, False])
def test_a_stream_that_goes_on_beside_an_open_appender_waits_for_ever(
    beside: Generated, database: Database, *, autocommit: bool
) -> None:
    def run(shop: Generated) -> None:
        rows = shop.numbers_stream(fetch_size=7)
        next(rows)
        with shop.create_t_appender() as appender:
            for row in rows:
                appender.append(beside.TRow(row.i))

    with psycopg.connect(database.dsn, autocommit=autocommit) as connection:
        shop = beside.Beside(connection)
        with pytest.raises(psycopg.ProgrammingError, match="an appender is open on this connection"):
            run(shop)
        connection.rollback()
        assert left(connection) == 0
        assert shop.bulk_insert_t_rows([beside.TRow(1)]) == 1


def test_a_stream_that_goes_on_beside_an_open_appender_waits_for_ever_in_asyncio(
    beside: Generated, database: Database
) -> None:
    async def appended(shop: Generated, rows: AsyncIterator[Generated]) -> None:
        async with shop.create_t_appender() as appender:
            with pytest.raises(psycopg.ProgrammingError, match="an appender is open on this connection"):
                await shop.first()
            async for row in rows:
                await appender.append(beside.TRow(row.i))

    async def run() -> None:
        async with await psycopg.AsyncConnection.connect(database.dsn, autocommit=True) as connection:
            shop = beside.AsyncBeside(connection)
            rows = shop.numbers_stream(fetch_size=7)
            await anext(rows)
            with pytest.raises(psycopg.ProgrammingError, match="an appender is open on this connection"):
                await appended(shop, rows)
            assert (await shop.first()).i == 1
            assert await shop.bulk_insert_t_rows([beside.TRow(1)]) == 1

    asyncio.run(run())
    assert database.value("SELECT count(*) FROM t") == "1"


def test_rows_of_equal_shape_have_classes_of_their_own(tmp_path: Path) -> None:
    code = Sql("shared")
    columns = [column("a", builtin("int4")), column("b", builtin("text"), nullable=False)]
    code.statement("named", ["SELECT 1"], columns=columns, result="Item")
    code.statement("alike", ["SELECT 1"], columns=columns)
    code.statement("other", ["SELECT 1"], columns=[columns[0], column("b", builtin("text"))])
    code.statement("of_table", ["SELECT 1"], columns=[column("x", builtin("int4"))])
    code.table("things", {"x": builtin("int4")})
    shared = code.load(tmp_path)
    returned = {
        name: getattr(shared.Shared, name).__annotations__["return"]
        for name in ("named", "alike", "other", "of_table")
    }
    assert returned == {
        "named": "list[Item]",
        "alike": "list[Item]",
        "other": "list[OtherRow]",
        "of_table": "list[ThingsRow]",
    }
