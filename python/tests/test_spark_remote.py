"""Clients of Spark Connect write through howdah: to Spark's own server, and to Sail, which has no JVM."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import require
from conftest import Database, environment
from test_cluster import left

import howdah

require.sail()

PROGRAM = Path(__file__).parent / "spark_remote.py"

# Sail knows no client as new as the Spark that the other tests have: `make sail` brings it an older one.
OLDER = Path(sys.prefix) / "sail"

SUMS = "SELECT count(*), count(DISTINCT id) FROM"


@pytest.fixture
def there(database: Database) -> Database:
    database.sql(
        "CREATE TABLE exchanged (id bigint, old int); INSERT INTO exchanged VALUES (77, 0);"
        "CREATE TABLE matched (id bigint PRIMARY KEY, v text);"
        "INSERT INTO matched VALUES (1, 'old'), (7, 'old');"
        "CREATE TABLE checked (id bigint CHECK (id <> 77))"
    )
    return database


def told(kind: str, server: howdah.Server, database: Database, *paths: Path) -> dict[str, str]:
    """Run the program, and check what is the same with all servers."""
    surroundings = {**os.environ, **environment(server), "PYSPARK_PYTHON": sys.executable}
    found = [str(path) for path in paths] + [surroundings.get("PYTHONPATH", "")]
    surroundings["PYTHONPATH"] = os.pathsep.join(filter(None, found))
    command = [sys.executable, str(PROGRAM), kind, database.dsn.rsplit("/", 1)[1], str(Path.cwd())]
    done = subprocess.run(command, env=surroundings, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    answers: dict[str, str] = json.loads(done.stdout)
    assert [answers[name] for name in ("appended", "truncate false", "truncate true", "matched")] == [""] * 4
    assert database.value(f"{SUMS} exchanged") == "10|10"
    matched = "SELECT string_agg(id || v, ' ' ORDER BY id) FROM matched"
    assert database.value(matched) == "0new 1new 2new 7old"
    assert "violates check constraint" in answers["checked"]
    assert database.value(f"{SUMS} checked") == "0|0"
    assert "PGPASSWORD" in answers["password"]
    assert left(database) == []
    return answers


def test_a_client_of_spark_connect_writes_something_else(server: howdah.Server, there: Database) -> None:
    answers = told("connect", server, there)
    assert [answers[name] for name in ("found by itself", "died", "parts")] == ["", "", ""]
    assert there.value(f"{SUMS} appended") == "18000|9000"
    assert there.value(f"{SUMS} died") == "9000|9000"
    assert there.value(f"{SUMS} parts") == "9000|9000"


def test_a_client_of_sail_writes_something_else(server: howdah.Server, there: Database) -> None:
    if not OLDER.is_dir():
        require.missing("sail", f"there is no {OLDER}")
    answers = told("sail", server, there, OLDER)
    assert "howdah" in answers["found by itself"]
    assert there.value(f"{SUMS} appended") == "9000|9000"
    # Sail gives a job up when a task fails, and does not number its tasks.
    assert "the first task fails" in answers["died"]
    assert there.value("SELECT to_regclass('died')") == "∅"
    assert "which partition a task writes" in answers["parts"]
    assert there.value(f"{SUMS} parts") == "0|0"
