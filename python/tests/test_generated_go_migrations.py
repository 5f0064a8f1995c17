"""Generated Go applies migrations as the runners of the other languages do, however it ends."""

from pathlib import Path

import pytest
from conftest import Database
from generated import Sql, quoted
from go_program import PROGRAMS, built, run
from require import library
from test_generated_appenders import HOSTILE

psycopg = library("psycopg")
PROGRAM = (PROGRAMS / "migrating" / "main.go").read_text()
HELD = """
    SELECT count(*) FROM pg_locks l JOIN pg_database d ON d.oid = l.database
    WHERE locktype = 'advisory' AND datname = current_database()"""


def program(folder: Path, shop: Sql) -> Path:
    return built(folder, {"shop": [shop]}, {"main.go": PROGRAM})


@pytest.fixture
def shop() -> Sql:
    code = Sql("shop")
    code.migration("1", "CREATE TABLE a (b int)")
    return code


def test_a_refused_statement_leaves_something_of_its_step(
    shop: Sql, database: Database, tmp_path: Path
) -> None:
    shop.migration("2", "CREATE TABLE c (d int)", "INSERT INTO c VALUES (oops)")
    (line,) = run(program(tmp_path, shop), database)
    assert line.startswith('42703 true MIGRATE 2 (a.sql:2): ERROR: column "oops" does not exist')
    assert database.sql("SELECT id, to_regclass('c') FROM howdah_migrations") == ["1|∅"]


def test_a_failed_step_without_a_transaction_keeps_its_lock(
    shop: Sql, database: Database, tmp_path: Path
) -> None:
    shop.migration("2", "INSERT INTO a VALUES (1), (1)")
    shop.migration("3", "SET search_path = pg_catalog; RESET search_path")
    shop.migrations[-1]["statements"] = ["SET search_path = pg_catalog"]
    shop.migration("4", "CREATE UNIQUE INDEX CONCURRENTLY i ON a (b)", alone=True)
    made = program(tmp_path, shop)
    (line,) = run(made, database)
    assert line.startswith("23505 true MIGRATE 4 (a.sql:4): ")
    states = "SELECT string_agg(state, ' ' ORDER BY position) FROM howdah_migrations"
    assert database.value(states) == "done done done started"
    assert database.value(HELD) == "0"
    (line,) = run(made, database)
    assert "MIGRATE 4 (a.sql:4) was begun on 20" in line
    assert "nobody saw its end" in line


def test_a_runner_that_is_cancelled_keeps_a_lock_or_half_a_step(
    shop: Sql, database: Database, tmp_path: Path
) -> None:
    shop.migration("2", "CREATE TABLE c (d int)", "LOCK TABLE a")
    shop.migration("3", "CREATE INDEX CONCURRENTLY i ON a (b)", alone=True)
    made = program(tmp_path, shop)
    # Another runner is at work.
    lock = "SELECT pg_advisory_xact_lock(hashtextextended('howdah migrations test', 0))"
    with psycopg.connect(database.dsn) as other:
        other.execute(lock)
        (line,) = run(made, database, "cancelled")
        # Where the time is up while a statement waits, pgx says that it was a timeout.
        assert line.replace("timeout: ", "") == "false context deadline exceeded"
        assert database.value("SELECT to_regclass('howdah_migrations')") == "∅"
    assert run(made, database, "newer") == ["3"]
    database.sql("DELETE FROM howdah_migrations WHERE id <> '1'; DROP TABLE c; DROP INDEX i")
    with psycopg.connect(database.dsn) as other:
        other.execute("LOCK TABLE a IN ROW EXCLUSIVE MODE")
        (line,) = run(made, database, "cancelled")
        assert line.startswith("true MIGRATE 2 (a.sql:2): ")
        assert "context deadline exceeded" in line
        assert database.sql("SELECT id, to_regclass('c') FROM howdah_migrations") == ["1|∅"]
    assert run(made, database) == ["2"]
    database.sql("DELETE FROM howdah_migrations WHERE id = '3'; DROP INDEX i")
    with psycopg.connect(database.dsn) as other:
        other.execute("LOCK TABLE a IN ROW EXCLUSIVE MODE")
        (line,) = run(made, database, "cancelled")
        assert "MIGRATE 3 (a.sql:3): " in line
        assert database.value("SELECT state FROM howdah_migrations WHERE id = '3'") == "started"
    with psycopg.connect(database.dsn) as other:
        other.execute("SET lock_timeout = '60s'")
        other.execute(lock)


def test_a_transaction_of_the_program_is_committed_by_steps(
    shop: Sql, database: Database, tmp_path: Path
) -> None:
    (line,) = run(program(tmp_path, shop), database, "transaction")
    assert line == "true the connection is in a transaction, and steps have their own"
    assert database.value("SELECT to_regclass('a')") == "∅"


def test_a_name_of_a_step_becomes_go(database: Database, tmp_path: Path) -> None:
    code = Sql("shop", types=[
        {"schema": "public", "name": name, "kind": "enum", "labels": []}
        for name in ("new", "migration", "migrations", "apply_migrations", "migrator", "sql_key")
    ])  # fmt: skip
    made = f'CREATE TABLE a AS SELECT {quoted(HOSTILE)} AS b, 7 % 4 AS "%s"'
    code.migration(HOSTILE, made, "SELECT '`\r{sqg}'")
    assert run(program(tmp_path, code), database, "pool", HOSTILE) == ["1", "1 true"]
    assert database.value("SELECT encode(convert_to(b, 'UTF8'), 'hex') FROM a") == HOSTILE.encode().hex()
    assert database.value("SELECT project = id FROM howdah_migrations") == "t"
