"""Rows that generated code writes by howdah's own client have the bytes of the driver's appender."""

import asyncio
import datetime as dt
import ipaddress
import subprocess
import sys
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from types import ModuleType
from typing import Any
from uuid import UUID

import pytest
import rust_program
from conftest import Database
from generated import ROOT, Sql, Type, builtin, own, write
from require import library

import howdah

psycopg = library("psycopg")
Connection = Any
Generated = Any

COLUMNS: dict[str, tuple[str, Type]] = {
    "id": ("int8 PRIMARY KEY", builtin("int8")),
    "small": ("int2", builtin("int2")),
    "ok": ("bool", builtin("bool")),
    "share": ("float8", builtin("float8")),
    "near": ("float4", builtin("float4")),
    "name": ("text CHECK (name <> 'wrong')", builtin("text")),
    "price": ("numeric", builtin("numeric")),
    "bytes": ("bytea", builtin("bytea")),
    "uid": ("uuid", builtin("uuid")),
    "doc": ("jsonb", builtin("jsonb")),
    "day": ("date", builtin("date")),
    "moment": ("timestamptz", builtin("timestamptz")),
    "clock": ("time", builtin("time")),
    "span": ("interval", builtin("interval")),
    "reach": ("int4range", builtin("int4range")),
    "ip": ("inet", builtin("inet")),
    "mood": ("mood", own("mood")),
    "kind": ("kind", own("kind")),
    "tags": ("text[]", builtin("text", array=True)),
    "prices": ("numeric[]", builtin("numeric", array=True)),
    "moods": ("mood[]", own("mood", array=True)),
}
TYPES = "CREATE TYPE mood AS ENUM ('happy', 'so \"so\"'); CREATE DOMAIN kind AS varchar(9);"
DEFINED: list[dict[str, Any]] = [
    {"schema": "public", "name": "mood", "kind": "enum", "labels": ["happy", 'so "so"']},
    {
        "schema": "public",
        "name": "kind",
        "kind": "domain",
        "base": builtin("varchar") | {"sql": "varchar(9)"},
        "not_null": False,
    },
]
SQL = TYPES + "".join(
    f"CREATE TABLE {table} ({', '.join(f'{name} {sql}' for name, (sql, _) in COLUMNS.items())});"
    for table in ("plain", "appended", "written")
)


def plain() -> Sql:
    """Give a table with the driver's appender."""
    code = Sql("plain", types=DEFINED)
    code.table("t", {name: kind for name, (_, kind) in COLUMNS.items()}, table="plain")
    return code


def ours() -> Sql:
    """Give tables with an appender and with a writer, as `runtime: howdah` has them."""
    code = Sql("ours", types=DEFINED)
    columns = {name: kind for name, (_, kind) in COLUMNS.items()}
    code.table("t", columns, table="appended")
    code.table("w", columns, table="written", appender=False, writer=True)
    for table in (*code.tables,):
        table["columns"][0]["nullable"] = False
    return code


def binary_of(connection: Connection, table: str) -> bytes:
    """Give all rows in binary."""
    query = f"COPY (SELECT * FROM {table} ORDER BY id) TO STDOUT (FORMAT binary)"
    with connection.cursor() as cursor, cursor.copy(query) as copy:
        return b"".join(bytes(part) for part in copy)


def same_bytes(database: Database) -> None:
    """Compare what the three tables have."""
    with psycopg.connect(database.dsn, autocommit=True) as connection:
        expected = binary_of(connection, "plain")
        assert database.value("SELECT count(*) FROM plain") == "3"
        for table in ("appended", "written"):
            assert binary_of(connection, table) == expected, table


def test_rust_writes_other_bytes_or_leaves_some(database: Database, tmp_path: Path) -> None:
    write([plain()], "rust/postgres", tmp_path)
    write([ours()], "rust/postgres", tmp_path, "runtime")
    (tmp_path / "model.json").unlink()
    text = (rust_program.PROGRAMS / "runtime.rs").read_text()
    program = rust_program.compiled([], {"main.rs": text}, tmp_path)
    rust_program.laid_out("ours", "plain", "howdah_runtime")
    database.sql(SQL)
    assert rust_program.run(program, database, "rows") == []
    same_bytes(database)
    assert rust_program.run(program, database, "faults") == []
    assert database.value("SELECT count(*) FROM appended") == "3"


@pytest.fixture
def python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[ModuleType, ModuleType]:
    """Give both modules."""
    monkeypatch.syspath_prepend(tmp_path)
    return plain().load(tmp_path), ours().load(tmp_path, "runtime")


def rows(code: ModuleType, row: Generated) -> list[Generated]:
    """Give rows of a class: one of values, one of others, one of nulls."""
    pg = code.pg
    zone = dt.timezone(dt.timedelta(hours=2))
    first: Generated = (
        1, 2, True, 0.1, 0.5, 'a\t"b"\\N', Decimal("1.50"), b"\0\xff", UUID(int=7), pg.Json('{"a": 1.10}'),
        dt.date(2026, 1, 2), dt.datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=zone), dt.time(3, 4, 5, 6),
        pg.Interval(1, 2, 3_000_001), psycopg.types.range.Range(1, 5), ipaddress.ip_interface("10.0.0.1/8"),
        list(code.Mood)[1], "kind", ["a", None, '"\\'], [Decimal("0.10"), None], [code.Mood.HAPPY],
    )  # fmt: skip
    second: Generated = (
        2, -32768, False, float("-inf"), float("nan"), "", Decimal("NaN"), b"", UUID(int=0), pg.Json("null"),
        dt.date(1, 1, 1), dt.datetime(1, 1, 1, tzinfo=dt.UTC), dt.time(0), pg.Interval(-1, -2, -3),
        psycopg.types.range.Range(empty=True), ipaddress.ip_interface("::1"), code.Mood.HAPPY, "", [], [], [],
    )  # fmt: skip
    nulls = (3, *(None for _ in list(COLUMNS)[1:]))
    return [row(*values) for values in (first, second, nulls)]


def test_python_writes_other_bytes(database: Database, python: tuple[ModuleType, ModuleType]) -> None:
    plain, ours = python
    database.sql(SQL)
    with psycopg.connect(database.dsn) as connection:
        assert plain.Plain(connection).bulk_insert_t_rows(rows(plain, plain.TRow)) == 3
        code = ours.Ours(connection)
        # A transaction that fails takes none of them back: they had their own.
        assert code.bulk_insert_t_rows(rows(ours, ours.TRow)) == 3
        with pytest.raises(TypeError, match="columns"):
            code.create_w_writer(columns=["id"])
        with code.create_w_writer(max_rows=2) as writer:
            acks = [writer.write(row) for row in rows(ours, ours.WRow)]
            for ack in acks:
                ack.result(timeout=30)
    same_bytes(database)


@pytest.mark.parametrize("meanwhile", ["PGPORT", "PGSERVICE", "hosts"])
def test_python_writes_to_a_server_that_the_environment_names(
    database: Database,
    python: tuple[ModuleType, ModuleType],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    meanwhile: str,
) -> None:
    """Values that are libpq's defaults say as much as others: the port 5432 is one that somebody gave."""
    _, ours = python
    database.sql(SQL)
    given = psycopg.conninfo.conninfo_to_dict(database.conninfo)
    socket = Path(given["host"]) / f".s.PGSQL.{given['port']}"
    (tmp_path / ".s.PGSQL.5432").symlink_to(socket)
    given |= {"host": str(tmp_path), "port": "5432"}
    if meanwhile == "PGPORT":
        monkeypatch.setenv("PGPORT", "1")
    elif meanwhile == "PGSERVICE":
        (tmp_path / "services").write_text(f"[other]\nhost={tmp_path / 'nobody'}\nport=1\n")
        monkeypatch.setenv("PGSERVICEFILE", str(tmp_path / "services"))
        monkeypatch.setenv("PGSERVICE", "other")
    else:
        given |= {"host": f"/nowhere,{tmp_path}", "port": "5432,5432"}
    with psycopg.connect(**given) as connection:
        code = ours.Ours(connection)
        code.bulk_insert_t_rows(rows(ours, ours.TRow))
        with code.create_w_writer() as writer:
            writer.write(rows(ours, ours.WRow)[0])
        told = psycopg.conninfo.conninfo_to_dict(ours._runtime.dsn_of(connection))  # noqa: SLF001
        assert (told["host"], told["port"]) == (str(tmp_path), "5432")
        assert "service" not in told
    assert database.sql("SELECT count(*) FROM appended UNION ALL SELECT count(*) FROM written") == ["3", "1"]


def test_python_writes_other_bytes_in_asyncio(
    database: Database, python: tuple[ModuleType, ModuleType]
) -> None:
    plain, ours = python
    database.sql(SQL)

    async def run() -> None:
        async with await psycopg.AsyncConnection.connect(database.dsn) as connection:
            await plain.AsyncPlain(connection).bulk_insert_t_rows(rows(plain, plain.TRow))
            code = ours.AsyncOurs(connection)
            await code.bulk_insert_t_rows(rows(ours, ours.TRow))
            async with code.create_w_writer() as writer:
                for row in rows(ours, ours.WRow):
                    await (await writer.write(row))

    asyncio.run(run())
    same_bytes(database)


def test_python_leaves_rows_of_an_append_that_ends_early(
    database: Database, python: tuple[ModuleType, ModuleType]
) -> None:
    _, ours = python
    database.sql(SQL)
    first, *_ = rows(ours, ours.TRow)
    nulls = [None] * (len(COLUMNS) - 1)

    def producer() -> Iterator[Any]:
        yield first
        message = "the producer fails"
        raise LookupError(message)

    with psycopg.connect(database.dsn) as connection:
        code = ours.Ours(connection)
        with pytest.raises(LookupError):
            code.bulk_insert_t_rows(producer())
        with pytest.raises(ours.copy.AppendError, match="row 2, column day"):
            code.bulk_insert_t_rows([first, ours.TRow(2, *nulls[:9], "no date", *nulls[10:])])
        with pytest.raises(howdah.DataError) as refused:
            code.bulk_insert_t_rows([first, ours.TRow(2, 40_000, *nulls[1:])])
        assert refused.value.column == "small"
        with pytest.raises(howdah.IntegrityError):
            code.bulk_insert_t_rows([ours.TRow(2, *nulls[:4], "wrong", *nulls[5:])])
        with code.create_t_appender() as appender:
            appender.append(first)
            appender.abandon(LookupError())
            with pytest.raises(LookupError):
                appender.append(first)
            appender._failure = None  # noqa: SLF001 - or the block would raise it again
        with code.create_w_writer() as writer:
            bad = writer.write(ours.WRow(2, *nulls[:4], "wrong", *nulls[5:]))
            good = writer.write(ours.WRow(3, *nulls))
            with pytest.raises(howdah.IntegrityError):
                bad.result(timeout=30)
            good.result(timeout=30)
    assert database.value("SELECT count(*) FROM appended") == "0"
    assert database.sql("SELECT id FROM written") == ["3"]


DROPS = (
    "CREATE FUNCTION drops() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';"
    "CREATE TRIGGER drops BEFORE INSERT ON appended FOR EACH ROW WHEN (NEW.id = 2) EXECUTE FUNCTION drops();"
)


def test_python_says_nothing_of_rows_that_a_trigger_drops(
    database: Database, python: tuple[ModuleType, ModuleType]
) -> None:
    _, ours = python
    database.sql(SQL + DROPS)
    with psycopg.connect(database.dsn) as connection:
        code = ours.Ours(connection)
        with pytest.raises(ours.copy.CountError, match="counted 2 of 3 rows"):
            code.bulk_insert_t_rows(rows(ours, ours.TRow))
    assert database.value("SELECT count(*) FROM appended") == "2"


def test_python_appends_twice_or_counts_anew(
    database: Database, python: tuple[ModuleType, ModuleType]
) -> None:
    """The driver's appender and ours agree: one block, one count."""
    database.sql(SQL)
    for module, name in zip(python, ("Plain", "Ours"), strict=True):
        with psycopg.connect(database.dsn) as connection:
            appender: Generated = getattr(module, name)(connection).create_t_appender()
            with appender:
                appender.append(rows(module, module.TRow)[0])
                with pytest.raises(psycopg.ProgrammingError, match="one `with` block"):
                    appender.__enter__()
                assert appender.finish() == 1
                assert appender.finish() == 1
            with pytest.raises(psycopg.ProgrammingError, match="one `with` block"):
                appender.__enter__()
    assert database.value("SELECT count(*) FROM plain") == "1"
    assert database.value("SELECT count(*) FROM appended") == "1"


def test_python_of_the_runtime_is_typed(tmp_path: Path) -> None:
    write([ours()], "python/postgres", tmp_path, "runtime")
    (tmp_path / "wrong.py").write_text(
        "import psycopg\nfrom typing import Any\nfrom ours import Ours, TRow, WRow\n\n"
        "def use(connection: psycopg.Connection[Any], row: TRow, other: WRow) -> None:\n"
        "    with Ours(connection).create_w_writer(connections=1) as writer:\n"
        "        writer.write(other).result()\n"
        "        writer.write(row)\n"
        "    Ours(connection).create_w_writer(conections=1)\n"
    )
    mypy = [sys.executable, "-m", "mypy", "--strict", "--config-file="]
    mypy += [f"--cache-dir={ROOT / 'build' / 'mypy'}"]
    for name, expected in (("ours.py", []), ("wrong.py", ["arg-type", "call-arg"])):
        done = subprocess.run([*mypy, name], cwd=tmp_path, capture_output=True, text=True, check=False)
        told = [line.rsplit("[", 1)[1].rstrip("]") for line in done.stdout.splitlines() if " error: " in line]
        assert told == expected, done.stdout + done.stderr
