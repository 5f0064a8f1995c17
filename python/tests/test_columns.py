"""Columns instead of rows: dicts of them, and arrays of numpy."""

import datetime as dt
from array import array

import pytest
from conftest import Database
from require import library

import howdah


def test_a_dict_of_columns_is_rows(database: Database) -> None:
    columns = {"id": [1, 2, 3], "name": ("Ada", None, "Grace"), "n": range(3), "f": array("d", [0.5, 1, 2])}
    report = howdah.load(columns, "t", database.dsn)
    assert (report.rows, report.notices) == (3, howdah.load([{"a": 1}], "u", database.dsn).notices)
    assert database.types("t") == {
        "id": "bigint",
        "name": "text",
        "n": "bigint",
        "f": "double precision",
    }
    assert database.sql("SELECT * FROM t ORDER BY id") == ["1|Ada|0|0.5", "2|∅|1|1", "3|Grace|2|2"]
    database.sql("CREATE TABLE few (name text, id int)")
    howdah.load(columns, "few", database.dsn, columns=["id", "name"])
    howdah.load(columns, "few", database.dsn, skip_columns=["n", "f"], map={"name": "name"})
    assert database.value("SELECT count(*), count(DISTINCT (id, name)) FROM few") == "6|3"
    assert howdah.load({"id": [], "name": []}, "few", database.dsn).rows == 0


def test_columns_of_every_library_are_values(database: Database) -> None:
    numpy, pandas, polars = library("numpy"), library("pandas"), library("polars")
    pyarrow = library("pyarrow")
    days = [dt.date(2024, 1, day) for day in (1, 2)]
    columns = {
        "i": numpy.array([1, 2], "int16"),
        "f": numpy.array([0.1, numpy.nan], "float32"),
        "b": numpy.array([True, False]),
        "s": numpy.array(["x", "y"]),
        "day": numpy.array(["2024-01-01", "2024-01-02"], "datetime64[D]"),
        "at": numpy.array(["2024-01-01T01:02:03.5", "NaT"], "datetime64[ns]"),
        "took": numpy.array([1_500_000_000, 0], "timedelta64[ns]"),
        "pair": numpy.array([[1, 2], [3, 4]]),
        "series": pandas.Series(days, dtype="datetime64[s]"),
        "polars": polars.Series(days),
        "arrow": pyarrow.array(days),
    }
    howdah.load(columns, "t", database.dsn)
    assert database.types("t") == {
        "i": "bigint",
        "f": "double precision",
        "b": "boolean",
        "s": "text",
        "day": "date",
        "at": "timestamp without time zone",
        "took": "interval",
        "pair": "jsonb",
        "series": "timestamp without time zone",
        "polars": "date",
        "arrow": "date",
    }
    assert database.sql("SELECT i, b, s, day, at, took, pair, polars, arrow FROM t ORDER BY i") == [
        "1|t|x|2024-01-01|2024-01-01 01:02:03.5|00:00:01.5|[1, 2]|2024-01-01|2024-01-01",
        "2|f|y|2024-01-02|∅|00:00:00|[3, 4]|2024-01-02|2024-01-02",
    ]
    assert database.sql("SELECT f::real FROM t ORDER BY i") == ["0.1", "NaN"]


def test_a_structured_array_is_rows(database: Database) -> None:
    numpy = library("numpy")
    rows = [(n, f"name {n}", n / 4, numpy.datetime64("2024-01-01", "us") + n) for n in range(10_000)]
    made = numpy.array(rows, [("id", "i4"), ("name", "U9"), ("part", "f8"), ("at", "M8[us]")])
    assert howdah.load(made, "t", database.dsn).rows == 10_000
    found = database.value("SELECT count(*), max(id), max(name), sum(part), max(at) FROM t")
    assert found == "10000|9999|name 9999|12498750|2024-01-01 00:00:00.009999"
    howdah.load(made.view(numpy.recarray)[:10], "few", database.dsn, columns="id")
    assert database.value("SELECT sum(id) FROM few") == "45"
    plain = numpy.arange(12).reshape(6, 2)
    howdah.load(plain, "plain", database.dsn, columns=["a", "b"])
    assert database.value("SELECT count(*), sum(a), sum(b) FROM plain") == "6|30|36"


@pytest.mark.parametrize(
    ("columns", "says"),
    [
        ({"id": 1, "name": "Ada"}, "column id is a value of type int"),
        ({"id": [1], "name": "A"}, "column name is a value of type str"),
        ({"id": [1], "n": iter([1])}, "column n is a value of type list_iterator"),
        ({"id": [1], "n": {1}}, "column n is a value of type set"),
        ({"id": [1, 2], "n": [1]}, "the columns differ in length: n has 1 values, and id has 2"),
        ({1: [1]}, "1 is no name of a column"),
        ({}, "the data have no columns"),
    ],
)
def test_what_is_no_dict_of_columns_is_said(columns: dict[object, object], says: str) -> None:
    with pytest.raises(howdah.ProgrammingError, match=says) as caught:
        howdah.load(columns, "t", "dbname=never")
    assert "one row is a list of one dict" in str(caught.value.hint)
    assert caught.value.visible == "nothing was changed"


def test_values_and_arrays_that_cannot_be_are_named(database: Database) -> None:
    numpy = library("numpy")
    with pytest.raises(howdah.ProgrammingError, match="the data have no column 'zz'"):
        howdah.load({"a": [1]}, "t", database.dsn, columns=["zz"])
    times = numpy.array([0] * 1500 + [1], "datetime64[ns]")
    for column, says in (
        (times, "has nanoseconds"),
        ([0] * 1500 + [object()], "type object have no form"),
        (numpy.array([0] * 1500 + [1j]), "numpy's type complex128"),
    ):
        with pytest.raises(howdah.ProgrammingError, match=says) as caught:
            howdah.load({"id": range(1501), "v": column}, "t", database.dsn)
        row = 0 if "complex" in says else 1500
        assert (caught.value.location, caught.value.column) == (howdah.Location("rows", row=row), "v")
    for shape in (3, (2, 2, 2)):
        with pytest.raises(howdah.ProgrammingError, match="has no columns"):
            howdah.load(numpy.zeros(shape), "t", database.dsn)
