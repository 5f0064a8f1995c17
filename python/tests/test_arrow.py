"""Tables of other libraries, none of which howdah imports."""

import datetime as dt
import subprocess
import sys
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from conftest import Database
from require import library

import howdah


def stored(database: Database, table: str = "t") -> list[str]:
    return database.sql(f"SET timezone = 'UTC'; SELECT * FROM {table} ORDER BY 1")


def arrow_table() -> Any:  # noqa: ANN401 - of a library that may be absent
    pyarrow = library("pyarrow")
    columns = {
        "id": pyarrow.array([1, 2, None], pyarrow.int32()),
        "name": pyarrow.array(["Ada", None, "Grace"]),
        "score": pyarrow.array([0.1, None, float("nan")]),
        "price": pyarrow.array([Decimal("1.10"), None, Decimal("-2.00")], pyarrow.decimal128(9, 2)),
        "at": pyarrow.array(
            [dt.datetime(2024, 1, 1, tzinfo=dt.UTC), None, None], pyarrow.timestamp("us", "UTC")
        ),
        "tags": pyarrow.array([["a", None], [], None]),
    }
    return pyarrow.table(columns)


STORED = ["1|Ada|0.1|1.10|2024-01-01 00:00:00+00|{a,NULL}", "2|∅|∅|∅|∅|{}", "∅|Grace|NaN|-2.00|∅|∅"]


def test_a_pyarrow_table_makes_a_table_of_its_types(database: Database) -> None:
    report = howdah.load(arrow_table(), "t", database.dsn)
    assert (report.rows, report.rows_read, report.copy_format) == (3, 3, "binary")
    assert database.types("t") == {
        "id": "integer",
        "name": "text",
        "score": "double precision",
        "price": "numeric(9,2)",
        "at": "timestamp with time zone",
        "tags": "text[]",
    }
    assert stored(database) == STORED


def test_everything_of_pyarrow_s_that_holds_batches_is_loaded(database: Database, tmp_path: Path) -> None:
    pyarrow = library("pyarrow")
    dataset = library("pyarrow.dataset")
    table = arrow_table()
    batches = table.to_batches(max_chunksize=2)
    dataset.write_dataset(table, tmp_path / "set", format="parquet")
    kinds = {
        "batch": table.combine_chunks().to_batches()[0],
        "reader": pyarrow.RecordBatchReader.from_batches(table.schema, iter(batches)),
        "batches": batches,
        "generator": (batch for batch in batches),
        "tables": [table.slice(0, 1), table.slice(1)],
        "scanner": dataset.dataset(tmp_path / "set").scanner().to_reader(),
    }
    for name, data in kinds.items():
        assert howdah.load(data, name, database.dsn).rows == 3, name
        assert stored(database, name) == STORED, name


def test_columns_go_by_their_names_into_an_existing_table(database: Database) -> None:
    pyarrow = library("pyarrow")
    database.sql("CREATE TABLE t (b text, a smallint, c numeric)")
    data = pyarrow.table({"A": [1, 2], "x": ["2", "3"], "skip": [0, 0]})
    howdah.load(data, "t", database.dsn, map={"x": "c"}, skip_columns="skip")
    assert database.sql("SELECT * FROM t ORDER BY a") == ["∅|1|2", "∅|2|3"]


def test_a_value_out_of_range_is_named_by_its_row(database: Database) -> None:
    pyarrow = library("pyarrow")
    database.sql("CREATE TABLE t (a smallint)")
    data = pyarrow.table({"a": [1] * 9_000 + [70_000]})
    with pytest.raises(howdah.DataError, match="out of range") as caught:
        howdah.load(data, "t", database.dsn)
    error = caught.value
    assert (error.sqlstate, error.column) == ("22003", "a")
    assert error.location is not None
    assert error.location.row == 9_000
    assert database.value("SELECT count(*) FROM t") == "0"


def test_what_would_be_lost_is_refused_unless_it_is_allowed(database: Database) -> None:
    pyarrow = library("pyarrow")
    data = pyarrow.table({"at": pyarrow.array([1_700_000_000_000_000_001], pyarrow.timestamp("ns"))})
    with pytest.raises(howdah.Error):
        howdah.load(data, "t", database.dsn)
    howdah.load(data, "t", database.dsn, allow="nanoseconds")
    assert database.value("SELECT * FROM t") == "2023-11-14 22:13:20"


def test_a_batch_with_other_columns_ends_the_load(database: Database) -> None:
    pyarrow = library("pyarrow")
    database.sql("CREATE TABLE t (a int, b int)")
    batches = [pyarrow.record_batch({"a": [1]}), pyarrow.record_batch({"b": [1]})]
    with pytest.raises(howdah.ProgrammingError, match="batch 1"):
        howdah.load(iter(batches), "t", database.dsn)
    assert database.value("SELECT count(*) FROM t") == "0"


def test_what_a_reader_s_generator_raises_fails_the_load(database: Database) -> None:
    pyarrow = library("pyarrow")

    def batches() -> Iterator[object]:
        yield pyarrow.record_batch({"a": [1]})
        message = "the well is dry"
        raise LookupError(message)

    schema = pyarrow.schema([("a", pyarrow.int64())])
    database.sql("CREATE TABLE t (a bigint)")
    with pytest.raises(LookupError, match="the well is dry"):
        howdah.load(batches(), "t", database.dsn)
    with pytest.raises(howdah.Error, match="the well is dry"):
        howdah.load(pyarrow.RecordBatchReader.from_batches(schema, batches()), "t", database.dsn)
    assert database.value("SELECT count(*) FROM t") == "0"


def test_a_polars_frame_is_loaded(database: Database) -> None:
    polars = library("polars")
    frame = polars.DataFrame(
        {
            "id": [1, 2],
            "name": ["Ada", None],
            "kind": polars.Series(["a", "b"], dtype=polars.Categorical),
            "day": [dt.date(2024, 1, 1), None],
            "tags": [["x"], []],
        }
    )
    assert howdah.load(frame, "t", database.dsn).rows == 2
    assert stored(database) == ["1|Ada|a|2024-01-01|{x}", "2|∅|b|∅|{}"]
    big = polars.DataFrame({"n": range(300_000)})
    assert howdah.load(big, "big", database.dsn, jobs=2).rows == 300_000
    assert database.value("SELECT count(DISTINCT n), sum(n) FROM big") == f"300000|{300_000 * 299_999 // 2}"


def test_a_lazy_frame_is_collected(database: Database) -> None:
    polars = library("polars")
    lazy = polars.LazyFrame({"id": [1, 2], "n": [3, 4]})
    assert howdah.load(lazy.filter(polars.col("n") > 3), "t", database.dsn).rows == 1
    with howdah.bulk("t", database.dsn) as bulk:
        bulk.write(lazy)
    assert stored(database) == ["1|3", "2|4", "2|4"]
    with pytest.raises(polars.exceptions.ColumnNotFoundError):
        howdah.load(lazy.select("zz"), "t", database.dsn)


def test_columns_of_polars_that_arrow_cannot_say_are_loaded_or_refused(database: Database) -> None:
    polars = library("polars")
    nothing = {"a": [1, 2], "n": [None, None], "l": [[None], []], "s": [{"x": None}] * 2}
    frame = polars.DataFrame(nothing).with_columns(big=polars.Series([2**100, None], dtype=polars.Int128))
    howdah.load(frame, "t", database.dsn)
    assert stored(database) == [f'1|∅|{{NULL}}|{{"x": null}}|{2**100}', '2|∅|{}|{"x": null}|∅']
    assert database.types("t")["big"] == "numeric(38,0)"
    database.sql("CREATE TABLE numbers (a int, n bigint)")
    with howdah.bulk("numbers", database.dsn) as bulk:
        bulk.write(frame.select("a", "n"))
    assert database.sql("TABLE numbers") == ["1|∅", "2|∅"]
    frames = [frame.select("a", "n"), frame.select("a", "n").lazy(), frame.select("a", "n")]
    for several in (frames, tuple(frames), (frame for frame in frames)):
        assert howdah.load(several, "numbers", database.dsn).rows == 6
    objects = polars.Series("o", [object()], dtype=polars.Object)
    wide = polars.Series("o", [2**127 - 1], dtype=polars.Int128)
    for column, says in ((objects, "objects have no form"), (wide, "Int128 do not fit")):
        with pytest.raises(howdah.DataError, match=says) as caught:
            howdah.load(polars.DataFrame([column]), "u", database.dsn)
        assert (caught.value.column, caught.value.visible) == ("o", "nothing was changed")
        with pytest.raises(howdah.DataError, match=says):
            howdah.load((polars.DataFrame([column]) for _ in range(2)), "u", database.dsn)


def test_periods_and_intervals_of_pandas_are_what_they_look_like(database: Database) -> None:
    pandas = library("pandas", minversion="2.2")
    library("pyarrow")
    months = pandas.PeriodIndex(["2024-01", "NaT"], freq="M")
    frame = pandas.DataFrame({"id": [1, 2], "month": months, "part": pandas.cut([3, 7], [0, 5, 10])})
    report = howdah.load(frame, "t", database.dsn)
    assert stored(database) == ["1|2024-01|(0, 5]", "2|∅|(5, 10]"]
    assert len([notice for notice in report.notices if "loaded as texts" in notice]) == 2
    assert str(frame["month"].dtype) == "period[M]", "the frame is left as it is"
    database.sql("CREATE TABLE ranges (id int, month text, part numrange)")
    howdah.load(frame, "ranges", database.dsn)
    assert database.value("SELECT string_agg(part::text, ' ' ORDER BY id) FROM ranges") == "(0,5] (5,10]"
    by_day = pandas.DataFrame({"n": [1]}, index=pandas.period_range("2024-01-31", periods=1, name="day"))
    database.sql("CREATE TABLE days (day date, n int)")
    howdah.load(by_day, "days", database.dsn)
    assert database.value("TABLE days") == "2024-01-31|1"


def test_a_pandas_frame_is_loaded_without_the_numbers_of_its_rows(database: Database) -> None:
    pandas = library("pandas", minversion="2.2")
    library("pyarrow")
    frame = pandas.DataFrame({"id": [1, 2, 3], "name": ["Ada", None, "Grace"]})
    assert howdah.load(frame[frame.id > 1], "t", database.dsn).rows == 2
    assert stored(database) == ["2|∅", "3|Grace"]
    assert list(database.types("t")) == ["id", "name"]
    howdah.load(frame.set_index("id").reset_index(), "named", database.dsn)
    assert set(database.types("named")) == {"id", "name"}


@pytest.mark.parametrize(
    ("made", "index", "columns"),
    [
        ("frame.set_index('id')", None, ["id", "n"]),
        ("frame.set_index('id')", True, ["id", "n"]),
        ("frame.set_index('id')", False, ["n"]),
        ("frame.set_index('id', drop=False)", False, ["id", "n"]),
        ("frame", None, ["id", "n"]),
        ("frame", False, ["id", "n"]),
        ("frame", True, ["index", "id", "n"]),
        ("frame[frame.n > 1]", None, ["id", "n"]),
        ("frame.rename_axis('row')", None, ["row", "id", "n"]),
        ("frame.rename(columns={'n': 'index'})", True, ["level_0", "id", "index"]),
        ("frame.groupby(['id', 'n']).size()", None, ["id", "n", "0"]),
        ("frame.groupby(['id', 'n']).size().rename('rows')", False, ["rows"]),
        ("frame.set_index(['id', 'n']).rename_axis([None, 'b']).assign(x=1)", None, ["level_0", "b", "x"]),
        ("frame.set_axis(pandas.to_datetime(frame.n, unit='D').to_numpy())", None, ["index", "id", "n"]),
        ("frame.set_index(['id', 'n']).rename_axis([None, 'b']).assign(x=1)", True, ["level_0", "b", "x"]),
        ("frame.n", None, ["n"]),
        ("frame.set_index('id').n", None, ["id", "n"]),
        ("frame.n.rename(None)", None, ["0"]),
    ],
)
def test_the_index_of_a_pandas_frame_is_columns_as_to_sql_has_it(
    database: Database,
    made: str,
    index: bool | None,  # noqa: FBT001
    columns: list[str],
) -> None:
    pandas = library("pandas", minversion="2.2")
    library("pyarrow")
    frame = pandas.DataFrame({"id": ["a", "b", "c"], "n": [1, 2, 3]})
    data = eval(made, {"frame": frame, "pandas": pandas})  # noqa: S307
    report = howdah.load(data, "t", database.dsn, index=index)
    assert list(database.types("t")) == columns
    assert report.rows == len(data)
    made_up = [notice for notice in report.notices if "index" in notice]
    assert bool(made_up) == (index is None and ("[None" in made or "set_axis" in made))


def test_an_index_that_has_no_name_and_is_no_number_is_not_left_out_in_silence(database: Database) -> None:
    pandas = library("pandas", minversion="2.2")
    library("pyarrow")
    frame = pandas.DataFrame({"n": [1, 2]}, index=["a", "b"])
    (notice,) = howdah.load(frame, "t", database.dsn).notices
    assert notice == "the index has no name and is loaded as index: index=False leaves it out"
    assert database.sql("SELECT string_agg(index || n, ',' ORDER BY n) FROM t") == ["a1,b2"]
    # What pandas made of it for Arrow, and for Parquet files.
    made = library("pyarrow").Table.from_pandas(frame)
    howdah.load(made, "of_arrow", database.dsn)
    assert sorted(database.types("of_arrow")) == ["__index_level_0__", "n"]
    howdah.load(made.from_pandas(frame.set_axis([7, 9])), "numbered", database.dsn)
    assert list(database.types("numbered")) == ["n"]
    with pytest.raises(howdah.ProgrammingError, match="both called 'n'") as caught:
        howdah.load(frame.rename_axis("n"), "t", database.dsn)
    assert "index=False" in str(caught.value.hint)
    with pytest.raises(howdah.ProgrammingError, match="index is about"):
        howdah.load([(1,)], "t", database.dsn, index=True)


def test_what_a_frame_s_values_are_not_is_said_in_our_words(database: Database) -> None:
    pandas = library("pandas", minversion="2.2")
    library("pyarrow")
    with pytest.raises(howdah.DataError, match="cannot be made a table") as caught:
        howdah.load(pandas.DataFrame({"id": [1, 2], "mixed": [1, "x"]}), "t", database.dsn)
    assert caught.value.column == "mixed"
    assert "astype(str)" in str(caught.value.hint)
    assert caught.value.__cause__ is not None
    lone = pandas.DataFrame({"a": pandas.Series(["a\ud800"], dtype=object)})
    with pytest.raises(howdah.DataError, match="surrogate"):
        howdah.load(lone, "t", database.dsn)
    twice = pandas.DataFrame([[1, 2]], columns=["a", "a"])
    with pytest.raises(howdah.Error, match="Duplicate column names"):
        howdah.load(twice, "t", database.dsn)


def test_a_series_is_a_table_of_one_column(database: Database) -> None:
    polars = library("polars")
    assert howdah.load(polars.Series("n", [1, 2, None]), "t", database.dsn).rows == 3
    assert database.types("t") == {"n": "bigint"}


def test_arguments_that_stand_in_the_wrong_place_are_named(database: Database) -> None:
    polars = library("polars")
    frame = polars.DataFrame({"n": [1]})
    with pytest.raises(howdah.ProgrammingError, match="the arguments are swapped") as caught:
        howdah.load("people", frame, database.dsn)
    assert caught.value.hint == "howdah.load(data, 'people')"
    with pytest.raises(howdah.ProgrammingError, match="dsn takes a text, not a value of type dict"):
        howdah.load(frame, "people", {"host": "x"})  # type: ignore[arg-type]


def test_a_relation_of_duckdb_s_is_loaded(database: Database) -> None:
    duckdb = library("duckdb")
    library("pyarrow")
    relation = duckdb.sql("SELECT range AS id, 'n' || range AS name, range / 4 AS part FROM range(10000)")
    assert howdah.load(relation, "t", database.dsn).rows == 10_000
    assert (
        database.value("SELECT count(*), max(id), max(name), sum(part) FROM t") == "10000|9999|n9999|12498750"
    )


def test_a_column_without_a_table_is_refused(database: Database) -> None:
    pyarrow = library("pyarrow")
    with pytest.raises(howdah.ProgrammingError, match="is no table") as caught:
        howdah.load(pyarrow.array([1, 2]), "t", database.dsn)
    assert caught.value.__cause__ is not None


def test_parquet_is_loaded_from_a_path_and_from_bytes(database: Database, tmp_path: Path) -> None:
    parquet = library("pyarrow.parquet")
    path = tmp_path / "people.parquet"
    parquet.write_table(arrow_table(), path)
    assert howdah.load(path, "a", database.dsn).rows == 3
    with path.open("rb") as file:
        assert howdah.load(file, "b", database.dsn).rows == 3
    assert stored(database, "a") == stored(database, "b") == STORED


def test_no_library_is_imported_for_rows(database: Database) -> None:
    heavy = ["asyncio", "numpy", "pandas", "polars", "pyarrow"]
    code = (
        "import sys, howdah\n"
        f"howdah.load([{{'a': 1}}], 't', {database.dsn!r}, progress=False)\n"
        f"print(*sys.modules.keys() & {heavy})"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.returncode, done.stdout) == (0, "\n"), done.stderr
