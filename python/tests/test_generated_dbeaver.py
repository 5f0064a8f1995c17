"""Annotated files in DBeaver: each runs as it is, from its first statement to its last."""

import subprocess
import sys
from pathlib import Path

import dbeaver
import pytest
from conftest import Database

COMMAND = Path(sys.executable).parent / "howdah"
TESTS = Path(__file__).parent


def howdah(*arguments: str | Path) -> str:
    command = [COMMAND, "codegen", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def utc(database: Database) -> None:
    database.sql(f"ALTER DATABASE {database.value('SELECT current_database()')} SET timezone = 'UTC'")


def test_the_studys_file_does_not_run(database: Database) -> None:
    utc(database)
    assert database.sql(dbeaver.script((TESTS / "study" / "queries.sql").read_text())) == [
        "2",
        "170|2026.50|0",
        "1|00000000-0000-4000-8000-000000000001|2000-01-01 00:00:00+00|1013.25|Halle 3|{indoor,calibrated}",
        "00000000-0000-4000-8000-000000000001|2000-01-01 00:00:00+00|20.5|Halle 3",
        "00000000-0000-4000-8000-000000000001|2000-01-01 00:00:00+00|20.5|Halle 3",
    ]
    assert (
        database.value("SELECT count(DISTINCT (tags, humidity, battery_level)) FROM sensor_readings") == "1"
    )


def test_the_example_of_init_does_not_run(database: Database, tmp_path: Path) -> None:
    howdah("init", tmp_path)
    schema, queries = (tmp_path / "queries.sql").read_text().split("-- One task by its number.")
    database.sql(dbeaver.script(schema))
    database.sql("INSERT INTO tasks (title, priority) VALUES ('Rent', 3), ('Tea', 1), ('Call', 2)")
    assert database.sql(dbeaver.script(queries)) == ["1|Rent|∅", "1|Rent|3", "3|Call|2"]


def test_what_syntax_shows_does_not_run(database: Database) -> None:
    assert database.sql(dbeaver.script(howdah("syntax"))) == [
        "1|Ada|ada@example.org",
        "∅|2",
        "1|Ada|ada@example.org",
    ]
    assert database.sql("SELECT * FROM users ORDER BY id") == ["1|Ada|ada@example.org", "2|Bob|∅"]


def test_the_name_of_a_table_below_its_header_is_no_statement(database: Database, tmp_path: Path) -> None:
    utc(database)
    named = (TESTS / "sqg" / "observatory.sql").read_text()
    with pytest.raises(AssertionError, match='syntax error at or near "nights"'):
        database.sql("BEGIN;" + dbeaver.script(named))
    written = named.replace("\nnights\n", "\nTABLE nights;\n")
    assert database.sql(dbeaver.script(written)) == [
        "1|LP|Cyclops|2.50|{r,g}",
        "2|LP|Argus|∅|∅",
        "Argus",
        "Cyclops",
        "1|Cyclops|2.50",
        "1|Cyclops|2.50",
        "2|Argus|∅",
        "1|Cyclops|2.50",
        "1",
        "1|Cyclops|2026-01-01 20:00:00+00|clear|∅",
        "LP|0",
        "2|1|2026-01-02 20:00:00+00|closed|∅|∅",
    ]
    made = []
    for text in (named, written):
        (tmp_path / "observatory.sql").write_text(text)
        howdah(
            "generate",
            "--generator=python/postgres",
            "--file",
            tmp_path / "observatory.sql",
            "--output",
            tmp_path / "made.py",
        )
        made.append((tmp_path / "made.py").read_text())
    assert made[0] == made[1]


def test_an_array_is_no_literal_of_dbeaver(database: Database) -> None:
    sql = """
-- QUERY by_ids
@set ids = '{1,3}'
SELECT i FROM generate_series(1, 4) i WHERE i = ANY(${ids});

-- QUERY by_names
@set first = 'a'
@set names = ARRAY[${first}, 'b''s']
SELECT n, '${ids} is not replaced by howdah' FROM unnest(${names}::text[]) n;
"""
    assert database.sql(dbeaver.script(sql.replace("'${ids} is", "'ids are"))) == [
        "1",
        "3",
        "a|ids are not replaced by howdah",
        "b's|ids are not replaced by howdah",
    ]
    with pytest.raises(KeyError, match="least"):
        dbeaver.script("SELECT 1 WHERE 1 > ${least};")
