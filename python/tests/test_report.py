"""The report: complete, readable, and its rejects."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import Database
from require import library

import howdah
from howdah import _figures

COMMAND = Path(sys.executable).parent / "howdah"


@pytest.fixture
def people(tmp_path: Path) -> Path:
    path = tmp_path / "people.csv"
    path.write_text("id,name\n1,Ada\nx,Gr\xe4ce\n3\n4,Edsger\n", encoding="utf-8")
    return path


def test_the_report_has_every_key_of_the_command_s(database: Database, people: Path) -> None:
    database.sql("CREATE TABLE t (id int, name text)")
    command = [str(COMMAND), "load", str(people), "--table", "t", "--on-error", "ignore", "-d", database.dsn]
    done = subprocess.run([*command, "--report", "json"], capture_output=True, text=True, check=False)
    told = json.loads(done.stdout)
    report = howdah.load(people, "t", database.dsn, on_error="ignore")
    # The text has a format number; objects have a version of howdah.
    assert told.pop("report_format") == 1
    for key, value in told.items():
        mine = getattr(report, key)
        assert type(mine) is type(value), key
        if key in {"rows", "rows_read", "rows_rejected", "table", "mode", "write_path", "plan"}:
            assert mine == value, key


def test_a_report_reads_as_a_sentence(database: Database, people: Path) -> None:
    database.sql("CREATE TABLE t (id int, name text)")
    report = howdah.load(people, "t", database.dsn, on_error="ignore")
    told = repr(report)
    assert told.startswith("2 rows (")
    for part in (
        "into public.t in ",
        " rows/s, ",
        "1 connection, copy-binary",
        "2 records were rejected",
        ".jsonl",
    ):
        assert part in told, told
    assert "\n" not in told
    planned = howdah.load(people, "t", database.dsn, on_error="ignore", dry_run=True)
    assert repr(planned).startswith("dry run: 2 records would be sent into public.t; nothing was changed")
    database.sql("ALTER TABLE t ADD PRIMARY KEY (id)")
    matched = howdah.load([{"id": 1, "name": "A"}, {"id": 9, "name": "B"}], "t", database.dsn, mode="upsert")
    assert "applied to public.t (1 inserted, 1 updated)" in repr(matched)
    with pytest.raises(howdah.Error) as caught:
        howdah.load(people, "t", database.dsn)
    assert repr(caught.value.report).startswith("failed (nothing was changed): ")


def test_a_table_in_memory_has_no_bytes_and_one_connection(database: Database) -> None:
    pandas = library("pandas")
    polars = library("polars")
    pyarrow = library("pyarrow")
    values = {"a": [1, 2, 3], "b": ["x", "y", "z"]}
    for number, data in enumerate(
        [pandas.DataFrame(values), polars.DataFrame(values), pyarrow.table(values)]
    ):
        report = howdah.load(data, f"t{number}", database.dsn)
        assert repr(report).startswith(f"3 rows into public.t{number} in "), repr(report)
        assert report.jobs == 1, repr(report)
        assert "0 B" not in report._repr_html_()


def test_a_notebook_s_table_lets_no_data_into_its_page(database: Database) -> None:
    name = "<script>alert(1)</script>"
    report = howdah.load([{"a": 1}], f'"{name}"', database.dsn)
    page = report._repr_html_()
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    assert page.startswith("<table")
    assert "rgba(128,128,128" in page


def test_rejects_are_an_arrow_stream(database: Database, people: Path) -> None:
    pyarrow = library("pyarrow")
    database.sql("CREATE TABLE t (id int, name text)")
    report = howdah.load(people, "t", database.dsn, on_error="ignore", rejects="bad.jsonl")
    assert report.rejects_path == "bad.jsonl"
    table = pyarrow.table(report.rejects())
    place = ["file", "line", "byte_offset", "row_group", "row"]
    assert table.column_names == [*place, "column", "sqlstate", "reason", "raw"]
    rejects = sorted(table.to_pylist(), key=lambda reject: reject["line"])
    assert [(r["line"], r["column"], r["sqlstate"], r["raw"]) for r in rejects] == [
        (3, "id", "22P02", "x,Gr\xe4ce".encode()),
        (4, rejects[1]["column"], "22P04", b"3"),
    ]
    assert pyarrow.table(report.rejects()).num_rows == 2, "they can be read again"
    none = howdah.load([{"id": 1}], "t", database.dsn)
    assert pyarrow.table(none.rejects()).num_rows == 0


def test_notices_and_the_server_are_told(database: Database, people: Path) -> None:
    people.write_text("id;name\n1;Ada\n")
    howdah.load(people, "t", database.dsn)
    report = howdah.load(people, "t", database.dsn)
    assert any("holds rows already" in notice for notice in report.notices)
    assert any("delimiter" in notice for notice in report.notices)
    assert "--" not in " ".join(report.notices)
    assert report.server
    assert database.dsn.split(":")[2].split("@")[0] not in report.server


def test_figures_are_the_command_s() -> None:
    sizes = [0, 999, 1000, 9_949, 9_951, 248_000_000, 999_499_999, 999_600_000]
    assert [_figures.size(n) for n in sizes] == [
        "0 B",
        "999 B",
        "1.0 kB",
        "9.9 kB",
        "10 kB",
        "248 MB",
        "999 MB",
        "1.0 GB",
    ]
    times = [0.0434, 0.5, 1.417, 12.34, 59.96, 125.0, 3725.0]
    assert [_figures.seconds(s) for s in times] == [
        "0.043 s",
        "0.50 s",
        "1.42 s",
        "12.3 s",
        "1 min 00 s",
        "2 min 05 s",
        "1 h 02 min",
    ]
    assert [_figures.rate(r) for r in (0, 7.4, 999, 1234, 704_225.3)] == ["0", "7", "999", "1,230", "704,000"]
