"""Types that a program has of its own stand in generated rows and parameters for those of columns."""

import asyncio
import json
import shutil
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import go_program
import java_program
import node_program
import pytest
import rust_program
from conftest import Database
from generated import ROOT, Sql, builtin, column, line, parameter, write
from require import library

psycopg = library("psycopg")

PROGRAMS = Path(__file__).parent / "own_types"
PYTHON = {
    "users.id": {
        "type": "UserId",
        "import": "from ids import UserId",
        "decode": "UserId({})",
        "encode": "{}.value",
    },
    "numeric": {
        "type": "Cents",
        "import": "from ids import Cents",
        "decode": "Cents.of({})",
        "encode": "{}.amount()",
    },
}
WHOLE = PYTHON | {
    "numeric[]": {
        "type": "ids.Prices",
        "import": "import ids",
        "decode": "ids.Prices(tuple({}))",
        "encode": "list({}.amounts)",
    },
    "users.prices": {
        "type": "ids.Prices | str",
        "import": "import ids",
        "decode": "ids.Prices(tuple({}))",
        "encode": "list({}.amounts if isinstance({}, ids.Prices) else ())",
    },
}
"""An array as a whole, of a type and of a column."""
JAVA = {
    "users.id": {"type": "OwnTypes.UserId", "decode": "new OwnTypes.UserId({})", "encode": "{}.value()"},
    "decimal": {"type": "OwnTypes.Cents", "decode": "OwnTypes.Cents.of({})", "encode": "{}.amount()"},
}
TYPESCRIPT = {
    "public.users.id": {
        "type": "UserId",
        "import": 'import { UserId } from "./ids.js"',
        "decode": "new UserId({})",
        "encode": "{}.value",
    },
    "numeric": {
        "type": "Cents",
        "import": 'import { Cents } from "./ids.js";',
        "decode": "Cents.of({})",
        "encode": "{}.amount()",
    },
}
GO = {
    "users.id": {
        "type": "ids.UserID",
        "import": "generated/ids",
        "decode": "ids.UserID{Value: {}}",
        "encode": "{}.Value",
    },
    "pg_catalog.numeric": {"type": "Cents", "decode": "CentsOf({})", "encode": "{}.Amount()"},
}
RUST = {
    "users.id": {
        "type": "UserId",
        "import": "crate::ids::UserId",
        "decode": "UserId({})",
        "encode": "{}.0",
    },
    "numeric": {
        "type": "Cents",
        "import": "use crate::ids::Cents;",
        "decode": "Cents::of(&{})?",
        "encode": "{}.amount()?",
    },
}
RUST_WHOLE = {
    "users.id": {"type": "crate::ids::Id"},
    "numeric[]": {"type": "crate::ids::Prices", "decode": "crate::ids::Prices({})", "encode": "{}.0.clone()"},
}
USERS = """
    CREATE TABLE users (id int8 PRIMARY KEY, price numeric(9,2) NOT NULL, least numeric(9,2),
                        prices numeric(9,2)[])
"""
FOUND = ["1|1.50|∅|∅", "2|2.75|1.00|{1.50,NULL,2.75}", "3|0.01|0.01|{}"]


def own() -> Sql:
    """Give statements whose columns and parameters have types of the program's."""
    code = Sql("own")
    place = {"origin": {"schema": "public", "table": "users", "column": "id"}}
    columns = [
        column("id", builtin("int8"), nullable=False) | place,
        column("price", builtin("numeric"), nullable=False),
        column("least", builtin("numeric")),
        column("prices", builtin("numeric", array=True)),
    ]
    select = "SELECT id, price, least, prices FROM users "
    code.statement("all_users", [select + "ORDER BY id"], columns=columns)
    code.statement(
        "get_user",
        [select + "WHERE id = ", 0],
        one=True,
        columns=columns,
        parameters=[parameter("id", builtin("int8"), nullable=False) | place],
    )
    number = "SELECT id FROM users WHERE "
    code.statement(
        "at_least",
        [number, 0, " IS NULL OR price >= ", 0, " ORDER BY id"],
        pluck=True,
        columns=columns[:1],
        parameters=[parameter("price", builtin("numeric"))],
    )
    code.statement(
        "with_prices",
        [number + "prices = ", 0],
        pluck=True,
        columns=columns[:1],
        parameters=[parameter("prices", builtin("numeric", array=True), nullable=False)],
    )
    kinds = {each["name"]: each["type"] for each in columns}
    code.table("users", kinds, upsert={"name": "users_pkey", "columns": ["id"]})
    for each in code.tables[0]["columns"]:
        each["nullable"] = each["name"] in ("least", "prices")
    return code


def types(said: dict[str, dict[str, str]]) -> str:
    return f"types={json.dumps(said)}"


@pytest.fixture
def python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a folder with generated code that imports the program's types."""
    monkeypatch.syspath_prepend(tmp_path)
    shutil.copy(PROGRAMS / "ids.py", tmp_path)
    sys.modules.pop("ids", None)
    return tmp_path


def test_python_has_other_types(database: Database, python: Path) -> None:
    made = own().load(python, types(PYTHON))
    ids = sys.modules["ids"]
    database.sql(USERS)
    some = [ids.Cents(150), None, ids.Cents(275)]
    rows = [
        made.UsersRow(ids.UserId(1), ids.Cents(150), None, None),
        made.UsersRow(ids.UserId(2), ids.Cents(275), ids.Cents(100), some),
        made.UsersRow(ids.UserId(3), ids.Cents(1), ids.Cents(1), []),
    ]
    with psycopg.connect(database.dsn, autocommit=True) as connection:
        code = made.Own(connection)
        assert code.bulk_insert_users_rows(rows[:2]) == 2
        assert code.upsert_users(rows[2:]) == 1
        assert code.all_users() == rows
        assert code.get_user(ids.UserId(2)) == rows[1]
        assert code.get_user_raw(ids.UserId(1)) == (ids.UserId(1), ids.Cents(150), None, None)
        assert code.get_user(ids.UserId(4)) is None
        assert code.at_least(None) == [ids.UserId(1), ids.UserId(2), ids.UserId(3)]
        assert code.at_least(ids.Cents(200)) == [ids.UserId(2)]
        assert code.with_prices(some) == [ids.UserId(2)]
        with connection.transaction():
            assert list(code.all_users_stream()) == rows

    async def asynchronous() -> object:
        async with await psycopg.AsyncConnection.connect(database.dsn) as connection:
            return await made.AsyncOwn(connection).get_user(ids.UserId(2))

    assert asyncio.run(asynchronous()) == rows[1]
    assert database.sql("SELECT * FROM users ORDER BY id") == FOUND


def test_an_array_is_one_value(database: Database, python: Path) -> None:
    made = own().load(python, types(WHOLE))
    ids = sys.modules["ids"]
    database.sql(USERS)
    prices = ids.Prices((Decimal("1.50"), None))
    with psycopg.connect(database.dsn) as connection:
        code = made.Own(connection)
        row = made.UsersRow(ids.UserId(1), ids.Cents(1), None, prices)
        assert code.bulk_insert_users_rows([row]) == 1
        assert code.all_users()[0].prices == prices
        assert code.with_prices(prices) == [ids.UserId(1)]


def test_an_alias_is_the_value_itself(database: Database, python: Path) -> None:
    said = {"users.id": {"type": "int | Number", "import": "from numbers import Number"}}
    made = own().load(python, types(said))
    assert made.UsersRow.__annotations__["id"] == "int | Number"
    database.sql(USERS)
    with psycopg.connect(database.dsn) as connection:
        code = made.Own(connection)
        row = made.UsersRow(1, Decimal("1.50"), None, None)
        assert code.bulk_insert_users_rows([row]) == 1
        assert code.get_user(1) == row


@pytest.mark.parametrize("said", [PYTHON, WHOLE])
def test_python_of_other_types_is_typed(python: Path, said: dict[str, dict[str, str]]) -> None:
    path = own().write(python, types(said))
    wrong = python / "wrong.py"
    wrong.write_text(
        "import psycopg\nfrom ids import Cents, UserId\nfrom own import Own\n\n"
        "def use(own: Own) -> Cents | None:\n"
        "    own.get_user(1)\n"
        "    row = own.get_user(UserId(1))\n"
        "    return row and row.id\n"
    )
    mypy = [sys.executable, "-m", "mypy", "--strict", "--config-file="]
    mypy += [f"--cache-dir={ROOT / 'build' / 'mypy'}"]
    for names, expected in (([path.name], []), (["wrong.py"], ["arg-type", "return-value"])):
        done = subprocess.run([*mypy, *names], cwd=python, capture_output=True, text=True, check=False)
        told = [line.rsplit("[", 1)[1].rstrip("]") for line in done.stdout.splitlines() if " error: " in line]
        assert told == expected, done.stdout + done.stderr


def test_java_has_other_types(database: Database, tmp_path: Path) -> None:
    java_program.driver()
    write([own()], "java/postgres", tmp_path, types(JAVA))
    programs = {
        "OwnTypes.java": (PROGRAMS / "OwnTypes.java").read_text(),
        "Check.java": (java_program.PROGRAMS / "Check.java").read_text(),
    }
    classes = java_program.compiled(tmp_path, None, programs)
    database.sql(USERS)
    assert java_program.run(classes, "OwnTypes", database) == []
    assert database.sql("SELECT * FROM users ORDER BY id") == FOUND


def test_typescript_has_other_types(database: Database, tmp_path: Path) -> None:
    node_program.driver()
    write([own()], "typescript/postgres", tmp_path, types(TYPESCRIPT))
    programs = {name: (PROGRAMS / name).read_text() for name in ("owntypes.ts", "ids.ts")}
    programs["check.ts"] = (node_program.PROGRAMS / "check.ts").read_text()
    code = node_program.compiled(tmp_path, programs)
    database.sql(USERS)
    assert node_program.run(code, "owntypes.js", database) == []
    assert database.sql("SELECT * FROM users ORDER BY id") == FOUND


def test_go_has_other_types(database: Database, tmp_path: Path) -> None:
    go_program.driver()
    for folder in ("own", "ids"):
        (tmp_path / folder).mkdir()
    write([own()], "go/postgres", tmp_path / "own", "package=own", types(GO))
    programs = {
        "main.go": (PROGRAMS / "main.go").read_text(),
        "own/cents.go": (PROGRAMS / "cents.go").read_text(),
        "ids/ids.go": "package ids\n\n// UserID is a key.\ntype UserID struct{ Value int64 }\n",
    }
    program = go_program.built(tmp_path, {}, programs)
    gofmt = ["gofmt", "-l", "own"]
    unlike = subprocess.run(gofmt, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert unlike.stdout == ""
    database.sql(USERS)
    assert go_program.run(program, database) == []
    assert database.sql("SELECT * FROM users ORDER BY id") == [*FOUND[:2], "3|0.01|0.01|∅"]


def test_rust_has_other_types(database: Database, tmp_path: Path) -> None:
    code = own()
    place = {"origin": {"schema": "public", "table": "users", "column": "id"}}
    number = parameter("id", builtin("int8"), nullable=False) | place
    least = parameter("least", builtin("numeric"))
    code.statement(
        "raise",
        ["UPDATE users SET least = least WHERE id = ", 0, " AND ", 1, " IS NULL OR id = ", 0],
        kind="exec",
        batch=True,
        parameters=[number, least],
    )
    prices = builtin("numeric", array=True)
    code.statement(
        "filtered",
        ["SELECT id FROM users WHERE true", line(0, " AND price = ", 0), line(1, " AND prices = ", 1)],
        pluck=True,
        batch=True,
        columns=[column("id", builtin("int8"), nullable=False) | place],
        parameters=[parameter("price", builtin("numeric")), parameter("prices", prices)],
    )
    write([code], "rust/postgres", tmp_path, types(RUST))
    whole = own()
    whole.name = "whole"
    write([whole], "rust/postgres", tmp_path, types(RUST_WHOLE))
    (tmp_path / "model.json").unlink()
    programs = {"main.rs": "own.rs", "ids.rs": "ids.rs"}
    programs = {name: (PROGRAMS / file).read_text() for name, file in programs.items()}
    program = rust_program.compiled([], programs, tmp_path)
    rust_program.lint("own", "whole", "howdah_postgres")
    database.sql(USERS)
    assert rust_program.run(program, database) == []
    assert database.sql("SELECT * FROM users ORDER BY id") == [*FOUND[:2], "3|0.01|0.01|∅"]
