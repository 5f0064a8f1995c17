"""Every type through generated Python: what a query reads, an appender writes as the same bytes."""

import asyncio
import contextlib
import datetime as dt
from pathlib import Path
from typing import Any

import pytest
from conftest import Database
from generated import Sql, Type, builtin, column, own, quoted
from require import library

psycopg = library("psycopg")
Generated = Any
Connection = Any

LITERALS: dict[str, list[str]] = {
    "bool": ["t", "f"],
    "int2": ["-32768", "32767"],
    "int4": ["-2147483648", "2147483647", "0"],
    "int8": ["-9223372036854775808", "9223372036854775807"],
    "oid": ["0", "4294967295"],
    "float4": ["NaN", "Infinity", "-Infinity", "-0", "1e-45", "3.4028235e38", "0.1", "16777217"],
    "float8": ["NaN", "Infinity", "-Infinity", "-0", "5e-324", "1.7976931348623157e308", "0.1"],
    "numeric": ["NaN", "Infinity", "-Infinity", "0.00", "1.10", "1e100", "-123456789.000000001", "1e-50", "1E+20"],  # noqa: E501
    "text": ["", "a", "'\"\\\n\t\r", "{},()[]", "NULL", "ü€😀", "%s ${x}"],
    "varchar": ["", "x y"],
    "bpchar": ["a  "],
    "name": ["pg_class"],
    "char": ["a"],
    "json": ['{"a": 1.10, "a": 2,  "b" : [null, "\\u0041"]}', "null", '"x"', "1e400"],
    "jsonb": ['{"a": 1.10, "b": [null, "\\u0041"]}', "null", '"x"', "100000000000000000000.10"],
    "bytea": ["", "\\x00ff5c27", "\\x"],
    "uuid": ["00000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff"],
    "date": ["0001-01-01", "9999-12-31", "2000-02-29"],
    "time": ["00:00:00", "23:59:59.999999", "12:00:00.1"],
    "timetz": ["00:00:00+15:30", "23:59:59.999999-12", "12:00:00.1+00"],
    "timestamp": ["0001-01-01 00:00:00", "9999-12-31 23:59:59.999999", "2000-01-01 00:00:00.1"],
    "timestamptz": ["0002-01-01 00:00:00+00", "9999-12-30 23:59:59.999999+00", "1900-01-01 00:00:00+00"],
    "interval": [
        "0", "1 year 2 mons -3 days +04:05:06.789", "-1 mons +30 days", "-00:00:00.000001", "infinity", "-infinity",  # noqa: E501
        "178000000 years", "-9223372036854775807 microseconds", "1 mon -1 day", "2562047788:00:54.775807",
    ],
    "inet": ["10.0.0.1", "10.0.0.1/8", "::1", "::ffff:1.2.3.4/96", "0.0.0.0/0"],
    "cidr": ["10.0.0.0/8", "::/0", "2001:db8::/32"],
    "macaddr": ["08:00:2b:01:02:03"],
    "money": ["-92233720368547758.08"],
    "point": ["(1,-0.1)"],
    "box": ["(2,2),(1,1)"],
    "bit": ["1"],
    "varbit": ["", "10101"],
    "tsvector": ["'a':1 'b''c':2A"],
    "tsquery": ["'a' & !'b'"],
    "pg_lsn": ["16/B374D848"],
    "jsonpath": ['$."a"[*]'],
    "int4range": ["empty", "[1,5)", "(,)", "[,5)", "[1,)"],
    "int8range": ["[-9223372036854775808,5)"],
    "numrange": ["(1.10,2.2]", "[NaN,NaN]", "empty"],
    "daterange": ["[2000-01-01,2000-01-02)"],
    "tsrange": ["(2000-01-01 00:00:00.1,)", "[2000-01-01,2000-01-01]"],
    "tstzrange": ["[2000-01-01 00:00:00+00,2001-01-01 00:00:00+05]"],
    "int4multirange": ["{}", "{[1,3),[5,7)}", "{(,)}"],
    "nummultirange": ["{(1.10,2.2],[3,3]}"],
    "datemultirange": ["{[2000-01-01,2000-01-02)}"],
    "tsmultirange": ["{(2000-01-01 00:00:00.1,)}"],
    "tstzmultirange": ["{[2000-01-01 00:00:00+00,)}"],
}  # fmt: skip
MADE = """
CREATE TYPE mood AS ENUM ('happy', 'very sad', '', 'Happy', 'a"b\\c,d', 'None');
CREATE DOMAIN email AS text CHECK (value <> 'x');
CREATE DOMAIN moods AS mood[];
CREATE TYPE "od d" AS ("a b" int, "class" text, m mood, "at" timestamptz, ns numeric[]);
CREATE TYPE pair AS (one "od d", many "od d"[]);
CREATE TYPE floats AS RANGE (subtype = float8, multirange_type_name = many_floats);
"""
OWN: dict[str, list[str]] = {
    "mood": ["happy", "very sad", "", "Happy", 'a"b\\c,d', "None"],
    "email": ["a@b", ""],
    "moods": ['{happy,"very sad",NULL,""}'],
    "od d": ['(1,"a ""b\\\\c, (d)",happy,"2000-01-01 00:00:00+00","{1.10,NULL}")', "(,,,,)", '(,"",,,{})'],
    "pair": ['("(1,x,happy,,)","{""(2,\\\\""y z\\\\"",,,)"",NULL}")', "(,)"],
    "floats": ["[0.1,Infinity]", "empty", "(,)"],
    "many_floats": ["{[0.1,0.2],[3,4)}"],
}
TYPES: list[dict[str, Any]] = [
    {"schema": "public", "name": "mood", "kind": "enum", "labels": OWN["mood"]},
    {"schema": "public", "name": "email", "kind": "domain", "base": builtin("text"), "not_null": False},
    {"schema": "public", "name": "moods", "kind": "domain", "base": own("mood", array=True), "not_null": False},  # noqa: E501
    {"schema": "public", "name": "od d", "kind": "composite", "fields": [
        {"name": "a b", "type": builtin("int4")}, {"name": "class", "type": builtin("text")},
        {"name": "m", "type": own("mood")}, {"name": "at", "type": builtin("timestamptz")},
        {"name": "ns", "type": builtin("numeric", array=True)}]},
    {"schema": "public", "name": "pair", "kind": "composite", "fields": [
        {"name": "one", "type": own("od d")}, {"name": "many", "type": own("od d", array=True)}]},
    {"schema": "public", "name": "floats", "kind": "range", "subtype": builtin("float8")},
    {"schema": "public", "name": "many_floats", "kind": "multirange", "range": own("floats")},
]  # fmt: skip


def cases() -> list[tuple[str, Type, str, list[str]]]:
    """Give each type and its array: a name, the type, and expressions of its values."""
    made = []
    for kinds, give in ((LITERALS, builtin), (OWN, own)):
        for name, literals in kinds.items():
            scalar, array = give(name), give(name, array=True)
            values = [f"{quoted(literal)}::{scalar['sql']}" for literal in literals]
            many = ", ".join(values)
            arrays = ["ARRAY[]", f"ARRAY[{many}, NULL]", f"ARRAY[[{values[0]}, NULL], [NULL, {values[-1]}]]"]
            stem = name.replace(" ", "_")
            made.append((f"c_{stem}", scalar, scalar["sql"], [*values, "NULL"]))
            made.append(
                (f"a_{stem}", array, array["sql"], [*(f"{a}::{array['sql']}" for a in arrays), "NULL"])
            )
    return made


@pytest.fixture
def project(database: Database, tmp_path: Path) -> Generated:
    """A table for each type and each array, a query that reads it, an appender that writes its copy."""
    sql, code = MADE, Sql("shop", types=TYPES)
    for name, kind, written, values in cases():
        sql += f"CREATE TABLE src_{name} (n int, v {written}); CREATE TABLE {name} (n int, v {written});\n"
        rows = ", ".join(f"({n}, {value})" for n, value in enumerate(values))
        sql += f"INSERT INTO src_{name} VALUES {rows};\n"
        columns = [column("n", builtin("int4")), column("v", kind)]
        code.statement(f"read_{name}", [f"SELECT n, v FROM src_{name} ORDER BY n"], columns=columns)
        code.table(name, {"n": builtin("int4"), "v": kind})
        parameter = {"name": "v", "type": kind, "nullable": True, "why": ""}
        code.statement(
            f"same_{name}",
            [f"SELECT n FROM src_{name} WHERE ROW(v)::text IS NOT DISTINCT FROM ROW(", 0, ")::text LIMIT 1"],
            pluck=True, one=True, parameters=[parameter], columns=[column("n", builtin("int4"))],
        )  # fmt: skip
    database.sql(sql)
    return code.load(tmp_path)


def differences(database: Database, name: str) -> list[str]:
    """Give the rows that are not the same value in both tables, as text."""
    return database.sql(f"""
        SELECT s.n, s.v, d.v FROM src_{name} s FULL JOIN {name} d USING (n)
        WHERE ROW(s.v)::text IS DISTINCT FROM ROW(d.v)::text OR s.n IS NULL OR d.n IS NULL""")


def binary_of(connection: Connection, table: str) -> bytes | None:
    """Give all rows in binary, or nothing where the type has no binary form: its text was compared."""
    query = f"COPY (SELECT * FROM {table} ORDER BY n) TO STDOUT (FORMAT binary)"
    with connection.cursor() as cursor:
        try:
            with cursor.copy(query) as copy:
                return b"".join(bytes(part) for part in copy)
        except psycopg.errors.UndefinedFunction:
            return None


def test_a_value_of_any_type_is_changed_on_its_way_through_python(
    project: Generated, database: Database
) -> None:
    wrong: list[str] = []
    with psycopg.connect(database.dsn, autocommit=True) as connection:
        shop = project.Shop(connection)
        for name, _, _, values in cases():
            try:
                rows = getattr(shop, f"read_{name}")()
                assert len(rows) == len(values)
                assert getattr(shop, f"bulk_insert_{name}_rows")(rows) == len(rows)
                assert (
                    list(getattr(shop, f"read_{name}_stream")(fetch_size=2)) == rows
                    or "nan" in repr(rows).lower()
                )
                found = [getattr(shop, f"same_{name}")(row.v) for row in rows]
                wrong += [f"{name}: parameter {row}" for row, n in zip(rows, found, strict=True) if n is None]
            except Exception as error:  # noqa: BLE001 - all types are told at once
                wrong.append(f"{name}: {error!r}")
                continue
            wrong += [f"{name}: {line}" for line in differences(database, name)]
            binary = [binary_of(connection, table) for table in (f"src_{name}", name)]
            if binary[0] != binary[1]:
                wrong.append(f"{name}: other bytes")
    assert wrong == []


REFUSED = {
    "date": ["infinity", "-infinity", "0001-01-01 BC", "10000-01-01"],
    "time": ["24:00"],
    "timetz": ["24:00+00"],
    "timestamp": ["infinity", "-infinity", "0001-01-01 00:00:00 BC", "10000-01-01"],
    "timestamptz": ["infinity", "-infinity", "4000-01-01 00:00:00 BC", "294276-01-01"],
    "daterange": ["[2000-01-01,infinity]"],
    "int4[]": ["[0:1]={1,2}"],
    "mood[]": ["[2:2]={happy}"],
    "date[]": ["{infinity}"],
}


def test_a_value_that_python_cannot_hold_is_changed_and_not_refused(
    database: Database, tmp_path: Path
) -> None:
    database.sql(MADE)
    code = Sql("refused", types=TYPES)
    for number, (name, literals) in enumerate(REFUSED.items()):
        give = own if name.startswith("mood") else builtin
        kind = give(name.removesuffix("[]"), array=name.endswith("[]"))
        for place, literal in enumerate(literals):
            text: list[str | int] = [f"SELECT {quoted(literal)}::{kind['sql']}"]
            code.statement(f"q{number}x{place}", text, one=True, pluck=True, columns=[column("v", kind)])
    module = code.load(tmp_path)
    held = []
    with psycopg.connect(database.dsn, autocommit=True) as connection:
        shop = module.Refused(connection)
        for number, (name, literals) in enumerate(REFUSED.items()):
            for place, literal in enumerate(literals):
                with contextlib.suppress(psycopg.DataError):
                    held.append((name, literal, getattr(shop, f"q{number}x{place}")()))
    assert held == []


TOO_MUCH: dict[str, list[Any]] = {
    "int2": [2**15, -(2**15) - 1, 1.5, "x"],
    "int4": [2**31, 2**32 + 5, 1.5],
    "int8": [2**63, 1.5],
    "oid": [-1, 2**32],
    "float4": [1e300, 1e-60, "x"],
    "date": [dt.datetime(2000, 1, 1, 12, tzinfo=dt.UTC)],
    "time": [dt.time(1, tzinfo=dt.UTC)],
    "timetz": [dt.time(1)],
    "timestamp": [dt.datetime(2000, 1, 1, tzinfo=dt.UTC), dt.date(2000, 1, 1)],
    "timestamptz": [dt.datetime(2000, 1, 1)],  # noqa: DTZ001 - it has no zone
    "interval": [dt.timedelta(1)],
    "text": ["\0", 5],
    "numeric": ["1"],
    "bytea": ["a"],
    "int4[]": [[[1], [2, 3]], [[]], [2**31]],
}


def test_a_value_that_its_type_cannot_hold_is_changed(database: Database, tmp_path: Path) -> None:
    code = Sql("toomuch")
    for number, name in enumerate(TOO_MUCH):
        kind = builtin(name.removesuffix("[]"), array=name.endswith("[]"))
        database.sql(f"CREATE TABLE t{number} (v {name})")
        code.table(f"t{number}", {"v": kind})
    module = code.load(tmp_path)
    with psycopg.connect(database.dsn, autocommit=True) as connection:
        shop = module.Toomuch(connection)
        for number, (name, values) in enumerate(TOO_MUCH.items()):
            for value in values:
                row = getattr(module, f"T{number}Row")(value)
                with contextlib.suppress(psycopg.DataError):
                    getattr(shop, f"bulk_insert_t{number}_rows")([row])
                assert connection.execute(f"SELECT v FROM t{number}").fetchall() == [], (name, value)


def test_the_asynchronous_class_reads_and_writes_something_else(
    project: Generated, database: Database
) -> None:
    async def run() -> None:
        async with await psycopg.AsyncConnection.connect(database.dsn, autocommit=True) as connection:
            shop = project.AsyncShop(connection)
            for name in ("c_int8", "a_mood", "c_timestamptz", "c_pair"):
                rows = await getattr(shop, f"read_{name}")()
                assert [row async for row in getattr(shop, f"read_{name}_stream")(fetch_size=1)] == rows
                assert await getattr(shop, f"bulk_insert_{name}_rows")(rows) == len(rows)

    asyncio.run(run())
    for name in ("c_int8", "a_mood", "c_timestamptz", "c_pair"):
        assert differences(database, name) == []


@pytest.mark.parametrize("style", ["German", "SQL", "Postgres"])
def test_a_moment_in_another_style_is_data_that_is_refused(
    database: Database, tmp_path: Path, style: str
) -> None:
    code = Sql("styles")
    moments = "SELECT '2026-01-02 03:04:05+00'::timestamptz"
    for name, sql, array in (("moment", moments, False), ("moments", f"SELECT ARRAY[({moments})]", True)):
        kind = builtin("timestamptz", array=array)
        code.statement(name, [sql], one=True, pluck=True, columns=[column("at", kind)])
    code.statement(
        "day", ["SELECT '2026-01-02'::date"], one=True, pluck=True, columns=[column("at", builtin("date"))]
    )
    made = code.load(tmp_path)
    with psycopg.connect(database.dsn, autocommit=True) as connection:
        connection.execute(f"SET datestyle = {style}")
        sql = made.Styles(connection)
        assert sql.day() == dt.date(2026, 1, 2)
        for call in (sql.moment, sql.moments):
            with pytest.raises(psycopg.DataError, match="DateStyle"):
                call()
