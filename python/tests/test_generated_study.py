"""The study's annotated file in every language: each way of writing leaves the bytes that SQL itself does."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import go_program
import java_program
import node_program
import pytest
import rust_program
from conftest import Database
from generated import ROOT
from require import library

psycopg = library("psycopg")
COMMAND = Path(sys.executable).parent / "howdah"
STUDY = Path(__file__).parent / "study"
ROWS = 1000
WAYS = ("append", "insert", "unnest")
Run = Callable[[Database], list[str]]

# What the programs compute, said once more in SQL, which shares no code with them. Times lie on both sides of
# the year 2000, where PostgreSQL's zero is.
EXPECTED = r"""
CREATE TABLE expected (
  i int, device_id uuid, "timestamp" timestamptz, temperature float8, humidity float8,
  pressure numeric(10, 2), battery_level int2, is_anomaly bool, location text, tags text[]
);
INSERT INTO expected SELECT i,
  ('00000000-0000-4000-8000-' || lpad(to_hex(i * 7919 % 100), 12, '0'))::uuid,
  timestamptz '1999-12-31T23:00:00Z' + i * interval '10.007 s',
  CASE i % 11 WHEN 0 THEN NULL WHEN 1 THEN '-0' WHEN 2 THEN 'Infinity' WHEN 3 THEN 5e-324
    ELSE (i * 37)::float8 / 7 - 100 END,
  CASE WHEN i % 13 > 0 THEN (i * 53 % 1000)::float8 / 8 END,
  CASE WHEN i % 17 > 0 THEN (i * 7919 % 2000001 - 1000000)::numeric / 100 END,
  CASE WHEN i % 19 > 0 THEN i % 200 - 100 END,
  (ARRAY[true, false, NULL])[i % 3 + 1],
  (ARRAY['Halle 3', '', E'a\tb\\c\n', 'Köln ☃ 𝄞', '"quoted", {braces}', 'NULL', NULL])[i % 7 + 1],
  (ARRAY[
    '{}', '{indoor}', '{indoor,NULL,""}', '{"NULL","a b","c,d"}', '{"x\"y","\\"}', NULL
  ])[i % 6 + 1]::text[]
FROM generate_series(0, 999) i;
"""
VERIFIED = """
SELECT concat_ws(' ', 1000, way * 1000, way * sum(battery_level), way * sum(pressure),
  way * count(*) FILTER (WHERE is_anomaly), max(device_id::text) FILTER (WHERE i = 500),
  max(pressure) FILTER (WHERE i = 500), max(cardinality(tags)) FILTER (WHERE i = 500), 10, 999 * 10007)
FROM expected, generate_series(1, 3) way GROUP BY way ORDER BY way
"""
COLUMNS = 'device_id, "timestamp", temperature, humidity, pressure, battery_level, is_anomaly, location, tags'


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Generate the code of all languages by the command."""
    folder = tmp_path_factory.mktemp("study")
    for name in ("howdah.yaml", "queries.sql"):
        shutil.copy(STUDY / name, folder)
    done = subprocess.run(
        [COMMAND, "codegen", "generate", folder], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return folder


def python(folder: Path) -> Run:
    shutil.copy(STUDY / "python" / "writing.py", folder)
    mypy = [sys.executable, "-m", "mypy", "--strict", "--config-file="]
    mypy += [f"--cache-dir={ROOT / 'build' / 'mypy'}", "writing.py"]
    done = subprocess.run(mypy, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout

    def run(database: Database) -> list[str]:
        environment = os.environ | {"HOWDAH_DSN": database.dsn, "TZ": "America/St_Johns"}
        command = [sys.executable, "-W", "error", str(folder / "writing.py")]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()

    return run


def java(folder: Path) -> Run:
    program = (STUDY / "java" / "Writing.java").read_text()
    classes = java_program.compiled(folder, None, {"Writing.java": program})
    return lambda database: java_program.run(classes, "Writing", database)


def typescript(folder: Path) -> Run:
    program = (STUDY / "typescript" / "writing.ts").read_text()
    code = node_program.compiled(folder, {"writing.ts": program})
    return lambda database: node_program.run(code, "writing.js", database)


def go(folder: Path) -> Run:
    program = go_program.built(folder, {}, {"main.go": (STUDY / "go" / "main.go").read_text()})
    return lambda database: go_program.run(program, database)


def rust(folder: Path) -> Run:
    program = rust_program.compiled([], {"main.rs": (STUDY / "rust" / "main.rs").read_text()}, folder)
    rust_program.lint("howdah_postgres", "howdah_migrate")
    return lambda database: rust_program.run(program, database)


def copied(database: Database, rows: str) -> bytes:
    """Give what the server copies out in its binary form."""
    statement = f"COPY ({rows}) TO STDOUT (FORMAT binary)"
    with psycopg.connect(database.dsn) as connection, connection.cursor().copy(statement) as copy:
        return b"".join(copy)


@pytest.mark.parametrize("language", [python, java, typescript, go, rust])
def test_a_way_of_the_study_writes_other_bytes(
    language: Callable[[Path], Run], project: Path, database: Database
) -> None:
    printed = language(project / language.__name__)(database)
    database.sql(EXPECTED)
    assert printed == ["1", *database.sql(VERIFIED)]
    expected = copied(database, f"SELECT {COLUMNS} FROM expected ORDER BY i")
    written = 'SELECT {} FROM sensor_readings WHERE (id - 1) / {} = {} ORDER BY "timestamp"'
    found = {way: copied(database, written.format(COLUMNS, ROWS, at)) for at, way in enumerate(WAYS)}
    assert [way for way in WAYS if found[way] != expected] == []
