"""Generated TypeScript: values go through it unchanged or are refused, appenders leave all rows or none."""

from pathlib import Path

import pytest
from conftest import Database
from generated import Sql, Type, builtin, column, own, quoted, write
from node_program import PROGRAMS, check, compiled, driver, run
from test_generated_appenders import HOSTILE, double, hostile
from test_generated_types import LITERALS, MADE, OWN, TYPES, binary_of, psycopg

TEXTS = LITERALS | {
    "numeric": [
        *LITERALS["numeric"], "0", "-0.0001", "10000", "9999.9999", "100000000.00000001", "1e-16383",
        "1e131071", "-12345.678", "0.00001", "1.50",
    ],
    "date": [*LITERALS["date"], "4714-11-24 BC", "5874897-12-31", "0001-02-29 BC", "infinity", "-infinity", "1999-12-31", "1900-03-01"],  # noqa: E501
    "time": [*LITERALS["time"], "24:00"],
    "timetz": ["00:00:00+15:59", "23:59:59.999999-12", "12:00:00.1+00", "12:00:00+15:59:59", "24:00-00:00:01"],  # noqa: E501
    "timestamp": [
        *LITERALS["timestamp"], "4714-11-24 00:00:00 BC", "294276-12-31 23:59:59.999999", "infinity", "-infinity",  # noqa: E501
    ],
    "timestamptz": [
        *LITERALS["timestamptz"], "1850-06-01 00:00:00+00", "4714-11-25 00:00:00+00 BC", "294276-12-31 12:00:00+00",  # noqa: E501
        "infinity", "-infinity",
    ],
    "daterange": [*LITERALS["daterange"], "[2000-01-01,infinity]"],
}  # fmt: skip
"""What TypeScript holds with `timestamps: string`."""
DATES = {
    "timestamptz": [
        "0001-01-01 00:00:00+00 BC", "9999-12-30 23:59:59.999+00", "1850-06-01 00:00:00+00", "2000-01-01 00:00:00.1+02",  # noqa: E501
        "4714-11-25 00:00:00+00 BC", "10000-01-01 00:00:00+00", "0044-03-15 12:00:00.001+00 BC", "275760-09-13 00:00:00+00",  # noqa: E501
        "0099-12-31 23:00:00+00", "1969-12-31 23:59:59.999+00",
    ],
    "tstzrange": ["[2000-01-01 00:00:00+00,2001-01-01 00:00:00+05]", "(,)"],
    "tstzmultirange": ["{[2000-01-01 00:00:00+00,)}"],
}  # fmt: skip
"""What a Date holds."""
Cases = list[tuple[str, Type, list[str]]]


def cases(prefix: str, literals: dict[str, list[str]], made: dict[str, list[str]]) -> Cases:
    """Give each type and its array: a name, the type, and expressions of its values."""
    found = []
    for kinds, give in ((literals, builtin), (made, own)):
        for name, values in kinds.items():
            scalar, array = give(name), give(name, array=True)
            written = [f"{quoted(value)}::{scalar['sql']}" for value in values]
            grid = f"ARRAY[[{written[0]}, NULL], [NULL, {written[-1]}]]"
            arrays = ["ARRAY[]", f"ARRAY[{', '.join(written)}, NULL]", grid, "ARRAY[NULL]"]
            stem = prefix + name.replace(" ", "_")
            found.append((f"c{stem}", scalar, [*written, "NULL"]))
            found.append((f"a{stem}", array, [*(f"{a}::{array['sql']}" for a in arrays), "NULL"]))
    return found


TEXT_CASES = cases("_", TEXTS, OWN)
DATE_CASES = cases("_date_", DATES, OWN)


def pascal(name: str) -> str:
    return "".join(word[:1].upper() + word[1:] for word in name.split("_"))


def shop(name: str, kinds: Cases) -> tuple[Sql, str]:
    """Give what reads tables of all types and writes their copies, and its program."""
    code, lines = Sql(name, types=TYPES), []
    for table, kind, values in kinds:
        columns = [column("n", builtin("int4")), column("v", kind)]
        code.statement(f"read_{table}", [f"SELECT n, v FROM src_{table} ORDER BY n"], columns=columns)
        code.table(table, {"n": builtin("int4"), "v": kind})
        parameter = {"name": "v", "type": kind, "nullable": True, "why": ""}
        sql = f"SELECT n FROM src_{table} WHERE ROW(v)::text IS NOT DISTINCT FROM ROW("
        code.statement(
            f"same_{table}", [sql, 0, ")::text LIMIT 1"], pluck=True, one=True, parameters=[parameter],
            columns=[column("n", builtin("int4"))],
        )  # fmt: skip
        stem = pascal(table)
        lines.append(f"""
await check.run("{table}", async () => {{
  const rows = await shop.read{stem}();
  check.like("{table}: rows", rows.length, {len(values)});
  check.like("{table}: appended", await shop.bulkInsert{stem}Row(rows), {len(values)});
  check.like("{table}: stream", await check.collect(shop.read{stem}Stream({{ fetchSize: 2 }})), rows);
  for (const row of rows) {{
    check.that("{table}: parameter " + row.n, (await shop.same{stem}(row.v)) !== undefined);
  }}
}});""")
    start = f"""
import * as check from "./check.js";
import {{ {pascal(name)} }} from "./{name}.js";

const client = await check.connect();
const shop = new {pascal(name)}(client);"""
    return code, start + "".join(lines) + "\nawait client.end();\n"


REFUSED = {
    "timestamptz": [
        "infinity", "-infinity", "2000-01-01 00:00:00.000001+00", "294276-12-31 12:00:00+00", "275760-09-13 00:00:00.001+00",  # noqa: E501
    ],
    "timestamptz[]": ["{infinity}"],
    "tstzrange": ["[2000-01-01 00:00:00.0001+00,)"],
    "int4[]": ["[0:1]={1,2}"],
    "text[]": ["[2:2]={a}"],
    "mood[]": ["[2:2]={happy}"],
}  # fmt: skip


def refused() -> tuple[Sql, str]:
    """Give queries of values that TypeScript cannot hold, and a program that reads each."""
    code, lines = Sql("refused", types=TYPES), []
    for number, (name, literals) in enumerate(REFUSED.items()):
        give = own if name.startswith("mood") else builtin
        kind = give(name.removesuffix("[]"), array=name.endswith("[]"))
        for place, literal in enumerate(literals):
            query = f"q{number}x{place}"
            text: list[str | int] = [f"SELECT {quoted(literal)}::{kind['sql']}"]
            code.statement(query, text, one=True, pluck=True, columns=[column("v", kind)])
            lines.append(f'await check.refused("{name} {literal}", "column v: ", () => q.{query}());\n')
    # Another style than the one that literals are read in.
    for name, setting in (
        ("date", "DateStyle = German"), ("interval", "IntervalStyle = iso_8601"), ("bytea", "bytea_output = escape"),  # noqa: E501
    ):  # fmt: skip
        literal = {"date": "2000-01-02", "interval": "1 mon", "bytea": "\\x00"}[name]
        text = [f"SELECT {quoted(literal)}::{name}"]
        code.statement(f"style_{name}", text, one=True, pluck=True, columns=[column("v", builtin(name))])
        style = f"style{pascal(name)}"
        lines.append(f'await client.query("SET {setting}");\n')
        lines.append(f'await check.refused("{setting}", "column v: ", () => q.{style}());\n')
    code.statement(
        "nothing", ["SELECT NULL::int AS v"], columns=[column("v", builtin("int4"), nullable=False)]
    )
    lines.append('await check.refused("null", "the column v is null", () => q.nothing());\n')
    lines.append("(client as unknown as { binary: boolean }).binary = true;\n")
    lines.append('await check.refused("binary", "`binary: true`", () => q.binary(1));\n')
    given = {"name": "n", "type": builtin("int4"), "nullable": False, "why": ""}
    code.statement(
        "binary", ["SELECT ", 0, " AS v"], columns=[column("v", builtin("int4"))], parameters=[given]
    )
    program = f"""
import * as check from "./check.js";
import {{ Refused }} from "./refused.js";

const client = await check.connect();
const q = new Refused(client);
{"".join(lines)}await client.end();
"""
    return code, program


TOO_MUCH = {
    "bool": ["bad('t')"],
    "int2": ["2 ** 15", "-(2 ** 15) - 1", "1.5", "NaN", "bad('1')"],
    "int4": ["2 ** 31", "-(2 ** 31) - 1", "1.5"],
    "int8": ["2n ** 63n", "-(2n ** 63n) - 1n", "bad(1)"],
    "oid": ["-1", "2 ** 32"],
    "float4": ["1e300", "1e-60", "bad('x')"],
    "float8": ["bad('1')"],
    "text": ['"a\\0b"', '"\\ud800"', '"\\u00fc\\udc00x"', "bad(5)"],
    "jsonb": ['new Json("\\0")', "bad('{}')"],
    "numeric": ['"1e131072"', '"1e-16384"', '"1e999999999"', '"x"', '""', "bad(1)"],
    "uuid": ['"0"', '"g0000000-0000-0000-0000-000000000000"'],
    "bytea": ["bad('a')"],
    "date": ['"2001-02-29"', '"2000-13-01"', '"5874898-01-01"', '"4714-11-23 BC"', '"now"', '"0000-01-01"'],
    "time": ['"24:00:01"', '"12:60"', '"1:1"', '"12:00:00+01"'],
    "timetz": ['"12:00"', '"12:00+16"'],
    "timestamp": ['"2000-01-01"', '"2000-01-01 12:00+00"', '"294277-01-01 00:00"'],
    "timestamptz": ["new Date(NaN)", "new Date(-8.64e15)", "bad('2000-01-01 00:00+00')"],
    "interval": ["{ months: 2 ** 31, days: 0, microseconds: 0n }", "{ months: 0, days: 0, microseconds: 2n ** 63n }"],  # noqa: E501
    "int4[]": ["bad([[1], [2, 3]])", "bad([[]])", "[2 ** 31]", "bad([1, [2]])", "bad([1, undefined])", "bad(1)"],  # noqa: E501
    "mood": ["bad('sad')"],
    "date[]": ['["2001-02-29"]'],
}  # fmt: skip


def too_much() -> tuple[Sql, str]:
    """Give tables of types, and a program that writes what these cannot hold, by COPY and as parameters."""
    code = Sql("toomuch", types=TYPES)
    lines: list[str] = []
    for number, (name, values) in enumerate(TOO_MUCH.items()):
        give = own if name == "mood" else builtin
        kind = give(name.removesuffix("[]"), array=name.endswith("[]"))
        code.table(f"t{number}", {"v": kind})
        parameter = {"name": "v", "type": kind, "nullable": True, "why": ""}
        code.statement(
            f"set{number}", [f"INSERT INTO t{number} VALUES (", 0, ")"], kind="exec", parameters=[parameter]
        )
        for value in values:
            what = f"{name} {len(lines)}"
            lines.append(f"""
await check.refused("{what}", "row 1, column v: ", () => q.bulkInsertT{number}Row([{{ v: {value} }}]));
await check.refused("{what} as parameter", "parameter v: ", () => q.set{number}({value}));""")
    program = f"""
import * as check from "./check.js";
import {{ Json }} from "./howdah_pg.js";
import {{ Toomuch }} from "./toomuch.js";

/** What the compiler would refuse, and JavaScript does not. */
function bad(value: unknown): never {{
  return value as never;
}}

const client = await check.connect();
const q = new Toomuch(client);{"".join(lines)}
await client.end();
"""
    return code, program


def faults() -> list[Sql]:
    """Give tables whose appenders go in binary and as text."""
    made = []
    for name, last in (("binary", "int4"), ("text", "point")):
        code = Sql(f"faults_{name}")
        code.table("t", {"a": builtin("int4"), "b": builtin("date"), "c": builtin(last)})
        code.tables[0]["columns"][0]["nullable"] = False
        made.append(code)
    return made


def queries() -> Sql:
    """Give statements of every form."""
    code = Sql("queries")
    a = {"name": "a", "type": builtin("int4"), "nullable": False, "why": ""}
    b = {"name": "b", "type": builtin("text"), "nullable": True, "why": ""}
    row = [column("a", builtin("int4"), nullable=False), column("b", builtin("text"))]
    insert: list[str | int] = ["INSERT INTO t (a, b) VALUES (", 0, ", ", 1, ")"]
    number = column("n", builtin("int4"), nullable=False)
    code.statement(
        "operators", ["SELECT '?' || E'\\'?' /* $1 */ AS \"?\" -- $2\nWHERE '{\"a\": 1}'::jsonb ? ", 0, " AND true"],  # noqa: E501
        parameters=[b], columns=[column("?", builtin("text"), nullable=False)], pluck=True,
    )  # fmt: skip
    code.statement("add", insert, kind="exec", parameters=[a, b], batch=True)
    code.statement(
        "add_returning", [*insert, " RETURNING a, b"], parameters=[a, b], columns=row, batch=True, one=True
    )
    code.statement("touch", ["SELECT count(*) FROM t WHERE a = ", 0], kind="exec", parameters=[a], batch=True)
    code.statement(
        "twice", ["SELECT ", 0, " + ", 0, " AS a, ", 1, " AS b"], parameters=[a, b], columns=row, one=True,
        result="Item",
    )  # fmt: skip
    code.statement("all_items", ["SELECT a, b FROM t ORDER BY a"], columns=row, result="Item")
    code.statement("no_row", ["SELECT 1 AS n WHERE false"], columns=[number], one=True)
    count = [column("count", builtin("int8"), nullable=False)]
    code.statement("count", ["SELECT count(*) FROM t"], columns=count, pluck=True, one=True)
    code.statement(
        "all_b", ["SELECT b FROM t ORDER BY a"], columns=[column("b", builtin("text"))], pluck=True
    )
    code.statement(
        "numbers", ["SELECT g / (2500 - g) FROM generate_series(1, ", 0, ") g"], pluck=True, parameters=[a],
        columns=[number],
    )  # fmt: skip
    code.statement(
        "not_null", ["SELECT ", 0], columns=[column("v", builtin("text"))], pluck=True, one=True,
        parameters=[{"name": "class", "type": builtin("text"), "nullable": False, "why": ""}],
    )  # fmt: skip
    text = "SELECT length('" + "\u20ac" * 70_000 + "') AS n"
    code.statement("long", [text], columns=[number], pluck=True, one=True)
    return code


ESCAPES = "*/ \\u002a\\u002f \\n // @ts-expect-error `${x}` $${ <!-- \u202e \r"
"""What ends comments and literals, and what the compiler takes for its own."""
TEXT_LINES = [
    "  a \n b\t\n\n   c",
    "a\r\nb\n\r",
    "`\n`",
    "\\\n\\u0022",
    "\f\n\x0b",
    "\u2028\n\u2029",
    "\n" + ESCAPES,
    ESCAPES,
]


def words() -> tuple[Sql, str]:
    """Give names that mean something in TypeScript, texts of which it would make code, and their program."""
    names = [
        "string", "date", "promise", "buffer", "constructor", "then", "await", "yield", "of", "db", "pg",
        "codec", "copy", "options", "batch", "item", "row", "rows", "shop", "client", "to_string",
        "__proto__", "undefined", "arguments", "array", "transaction",
        "read_class_result", "delete", "symbol", "error",
    ]  # fmt: skip
    code = Sql("class", types=[
        {"schema": "public", "name": name, "kind": "enum", "labels": ["value", "", ESCAPES]}
        for name in ("string", "class", "date", "promise")
    ])  # fmt: skip
    row = [column(name, builtin("text"), nullable=False) for name in names]
    parameters = [{"name": name, "type": builtin("text"), "nullable": False, "why": ""} for name in names]
    for name in names:
        sql: list[str | int] = ["SELECT "]
        for index, each in enumerate(names):
            sql += [", " if index else "", index, f' AS "{each}"']
        code.statement(
            name, sql, parameters=parameters, columns=row, batch=True, documentation=[ESCAPES, "@returns"]
        )
        code.table(name, {each: builtin("text") for each in names})
    reads, same = [], []
    for number, kind in enumerate(("string", "class", "date", "promise")):
        columns = [column("v", own(kind), nullable=False)]
        text: list[str | int] = [f"SELECT {quoted(ESCAPES)}::public.{kind}"]
        code.statement(f"enum{number}", text, columns=columns, pluck=True, one=True)
        reads.append(f"await q.enum{number}()")
    for number, each in enumerate(TEXT_LINES):
        columns = [column("v", builtin("text"), nullable=False)]
        text = [f"SELECT E'' ||\n{quoted(each)}"]
        code.statement(f"text{number}", text, pluck=True, one=True, columns=columns)
        text = [f"SELECT encode(convert_to({quoted(each)}, 'UTF8'), 'hex')"]
        code.statement(f"same{number}", text, pluck=True, one=True, columns=columns)
        reads.append(f"await q.text{number}()")
        same.append(f"await q.same{number}()")
    program = f"""
import * as check from "./check.js";
import {{ Class }} from "./class.js";

const client = await check.connect();
const q = new Class(client);
for (const text of [{", ".join(reads)}]) {{
  console.log(Buffer.from(text ?? "").toString("hex"));
}}
for (const hex of [{", ".join(same)}]) {{
  console.log(hex);
}}
await client.end();
"""
    return code, program


def migrated() -> Sql:
    """Give the steps of the program that migrates."""
    code = Sql("shop")
    code.migration("1", "CREATE TABLE a (b int)")
    return code


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Generate and compile all modules and programs of this file at once."""
    driver()
    folder = tmp_path_factory.mktemp("typescript")
    made = {
        "dates.ts": shop("dates", DATE_CASES),
        "refused.ts": refused(),
        "toomuch.ts": too_much(),
        "words.ts": words(),
    }
    modules = [*(code for code, _ in made.values()), *faults(), hostile(), queries(), migrated()]
    write(modules, "typescript/postgres", folder)
    made["texts.ts"] = shop("texts", TEXT_CASES)
    write([made["texts.ts"][0]], "typescript/postgres", folder, "text-timestamps")
    programs = {f"run_{name}": program for name, (_, program) in made.items()}
    # Programs of other test files, whose modules are not here.
    others = {"migrating.ts", "optionallines.ts"}
    programs |= {path.name: path.read_text() for path in PROGRAMS.glob("*.ts") if path.name not in others}
    compiled(folder, programs)
    return folder


def test_typescript_7_refuses_generated_code(folder: Path) -> None:
    check(folder, "typescript7", "--noEmit")


@pytest.mark.parametrize(("name", "kinds"), [("texts", TEXT_CASES), ("dates", DATE_CASES)])
def test_a_value_of_any_type_is_changed_on_its_way_through_typescript(
    folder: Path, database: Database, name: str, kinds: Cases
) -> None:
    sql = MADE
    for table, kind, values in kinds:
        rows = ", ".join(f"({n}, {value})" for n, value in enumerate(values))
        sql += f"CREATE TABLE src_{table} (n int, v {kind['sql']}); CREATE TABLE {table} (LIKE src_{table});"
        sql += f"INSERT INTO src_{table} VALUES {rows};\n"
    database.sql(sql)
    wrong = run(folder / "out", f"run_{name}.js", database)
    wrong += database.sql("".join(
        f"""SELECT '{table}', s.n, s.v, d.v FROM src_{table} s FULL JOIN {table} d USING (n)
            WHERE ROW(s.v)::text IS DISTINCT FROM ROW(d.v)::text OR s.n IS NULL OR d.n IS NULL;\n"""
        for table, *_ in kinds
    ))  # fmt: skip
    with psycopg.connect(database.dsn, autocommit=True) as connection:
        for table, *_ in kinds:
            if binary_of(connection, f"src_{table}") != binary_of(connection, table):
                wrong.append(f"{table}: other bytes")
    assert wrong == []


def test_a_value_that_typescript_cannot_hold_is_changed_and_not_refused(
    folder: Path, database: Database
) -> None:
    database.sql(MADE)
    assert run(folder / "out", "run_refused.js", database) == []


def test_a_value_that_its_type_cannot_hold_is_changed_by_typescript(folder: Path, database: Database) -> None:
    database.sql(MADE + "".join(f"CREATE TABLE t{n} (v {name});" for n, name in enumerate(TOO_MUCH)))
    assert run(folder / "out", "run_toomuch.js", database) == []
    for number in range(len(TOO_MUCH)):
        assert database.value(f"SELECT count(*) FROM t{number}") == "0"


@pytest.mark.parametrize("form", ["binary", "text"])
def test_an_appender_that_ends_early_leaves_rows_or_keeps_the_client(
    folder: Path, database: Database, form: str
) -> None:
    last = "int" if form == "binary" else "point"
    database.sql(f"CREATE TABLE t (a int PRIMARY KEY, b date, c {last})")
    assert run(folder / "out", "appending.js", database, form) == []


def test_a_statement_gives_something_else_or_leaves_a_transaction_open(
    folder: Path, database: Database
) -> None:
    database.sql("CREATE TABLE t (a int, b text)")
    assert run(folder / "out", "statements.js", database) == []


def test_a_hostile_name_becomes_typescript(folder: Path, database: Database) -> None:
    name, labels = double(HOSTILE), ["happy", "Happy", "", HOSTILE, "class", "None", "mro"]
    listed = ", ".join(map(quoted, labels))
    database.sql(f"""
        CREATE SCHEMA {name}; CREATE TYPE {name}.{double(HOSTILE + "1")} AS ENUM ({listed});
        CREATE TYPE {name}.{double(HOSTILE + "2")} AS ({name} {name}.{double(HOSTILE + "1")}, class int);
        CREATE TABLE {name}.{name} ({name} {name}.{double(HOSTILE + "1")},
            self {name}.{double(HOSTILE + "2")}, int int, pg text,
            "a b" date, a_b int[])""")
    assert run(folder / "out", "hostilenames.js", database) == []


def test_a_word_or_an_escape_of_typescript_becomes_code(folder: Path, database: Database) -> None:
    code, _ = words()
    labels = ", ".join(map(quoted, code.types[0]["labels"]))
    database.sql("".join(f"CREATE TYPE public.{kind['name']} AS ENUM ({labels});" for kind in code.types))
    given = run(folder / "out", "run_words.js", database)
    texts = [ESCAPES] * 4 + TEXT_LINES
    assert given == [text.encode().hex() for text in texts + TEXT_LINES]
