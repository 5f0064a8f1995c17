"""Rows of Python objects: every value arrives as what it is, or is refused by its place."""

import datetime as dt
import enum
import ipaddress
import math
import sqlite3
import uuid
from collections import namedtuple
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path, PureWindowsPath
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from conftest import Database
from require import library

import howdah


class Level(enum.IntEnum):
    HIGH = 3


class Word(enum.StrEnum):
    HELLO = "hello there"


class Colour(enum.Enum):
    RED = 7


class Day(dt.date, enum.Enum):
    FIRST = 2024, 1, 1


ADDRESS = ipaddress.ip_address("10.0.0.1")
NETWORK = ipaddress.ip_network("2001:db8::/32")
ID = uuid.UUID("12345678-1234-5678-1234-567812345678")
EAST = dt.timezone(dt.timedelta(hours=5, minutes=30))
ODD = dt.timezone(-dt.timedelta(hours=1, seconds=30))

VALUES = [
    ("boolean", True, "t"),
    ("boolean", False, "f"),
    ("bigint", -(2**63), "-9223372036854775808"),
    ("integer", Level.HIGH, "3"),
    ("numeric", 10**100, "1" + "0" * 100),
    ("double precision", 0.1, "0.1"),
    ("double precision", 5e-324, "5e-324"),
    ("double precision", 1.7976931348623157e308, "1.7976931348623157e+308"),
    ("double precision", -0.0, "-0"),
    ("double precision", math.nan, "NaN"),
    ("double precision", -math.inf, "-Infinity"),
    ("numeric", Decimal("1.50"), "1.50"),
    ("numeric", Decimal("-1E+3"), "-1000"),
    ("numeric", Decimal("NaN"), "NaN"),
    ("text", "", ""),
    ("text", "a,\"b'c", "a,\"b'c"),
    ("text", "\\N", "\\N"),
    ("text", "\\.", "\\."),
    ("text", "NULL", "NULL"),
    ("text", "tab\tback\\slash", "tab\tback\\slash"),
    ("text", "ünïcödé 漢 🐘", "ünïcödé 漢 🐘"),
    ("bytea", b"\x00\xff\\x", "\\x00ff5c78"),
    ("bytea", bytearray(b"ab"), "\\x6162"),
    ("bytea", memoryview(b"ab"), "\\x6162"),
    ("date", dt.date(1, 1, 1), "0001-01-01"),
    ("date", dt.date(9999, 12, 31), "9999-12-31"),
    ("timestamp", dt.datetime(2024, 2, 29, 23, 59, 59, 999999), "2024-02-29 23:59:59.999999"),  # noqa: DTZ001
    ("timestamptz", dt.datetime(2024, 1, 1, 12, 0, tzinfo=dt.UTC), "2024-01-01 12:00:00+00"),
    ("timestamptz", dt.datetime(2024, 1, 1, 12, 0, tzinfo=EAST), "2024-01-01 06:30:00+00"),
    ("timestamptz", dt.datetime(2024, 1, 1, 12, 0, tzinfo=ODD), "2024-01-01 13:00:30+00"),
    (
        "timestamptz",
        dt.datetime(2024, 7, 1, 12, 0, tzinfo=ZoneInfo("Europe/Paris")),
        "2024-07-01 10:00:00+00",
    ),
    ("time", dt.time(1, 2, 3, 4), "01:02:03.000004"),
    ("timetz", dt.time(1, 2, 3, tzinfo=EAST), "01:02:03+05:30"),
    ("interval", dt.timedelta(days=1, hours=2, microseconds=3), "1 day 02:00:00.000003"),
    ("interval", dt.timedelta(seconds=-1), "-00:00:01"),
    ("interval", -dt.timedelta(days=2, minutes=3), "-2 days -00:03:00"),
    ("uuid", ID, str(ID)),
    ("text", Colour.RED, "RED"),
    ("text", Word.HELLO, "hello there"),
    ("date", Day.FIRST, "2024-01-01"),
    ("text", Path("/tmp/ü 'x'"), "/tmp/ü 'x'"),  # noqa: S108 - nothing is written there
    ("text", PureWindowsPath("C:\\x"), "C:\\x"),
    ("inet", ADDRESS, "10.0.0.1"),
    ("inet", ipaddress.ip_address("::1"), "::1"),
    ("inet", ipaddress.ip_interface("10.1.2.3/8"), "10.1.2.3/8"),
    ("cidr", NETWORK, "2001:db8::/32"),
    ("jsonb", {"a": [Colour.RED, ADDRESS], "b": Path("x")}, '{"a": ["RED", "10.0.0.1"], "b": "x"}'),
    (
        "jsonb",
        {"a": [1, None, True], "b": {"c": 'ü"\\\n'}},
        '{"a": [1, null, true], "b": {"c": "ü\\"\\\\\\n"}}',
    ),
    ("jsonb", {"n": Decimal("1.10"), "t": dt.date(2024, 1, 1)}, '{"n": 1.10, "t": "2024-01-01"}'),
    ("jsonb", {"big": 2**70, "id": ID}, f'{{"id": "{ID}", "big": 1180591620717411303424}}'),
    ("integer", None, "∅"),
]


@pytest.mark.parametrize(("column", "value", "stored"), VALUES)
def test_a_value_is_stored_as_what_it_is(database: Database, column: str, value: object, stored: str) -> None:
    database.sql(f"CREATE TABLE t (id int, v {column})")
    howdah.load([(1, value)], "t", database.dsn, columns=["id", "v"])
    assert database.value("SET timezone = 'UTC'; SELECT v FROM t") == stored


def test_line_ends_in_a_value_stay_in_it(database: Database) -> None:
    howdah.load([{"v": "a\nb\r\nc\\n"}, {"v": "d"}], "t", database.dsn)
    assert database.sql("SELECT replace(replace(v, E'\\n', '<nl>'), E'\\r', '<cr>') FROM t") == [
        "a<nl>b<cr><nl>c\\n",
        "d",
    ]


def test_a_new_table_has_the_types_of_the_values(database: Database) -> None:
    row = {
        "b": True,
        "i": 1,
        "huge": 2**64,
        "f": 1.5,
        "d": Decimal(1),
        "s": "2024-01-01",
        "x": b"x",
        "day": dt.date(2024, 1, 1),
        "naive": dt.datetime(2024, 1, 1),  # noqa: DTZ001
        "aware": dt.datetime(2024, 1, 1, tzinfo=dt.UTC),
        "clock": dt.time(1),
        "span": dt.timedelta(1),
        "id": ID,
        "colour": Colour.RED,
        "path": Path("x"),
        "address": ADDRESS,
        "network": NETWORK,
        "host": NETWORK,
        "doc": {"a": 1},
        "mixed": 1,
        "grown": 1,
    }
    howdah.load([row, {**row, "mixed": "x", "grown": 0.5, "host": ADDRESS}], "t", database.dsn)
    assert database.types("t") == {
        "b": "boolean",
        "i": "bigint",
        "huge": "numeric",
        "f": "double precision",
        "d": "numeric",
        "s": "text",
        "x": "bytea",
        "day": "date",
        "naive": "timestamp without time zone",
        "aware": "timestamp with time zone",
        "clock": "time without time zone",
        "span": "interval",
        "id": "uuid",
        "colour": "text",
        "path": "text",
        "address": "inet",
        "network": "cidr",
        "host": "inet",
        "doc": "jsonb",
        "mixed": "text",
        "grown": "double precision",
    }


def test_declared_types_go_before_those_of_the_values(database: Database) -> None:
    howdah.load([{"a": 1, "b": 2}], "t", database.dsn, types={"a": "smallint"}, map={"b": "c"})
    assert database.types("t") == {"a": "smallint", "c": "bigint"}


def test_an_existing_table_keeps_its_types(database: Database) -> None:
    database.sql("CREATE TABLE t (a timestamptz, b varchar(9), c numeric(9,2))")
    howdah.load([{"a": "2024-01-01 00:00Z", "b": 7, "c": 1.5}], "t", database.dsn)
    assert database.value("SET timezone = 'UTC'; SELECT * FROM t") == "2024-01-01 00:00:00+00|7|1.50"


def test_every_shape_of_row_finds_its_columns(database: Database) -> None:
    @dataclass
    class Person:
        name: str
        id: int

    pair = namedtuple("pair", ["name", "id"])  # noqa: PYI024
    database.sql("CREATE TABLE t (id int, name text)")
    for rows in ([Person("a", 1)], [pair("b", 2)], [{"name": "c", "id": 3}]):
        howdah.load(rows, "t", database.dsn)
    howdah.load([("d", 4), ["e", 5]], "t", database.dsn, columns=["name", "id"])
    howdah.load([(6, "f")], "t", database.dsn)
    howdah.load([Person("g", 7)], "t", database.dsn, columns=["id"])
    howdah.load([{"id": 8, "noise": object()}], "t", database.dsn, columns=["id"])
    lines = database.sql("SELECT id || coalesce(name, '∅') FROM t ORDER BY id")
    assert lines == ["1a", "2b", "3c", "4d", "5e", "6f", "7∅", "8∅"]


def test_rows_of_a_driver_come_from_their_own_thread(database: Database) -> None:
    """sqlite3's cursors refuse every thread but the one that made them."""
    memory = sqlite3.connect(":memory:")
    memory.row_factory = sqlite3.Row
    memory.execute("CREATE TABLE s (id, name)")
    memory.executemany("INSERT INTO s VALUES (?, ?)", ((n, f"name {n}") for n in range(5000)))
    report = howdah.load(memory.execute("SELECT * FROM s ORDER BY id"), "t", database.dsn)
    assert report.rows == 5000
    assert database.value("SELECT count(*), min(id), max(id), max(name) FROM t") == "5000|0|4999|name 999"
    memory.close()


def test_keys_that_a_row_lacks_are_null_and_a_strange_one_is_named(database: Database) -> None:
    howdah.load([{"a": 1}, {"b": 2}], "t", database.dsn)
    assert database.sql("SELECT * FROM t ORDER BY a") == ["1|∅", "∅|2"]

    def rows() -> Iterator[dict[str, int]]:
        yield from ({"a": n} for n in range(2000))
        yield {"a": 1, "zz": 2}

    with pytest.raises(howdah.ProgrammingError, match="zz") as caught:
        howdah.load(rows(), "u", database.dsn)
    assert caught.value.location == howdah.Location("rows", row=2000)
    assert "columns" in str(caught.value.hint)


def test_what_cannot_be_a_value_is_named_by_row_and_column(database: Database) -> None:
    database.sql("CREATE TABLE t (id int, v text)")
    rows = [(n, "fine" if n < 1500 else object()) for n in range(2000)]
    with pytest.raises(howdah.ProgrammingError, match="object") as caught:
        howdah.load(iter(rows), "t", database.dsn, columns=["id", "v"])
    error = caught.value
    assert (error.location, error.column) == (howdah.Location("rows", row=1500), "v")
    assert error.committed is False
    assert database.value("SELECT count(*) FROM t") == "0"


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ([(1, 2), (1,)], "1 values"),
        ([(1, 2), {"a": 1}], "tuple"),
        ([{"a": 1}, (1,)], "dict"),
        ([()], "empty"),
        ([1, 2], "no row"),
        ([{1: 2}], "column"),
        ([{"a": {1: 2}}], "key"),
    ],
)
def test_rows_that_do_not_fit_together_are_refused(database: Database, rows: list[object], says: str) -> None:
    with pytest.raises(howdah.ProgrammingError, match=says):
        howdah.load(rows, "t", database.dsn)


def test_a_dict_that_holds_itself_ends_instead_of_the_process(database: Database) -> None:
    endless: dict[str, object] = {}
    endless["again"] = endless
    with pytest.raises(howdah.ProgrammingError, match="nested"):
        howdah.load([{"doc": endless}], "t", database.dsn)


def test_a_wrong_value_is_refused_by_the_server_s_words_and_its_row(database: Database) -> None:
    database.sql("CREATE TABLE t (id int, v text)")
    rows = ((n if n != 3000 else "x", "a\nb") for n in range(5000))
    with pytest.raises(howdah.DataError, match="invalid input syntax for type integer") as caught:
        howdah.load(rows, "t", database.dsn, columns=["id", "v"])
    assert caught.value.location == howdah.Location("rows", row=3000)
    assert (caught.value.column, caught.value.sqlstate) == ("id", "22P02")
    assert database.value("SELECT count(*) FROM t") == "0"


def test_bad_rows_are_kept_apart(database: Database) -> None:
    database.sql("CREATE TABLE t (id int)")
    report = howdah.load([{"id": 1}, {"id": "x"}, {"id": 3}], "t", database.dsn, on_error="ignore")
    assert (report.rows, report.rows_rejected) == (2, 1)
    assert database.sql("SELECT id FROM t ORDER BY 1") == ["1", "3"]


def test_nothing_is_loaded_of_no_rows(database: Database) -> None:
    database.sql("CREATE TABLE t (id int)")
    assert howdah.load([], "t", database.dsn).rows == 0
    assert howdah.load(iter(()), "t", database.dsn, columns=["id"]).rows == 0


def test_what_a_generator_raises_is_raised_again_and_nothing_is_changed(database: Database) -> None:
    def rows() -> Iterator[tuple[int]]:
        for n in range(100_000):
            if n == 90_000:
                message = "the well is dry"
                raise LookupError(message)
            yield (n,)

    database.sql("CREATE TABLE t (id int)")
    with pytest.raises(LookupError, match="the well is dry") as caught:
        howdah.load(rows(), "t", database.dsn)
    assert any("nothing was changed" in note for note in caught.value.__notes__)
    assert database.value("SELECT count(*) FROM t") == "0"


def test_options_of_files_are_refused_for_rows(database: Database) -> None:
    with pytest.raises(howdah.ProgrammingError, match="delimiter"):
        howdah.load([{"a": 1}], "t", database.dsn, delimiter=";")


def test_lists_become_arrays_or_json_as_the_column_is(database: Database) -> None:
    database.sql("CREATE TABLE t (id int, a int[], s text[], j jsonb)")
    howdah.load([{"id": 1, "a": [1, 2], "s": ["x,y", None, '"'], "j": [1, "a"]}], "t", database.dsn)
    assert database.value("SELECT * FROM t") == '1|{1,2}|{"x,y",NULL,"\\""}|[1, "a"]'


def test_numpy_s_scalars_are_values(database: Database) -> None:
    numpy = library("numpy")
    database.sql("CREATE TABLE t (a bigint, b double precision, c boolean, d text)")
    row = (numpy.int64(7), numpy.float64(0.5), numpy.bool_(True), numpy.str_("x"))  # noqa: FBT003
    howdah.load([row], "t", database.dsn)
    assert database.value("SELECT * FROM t") == "7|0.5|t|x"


def test_numpy_s_times_are_python_s_where_nothing_is_lost(database: Database) -> None:
    numpy = library("numpy")
    database.sql("CREATE TABLE t (id int, d date, a timestamp, i interval, many timestamp[])")
    at = numpy.datetime64("2024-01-01T01:02:03.456789", "ns")
    many = numpy.array([at, numpy.datetime64("NaT")])
    rows = [
        (1, numpy.datetime64("2024-02-29"), at, numpy.timedelta64(1500, "ms"), many),
        (
            2,
            numpy.datetime64("2024-03"),
            numpy.datetime64("1970-01-02T00:00", "ps"),
            numpy.timedelta64(2, "D"),
            None,
        ),
        (3, numpy.datetime64("NaT"), numpy.datetime64("NaT", "ns"), numpy.timedelta64("NaT"), many[:0]),
    ]
    names = ["id", "d", "a", "i", "many"]
    howdah.load(rows[:1], "t", database.dsn, columns=names)
    with howdah.Writer("t", database.dsn) as writer:
        writer.write(rows[1])
        writer.write(rows[2])
    first = "2024-01-01 01:02:03.456789"
    assert database.sql("SELECT id, d, i FROM t ORDER BY 1") == [
        "1|2024-02-29|00:00:01.5",
        "2|2024-03-01|2 days",
        "3|∅|∅",
    ]
    assert database.value("SELECT a, many FROM t WHERE id = 1") == f'{first}|{{"{first}",NULL}}'
    for value, says in (
        (at + 1, "has nanoseconds"),
        (numpy.timedelta64(1, "ns"), "has nanoseconds"),
        (numpy.datetime64(10**12, "s"), "no date or time that Python has"),
        (numpy.timedelta64(1, "M"), "no date or time that Python has"),
        (many + 1, "has nanoseconds"),
        (numpy.complex128(1), "complex128"),
    ):
        with pytest.raises(howdah.ProgrammingError, match=says) as caught:
            howdah.load([(1, value)], "u", database.dsn, columns=["id", "v"])
        assert (caught.value.location, caught.value.column) == (howdah.Location("rows", row=0), "v")
        with (
            howdah.Writer("t", database.dsn, columns=["id", "a"]) as writer,
            pytest.raises(howdah.ProgrammingError, match=says) as caught,
        ):
            writer.write((1, value))
        assert caught.value.column == "a"


def test_members_addresses_and_uuids_are_what_psycopg_writes(database: Database) -> None:
    psycopg = library("psycopg")
    database.sql(
        "CREATE TYPE colour AS ENUM ('RED', 'hello there');"
        "CREATE TABLE t (by text, c colour, w colour, l int, i inet, j inet, n cidr, u uuid, d date,"
        " list inet[])"
    )
    values = (
        *(Colour.RED, Word.HELLO, Level.HIGH, ADDRESS, ipaddress.ip_interface("10.1.2.3/8")),
        *(NETWORK, ID, Day.FIRST, [ADDRESS, None]),
    )
    with psycopg.connect(database.dsn) as connection:
        places = ", ".join(["%s"] * (len(values) + 1))
        connection.execute(f"INSERT INTO t VALUES ({places})", ("psycopg", *values))
    columns = ["by", "c", "w", "l", "i", "j", "n", "u", "d", "list"]
    howdah.load([("load", *values)], "t", database.dsn, columns=columns)
    with howdah.Writer("t", database.dsn) as writer:
        writer.write(("writer", *values))
    with howdah.bulk("t", database.dsn) as bulk:
        bulk.write(("bulk", *values))
    assert database.value("SELECT count(*), count(DISTINCT (c, w, l, i, j, n, u, d, list)) FROM t") == "4|1"


def test_objects_of_attrs_and_pydantic_are_rows(database: Database) -> None:
    attrs, pydantic = library("attrs"), library("pydantic")

    slotted: Any = attrs.make_class("Slotted", ["id", "name"], slots=True)
    model: Any = pydantic.create_model("Model", id=(int, ...), name=(str | None, None))
    twice: Any = type("Twice", (model,), {"twice": property(lambda self: 2 * self.id)})
    fields = {"__annotations__": {"id": int, "name": str}}
    checked: Any = pydantic.dataclasses.dataclass(type("Checked", (), fields))
    objects = [slotted(1, "a"), twice(id=2, name="b"), checked(3, "c")]
    for number, row in enumerate(objects):
        howdah.load([row, row], f"t{number}", database.dsn)
        assert database.types(f"t{number}") == {"id": "bigint", "name": "text"}
        with howdah.Writer(f"t{number}", database.dsn) as writer:
            writer.write(row)
        with howdah.bulk(f"t{number}", database.dsn) as bulk:
            bulk.write(row)
        expected = f"{row.id}|{row.name}"
        assert database.sql(f"SELECT * FROM t{number}") == [expected] * 4
    howdah.load([objects[1]], "twice", database.dsn, columns=["id", "twice"])
    assert database.value("SELECT * FROM twice") == "2|4"
    nested = [{"id": 1, "v": objects[1]}]
    with pytest.raises(howdah.ProgrammingError, match="Twice have no form") as caught:
        howdah.load(nested, "u", database.dsn)
    assert (caught.value.location, caught.value.column) == (howdah.Location("rows", row=0), "v")
    with pytest.raises(howdah.ProgrammingError, match="is no row") as caught:
        howdah.load([object()], "u", database.dsn)
    assert "attrs or pydantic" in str(caught.value.hint)


def test_pandas_nothings_are_null_and_its_nanoseconds_are_not_lost_silently(database: Database) -> None:
    pandas = library("pandas")
    howdah.load([{"a": pandas.NaT, "b": pandas.NA, "c": 1}], "t", database.dsn)
    assert database.value("SELECT * FROM t") == "∅|∅|1"
    with pytest.raises(howdah.ProgrammingError, match="nanoseconds"):
        howdah.load([{"a": pandas.Timestamp("2024-01-01 00:00:00.000000001")}], "u", database.dsn)


@pytest.mark.parametrize("value", ["a\ud800", ["a\ud800"], {"a": "\ud800"}, {"\ud800": 1}])
def test_half_of_a_surrogate_pair_is_refused_in_our_words(database: Database, value: object) -> None:
    with pytest.raises(howdah.ProgrammingError, match="lone surrogate"):
        howdah.load([{"a": value}], "t", database.dsn)
    database.sql("CREATE TABLE w (a text)")
    with (
        howdah.Writer("w", database.dsn) as writer,
        pytest.raises(howdah.ProgrammingError, match="surrogate"),
    ):
        writer.write((value,))
