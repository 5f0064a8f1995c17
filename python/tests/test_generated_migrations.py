"""Generated runners of migrations: one contract with `howdah migrate`, whoever applied what."""

import asyncio
import importlib
import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from itertools import product
from pathlib import Path
from types import ModuleType

import go_program
import node_program
import pytest
import rust_program
from conftest import Database
from generated import Sql, quoted, write
from java_program import PROGRAMS, compiled, driver, run
from require import library
from test_generated_appenders import HOSTILE

psycopg = library("psycopg")
COMMAND = Path(sys.executable).parent / "howdah"
CONFIG = """
version: 1
name: shop
sql:
  - files: [shop.sql]
    gen:
      - generator: python/postgres
        output: python/
        config: {migrations: true}
      - generator: java/postgres
        output: java/
        config: {migrations: true}
      - generator: go/postgres
        output: go/shop/
        config: {migrations: true}
      - generator: typescript/postgres
        output: typescript/
        config: {migrations: true}
      - generator: rust/postgres
        output: rust/
        config: {migrations: true}
"""
STEPS = [
    "-- MIGRATE 1\nCREATE TABLE users (id bigint);\nINSERT INTO users SELECT 7 % 4;\n",
    "-- MIGRATE 2 :no_transaction\nCREATE INDEX CONCURRENTLY ON users (id);\n",
    '-- MIGRATE 3\nALTER TABLE users ADD name text DEFAULT \'x;y\' -- \u2603 \\ """ %s ?\n;\n',
]
PROGRAM = (PROGRAMS / "Migrating.java").read_text()
GO_PROGRAM = (go_program.PROGRAMS / "migrating" / "main.go").read_text()
NODE_PROGRAMS = {name: (node_program.PROGRAMS / name).read_text() for name in ("check.ts", "migrating.ts")}
RUST_PROGRAM = (rust_program.PROGRAMS / "migrating.rs").read_text()
Runner = Callable[[Path, Database], int]
Run = Callable[..., list[str]]


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Code of programs that know the first step, the first two, and all three."""
    made = []
    for count in (1, 2, 3):
        folder = tmp_path_factory.mktemp(f"steps{count}")
        (folder / "howdah.yaml").write_text(CONFIG)
        (folder / "shop.sql").write_text("".join(STEPS[:count]), encoding="utf-8")
        done = subprocess.run(
            [str(COMMAND), "codegen", "generate", folder], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        made.append(folder)
    return made


def module(folder: Path) -> ModuleType:
    """Import the Python of a folder anew."""
    for name in ("shop", "howdah_copy", "howdah_cursors", "howdah_migrate", "howdah_psycopg"):
        sys.modules.pop(name, None)
    sys.path.insert(0, str(folder / "python"))
    try:
        importlib.invalidate_caches()
        return importlib.import_module("shop")
    finally:
        sys.path.pop(0)


def by_command(folder: Path, database: Database) -> int:
    command = [str(COMMAND), "migrate", "apply", str(folder), "-d", database.dsn, "--report", "json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return int(json.loads(done.stdout)["applied"])


def by_python(folder: Path, database: Database) -> int:
    with psycopg.connect(database.dsn) as connection:
        applied: int = module(folder).Shop.apply_migrations(connection)
        assert not connection.autocommit
        return applied


def by_async_python(folder: Path, database: Database) -> int:
    async def applied() -> int:
        async with await psycopg.AsyncConnection.connect(database.dsn, autocommit=True) as connection:
            found: int = await module(folder).AsyncShop.apply_migrations(connection)
            return found

    return asyncio.run(applied())


def by_java(folder: Path, database: Database) -> int:
    (line,) = run(java(folder), "Migrating", database)
    return int(line)


def java(folder: Path) -> str:
    """Compile the Java of a folder, once."""
    sources = folder / "java"
    if not (sources / "classes").exists():
        return compiled(sources, None, {"Migrating.java": PROGRAM})
    return f"{sources / 'classes'}{os.pathsep}{driver()}"


def by_go(folder: Path, database: Database) -> int:
    (line,) = go_program.run(go(folder), database)
    return int(line)


def go(folder: Path) -> Path:
    """Build the Go of a folder, once."""
    program = folder / "go" / "program"
    return program if program.exists() else go_program.built(folder / "go", {}, {"main.go": GO_PROGRAM})


def by_typescript(folder: Path, database: Database) -> int:
    (line,) = node_program.run(typescript(folder), "migrating.js", database)
    return int(line)


def by_typescript_pool(folder: Path, database: Database) -> int:
    (line,) = node_program.run(typescript(folder), "migrating.js", database, "pool")
    return int(line)


def typescript(folder: Path) -> Path:
    """Compile the TypeScript of a folder, once."""
    sources = folder / "typescript"
    if not (sources / "out").exists():
        return node_program.compiled(sources, NODE_PROGRAMS)
    return sources / "out"


def by_rust(folder: Path, database: Database) -> int:
    (line,) = rust_program.run(rust(folder), database)
    return int(line)


def rust(folder: Path) -> Path:
    """Compile the Rust of a folder, once."""
    program = folder / "program"
    if not program.exists():
        shutil.copy(rust_program.compiled([], {"main.rs": RUST_PROGRAM}, folder / "rust"), program)
    return program


RUNNERS: list[Runner] = [
    by_command,
    by_python,
    by_async_python,
    by_java,
    by_typescript,
    by_typescript_pool,
    by_go,
    by_rust,
]


def rows(database: Database) -> list[str]:
    return database.sql(
        "SELECT id, position, checksum, state, format FROM howdah_migrations ORDER BY position"
    )


@pytest.mark.parametrize(
    ("first", "second"), list(product(RUNNERS, RUNNERS)), ids=lambda runner: runner.__name__
)
def test_what_one_applied_is_up_to_date_for_the_others(
    first: Runner,
    second: Runner,
    folders: list[Path],
    database: Database,
) -> None:
    assert first(folders[1], database) == 2
    assert second(folders[1], database) == 0
    assert second(folders[2], database) == 1
    assert first(folders[2], database) == 0
    assert database.sql("SELECT id, name FROM users") == ["3|x;y"]
    remembered = rows(database)
    assert [row.split("|")[3:] for row in remembered] == [["done", "1"]] * 3
    database.sql("DROP TABLE users, howdah_migrations")
    assert by_command(folders[2], database) == 3
    assert rows(database) == remembered


def test_drift_is_told_by_all(folders: list[Path], database: Database) -> None:
    by_command(folders[2], database)
    for spoiled, told in (
        ("SET checksum = 'x' WHERE id = '2'", "the text of MIGRATE 2 (shop.sql:4) is not"),
        ("SET state = 'started' WHERE id = '2'", "MIGRATE 2 (shop.sql:4) was begun on 20"),
        ("SET project = 'other' WHERE id = '1'", "MIGRATE 1 (shop.sql:1) is not applied"),
        ("SET position = 9 WHERE id = '1'", "MIGRATE 2 (shop.sql:4) was applied in another"),
        ("SET id = 'gone' WHERE id = '1'", "MIGRATE gone was applied on 20"),
        ("SET format = 2 WHERE id = '1'", "has format 2, and this program knows 1"),
    ):
        database.sql(f"CREATE TABLE kept AS TABLE howdah_migrations; UPDATE howdah_migrations {spoiled}")
        with psycopg.connect(database.dsn) as connection:
            shop = module(folders[2])
            with pytest.raises(sys.modules["howdah_migrate"].MigrationError) as error:
                shop.Shop.apply_migrations(connection)
        assert told in str(error.value)
        (line,) = run(java(folders[2]), "Migrating", database)
        assert told in line
        (line,) = go_program.run(go(folders[2]), database)
        assert line.startswith("true ")
        assert told in line
        (line,) = node_program.run(typescript(folders[2]), "migrating.js", database)
        assert line.startswith("MigrationError ")
        assert told in line
        (line,) = rust_program.run(rust(folders[2]), database)
        assert line.startswith("MigrationError ")
        assert told in line
        database.sql("TRUNCATE howdah_migrations; INSERT INTO howdah_migrations TABLE kept; DROP TABLE kept")
    older = module(folders[1]).Shop
    with psycopg.connect(database.dsn) as connection:
        with pytest.raises(psycopg.Error, match="this program is older"):
            older.apply_migrations(connection)
        assert older.apply_migrations(connection, allow_newer=True) == 0
    (line,) = run(java(folders[1]), "Migrating", database)
    assert "this program is older" in line
    (line,) = go_program.run(go(folders[1]), database)
    assert "this program is older" in line
    assert go_program.run(go(folders[1]), database, "newer") == ["0"]
    (line,) = node_program.run(typescript(folders[1]), "migrating.js", database)
    assert "this program is older" in line
    assert node_program.run(typescript(folders[1]), "migrating.js", database, "newer") == ["0"]
    (line,) = rust_program.run(rust(folders[1]), database)
    assert "this program is older" in line
    assert rust_program.run(rust(folders[1]), database, "newer") == ["0"]


def test_the_steps_of_sqg_are_taken_over_by_all(folders: list[Path], database: Database) -> None:
    for runner in RUNNERS:
        database.sql(
            "CREATE TABLE _sqg_migrations (project text, migration_id text,"
            " applied_at timestamp DEFAULT now(), PRIMARY KEY (project, migration_id));"
            "INSERT INTO _sqg_migrations VALUES ('shop', '1');"
            "CREATE TABLE users (id bigint)"
        )
        assert runner(folders[1], database) == 1, runner.__name__
        assert runner(folders[1], database) == 0
        found = database.sql(
            "SELECT id, position, applied_by = 'sqg' FROM howdah_migrations ORDER BY position"
        )
        assert found == ["1|1|t", "2|2|f"]
        database.sql("DROP TABLE users, _sqg_migrations, howdah_migrations")


@pytest.fixture
def shop() -> Sql:
    code = Sql("shop")
    code.migration("1", "CREATE TABLE a (b int)")
    return code


def test_a_refused_statement_leaves_nothing_of_its_step(
    shop: Sql, database: Database, tmp_path: Path
) -> None:
    shop.migration("2", "CREATE TABLE c (d int)", "INSERT INTO c VALUES (oops)")
    made = shop.load(tmp_path)
    with psycopg.connect(database.dsn) as connection:
        with pytest.raises(psycopg.errors.UndefinedColumn) as error:
            made.Shop.apply_migrations(connection)
        assert error.value.__notes__ == ["in MIGRATE 2 (a.sql:2)"]
        assert connection.info.transaction_status == 0
    assert database.sql("SELECT id, to_regclass('c') FROM howdah_migrations") == ["1|∅"]
    (tmp_path / "java").mkdir()
    class_path = compiled(tmp_path / "java", [shop], {"Migrating.java": PROGRAM})
    (line,) = run(class_path, "Migrating", database, "autocommit")
    assert line.startswith('42703 MIGRATE 2 (a.sql:2): ERROR: column "oops" does not exist')
    assert database.sql("SELECT id, to_regclass('c') FROM howdah_migrations") == ["1|∅"]


def test_a_failed_step_without_a_transaction_is_remembered_and_lets_go(
    shop: Sql, database: Database, tmp_path: Path
) -> None:
    shop.migration("2", "INSERT INTO a VALUES (1), (1)")
    shop.migration("3", "CREATE UNIQUE INDEX CONCURRENTLY i ON a (b)", alone=True)
    made = shop.load(tmp_path)
    with psycopg.connect(database.dsn) as connection:
        with pytest.raises(psycopg.errors.UniqueViolation):
            made.Shop.apply_migrations(connection)
        assert database.sql("SELECT state FROM howdah_migrations ORDER BY position") == [
            "done",
            "done",
            "started",
        ]
        held = "SELECT count(*) FROM pg_locks l JOIN pg_database d ON d.oid = l.database"
        held += " WHERE locktype = 'advisory' AND datname = current_database()"
        assert database.value(held) == "0"
        with pytest.raises(psycopg.Error, match="nobody saw its end"):
            made.Shop.apply_migrations(connection)


def test_a_connection_in_a_transaction_is_refused(shop: Sql, database: Database, tmp_path: Path) -> None:
    made = shop.load(tmp_path)
    with psycopg.connect(database.dsn) as connection:
        connection.execute("SELECT 1")
        with pytest.raises(psycopg.Error, match="the connection is in a transaction"):
            made.Shop.apply_migrations(connection)


def test_runners_at_once_apply_each_step_once(shop: Sql, database: Database, tmp_path: Path) -> None:
    for number in range(2, 20):
        alone = number % 5 == 0
        sql = f"CREATE INDEX CONCURRENTLY i{number} ON a (b)" if alone else f"CREATE TABLE t{number} (a int)"
        shop.migration(str(number), sql, alone=alone)
    made = shop.load(tmp_path)
    applied: list[int] = []

    def migrate() -> None:
        with psycopg.connect(database.dsn) as connection:
            applied.append(made.Shop.apply_migrations(connection))

    threads = [threading.Thread(target=migrate) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sum(applied) == 19
    assert len(applied) == 4
    assert database.value("SELECT count(*) FROM howdah_migrations WHERE state = 'done'") == "19"


def test_names_of_steps_are_no_code(database: Database, tmp_path: Path) -> None:
    code = Sql("shop")
    code.migration(HOSTILE, f'CREATE TABLE a AS SELECT {quoted(HOSTILE)} AS b, 7 % 4 AS "%s"')
    made = code.load(tmp_path)
    with psycopg.connect(database.dsn) as connection:
        assert made.Shop.apply_migrations(connection, HOSTILE) == 1
    assert database.value("SELECT encode(convert_to(b, 'UTF8'), 'hex') FROM a") == HOSTILE.encode().hex()
    assert made.Shop.get_migrations()[0].id == HOSTILE
    (tmp_path / "java").mkdir()
    class_path = compiled(tmp_path / "java", [code], {"Migrating.java": PROGRAM})
    database.sql("DROP TABLE a, howdah_migrations")
    assert run(class_path, "Migrating", database) == ["1"]
    assert database.value("SELECT encode(convert_to(b, 'UTF8'), 'hex') FROM a") == HOSTILE.encode().hex()


def in_node(code: Sql, folder: Path) -> Run:
    """Compile the TypeScript of a module with the program that migrates, and give what runs it."""
    write([code], "typescript/postgres", folder)
    compiled = node_program.compiled(folder, NODE_PROGRAMS)
    return lambda database, *arguments: node_program.run(compiled, "migrating.js", database, *arguments)


def in_rust(code: Sql, _: Path) -> Run:
    """Compile the Rust of a module with the program that migrates, and give what runs it."""
    program = rust_program.compiled([code], {"main.rs": RUST_PROGRAM})
    rust_program.lint("shop", "howdah_migrate")
    return lambda database, *arguments: rust_program.run(program, database, *arguments)


Made = Callable[[Sql, Path], Run]
BOTH = pytest.mark.parametrize("made", [in_node, in_rust])


@BOTH
def test_a_refused_statement_leaves_nothing_of_its_step_of_a_client_or_pool(
    made: Made, shop: Sql, database: Database, tmp_path: Path
) -> None:
    shop.migration("2", "CREATE TABLE c (d int)", "INSERT INTO c VALUES (oops)")
    run = made(shop, tmp_path)
    for way in ("client", "pool"):
        (line,) = run(database, way)
        assert line == 'MigrationError 42703 MIGRATE 2 (a.sql:2): column "oops" does not exist'
        assert database.sql("SELECT id, to_regclass('c') FROM howdah_migrations") == ["1|∅"]


@BOTH
def test_a_failed_step_without_a_transaction_keeps_the_lock_of_a_client(
    made: Made, shop: Sql, database: Database, tmp_path: Path
) -> None:
    shop.migration("2", "INSERT INTO a VALUES (1), (1)")
    shop.migration("3", "CREATE UNIQUE INDEX CONCURRENTLY i ON a (b)", alone=True)
    run = made(shop, tmp_path)
    (line,) = run(database)
    assert line.startswith("MigrationError 23505 MIGRATE 3 (a.sql:3): could not create unique index")
    states = database.sql("SELECT state FROM howdah_migrations ORDER BY position")
    assert states == ["done", "done", "started"]
    (line,) = run(database, "pool")
    assert "nobody saw its end" in line


@BOTH
def test_a_client_in_a_transaction_is_migrated(
    made: Made, shop: Sql, database: Database, tmp_path: Path
) -> None:
    (line,) = made(shop, tmp_path)(database, "begun")
    assert line == "MigrationError the connection is in a transaction, and steps have their own"
    assert database.value("SELECT to_regclass('howdah_migrations')") == "∅"


@BOTH
def test_settings_of_a_step_reach_other_users_of_a_pool(
    made: Made, shop: Sql, database: Database, tmp_path: Path
) -> None:
    shop.migration("2", "SET lock_timeout = '7s'", "SET search_path = pg_catalog", "SET ROLE pg_monitor")
    shop.migration("3", "CREATE TABLE d (e int)")
    run = made(shop, tmp_path)
    assert run(database, "pool") == ["3"]
    assert (
        database.value(
            "SELECT relowner::regrole = current_user::regrole FROM pg_class WHERE oid = 'public.d'::regclass"
        )
        == "t"
    )


@BOTH
def test_a_schema_or_a_name_of_a_step_becomes_code(made: Made, database: Database, tmp_path: Path) -> None:
    code = Sql("shop")
    code.migration(HOSTILE, f'CREATE TABLE a AS SELECT {quoted(HOSTILE)} AS b, 7 % 4 AS "$1"')
    run = made(code, tmp_path)
    database.sql('CREATE SCHEMA "$& {sqg} $\'"')
    arguments = ["client", HOSTILE, 'SET search_path = "$& {sqg} $\'"']
    assert run(database, *arguments) == ["1"]
    hexed = "SELECT encode(convert_to({}, 'UTF8'), 'hex') FROM \"$& {{sqg}} $'\".{}"
    for text, table in (("b", "a"), ("id", "howdah_migrations"), ("project", "howdah_migrations")):
        assert database.value(hexed.format(text, table)) == HOSTILE.encode().hex()
    assert run(database, *arguments) == ["0"]


@BOTH
def test_runners_of_one_program_apply_a_step_twice(
    made: Made, shop: Sql, database: Database, tmp_path: Path
) -> None:
    for number in range(2, 20):
        alone = number % 5 == 0
        sql = f"CREATE INDEX CONCURRENTLY i{number} ON a (b)" if alone else f"CREATE TABLE t{number} (a int)"
        shop.migration(str(number), sql, alone=alone)
    lines = made(shop, tmp_path)(database, "together")
    assert sum(map(int, lines)) == 19
    assert len(lines) == 4
    assert database.value("SELECT count(*) FROM howdah_migrations WHERE state = 'done'") == "19"


def test_a_future_of_rust_that_is_dropped_keeps_a_lock_or_half_a_step(
    shop: Sql, database: Database, tmp_path: Path
) -> None:
    shop.migration("2", "CREATE TABLE c (d int)", "LOCK TABLE a")
    shop.migration("3", "CREATE INDEX CONCURRENTLY i ON a (b)", alone=True)
    run = in_rust(shop, tmp_path)
    lock = "SELECT pg_advisory_xact_lock(hashtextextended('howdah migrations test', 0))"
    with psycopg.connect(database.dsn) as other:
        other.execute(lock)
        assert run(database, "cancelled") == ["cancelled"]
        assert database.value("SELECT to_regclass('howdah_migrations')") == "∅"
    with psycopg.connect(database.dsn) as other:
        assert run(database, "newer") == ["3"]
        database.sql("DELETE FROM howdah_migrations WHERE id <> '1'; DROP TABLE c; DROP INDEX i")
        other.execute("LOCK TABLE a IN ROW EXCLUSIVE MODE")
        assert run(database, "cancelled") == ["cancelled"]
        assert database.sql("SELECT id, to_regclass('c') FROM howdah_migrations") == ["1|∅"]
    assert run(database) == ["2"]
