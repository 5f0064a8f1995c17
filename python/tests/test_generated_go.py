"""Generated Go: values go through it unchanged or are refused, appends leave all rows or none."""

from pathlib import Path

import pytest
from conftest import Database
from generated import Sql, Type, builtin, column, own, quoted
from go_program import PROGRAMS, built, run
from test_generated_appenders import HOSTILE, double, hostile
from test_generated_java import ESCAPES, JAVA_LITERALS
from test_generated_types import LITERALS, MADE, OWN, TYPES, binary_of, psycopg

GO_LITERALS = JAVA_LITERALS | {
    "numeric": [*LITERALS["numeric"], *JAVA_LITERALS["numeric"], "0.0000000", "-0.00001", "10000.00001"],
    "numrange": LITERALS["numrange"],
    "time": [*LITERALS["time"], "24:00"],
    "timetz": [*JAVA_LITERALS["timetz"], "24:00+00"],
}
PLACED = {"int4": "[0:1]={1,2}", "mood": "[2:2][-1:0]={{happy,NULL}}", "point": '[-1:0]={"(1,2)",NULL}'}
LITERAL_TYPES = """
CREATE TYPE spot AS (a int, at point);
CREATE DOMAIN places AS point;
CREATE DOMAIN numbers AS int CHECK (value < 9);
CREATE TYPE counted AS (n numbers, ns numbers[], at places, r int4range, ms nummultirange[]);
CREATE TYPE counts AS (n numbers, ns numbers[], r int4range, ms nummultirange[]);
"""
MORE: dict[str, list[str]] = {
    "spot": ['(1,"(1,2)")', "(,)"],
    "places": ["(1,-0.1)"],
    "numbers": ["1"],
    "counted": ['(1,"{1,NULL}","(1,2)","[1,3)","{\\"{[1.10,2]}\\"}")'],
    "counts": ['(1,"{1,NULL}","[1,3)","{\\"{[1.10,2]}\\"}")', "(,,,)"],
}


def _domain(name: str, base: Type) -> Type:
    return {"schema": "public", "name": name, "kind": "domain", "base": base, "not_null": False}


def _composite(name: str, fields: dict[str, Type]) -> Type:
    listed = [{"name": field, "type": kind} for field, kind in fields.items()]
    return {"schema": "public", "name": name, "kind": "composite", "fields": listed}


_COUNTS = {
    "n": own("numbers"), "ns": own("numbers", array=True), "at": own("places"), "r": builtin("int4range"),
    "ms": builtin("nummultirange", array=True),
}  # fmt: skip
GO_TYPES = [
    *TYPES, _composite("spot", {"a": builtin("int4"), "at": builtin("point")}),
    _domain("places", builtin("point")), _domain("numbers", builtin("int4")), _composite("counted", _COUNTS),
    _composite("counts", {name: kind for name, kind in _COUNTS.items() if name != "at"}),
]  # fmt: skip


def cases() -> list[tuple[str, Type, list[str]]]:
    """Give each type and its array: a name, the type, and expressions of its values."""
    made = []
    for kinds, give in ((GO_LITERALS, builtin), (OWN | MORE, own)):
        for name, literals in kinds.items():
            scalar, array = give(name), give(name, array=True)
            values = [f"{quoted(literal)}::{scalar['sql']}" for literal in literals]
            ends = values[0], values[-1]
            arrays = ["ARRAY[]", f"ARRAY[{', '.join(values)}, NULL]", "ARRAY[NULL]"]
            arrays += [f"ARRAY[[{ends[0]}, NULL], [NULL, {ends[1]}]]", f"ARRAY[[[{ends[0]}]], [[{ends[1]}]]]"]
            arrays += [quoted(PLACED[name])] if name in PLACED else []
            stem = name.replace(" ", "_")
            made.append((f"c_{stem}", scalar, [*values, "NULL"]))
            made.append((f"a_{stem}", array, [*(f"{a}::{array['sql']}" for a in arrays), "NULL"]))
    return made


def pascal(name: str) -> str:
    words = name.split("_")
    return "".join(
        word.upper() if word in ("json", "uuid") else word[:1].upper() + word[1:] for word in words
    )


def shop() -> tuple[Sql, str]:
    """Give a table for each type, what reads it and writes its copy, and their program."""
    code, lines = Sql("shop", types=GO_TYPES), []
    for name, kind, values in cases():
        for suffix, nullable, where in (("", True, ""), ("_set", False, " WHERE v IS DISTINCT FROM NULL")):
            columns = [column("n", builtin("int4"), nullable=False), column("v", kind, nullable=nullable)]
            text = f"SELECT n, v FROM src_{name}{where} ORDER BY n"
            code.statement(f"read_{name}{suffix}", [text], columns=columns)
            code.table(name + suffix, {"n": builtin("int4"), "v": kind})
            for table_column in code.tables[-1]["columns"]:
                table_column["nullable"] = nullable and table_column["name"] == "v"
            code.statement(
                f"same_{name}{suffix}",
                [f"SELECT n FROM src_{name} WHERE ROW(v)::text IS NOT DISTINCT FROM ROW(", 0, ")::text LIMIT 1"],  # noqa: E501
                parameters=[{"name": "v", "type": kind, "nullable": nullable, "why": ""}],
                pluck=True, one=True, columns=[column("n", builtin("int4"))],
            )  # fmt: skip
            stem, count = pascal(name + suffix), len(values) - (0 if nullable else 1)
            lines.append(
                f'roundTrip(ctx, "{name}{suffix}", {count}, q.Read{stem}, q.Read{stem}Stream, shop.Rows, '
                f"q.Append{stem}, q.Same{stem})"
            )
    return code, _program("roundTrips", "shop", lines)


def _program(name: str, package: str, lines: list[str], imports: str = "") -> str:
    body = "\n\t".join(lines)
    return f"""package main

import (
	"context"
{imports}
	"github.com/jackc/pgx/v5/pgxpool"

	"generated/{package}"
)

func {name}(ctx context.Context, pool *pgxpool.Pool) {{
	q := {package}.New(pool)
	{body}
}}
"""


REFUSED = {
    "date": ["infinity", "-infinity"],
    "timestamp": ["infinity", "-infinity"],
    "timestamptz": ["infinity", "-infinity"],
    "daterange": ["[2000-01-01,infinity]"],
    "datemultirange": ["{[2000-01-01,infinity]}"],
    "tstzrange": ["[-infinity,2000-01-01]"],
    "date[]": ["{infinity}"],
}


def refused() -> tuple[Sql, str]:
    """Give queries of values that Go cannot hold, and a program that reads each."""
    code, lines = Sql("readrefused", types=TYPES), []
    for number, (name, literals) in enumerate(REFUSED.items()):
        kind = builtin(name.removesuffix("[]"), array=name.endswith("[]"))
        for place, literal in enumerate(literals):
            text: list[str | int] = [f"SELECT {quoted(literal)}::{kind['sql']}"]
            code.statement(f"q{number}x{place}", text, one=True, pluck=True, columns=[column("v", kind)])
            told = f'"{name} {literal}", "infinity, which time.Time cannot hold"'
            lines.append(f"{{ _, err := q.Q{number}x{place}(ctx); refused({told}, err) }}")
    # An enum that got a label behind the code's back.
    code.statement("label", ["SELECT 'new'::mood"], one=True, pluck=True, columns=[column("v", own("mood"))])
    lines.append('{ _, err := q.Label(ctx); refused("a label", "column mood: \\"new\\" is no label", err) }')
    return code, _program("readRefused", "readrefused", lines)


UTC = "time.UTC)"
TOO_MUCH = {
    "text": ['"a\\x00b"', '"\\xff"'],
    "json": ['json.RawMessage("\\x00")'],
    "numeric": ['"1e5"', '""', '"."', '"1."', '"+1"', '"nan"', '" 1"', '"1" + toomuch.Numeric(strings.Repeat("0", 131072))', '"0." + toomuch.Numeric(strings.Repeat("0", 16384))'],  # noqa: E501
    "date": [
        f"time.Date(2000, 1, 1, 0, 0, 0, 1, {UTC}", "time.Date(2000, 1, 1, 0, 0, 0, 0, time.Local)",
        f"time.Date(5874898, 1, 1, 0, 0, 0, 0, {UTC}", f"time.Date(-4713, 11, 23, 0, 0, 0, 0, {UTC}",
        f"time.Date(1<<40, 1, 1, 0, 0, 0, 0, {UTC}",
    ],
    "time": ["-1", "24*time.Hour + 1000", "1"],
    "timetz": ["toomuch.TimeTZ{Offset: 16 * time.Hour}", "toomuch.TimeTZ{Offset: 1}", "toomuch.TimeTZ{Time: -1000}"],  # noqa: E501
    "timestamp": [
        f"time.Date(2000, 1, 1, 0, 0, 0, 1, {UTC}", "time.Date(2000, 1, 1, 0, 0, 0, 0, time.Local)",
        f"time.Date(294277, 1, 1, 0, 0, 0, 0, {UTC}", f"time.Date(-4713, 11, 23, 0, 0, 0, 0, {UTC}",
        f"time.Date(1<<40, 1, 1, 0, 0, 0, 0, {UTC}",
    ],
    "timestamptz": [f"time.Date(2000, 1, 1, 0, 0, 0, 1, {UTC}", f"time.Date(294277, 1, 1, 0, 0, 0, 0, {UTC}"],
    "inet": ["netip.Prefix{}"],
    "cidr": ['netip.MustParsePrefix("10.0.0.1/8")'],
    "mood": ['"none"'],
    "int4range": [
        "toomuch.Range[int32]{LowerInclusive: true}", "toomuch.Range[int32]{Empty: true, UpperInclusive: true}",  # noqa: E501
    ],
    "int4[]": [
        "toomuch.Array[int32]{Dims: []toomuch.Dimension{{Length: 2, LowerBound: 1}}}",
        "toomuch.Array[int32]{Elements: make([]*int32, 3), Dims: []toomuch.Dimension{{Length: 2, LowerBound: 1}, {Length: 2, LowerBound: 1}}}",  # noqa: E501
        "toomuch.Array[int32]{Elements: make([]*int32, 1), Dims: []toomuch.Dimension{{Length: 1, LowerBound: 2147483647}}}",  # noqa: E501
        "toomuch.Array[int32]{Elements: make([]*int32, 1), Dims: make([]toomuch.Dimension, 7)}",
        "toomuch.Array[int32]{Dims: []toomuch.Dimension{{Length: 0, LowerBound: 1}}}",
    ],
    "date[]": [f"toomuch.ArrayOf(time.Date(2000, 1, 1, 1, 0, 0, 0, {UTC})"],
    "text[]": ['toomuch.ArrayOf("\\x00")'],
}  # fmt: skip


def too_much() -> tuple[Sql, str]:
    """Give tables for types, and a program that writes what these cannot hold, by COPY and as parameters."""
    code, lines = Sql("toomuch", types=TYPES), []
    for number, (name, values) in enumerate(TOO_MUCH.items()):
        give = own if name == "mood" else builtin
        kind = give(name.removesuffix("[]"), array=name.endswith("[]"))
        code.table(f"t{number}", {"v": kind})
        code.tables[-1]["columns"][0]["nullable"] = False
        parameter = {"name": "v", "type": kind, "nullable": False, "why": ""}
        code.statement(
            f"set{number}", [f"INSERT INTO t{number} VALUES (", 0, ")"], kind="exec", parameters=[parameter]
        )
        for place, value in enumerate(values):
            lines.append(f"""{{
		rows := toomuch.Rows([]toomuch.T{number}Row{{{{V: {value}}}}})
		_, err := q.AppendT{number}(ctx, rows)
		refused("{name} {place}", "row 1, column v: ", err)
		_, err = q.Set{number}(ctx, {value})
		refused("{name} {place} as parameter", "parameter v: ", err)
	}}""")
    imports = '\t"encoding/json"\n\t"net/netip"\n\t"strings"\n\t"time"\n'
    return code, _program("writeTooMuch", "toomuch", lines, imports)


def faults(name: str, last: str) -> Sql:
    """Give a table whose appends go in binary or as text."""
    code = Sql(f"faults{name}")
    code.table("t", {"a": builtin("int4"), "b": builtin("date"), "c": builtin(last)})
    return code


def queries() -> Sql:
    """Give statements of every form."""
    code = Sql("queries")
    a = {"name": "a", "type": builtin("int4"), "nullable": False, "why": ""}
    b = {"name": "b", "type": builtin("text"), "nullable": True, "why": ""}
    number, text = builtin("int4"), builtin("text")
    code.statement(
        "operators", ["SELECT '$1' /* $1 ` */ AS \"?\" WHERE '{\"a\": 1}'::jsonb ? ", 0, " AND true"],
        parameters=[b], columns=[column("?", text, nullable=False)], pluck=True,
    )  # fmt: skip
    insert: list[str | int] = ["INSERT INTO t (a, b) VALUES (", 0, ", ", 1, ")"]
    code.statement("add", insert, kind="exec", parameters=[a, b], batch=True)
    row = [column("a", number, nullable=False), column("b", text)]
    code.statement(
        "add_returning", [*insert, " RETURNING a, b"], parameters=[a, b], columns=row, batch=True, one=True
    )
    code.statement("touch", ["UPDATE t SET b = b WHERE a = ", 0], kind="exec", parameters=[a])
    code.statement(
        "twice", ["SELECT ", 0, " + ", 0, " AS a, ", 1, " AS b"], parameters=[a, b], columns=row, one=True,
        result="Item",
    )  # fmt: skip
    code.statement("all_items", ["SELECT a, b FROM t ORDER BY a"], columns=row, result="Item")
    count = [column("count", builtin("int8"), nullable=False)]
    code.statement("count", ["SELECT count(*) FROM t"], columns=count, pluck=True, one=True)
    code.statement("all_b", ["SELECT b FROM t ORDER BY a"], columns=[column("b", text)], pluck=True)
    whole = [column("g", number, nullable=False)]
    numbers: list[str | int] = ["SELECT g / (2501 - g) * 0 FROM generate_series(1, ", 0, ") g"]
    code.statement("numbers", numbers, pluck=True, parameters=[a], columns=whole)
    code.statement("quotient", ["SELECT 10 / ", 0], pluck=True, parameters=[a], columns=whole, batch=True)
    code.statement("no_row", ["SELECT 1 AS g WHERE false"], pluck=True, columns=whole, one=True)
    null = [column("v", number, nullable=False)]
    code.statement("nothing", ["SELECT NULL::int AS v"], pluck=True, columns=null, one=True)
    return code


MOOD = {"schema": "public", "name": "mood", "kind": "enum", "labels": ["happy", "sad"]}


def several() -> list[Sql]:
    """Give modules of one package, whose names are the same."""
    made = []
    for name in ("first", "second"):
        code = Sql(name, types=[MOOD])
        parameter = {"name": "mood", "type": own("mood"), "nullable": False, "why": ""}
        columns = [column("mood", own("mood"), nullable=False)]
        code.statement("get", ["SELECT ", 0, " AS mood"], parameters=[parameter], columns=columns, one=True)
        code.table("t", {"moods": own("mood", array=True), "r": builtin("int4range")})
        made.append(code)
    return made


def words() -> Sql:
    """Give names that mean something in Go, and texts of which Go would make code."""
    names = [
        "string",
        "type",
        "func",
        "range",
        "error",
        "nil",
        "len",
        "append",
        "context",
        "iter",
        "time",
        "json",
    ]
    names += [
        "pgx",
        "q",
        "ctx",
        "p",
        "arg",
        "db",
        "rows",
        "items",
        "batch",
        "v",
        "new",
        "with_tx",
        "queries",
        "dbtx",
    ]
    names += [
        "array",
        "codec",
        "set",
        "one",
        "all",
        "stream",
        "init",
        "main",
        "int8_codec",
        "valid",
        "uuid",
        "i",
    ]
    labels = ["valid", "1", "", ESCAPES, "type", "`\r"]
    code = Sql("wordy", types=[
        {"schema": "public", "name": name, "kind": "enum", "labels": labels}
        for name in ("string", "array", "queries", "numeric", "int8_codec")
    ])  # fmt: skip
    text = builtin("text")
    for name in names:
        parameters = [{"name": name, "type": text, "nullable": False, "why": ""}]
        documentation = [
            ESCAPES,
            "# Heading",
            "",
            "  - list",
            "go:build ignore",
            "[x]: y",
            "\tcode",
            "Deprecated: no",
        ]
        code.statement(
            name, ["SELECT ", 0, f" AS {double(name)}"], parameters=parameters, batch=True,
            columns=[column(name, text, nullable=False)], documentation=documentation,
        )  # fmt: skip
        code.table(name, dict.fromkeys(names, text))
    for number, kind in enumerate(code.types):
        columns = [column("v", own(kind["name"]), nullable=False)]
        sql: list[str | int] = [f"SELECT {quoted(ESCAPES)}::public.{double(kind['name'])}"]
        code.statement(f"enum{number}", sql, columns=columns, pluck=True, one=True)
    texts = [
        "  a \n b\t\n\n   c",
        "a\r\nb\n",
        "`a`\n",
        "\\\n\\u0022",
        "\f\n\x0b",
        "\u3000\n\u2028\ufeff",
        ESCAPES,
        '"',
    ]
    for number, each in enumerate(texts):
        value = [column("v", text, nullable=False)]
        code.statement(
            f"text{number}", [f"SELECT E'' ||\n{quoted(each)}"], pluck=True, one=True, columns=value
        )
    return code


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build all packages and programs of this file at once."""
    folder = tmp_path_factory.mktemp("go")
    made = {"roundtrip.go": shop(), "refused.go": refused(), "toomuch.go": too_much()}
    programs = {name: text for name, (_, text) in made.items()}
    programs |= {path.name: path.read_text() for path in PROGRAMS.glob("*.go")}
    modules = [code for code, _ in made.values()]
    modules += [faults("binary", "int4"), faults("text", "point"), hostile(), queries(), words()]
    return built(folder, {code.name: [code] for code in modules} | {"several": several()}, programs)


def test_a_value_of_any_type_is_changed_on_its_way_through_go(program: Path, database: Database) -> None:
    sql = MADE + LITERAL_TYPES
    for name, kind, values in cases():
        for table in (f"src_{name}", name, f"{name}_set"):
            sql += f"CREATE TABLE {table} (n int, v {kind['sql']});\n"
        rows = ", ".join(f"({n}, {value})" for n, value in enumerate(values))
        sql += f"INSERT INTO src_{name} VALUES {rows};\n"
    database.sql(sql)
    wrong = run(program, database, "roundtrip")
    compare = ""
    for name, *_ in cases():
        # Of a composite value that has only nulls, IS NULL is true.
        nulls = f"SELECT n, v FROM src_{name} WHERE v IS NOT DISTINCT FROM NULL"
        compare += f"INSERT INTO {name}_set {nulls};\n"
        for table in (name, f"{name}_set"):
            compare += f"""
                SELECT '{table}', s.n, s.v, d.v FROM src_{name} s FULL JOIN {table} d USING (n)
                WHERE ROW(s.v)::text IS DISTINCT FROM ROW(d.v)::text OR s.n IS NULL OR d.n IS NULL;\n"""
    wrong += database.sql(compare)
    with psycopg.connect(database.dsn, autocommit=True) as connection:
        for name, *_ in cases():
            tables = (f"src_{name}", name, f"{name}_set")
            source, *copies = (binary_of(connection, table) for table in tables)
            wrong += [f"{name}: other bytes" for copy in copies if copy != source]
    assert wrong == []


def test_a_value_that_go_cannot_hold_is_changed_and_not_refused(program: Path, database: Database) -> None:
    database.sql(MADE + "ALTER TYPE mood ADD VALUE 'new'")
    assert run(program, database, "refused") == []


def test_a_value_that_its_type_cannot_hold_is_changed_by_go(program: Path, database: Database) -> None:
    database.sql(MADE + "".join(f"CREATE TABLE t{n} (v {name});" for n, name in enumerate(TOO_MUCH)))
    assert run(program, database, "toomuch") == []
    for number in range(len(TOO_MUCH)):
        assert database.value(f"SELECT count(*) FROM t{number}") == "0"


@pytest.mark.parametrize("form", ["binary", "text"])
def test_an_append_that_ends_early_leaves_rows_or_keeps_the_connection(
    program: Path, database: Database, form: str
) -> None:
    last = "int" if form == "binary" else "point"
    database.sql(f"CREATE TABLE t (a int PRIMARY KEY, b date, c {last})")
    assert run(program, database, "appending", form) == []


def test_a_statement_gives_something_else_or_leaves_a_transaction_open(
    program: Path, database: Database
) -> None:
    database.sql("CREATE TABLE t (a int, b text); CREATE TYPE mood AS ENUM ('happy', 'sad')")
    assert run(program, database, "statements") == []


def test_a_hostile_name_becomes_go(program: Path, database: Database) -> None:
    name, labels = double(HOSTILE), ["happy", "Happy", "", HOSTILE, "class", "None", "mro"]
    listed = ", ".join(map(quoted, labels))
    database.sql(f"""
        CREATE SCHEMA {name}; CREATE TYPE {name}.{double(HOSTILE + "1")} AS ENUM ({listed});
        CREATE TYPE {name}.{double(HOSTILE + "2")} AS ({name} {name}.{double(HOSTILE + "1")}, class int);
        CREATE TABLE {name}.{name} ({name} {name}.{double(HOSTILE + "1")},
            self {name}.{double(HOSTILE + "2")}, int int, pg text,
            "a b" date, a_b int[])""")
    assert run(program, database, "hostile") == []
    assert database.value(f"SELECT count(*) FROM {name}.{name}") == "1"


def test_a_word_or_an_escape_of_go_becomes_code(program: Path, database: Database) -> None:
    code = words()
    kinds = [
        f"CREATE TYPE public.{double(kind['name'])} AS ENUM ({', '.join(map(quoted, kind['labels']))});"
        for kind in code.types
    ]
    database.sql("".join(kinds))
    expected = []
    for statement in code.statements:
        if statement["name"][:4] in ("text", "enum"):
            text = statement["sql"][0]["text"].removeprefix("SELECT ")
            value = database.value(f"SELECT encode(convert_to(({text})::text, 'UTF8'), 'hex')")
            expected.append(f"{statement['name'].capitalize()} {value}")
    assert run(program, database, "words") == sorted(expected)
