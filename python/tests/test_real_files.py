"""Files that nobody here wrote land as other readers read them."""

import csv
import json
from decimal import Decimal
from typing import Any

import pytest
from conftest import Database
from require import library, real_files

import howdah

FILES = real_files()


def test_an_arrow_file_of_javascript_lands_as_pyarrow_reads_it(database: Database) -> None:
    np = library("numpy")
    ipc = library("pyarrow.ipc")
    file = FILES / "vega" / "flights-200k.arrow"
    seen = ipc.open_file(file).read_all()
    report = howdah.load(file, "t", database.dsn, jobs=1)
    assert report.rows == seen.num_rows == 200_000
    assert database.types("t") == {"delay": "smallint", "distance": "smallint", "time": "real"}
    # One connection keeps the order of the file.
    stored = np.array([line.split("|") for line in database.sql("SELECT * FROM t ORDER BY ctid")])
    for at, (name, kind) in enumerate({"delay": "i2", "distance": "i2", "time": "f4"}.items()):
        assert (stored[:, at].astype(kind) == seen[name].to_numpy()).all(), name


def spelled(value: Any) -> str:  # noqa: ANN401 - whatever JSON has
    """Give a value as the table shows it."""
    if value is None:
        return "∅"
    return str(value)


@pytest.mark.parametrize(("name", "rows"), [("movies.json", 3_201), ("flights-20k.json", 20_000)])
def test_a_json_file_lands_as_python_reads_it(database: Database, name: str, rows: int) -> None:
    file = FILES / "vega" / name
    records = json.loads(file.read_text(encoding="utf-8"), parse_float=Decimal, parse_int=Decimal)
    assert howdah.load(file, "t", database.dsn, jobs=1).rows == len(records) == rows
    types = database.types("t")
    assert set(types) == {key for record in records for key in record}
    for key, kind in types.items():
        quoted = '"' + key.replace('"', '""') + '"'
        stored = database.sql(f"SELECT {quoted} FROM t ORDER BY ctid")
        wanted = [record.get(key) for record in records]
        if kind in {"bigint", "double precision", "numeric"}:
            numbers = [None if line == "∅" else Decimal(line) for line in stored]
            assert numbers == wanted, key
        else:
            assert stored == [spelled(value) for value in wanted], key


def test_one_table_takes_the_same_rows_as_csv_and_as_parquet(database: Database) -> None:
    pq = library("pyarrow.parquet")
    path = FILES / "userdata" / "userdata1.csv"
    with path.open(encoding="utf-8", newline="") as text:
        by_csv = list(csv.DictReader(text))
    by_parquet = pq.read_table(path.with_suffix(".parquet")).to_pylist()
    columns = list(by_csv[0])
    types = {"registration_dttm": "timestamp", "id": "int", "salary": "double precision"}
    typed = ", ".join(f"{name} {types.get(name, 'text')}" for name in columns)
    database.sql(f"CREATE TABLE t ({typed}, source text)")
    for name in ("userdata1.csv", "userdata1.parquet"):
        file = FILES / "userdata" / name
        assert howdah.load(file, "t", database.dsn, file_column="source", mode="append").rows == 1_000
    # Both have empty texts where there is no value, the one file for NULL and the other for itself.
    for source, rows in (("csv", by_csv), ("parquet", by_parquet)):
        values = ", ".join(f"nullif({name}::text, '')" for name in columns)
        lines = database.sql(
            f"SELECT json_build_array({values}) FROM t WHERE source LIKE '%.{source}' ORDER BY id"
        )
        stored = [json.loads(line) for line in lines]
        assert stored == [[as_text(name, row[name]) for name in columns] for row in rows], source
    # Whoever made the files left their own differences: commas in quotes, hours after noon, a few jokes.
    differing = database.sql(
        "SELECT DISTINCT a.key FROM t c JOIN t p USING (id), json_each_text(row_to_json(c)) a"
        " JOIN LATERAL json_each_text(row_to_json(p)) b ON a.key = b.key"
        " WHERE c.source LIKE '%.csv' AND p.source LIKE '%.parquet'"
        " AND nullif(a.value, '') IS DISTINCT FROM nullif(b.value, '')"
    )
    assert not {"id", "first_name", "last_name", "ip_address", "cc"} & set(differing)


def as_text(name: str, value: Any) -> str | None:  # noqa: ANN401 - of csv and of pyarrow
    """Give what PostgreSQL shows of a value, in the column of that name."""
    if value is None or value == "":
        return None
    if name == "registration_dttm":
        return str(value).replace("T", " ").removesuffix("Z")
    if name == "salary":
        return repr(float(value)).removesuffix(".0")
    return str(value)
