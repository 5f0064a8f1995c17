"""Generated Rust: values go through it unchanged or are refused, appenders leave all rows or none."""

from pathlib import Path

import pytest
from conftest import Database
from generated import Sql, Type, builtin, column, own, quoted
from rust_program import compiled, lint, run
from test_generated_appenders import HOSTILE, double, hostile
from test_generated_java import DATES, JAVA_LITERALS, faults, queries
from test_generated_types import LITERALS, MADE, OWN, TYPES, binary_of, psycopg

RUST_LITERALS = LITERALS | {
    "numeric": [*LITERALS["numeric"], *JAVA_LITERALS["numeric"]],
    # chrono ends with the year 262142.
    "date": [*DATES[:4], *DATES[5:], "262142-12-31"],
    "time": [*LITERALS["time"], "00:00:00.000001"],
    "timetz": JAVA_LITERALS["timetz"],
    "timestamp": [text for text in JAVA_LITERALS["timestamp"] if not text.startswith("294276")],
    "timestamptz": [text for text in JAVA_LITERALS["timestamptz"] if not text.startswith("294276")],
    "daterange": JAVA_LITERALS["daterange"],
}
AS_TEXT = {
    "char", "inet", "cidr", "macaddr", "money", "point", "box", "bit", "varbit", "tsvector", "tsquery", "pg_lsn",  # noqa: E501
    "jsonpath",
}  # fmt: skip
"""Types that have no mapping: they are written as literals, and read by a cast."""
COPIED = {
    "bool", "int2", "int4", "int8", "oid", "float4", "float8", "uuid", "date", "time", "timetz", "timestamp",
    "timestamptz", "interval", "mood",
}  # fmt: skip
DEREFERENCED = {
    "text",
    "varchar",
    "bpchar",
    "name",
    "json",
    "jsonb",
    "bytea",
    "email",
    "moods",
    "many_floats",
}


def cases() -> list[tuple[str, str, Type, list[str]]]:
    """Give each type and its array: a name, the type's, the type, and expressions of its values."""
    made = []
    for kinds, give in ((RUST_LITERALS, builtin), (OWN, own)):
        for name, literals in kinds.items():
            scalar, array = give(name), give(name, array=True)
            values = [f"{quoted(literal)}::{scalar['sql']}" for literal in literals]
            arrays = ["ARRAY[]", f"ARRAY[{', '.join(values)}, NULL]", "ARRAY[NULL]"]
            stem = name.replace(" ", "_")
            made.append((f"c_{stem}", name, scalar, [*values, "NULL"]))
            made.append((f"a_{stem}", name, array, [*(f"{a}::{array['sql']}" for a in arrays), "NULL"]))
    return made


def argument(name: str, kind: Type, *, nullable: bool) -> str:
    """Give a row's value as a parameter takes it."""
    if name in COPIED and not kind["array"]:
        return "row.v"
    if not nullable:
        return "&row.v"
    borrowed = kind["array"] or name in DEREFERENCED or name.endswith("multirange")
    return "row.v.as_deref()" if borrowed else "row.v.as_ref()"


def literals(table: str, kind: Type, *, nullable: bool) -> str:
    """Give what makes a row of literals of a row of texts."""
    row = "".join(word.capitalize() for word in table.split("_")) + "Row"
    convert = "pg::Literal"
    if kind["array"]:
        convert = "|v| v.into_iter().map(|v| v.map(pg::Literal)).collect()"
    value = f"row.v.map({convert})" if nullable else f'Some(row.v).map({convert}).ok_or("null")?'
    return f"rows.push(shop::{row} {{ n: row.n, v: {value} }});"


def shop() -> tuple[Sql, str]:
    """Give a table for each type, what reads it and writes its copy, and their program."""
    code, functions, calls = Sql("shop", types=TYPES), [], []
    for stem, name, kind, values in cases():
        for suffix, nullable, where in (("", True, ""), ("_set", False, " WHERE v IS DISTINCT FROM NULL")):
            table = stem + suffix
            text = name in AS_TEXT
            read = builtin("text", array=kind["array"]) if text else kind
            columns = [column("n", builtin("int4"), nullable=False), column("v", read, nullable=nullable)]
            cast = f"::{read['sql']} AS v" if text else ""
            code.statement(
                f"read_{table}", [f"SELECT n, v{cast} FROM src_{stem}{where} ORDER BY n"], columns=columns
            )
            code.table(table, {"n": builtin("int4"), "v": kind})
            for table_column in code.tables[-1]["columns"]:
                table_column["nullable"] = nullable and table_column["name"] == "v"
            parameter = {"name": "v", "type": kind, "nullable": nullable, "why": ""}
            sql = f"SELECT n FROM src_{stem} WHERE ROW(v)::text IS NOT DISTINCT FROM ROW("
            code.statement(
                f"same_{table}", [sql, 0, ")::text LIMIT 1"], pluck=True, one=True, parameters=[parameter],
                columns=[column("n", builtin("int4"))],
            )  # fmt: skip
            converted = ""
            if text:
                converted = f"""
    let mut rows = Vec::new();
    for row in read {{
        {literals(table, kind, nullable=nullable)}
    }}"""
            functions.append(f"""
async fn {table}(db: &mut Client) -> Outcome {{
    let read = shop::read_{table}(db).await?;
    same("{table}: rows", &read.len(), &{len(values) - (0 if nullable else 1)});
    let streamed = shop::read_{table}_stream(db).await?.try_collect::<Vec<_>>().await?;
    same("{table}: stream", &streamed, &read);{converted or "let rows = read;"}
    for row in &rows {{
        let found = shop::same_{table}(db, {argument(name, kind, nullable=nullable)}).await?;
        that(format!("{table}: parameter {{row:?}}"), found.is_some());
    }}
    let (count, transaction) = (rows.len() as u64, db.transaction().await?);
    same("{table}: appended", &shop::append_{table}(&transaction, rows).await?, &count);
    Ok(transaction.commit().await?)
}}
""")
            calls.append(f'    done("{table}", {table}(&mut db).await);\n')
    return (
        code,
        f"""//! Reads all types, and writes their copies.
#![allow(clippy::wildcard_imports)]

use futures_util::TryStreamExt;
use tokio_postgres::Client;

use crate::check::*;
use crate::howdah_postgres as pg;
use crate::shop;

#[allow(clippy::too_many_lines)]
pub async fn run() -> Outcome {{
    let mut db = connect().await?;
{"".join(calls)}    Ok(())
}}
{"".join(functions)}""",
    )


REFUSED = {
    "date": ["infinity", "-infinity", "5874897-12-31"],
    "time": ["24:00"],
    "timetz": ["24:00+00"],
    "timestamp": ["infinity", "-infinity", "294276-12-31"],
    "timestamptz": ["infinity", "-infinity", "294276-12-31"],
    "daterange": ["[2000-01-01,infinity]"],
    "int4[]": ["[0:1]={1,2}", "{{1,2},{3,4}}"],
    "text[]": ["[2:2]={a}", "{{a}}"],
    "mood[]": ["[2:2]={happy}", "{{happy}}"],
    "date[]": ["{infinity}"],
}


def refused() -> tuple[Sql, str]:
    """Give queries of values that Rust cannot hold, and a program that reads each."""
    code, lines = Sql("refused", types=TYPES), []
    for number, (name, texts) in enumerate(REFUSED.items()):
        give = own if name.startswith("mood") else builtin
        kind = give(name.removesuffix("[]"), array=name.endswith("[]"))
        for place, text in enumerate(texts):
            query = f"q{number}x{place}"
            code.statement(
                query, [f"SELECT {quoted(text)}::{kind['sql']} AS v"], one=True, pluck=True,
                columns=[column("v", kind)],
            )  # fmt: skip
            lines.append(f'    refused("{name} {text}", "column v: ", q::{query}(&db).await);\n')
    for name, text, read, why in (
        ("nothing", "SELECT NULL::int AS v", "int4", "null"),
        ("other", "SELECT 1::int8 AS v", "timestamp", "a int8, for which this code was not generated"),
    ):
        code.statement(name, [text], columns=[column("v", builtin(read), nullable=False)])
        lines.append(f'    refused("{name}", "{why}", q::{name}(&db).await);\n')
    return (
        code,
        f"""//! Values that Rust cannot hold.

use crate::check::{{Outcome, connect, refused}};
use crate::refused as q;

pub async fn run() -> Outcome {{
    let db = connect().await?;
{"".join(lines)}    Ok(())
}}
""",
    )


_DAY = "NaiveDate::default()"
TOO_MUCH = {
    "text": ['"a\\0b".to_owned()'],
    "varchar": ['"\\0".to_owned()'],
    "jsonb": ['"\\0".to_owned()'],
    "date": ["NaiveDate::MIN", "NaiveDate::from_ymd_opt(-4713, 11, 23).ok_or(NO)?"],
    "time": [
        "NaiveTime::from_hms_nano_opt(1, 1, 1, 1).ok_or(NO)?",
        "NaiveTime::from_hms_micro_opt(23, 59, 59, 1_000_000).ok_or(NO)?",
    ],
    "timetz": [
        "pg::TimeTz { time: NaiveTime::MIN, offset: FixedOffset::east_opt(57_600).ok_or(NO)? }",
        "pg::TimeTz { time: NaiveTime::from_hms_nano_opt(1, 1, 1, 1).ok_or(NO)?, offset: FixedOffset::east_opt(0).ok_or(NO)? }",  # noqa: E501
    ],
    "timestamp": ["NaiveDateTime::MIN", f"{_DAY}.and_hms_nano_opt(1, 1, 1, 1).ok_or(NO)?"],
    "timestamptz": ["DateTime::<Utc>::MIN_UTC", f"{_DAY}.and_hms_nano_opt(1, 1, 1, 1).ok_or(NO)?.and_utc()"],
    "date[]": ["vec![Some(NaiveDate::MIN)]"],
}


def too_much() -> tuple[Sql, str]:
    """Give tables for types, and a program that writes what these cannot hold, by COPY and as parameters."""
    code = Sql("toomuch")
    lines: list[str] = []
    for number, (name, values) in enumerate(TOO_MUCH.items()):
        kind = builtin(name.removesuffix("[]"), array=name.endswith("[]"))
        code.table(f"t{number}", {"v": kind})
        parameter = {"name": "v", "type": kind, "nullable": True, "why": ""}
        code.statement(
            f"set{number}", [f"INSERT INTO t{number} VALUES (", 0, ")"], kind="exec", parameters=[parameter]
        )
        given = argument(name.removesuffix("[]"), kind, nullable=True)
        for value in values:
            what = f"{name} {len(lines)}"
            lines.append(f"""
    let row = q::T{number}Row {{ v: Some({value}) }};
    refused("{what} as parameter", "", q::set{number}(&db, {given}).await);
    let transaction = db.transaction().await?;
    refused("{what}", "row 1, column v: ", q::append_t{number}(&transaction, [row]).await);
    drop(transaction);
""")
    return (
        code,
        f"""//! Values that their types cannot hold.
#![allow(clippy::too_many_lines)]

use chrono::{{DateTime, FixedOffset, NaiveDate, NaiveDateTime, NaiveTime, Utc}};

use crate::check::{{Outcome, connect, refused, same}};
use crate::howdah_postgres as pg;
use crate::toomuch as q;

/// chrono has all values of this program.
const NO: &str = "a value of this program is none";

pub async fn run() -> Outcome {{
    for text in [
        "", "-", ".", "1e", "e1", "1.2.3", " 1", "٣", "nan", "1e131072", "1e-16384", "1e2147483647",
    ] {{
        refused(text, "numeric", text.parse::<pg::Numeric>());
    }}
    for (text, number) in [
        ("1e3", "1000"), ("-00.10E1", "-1.0"), ("+.5", "0.5"), ("-0.0", "0.0"), ("5e-3", "0.005"),
    ] {{
        same(text, &text.parse::<pg::Numeric>()?.as_str(), &number);
    }}
    let mut db = connect().await?;
{"".join(lines)}    Ok(())
}}
""",
    )


ESCAPES = '*/ \\u{2a} ``` [x](y) "# "## \'{ <b>&lt; \u202e'
"""What rustc takes for the end of a string or a comment, and what Markdown takes for its own."""


def words() -> tuple[Sql, str]:
    """Give names that mean something in Rust, texts of which rustc would make code, and what calls them."""
    names = [
        "string", "option", "result", "vec", "some", "ok", "self", "Self", "super", "crate", "type", "async", "db",  # noqa: E501
        "row", "rows", "item", "batch", "parameters", "statement", "statements", "fields", "pg", "howdah_postgres",  # noqa: E501
        "chrono", "uuid", "std", "str", "i32", "box", "debug", "clone", "from_row", "new", "union", "gen", "_",  # noqa: E501
    ]  # fmt: skip
    kinds = ("string", "option", "self", "debug", "b1")
    code = Sql("words", types=[
        {"schema": "public", "name": name, "kind": "enum", "labels": ["Self", "self", "all", "ALL", "1", ESCAPES]}  # noqa: E501
        for name in kinds
    ])  # fmt: skip
    code.types.append({"schema": "public", "name": "none", "kind": "enum", "labels": []})
    row = [column(name, builtin("text"), nullable=False) for name in names]
    parameters = [{"name": name, "type": builtin("text"), "nullable": False, "why": ""} for name in names]
    for name in names:
        sql: list[str | int] = ["SELECT "]
        for index, each in enumerate(names):
            sql += [", " if index else "", index, f' AS "{each}"']
        code.statement(
            name, sql, parameters=parameters, columns=row, batch=True, one=True,
            documentation=[ESCAPES, "", '    let x: i32 = "indented";', "- a\nb"],
        )  # fmt: skip
        code.table(name, {each: builtin("text") for each in names})
    code.statement("none_of_it", ["SELECT"], columns=[])
    code.statement("no_label", ['SELECT NULL::"none"'], columns=[column("v", own("none"))], pluck=True)
    for number, kind in enumerate(kinds):
        columns = [column("v", own(kind), nullable=False)]
        code.statement(
            f"enum{number}", [f'SELECT {quoted(ESCAPES)}::public."{kind}"'], columns=columns, pluck=True, one=True,  # noqa: E501
        )  # fmt: skip
    texts = [
        "  a \n b\t\n\n   c",
        "a\r\nb\n",
        '"\n"#',
        '"##',
        "\\\n",
        "\f\n\x0b",
        "\u3000\n\u2028",
        "{}",
        ESCAPES,
    ]
    lines = []
    for number, text in enumerate(texts):
        for name, select in (
            (f"text{number}", f"SELECT E'' ||\n{quoted(text)}"),
            (f"same{number}", f"SELECT encode(convert_to({quoted(text)}, 'UTF8'), 'hex')"),
        ):
            code.statement(
                name, [select], pluck=True, one=True, columns=[column("v", builtin("text"), nullable=False)]
            )
        lines.append(f"""
    let text = q::text{number}(&db).await?.ok_or("no row")?;
    let bytes = text.bytes().fold(String::new(), |hex, byte| format!("{{hex}}{{byte:02x}}"));
    same("text {number}", &q::same{number}(&db).await?, &Some(bytes.clone()));
    println!("{{bytes}}");
""")
    enums = "".join(
        f'    same("enum {n}", &q::enum{n}(&db).await?.map(|label| label.as_str().len()), &Some({len(ESCAPES.encode())}));\n'  # noqa: E501
        for n in range(len(kinds))
    )
    return (
        code,
        f"""//! Words and texts that mean something in Rust.

use crate::check::{{Outcome, connect, same}};
use crate::words as q;

pub async fn run() -> Outcome {{
    let db = connect().await?;
    same("no columns", &q::none_of_it(&db).await?.len(), &1);
    same("no labels", &q::no_label(&db).await?.len(), &1);
{enums}{"".join(lines)}    Ok(())
}}
""",
    )


@pytest.fixture(scope="module")
def program() -> Path:
    """Compile all modules and programs of this file at once."""
    made = {
        "round_trip.rs": shop(), "read_refused.rs": refused(), "write_too_much.rs": too_much(),
        "word_calls.rs": words(),
    }  # fmt: skip
    programs = {name: text for name, (_, text) in made.items()}
    return compiled([*(code for code, _ in made.values()), *faults(), hostile(), queries()], programs)


def test_a_value_of_any_type_is_changed_on_its_way_through_rust(program: Path, database: Database) -> None:
    sql = MADE
    for stem, _, kind, values in cases():
        for table in (f"src_{stem}", stem, f"{stem}_set"):
            sql += f"CREATE TABLE {table} (n int, v {kind['sql']});\n"
        rows = ", ".join(f"({n}, {value})" for n, value in enumerate(values))
        sql += f"INSERT INTO src_{stem} VALUES {rows};\n"
    database.sql(sql)
    wrong = run(program, database, "round_trip")
    compare = ""
    for stem, *_ in cases():
        # Of a composite value that has only nulls, IS NULL is true.
        nulls = f"SELECT n, v FROM src_{stem} WHERE v IS NOT DISTINCT FROM NULL"
        compare += f"INSERT INTO {stem}_set {nulls};\n"
        for table in (stem, f"{stem}_set"):
            compare += f"""
                SELECT '{table}', s.n, s.v, d.v FROM src_{stem} s FULL JOIN {table} d USING (n)
                WHERE ROW(s.v)::text IS DISTINCT FROM ROW(d.v)::text OR s.n IS NULL OR d.n IS NULL;\n"""
    wrong += database.sql(compare)
    with psycopg.connect(database.dsn, autocommit=True) as connection:
        for stem, *_ in cases():
            source, *copies = (binary_of(connection, table) for table in (f"src_{stem}", stem, f"{stem}_set"))
            wrong += [f"{stem}: other bytes" for copy in copies if copy != source]
    assert wrong == []


def test_a_value_that_rust_cannot_hold_is_changed_and_not_refused(program: Path, database: Database) -> None:
    database.sql(MADE)
    assert run(program, database, "read_refused") == []


def test_a_value_that_its_type_cannot_hold_is_changed_by_rust(program: Path, database: Database) -> None:
    database.sql("".join(f"CREATE TABLE t{n} (v {name});" for n, name in enumerate(TOO_MUCH)))
    assert run(program, database, "write_too_much") == []
    for number in range(len(TOO_MUCH)):
        assert database.value(f"SELECT count(*) FROM t{number}") == "0"


@pytest.mark.parametrize("form", ["binary", "text"])
def test_an_appender_that_ends_early_leaves_rows_or_keeps_the_connection(
    program: Path, database: Database, form: str
) -> None:
    last = "int" if form == "binary" else "point"
    database.sql(f"CREATE TABLE t (a int PRIMARY KEY, b date, c {last})")
    assert run(program, database, f"appending_{form}") == []
    assert database.value("SELECT count(*) FROM t") == "0"


def test_a_statement_gives_something_else_or_the_connection_stops(program: Path, database: Database) -> None:
    database.sql("CREATE TABLE t (a int, b text)")
    assert run(program, database, "statements") == []


def test_a_hostile_name_becomes_rust(program: Path, database: Database) -> None:
    name, labels = double(HOSTILE), ["happy", "Happy", "", HOSTILE, "class", "None", "mro"]
    listed = ", ".join(map(quoted, labels))
    database.sql(f"""
        CREATE SCHEMA {name}; CREATE TYPE {name}.{double(HOSTILE + "1")} AS ENUM ({listed});
        CREATE TYPE {name}.{double(HOSTILE + "2")} AS ({name} {name}.{double(HOSTILE + "1")}, class int);
        CREATE TABLE {name}.{name} ({name} {name}.{double(HOSTILE + "1")},
            self {name}.{double(HOSTILE + "2")}, int int, pg text,
            "a b" date, a_b int[])""")
    assert run(program, database, "hostile_names") == []


def test_a_word_or_an_escape_of_rust_becomes_code(program: Path, database: Database) -> None:
    code, _ = words()
    database.sql("".join(
        f'CREATE TYPE "{kind["name"]}" AS ENUM ({", ".join(map(quoted, kind["labels"]))});' for kind in code.types  # noqa: E501
    ))  # fmt: skip
    given = run(program, database, "words")
    texts = [s["sql"][0]["text"] for s in code.statements if s["name"].startswith("same")]
    assert given == [value for text in texts for value in database.sql(text)]


@pytest.mark.usefixtures("program")
def test_clippy_or_rustfmt_finds_fault_with_generated_rust() -> None:
    # rustfmt breaks lines with names of sixty letters, as those of `hostile`; the generator does not.
    lint("shop", "queries", "refused", "toomuch", "words", "faults_text", "howdah_postgres")
