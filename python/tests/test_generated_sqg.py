"""A project in SQG's dialect, with each annotation that it documents: programs of its users run on."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import java_program
import pytest
from conftest import Database
from generated import ROOT

COMMAND = Path(sys.executable).parent / "howdah"
SQG = Path(__file__).parent / "sqg"
# What belongs to another service is no part of the migrations.
BASELINE = (
    "CREATE TABLE sites (code text PRIMARY KEY, name text); INSERT INTO sites VALUES ('LP', 'La Palma')"
)
LEFT = """
SELECT (SELECT string_agg(name, ',' ORDER BY id) FROM telescopes),
  count(*), min(sky), max(frames), max(remark)
FROM nights
"""


def howdah(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [COMMAND, "codegen", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Generate the code by the command, of files that are SQG's; nothing is warned of."""
    folder = tmp_path_factory.mktemp("sqg")
    for name in ("sqg.yaml", "observatory.sql"):
        shutil.copy(SQG / name, folder)
    checked = howdah("check", folder)
    assert (checked.returncode, checked.stderr) == (0, "18 blocks of 1 file checked\n")
    done = howdah("generate", folder)
    assert done.returncode == 0, done.stderr
    assert "warning" not in done.stderr
    return folder


@pytest.fixture
def observatory(database: Database) -> Database:
    database.sql(BASELINE)
    return database


def test_a_java_program_of_sqg_runs_no_more(project: Path, observatory: Database) -> None:
    java_program.driver()
    program = (SQG / "java" / "Nights.java").read_text()
    classes = java_program.compiled(project / "java", None, {"Nights.java": program})
    assert java_program.run(classes, "Nights", observatory) == [
        "migrations: 2",
        "added: 1",
        "1 Cyclops 2.50 [r, g]",
        "2 Argus null null",
        "names: [Argus, Cyclops]",
        "one: Cyclops 2.50",
        "none: null",
        "of LP: 2 true",
        "largest: Cyclops of 1",
        "Cyclops 2026-01-01T20:00Z clear 12",
        "closed: [Argus]",
        "streamed: 2",
        "frames: 15",
        "renamed: 1 [1, 0]",
        "removed: 1 [1, 0]",
        "nights: 1",
        "heard: [observatory.all_telescopes 2, observatory.remove_night 0]",
    ]
    assert observatory.sql(LEFT) == ["Cyclops,Argus II|1|partly cloudy|3|∅"]


def test_a_python_program_of_sqg_runs_no_more(project: Path, observatory: Database) -> None:
    folder = project / "python"
    shutil.copy(SQG / "python" / "nights.py", folder)
    mypy = [sys.executable, "-m", "mypy", "--strict", "--config-file="]
    mypy += [f"--cache-dir={ROOT / 'build' / 'mypy'}", "nights.py"]
    typed = subprocess.run(mypy, cwd=folder, capture_output=True, text=True, check=False)
    assert typed.returncode == 0, typed.stdout
    environment = os.environ | {"HOWDAH_DSN": observatory.dsn}
    command = [sys.executable, "-W", "error", str(folder / "nights.py")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "migrations: 2",
        "1 Cyclops 2.50 ['r', 'g']",
        "2 Argus None None",
        "raw: (2, 'LP', 'Argus', None, None)",
        "names: ['Argus', 'Cyclops']",
        "one: ('Cyclops', Decimal('2.50'))",
        "none: None None",
        "of LP: [True, False]",
        "largest: Cyclops 1",
        "Cyclops 2026-01-01T20:00:00+00:00 True 12",
        "frames: 15",
        "nights: 2",
    ]
    assert observatory.sql(LEFT) == ["Cyclops,Argus I|2|partly cloudy|3|rain"]


def test_what_only_sqgs_duckdb_has_is_not_told(tmp_path: Path) -> None:
    (tmp_path / "sqg.yaml").write_text("""
version: 1
name: lake
sources:
  - {name: prod, type: postgres}
sql:
  - files: [lake.sql]
    gen:
      - {generator: java/duckdb/jdbc, output: java/, config: {package: lake}}
      - {generator: python/postgres, output: python/}
""")
    sql = tmp_path / "lake.sql"
    orders = "CREATE TABLE orders (id bigint PRIMARY KEY);\n\n-- QUERY orders\nSELECT id FROM orders;\n"
    sql.write_text("-- BASELINE prod_orders :source=prod\n" + orders)
    checked = howdah("check", tmp_path)
    assert checked.returncode == 1
    for told in ("warning[NOT_SUPPORTED]: `sources`", "warning[INVALID_GENERATOR]: `java/duckdb/jdbc`"):
        assert told in checked.stderr
    assert "lake.sql:1:25: error[INVALID_MODIFIER]: `:source=prod` names a database" in checked.stderr
    # What the help says: the same without the modifier.
    sql.write_text("-- BASELINE prod_orders\n" + orders)
    done = howdah("generate", tmp_path)
    assert done.returncode == 0, done.stderr
    assert {path.name for path in tmp_path.iterdir()} == {"lake.sql", "sqg.yaml", "python"}
