"""Generated upserts: they do what a loop of single statements does, or nothing, and leave no table behind."""

import asyncio
import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import Database
from generated import ROOT, Sql, builtin, column, quoted
from java_program import compiled, run
from require import library
from test_generated_appenders import HOSTILE, double, hostile

psycopg = library("psycopg")
Generated = Any
Connection = Any

KEYS = {
    "one": ("PRIMARY KEY (a)", ["a"], False),
    "pair": ("UNIQUE (b, a)", ["b", "a"], True),
    "equal": ("UNIQUE NULLS NOT DISTINCT (a, b)", ["a", "b"], False),
    "whole": ("UNIQUE (a, b)", ["a", "b"], True),
}
"""Constraints, their columns, and whether nulls are distinct in them."""
FORMS = {"binary": "int4", "text": "point"}
"""Types that go by binary COPY and that do not."""
LEFT = "SELECT count(*) FROM pg_class WHERE relname LIKE 'howdah%'"


def cases() -> list[tuple[str, str, str, dict[str, str]]]:
    """Give each table of every key and form: its name, key, form, and columns with their types."""
    made = []
    for key in KEYS:
        for form, kind in FORMS.items():
            columns = {"a": "int4", "b": "text", "p": kind, "c": "int4"}
            columns = {"a": "int4", "b": "text"} if key == "whole" else columns
            made.append((f"{key}_{form}", key, form, columns))
    return made


def upserts(*, points: str = "p") -> Sql:
    """Give what reads rows of a source, with their points, and writes them by their key."""
    code = Sql("upserts")
    for name, key, _, columns in cases():
        _, names, distinct = KEYS[key]
        kinds = {column: builtin(kind) for column, kind in columns.items()}
        index: dict[str, Any] = {"name": f"{name}_key", "columns": names, "nulls_distinct": distinct}
        code.table(name, kinds, upsert=index, ignore=index, appender=name == "one_text")
        batch = {"name": "batch", "type": builtin("int4"), "nullable": False, "why": ""}
        listed = ", ".join(columns)
        if columns.get("p") == "point" and points != "p":
            listed, kinds = listed.replace("p,", f"{points},"), kinds | {"p": builtin("text")}
        code.statement(
            f"source_{name}",
            [f"SELECT {listed} FROM src_{name} WHERE batch = ", 0, " ORDER BY n"],
            parameters=[batch],
            columns=[column(each, kind) for each, kind in kinds.items()],
        )
    return code


def tables() -> str:
    """Make each table, one for a loop, and a source of rows with keys that repeat and nulls."""
    sql = "SELECT setseed(0.25);\n"
    for name, key, _, columns in cases():
        constraint, _, _ = KEYS[key]
        listed = ", ".join(f"{column} {kind}" for column, kind in columns.items())
        least = 1 if key == "one" else 0
        values = {
            "a": f"nullif(({least} + random() * {6 - least})::int, 0)",
            "b": "(ARRAY['x', 'X', 'y', 'ä', '', NULL])[1 + floor(random() * 6)]",
            "p": "nullif((random() * 3)::int, 0)" if columns.get("p") == "int4" else "point(random(), 1)",
            "c": "batch * 1000 + n",
        }
        given = ", ".join(values[column] for column in columns)
        sql += f"""
            CREATE TABLE {name} ({listed}, CONSTRAINT {name}_key {constraint});
            CREATE TABLE loop_{name} (LIKE {name} INCLUDING INDEXES);
            CREATE TABLE src_{name} (batch int, n int, {listed});
            INSERT INTO src_{name} SELECT batch, n, {given}
            FROM generate_series(1, 5) batch, generate_series(1, batch * 10) n;\n"""
    return sql


def looped(name: str, key: str, columns: dict[str, str], batch: int, verb: str) -> str:
    """Give a loop of single statements."""
    _, names, _ = KEYS[key]
    listed = ", ".join(columns)
    update = ", ".join(f"{column} = EXCLUDED.{column}" for column in columns if column not in names)
    action = f"UPDATE SET {update}" if update and verb == "upsert" else "NOTHING"
    return f"""
        DO $$ DECLARE r record; BEGIN
            FOR r IN SELECT * FROM src_{name} WHERE batch = {batch} ORDER BY n LOOP
                INSERT INTO loop_{name} ({listed}) VALUES ({", ".join(f"r.{column}" for column in columns)})
                ON CONFLICT ({", ".join(names)}) DO {action};
            END LOOP;
        END $$;"""


def differing(name: str, columns: dict[str, str]) -> str:
    """Count what the table and that of the loop do not share."""
    listed = ", ".join(f"{column}::text" for column in columns)
    one, other = (f"SELECT {listed} FROM {table}" for table in (name, f"loop_{name}"))
    return f"SELECT count(*) FROM (({one} EXCEPT ALL {other}) UNION ALL ({other} EXCEPT ALL {one})) x"


STEPS = [(1, "upsert"), (2, "ignore"), (3, "upsert"), (4, "ignore"), (5, "upsert"), (6, "upsert")]
"""Batches of the source, and what is done with them. The last one has no rows."""


def compare(database: Database, write: Callable[[str, int, str], int], *, ahead: bool = False) -> None:
    """Write batches by generated code and by loops; what is ahead of them is compared at the end."""
    database.sql(tables())
    for name, key, _, columns in cases():
        for batch, verb in STEPS:
            before = int(database.value(f"SELECT count(*) FROM loop_{name}"))
            given = write(name, batch, verb)
            database.sql(looped(name, key, columns, batch, verb))
            if not ahead or (batch, verb) == STEPS[-1]:
                assert database.value(differing(name, columns)) == "0", (name, batch, verb)
            # What a batch inserted or updated has its numbers; of rows that are only keys none is updated.
            new = f"SELECT count(*) FROM loop_{name} WHERE c / 1000 = {batch}"
            new = f"SELECT count(*) - {before} FROM loop_{name}" if key == "whole" else new
            assert given == int(database.value(new)), (name, batch, verb)
    assert database.value(LEFT) == "0"


@pytest.fixture
def module(tmp_path: Path) -> Generated:
    return upserts().load(tmp_path)


@pytest.fixture(params=["autocommit", "transaction"])
def connection(database: Database, request: pytest.FixtureRequest) -> Iterator[Generated]:
    with psycopg.connect(database.dsn, autocommit=request.param == "autocommit") as connection:
        yield connection


def test_an_upsert_differs_from_a_loop(module: Generated, database: Database, connection: Connection) -> None:
    shop = module.Upserts(connection)

    def write(name: str, batch: int, verb: str) -> int:
        rows = getattr(shop, f"source_{name}")(batch)
        changed = int(getattr(shop, f"{verb}_{name}")(iter(rows)))
        connection.commit()
        return changed

    compare(database, write)


def test_an_asynchronous_upsert_differs_from_a_loop(module: Generated, database: Database) -> None:
    async def run_one(name: str, batch: int, verb: str, *, autocommit: bool) -> int:
        connection = await psycopg.AsyncConnection.connect(database.dsn, autocommit=autocommit)
        async with connection:
            shop = module.AsyncUpserts(connection)
            rows = await getattr(shop, f"source_{name}")(batch)
            await connection.commit()
            return int(await getattr(shop, f"{verb}_{name}")(rows))

    def write(name: str, batch: int, verb: str) -> int:
        return asyncio.run(run_one(name, batch, verb, autocommit=batch % 2 == 0))

    compare(database, write)


@pytest.mark.parametrize("form", FORMS)
def test_an_upsert_that_ends_early_leaves_rows_or_a_table_or_spoils_the_transaction(
    module: Generated, database: Database, connection: Connection, form: str
) -> None:
    database.sql(tables() + f"ALTER TABLE one_{form} ADD CHECK (c < 100); CREATE TABLE log (a int)")
    shop, kind = module.Upserts(connection), getattr(module, f"One{form.capitalize()}Row")
    upsert = getattr(shop, f"upsert_one_{form}")

    def failing() -> Iterator[Generated]:
        for number in range(20_000):
            yield kind(number, "x" * 100, None, 1)
        message = "row k"
        raise KeyError(message)

    refusals = [
        (failing(), KeyError, "row k"),
        ([kind(1, None, None, 1), kind(2, 5, None, 1)], psycopg.DataError, "row 2, column b"),
        ([kind(1, None, None, 1), kind("x", None, None, 1)], psycopg.DataError, "2, column a"),
        ([kind(1, None, None, 1), kind(2, None, None, 100)], psycopg.errors.CheckViolation, "check"),
        ([kind(None, None, None, 1)], psycopg.errors.NotNullViolation, '"a"'),
    ]
    for number, (rows, error, told) in enumerate(refusals):
        connection.execute("INSERT INTO log VALUES (%s)", [number])
        with pytest.raises(error, match=told):
            upsert(rows)
        # The statement before is there, the connection goes on, and no table is left.
        assert connection.execute("SELECT count(*) FROM log").fetchone() == (number + 1,)
        assert connection.execute(LEFT).fetchone() == (0,)
    assert upsert([kind(1, "a", None, 1), kind(1, "b", None, 2)]) == 1
    assert connection.execute(LEFT).fetchone() == (0,)
    connection.commit()
    assert database.sql(f"SELECT a, b, c FROM one_{form}") == ["1|b|2"]
    assert database.value("SELECT count(*) FROM log") == str(len(refusals))


def test_an_upsert_ends_the_transaction_of_the_program(
    module: Generated, database: Database, connection: Connection
) -> None:
    database.sql(tables())
    row = module.OneBinaryRow(1, None, None, 1)
    if connection.autocommit:
        connection.execute("BEGIN")
    assert module.Upserts(connection).upsert_one_binary([row]) == 1
    assert database.value("SELECT count(*) FROM one_binary") == "0"
    connection.rollback()
    assert database.value("SELECT count(*) FROM one_binary") == "0"


def test_a_lost_connection_leaves_rows_or_hides_why(
    module: Generated, database: Database, connection: Connection
) -> None:
    database.sql(tables())

    def cut() -> Iterator[Generated]:
        yield module.OneBinaryRow(1, None, None, 1)
        database.sql(f"SELECT pg_terminate_backend({connection.info.backend_pid}, 10000)")
        for number in range(1_000_000):
            yield module.OneBinaryRow(number, "x", None, 1)

    with pytest.raises(psycopg.OperationalError):
        module.Upserts(connection).upsert_one_binary(cut())
    assert database.value("SELECT count(*) FROM one_binary") == "0"
    assert database.value(LEFT) == "0"


def test_an_identity_of_the_servers_that_rows_give_is_refused(
    database: Database, tmp_path: Path, connection: Connection
) -> None:
    database.sql("CREATE TABLE t (a int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, b text UNIQUE, c int)")
    code = Sql("identity")
    kinds = {"a": builtin("int4"), "b": builtin("text"), "c": builtin("int4")}
    code.table("t", kinds, upsert={"name": "t_b_key", "columns": ["b"], "nulls_distinct": True})
    code.tables[0]["columns"][0]["always"] = True
    module = code.load(tmp_path)
    shop, row = module.Identity(connection), module.TRow
    assert shop.upsert_t([row(7, "x", 1), row(8, "x", 2), row(5, None, 3), row(6, None, 3)]) == 3
    # What the server takes for an identity is never updated.
    assert shop.upsert_t([row(9, "x", 4)]) == 1
    given = connection.execute("SELECT a, b, c FROM t ORDER BY a").fetchall()
    assert given == [(5, None, 3), (6, None, 3), (8, "x", 4)]


def until(database: Database, statement: str, value: str) -> None:
    """Wait for a state of the server."""
    for _ in range(600):
        if database.value(statement) == value:
            return
        time.sleep(0.05)
    pytest.fail(f"{statement} is not {value}")


def test_two_upserts_in_opposite_orders_wait_for_each_other(module: Generated, database: Database) -> None:
    """One lock holds both back where, in the order of their rows, each has one that the other one needs."""
    database.sql(tables() + "INSERT INTO one_binary SELECT n, 'old', NULL, 0 FROM generate_series(1, 3) n")
    failed: list[Exception] = []

    def write(order: list[int], text: str) -> None:
        try:
            with psycopg.connect(database.dsn, autocommit=True) as connection:
                rows = [module.OneBinaryRow(number, text, None, 1) for number in order]
                module.Upserts(connection).upsert_one_binary(rows)
        except Exception as error:  # noqa: BLE001 - whatever it is, the test tells it
            failed.append(error)

    waiting = """SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
        AND wait_event_type = 'Lock'"""
    with psycopg.connect(database.dsn) as holder:
        holder.execute("SELECT FROM one_binary WHERE a = 2 FOR UPDATE")
        threads = []
        for number, (order, text) in enumerate((([1, 2, 3], "up"), ([3, 2, 1], "down")), 1):
            threads.append(threading.Thread(target=write, args=(order, text)))
            threads[-1].start()
            until(database, waiting, str(number))
        holder.rollback()
    for thread in threads:
        thread.join()
    assert failed == []
    assert database.sql("SELECT DISTINCT b FROM one_binary") == ["down"]


def hostile_upserts() -> Sql:
    """Give hostile names with keys of them."""
    code = hostile()
    code.tables[0] |= {
        "upsert": {"name": HOSTILE, "columns": [HOSTILE, "a b"], "nulls_distinct": True},
        "ignore": {"name": "int", "columns": ["int"]},
    }
    return code


def make_hostile(database: Database) -> None:
    """Make the table of hostile names, with a row."""
    name, labels = double(HOSTILE), ["happy", "Happy", "", HOSTILE, "class", "None", "mro"]
    listed = ", ".join(map(quoted, labels))
    database.sql(f"""
        CREATE SCHEMA {name}; CREATE TYPE {name}.{double(HOSTILE + "1")} AS ENUM ({listed});
        CREATE TYPE {name}.{double(HOSTILE + "2")} AS ({name} {name}.{double(HOSTILE + "1")}, class int);
        CREATE TABLE {name}.{name} ({name} {name}.{double(HOSTILE + "1")},
            self {name}.{double(HOSTILE + "2")}, int int UNIQUE, pg text, "a b" date, a_b int[],
            UNIQUE ({name}, "a b"));
        INSERT INTO {name}.{name}
        VALUES ('class', ('mro', 7), 1, {quoted(HOSTILE)}, '2000-01-01', '{{1,NULL}}')""")


def test_a_hostile_name_upserts(database: Database, tmp_path: Path) -> None:
    module = hostile_upserts().load(tmp_path)
    make_hostile(database)
    with psycopg.connect(database.dsn, autocommit=True) as connection:
        shop = module.Hostile(connection)
        (row,) = shop.import_(HOSTILE)
        values = [getattr(row, name) for name in row.__slots__]
        other = type(row)(*values[:2], 2, *values[3:])
        assert shop.ignore_t([row, other, other][:1]) == 0
        assert shop.upsert_t([row, row, other]) == 1
        assert shop.import_(HOSTILE) == [other]


def test_generated_upserts_fail_strict_checks(tmp_path: Path) -> None:
    path = hostile_upserts().write(tmp_path)
    only = upserts()
    only.statements.clear()
    for table in only.tables:
        table["appender"] = False
    only.write(tmp_path)
    mypy = [sys.executable, "-m", "mypy", "--strict", "--config-file="]
    mypy += [f"--cache-dir={ROOT / 'build' / 'mypy'}", path.name, "upserts.py"]
    ruff = [sys.executable, "-m", "ruff", "check", "--isolated", "--no-cache", "--target-version=py311"]
    ruff += ["--select=E,F,W,UP,B,SIM,PLE", "--ignore=E501", "."]
    for command in (mypy, ruff):
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


def pascal(name: str) -> str:
    return "".join(word.capitalize() for word in name.split("_"))


JAVA = """
import java.sql.Connection;
import java.util.ArrayList;
import java.util.List;

/** Argument: what it does, in which mode of autocommit. */
final class Upserting {
    private Upserting() {
    }

    public static void main(String[] arguments) throws Exception {
        try (Connection connection = Check.connect()) {
            connection.setAutoCommit(arguments[1].equals("autocommit"));
            switch (arguments[0]) {
                case "faults" -> faults(connection);
                case "hostile" -> hostile(connection);
                default -> steps(connection, new Upserts(connection));
            }
            Check.that("autocommit", connection.getAutoCommit() == arguments[1].equals("autocommit"));
            if (!connection.getAutoCommit()) {
                connection.commit();
            }
        }
    }

    private static void steps(Connection connection, Upserts shop) throws Exception {
STEPS    }

    private static void step(Connection connection, Check.Give<Long> step) throws Exception {
        System.out.println(step.give());
        if (!connection.getAutoCommit()) {
            connection.commit();
        }
    }

    private static long count(Connection connection, String sql) throws Exception {
        try (var statement = connection.createStatement(); var result = statement.executeQuery(sql)) {
            result.next();
            return result.getLong(1);
        }
    }

    private static void faults(Connection connection) throws Exception {
        Upserts shop = new Upserts(connection);
        var good = new Upserts.OneBinaryRow(1, "a", null, 1);
        List<Upserts.OneBinaryRow> withNull = new ArrayList<>(List.of(good));
        withNull.add(null);
        Iterable<Upserts.OneBinaryRow> failing = () -> new java.util.Iterator<>() {
            private int number;

            @Override
            public boolean hasNext() {
                return true;
            }

            @Override
            public Upserts.OneBinaryRow next() {
                if (number == 20_000) {
                    throw new IllegalStateException("row k");
                }
                return new Upserts.OneBinaryRow(number++, "x".repeat(100), null, 1);
            }
        };
        int done = 0;
        List<Check.Give<?>> steps = List.of(
            () -> shop.upsertOneBinary(List.of(good, new Upserts.OneBinaryRow(2, "\\0", null, 1))),
            () -> shop.upsertOneBinary(withNull),
            () -> shop.upsertOneBinary(List.of(good, new Upserts.OneBinaryRow(2, "a", null, 100))),
            () -> shop.upsertOneText(List.of(new Upserts.OneTextRow(1, "a", "none", 1))));
        List<String> why = List.of("row 2, column b", "row 2, column ?", "check", "line 1, column p");
        for (Check.Give<?> step : steps) {
            after(connection, done);
            Check.refused(why.get(done), why.get(done), step);
            check(connection, ++done);
        }
        after(connection, done);
        try {
            Check.wrong("failing: " + shop.upsertOneBinary(failing));
        } catch (IllegalStateException expected) {
            Check.that("failing: " + expected.getMessage(), "row k".equals(expected.getMessage()));
        }
        check(connection, ++done);
        var last = new Upserts.OneBinaryRow(1, "b", null, 2);
        Check.that("last", shop.upsertOneBinary(List.of(good, last)) == 1);
        check(connection, done);
    }

    private static void after(Connection connection, int done) throws Exception {
        try (var statement = connection.createStatement()) {
            statement.execute("INSERT INTO log VALUES (" + done + ")");
        }
    }

    /** The statement before is there, the connection goes on, and no table is left. */
    private static void check(Connection connection, int done) throws Exception {
        Check.that("log " + done, count(connection, "SELECT count(*) FROM log") == done);
        Check.that("left " + done, count(connection, "LEFT") == 0);
    }

    private static void hostile(Connection connection) throws Exception {
        Hostile shop = new Hostile(connection);
        var rows = shop.import_("HOSTILE");
        Check.that("one", rows.size() == 1);
        Check.that("ignored", shop.ignoreT(rows) == 0);
        Check.that("upserted", shop.upsertT(List.of(rows.get(0), rows.get(0))) == 1);
        Check.that("same", shop.import_("HOSTILE").equals(rows));
    }
}
"""


@pytest.fixture(scope="module")
def class_path(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Compile all modules and programs of this file at once."""
    lines = ""
    for name, _, _, columns in cases():
        stem, fields = pascal(name), ", ".join(f"row.{column}()" for column in columns)
        for batch, verb in STEPS:
            rows = f"shop.source{stem}({batch}).stream().map(row -> new Upserts.{stem}Row({fields})).toList()"
            lines += f"        step(connection, () -> shop.{verb}{stem}({rows}));\n"
    program = JAVA.replace("STEPS", lines).replace("LEFT", LEFT).replace('"HOSTILE"', json.dumps(HOSTILE))
    check = (Path(__file__).parent / "java" / "Check.java").read_text()
    folder = tmp_path_factory.mktemp("java")
    return compiled(folder, [upserts(), hostile_upserts()], {"Upserting.java": program, "Check.java": check})


@pytest.mark.parametrize("mode", ["autocommit", "transaction"])
def test_an_upsert_of_java_differs_from_a_loop(class_path: str, database: Database, mode: str) -> None:
    counts: list[str] = []

    def write(*_: object) -> int:
        if not counts:
            counts.extend(run(class_path, "Upserting", database, "steps", mode))
        return int(counts.pop(0))

    compare(database, write, ahead=True)
    assert counts == []


@pytest.mark.parametrize("mode", ["autocommit", "transaction"])
def test_an_upsert_of_java_that_ends_early_leaves_rows_or_a_table_or_spoils_the_transaction(
    class_path: str, database: Database, mode: str
) -> None:
    database.sql(tables() + "ALTER TABLE one_binary ADD CHECK (c < 100); CREATE TABLE log (a int)")
    assert run(class_path, "Upserting", database, "faults", mode) == []
    assert database.sql("SELECT a, b, c FROM one_binary") == ["1|b|2"]
    assert database.value("SELECT count(*) FROM log") == "5"
    assert database.value("SELECT count(*) FROM one_text") == "0"


def test_a_hostile_name_upserts_in_java(class_path: str, database: Database) -> None:
    make_hostile(database)
    assert run(class_path, "Upserting", database, "hostile", "autocommit") == []
