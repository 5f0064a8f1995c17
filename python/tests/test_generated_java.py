"""Generated Java: values go through it unchanged or are refused, appenders leave all rows or none."""

import pytest
from conftest import Database
from generated import Sql, Type, builtin, column, own, parameter, quoted
from java_program import PROGRAMS, compiled, run
from test_generated_appenders import HOSTILE, double, hostile
from test_generated_types import LITERALS, MADE, OWN, TYPES, binary_of, psycopg

DATES = [
    "0001-01-01",
    "9999-12-31",
    "2000-02-29",
    "4714-11-24 BC",
    "5874897-12-31",
    "0001-02-29 BC",
    "10000-01-01",
]
JAVA_LITERALS = LITERALS | {
    "numeric": [
        "0.00", "1.10", "1e100", "-123456789.000000001", "1e-50", "1E+20", "0", "-0.0001", "10000",
        "9999.9999", "100000000.00000001", "1e-16383", "1e131071", "-12345.678",
    ],
    "numrange": ["(1.10,2.2]", "empty"],
    "date": DATES,
    "timestamp": [
        "0001-01-01 00:00:00", "9999-12-31 23:59:59.999999", "2000-01-01 00:00:00.1",
        "4714-11-24 00:00:00 BC", "294276-12-31 23:59:59.999999", "0001-02-29 00:00:01 BC", "1969-12-31 23:59:59.999999",  # noqa: E501
    ],
    "timestamptz": [
        "0002-01-01 00:00:00+00", "9999-12-30 23:59:59.999999+00", "1900-01-01 00:00:00+00",
        "1850-06-01 00:00:00+00", "4714-11-25 00:00:00+00 BC", "294276-12-31 12:00:00+00",
    ],
    "timetz": ["00:00:00+15:59", "23:59:59.999999-12", "12:00:00.1+00", "12:00:00+15:59:59", "12:00:00-00:00:01"],  # noqa: E501
    "daterange": ["[2000-01-01,2000-01-02)", "[0044-03-15 BC,)"],
}  # fmt: skip


def cases() -> list[tuple[str, Type, list[str]]]:
    """Give each type and its array: a name, the type, and expressions of its values."""
    made = []
    for kinds, give in ((JAVA_LITERALS, builtin), (OWN, own)):
        for name, literals in kinds.items():
            scalar, array = give(name), give(name, array=True)
            values = [f"{quoted(literal)}::{scalar['sql']}" for literal in literals]
            arrays = ["ARRAY[]", f"ARRAY[{', '.join(values)}, NULL]", "ARRAY[NULL]"]
            stem = name.replace(" ", "_")
            made.append((f"c_{stem}", scalar, [*values, "NULL"]))
            made.append((f"a_{stem}", array, [*(f"{a}::{array['sql']}" for a in arrays), "NULL"]))
    return made


def pascal(name: str) -> str:
    return "".join(word[:1].upper() + word[1:] for word in name.split("_"))


def shop() -> tuple[Sql, str]:
    """Give a table for each type, what reads it and writes its copy, and their program."""
    code, lines = Sql("shop", types=TYPES), []
    for name, kind, values in cases():
        for suffix, nullable, where in (("", True, ""), ("_set", False, " WHERE v IS DISTINCT FROM NULL")):
            columns = [column("n", builtin("int4"), nullable=False), column("v", kind, nullable=nullable)]
            text = f"SELECT n, v FROM src_{name}{where} ORDER BY n"
            code.statement(f"read_{name}{suffix}", [text], columns=columns)
            code.table(name + suffix, {"n": builtin("int4"), "v": kind})
            for table_column in code.tables[-1]["columns"]:
                table_column["nullable"] = nullable and table_column["name"] == "v"
            parameter = {"name": "v", "type": kind, "nullable": nullable, "why": ""}
            sql = f"SELECT n FROM src_{name} WHERE ROW(v)::text IS NOT DISTINCT FROM ROW("
            code.statement(
                f"same_{name}{suffix}", [sql, 0, ")::text LIMIT 1"], pluck=True, one=True, parameters=[parameter],  # noqa: E501
                columns=[column("n", builtin("int4"))],
            )  # fmt: skip
            stem, count = pascal(name + suffix), len(values) - (0 if nullable else 1)
            lines.append(f"""
        Check.run("{name}{suffix}", () -> {{
            var rows = shop.read{stem}();
            Check.that("{name}{suffix}: rows", rows.size() == {count});
            Check.that("{name}{suffix}: appended", shop.bulkInsert{stem}Row(rows) == {count});
            // pgjdbc asks for binary results from the second time on, where it does.
            for (int i = 0; i < 2; i++) {{
                Check.that("{name}{suffix}: again", like(rows, shop.read{stem}()));
                try (var stream = shop.read{stem}Stream()) {{
                    Check.that("{name}{suffix}: stream", like(rows, stream.toList()));
                }}
                for (var row : rows) {{
                    Check.that("{name}{suffix}: parameter " + row, shop.same{stem}(row.v()) != null);
                }}
            }}
        }});""")
    # Java's methods are of 64 KiB at the most.
    parts = [lines[start : start + 20] for start in range(0, len(lines), 20)]
    methods = "".join(
        f"    private static void part{number}(Shop shop) {{{''.join(part)}\n    }}\n\n"
        for number, part in enumerate(parts)
    )
    calls = "".join(f"            part{number}(shop);\n" for number in range(len(parts)))
    program = f"""
import java.util.List;

final class RoundTrip {{
    private RoundTrip() {{
    }}

    /** Arrays of bytes are equal in Java if they are the same. */
    private static boolean like(List<?> one, List<?> other) {{
        String shown = one.toString().replaceAll("\\\\[B@[0-9a-f]+", "bytes");
        return shown.equals(other.toString().replaceAll("\\\\[B@[0-9a-f]+", "bytes"));
    }}

{methods}    public static void main(String[] arguments) throws Exception {{
        try (var connection = Check.connect()) {{
            Shop shop = new Shop(connection);
{calls}        }}
    }}
}}
"""
    return code, program


REFUSED = {
    "numeric": ["NaN", "Infinity", "-Infinity"],
    "numeric[]": ["{1,NaN}"],
    "numrange": ["[NaN,NaN]"],
    "date": ["infinity", "-infinity"],
    "time": ["24:00"],
    "timetz": ["24:00+00"],
    "timestamp": ["infinity", "-infinity"],
    "timestamptz": ["infinity", "-infinity"],
    "daterange": ["[2000-01-01,infinity]"],
    "int4[]": ["[0:1]={1,2}", "{{1,2},{3,4}}"],
    "text[]": ["[2:2]={a}", "{{a}}"],
    "mood[]": ["[2:2]={happy}", "{{happy}}"],
    "date[]": ["{infinity}"],
}


def refused() -> tuple[Sql, str]:
    """Give queries of values that Java cannot hold, and a program that reads each often."""
    code, lines = Sql("refused", types=TYPES), []
    for number, (name, literals) in enumerate(REFUSED.items()):
        give = own if name.startswith("mood") else builtin
        kind = give(name.removesuffix("[]"), array=name.endswith("[]"))
        for place, literal in enumerate(literals):
            text: list[str | int] = [f"SELECT {quoted(literal)}::{kind['sql']}"]
            query = f"q{number}x{place}"
            code.statement(query, text, one=True, pluck=True, columns=[column("v", kind)])
            lines.append(f'            Check.refusedTwice("{name} {literal}", "", q::{query});\n')
    code.statement(
        "nothing", ["SELECT NULL::int AS v"], columns=[column("v", builtin("int4"), nullable=False)]
    )
    code.statement("none", ["SELECT NULL AS v"], columns=[column("v", builtin("text"), nullable=False)])
    lines += [
        f'            Check.refusedTwice("{name}", "column v is null", q::{name});\n'
        for name in ("nothing", "none")
    ]
    program = f"""
final class ReadRefused {{
    private ReadRefused() {{
    }}

    public static void main(String[] arguments) throws Exception {{
        try (var connection = Check.connect()) {{
            var q = new Refused(connection);
            for (int i = 0; i < 3; i++) {{
{"".join(lines)}            }}
        }}
    }}
}}
"""
    return code, program


TOO_MUCH = {
    "oid": ["-1L", "1L << 32"],
    "text": ['"a\\0b"', '"\\ud800"', '"\\u00fc\\udc00x"'],
    "varchar": ['"\\0"'],
    "jsonb": ['"\\0"'],
    "numeric": [
        'new java.math.BigDecimal("1e131072")', 'new java.math.BigDecimal("1e-16384")',
        "new java.math.BigDecimal(java.math.BigInteger.ONE, Integer.MIN_VALUE)",
    ],
    "date": [
        "java.time.LocalDate.MAX", "java.time.LocalDate.MIN", "java.time.LocalDate.of(5_881_610, 7, 11)",
        "java.time.LocalDate.of(-4713, 11, 23)",
    ],
    "time": ["java.time.LocalTime.of(1, 1, 1, 1)"],
    "timetz": ["java.time.OffsetTime.MAX", "java.time.OffsetTime.of(1, 1, 1, 0, java.time.ZoneOffset.ofHours(16))"],  # noqa: E501
    "timestamp": [
        "java.time.LocalDateTime.MAX", "java.time.LocalDateTime.of(2000, 1, 1, 1, 1, 1, 1)",
        "java.time.LocalDateTime.of(294_277, 1, 1, 0, 0)",
    ],
    "timestamptz": [
        "java.time.OffsetDateTime.MAX", "java.time.OffsetDateTime.MIN",
        "java.time.OffsetDateTime.of(2000, 1, 1, 1, 1, 1, 1, java.time.ZoneOffset.UTC)",
    ],
    "date[]": ["java.util.List.of(java.time.LocalDate.MAX)"],
}  # fmt: skip


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
        for value in values:
            lines.append(f"""
            Check.refused("{name} {len(lines)}", "row 1, column v: ",
                () -> q.bulkInsertT{number}Row(List.of(new Toomuch.T{number}Row({value}))));
            Check.refused("{name} {len(lines)} as parameter", "", () -> q.set{number}({value}));""")
    program = f"""
import java.util.List;

final class WriteTooMuch {{
    private WriteTooMuch() {{
    }}

    public static void main(String[] arguments) throws Exception {{
        try (var connection = Check.connect()) {{
            var q = new Toomuch(connection);{"".join(lines)}
        }}
    }}
}}
"""
    return code, program


def faults() -> list[Sql]:
    """Give tables whose appenders go in binary and as text, and statements that are run beside them."""
    made = []
    for name, last in (("binary", "int4"), ("text", "point")):
        code = Sql(f"faults_{name}")
        code.table("t", {"a": builtin("int4"), "b": builtin("date"), "c": builtin(last)})
        number = builtin("int4")
        text = ["SELECT i FROM generate_series(1, 3000) i"]
        code.statement("numbers", text, columns=[column("i", number, nullable=False)])
        code.statement(
            "add",
            ["INSERT INTO t VALUES (", 0, ")"],
            kind="exec",
            batch=True,
            parameters=[parameter("a", number)],
        )
        made.append(code)
    return made


def queries() -> Sql:
    """Give statements of every form."""
    code = Sql("queries")
    a = {"name": "a", "type": builtin("int4"), "nullable": False, "why": ""}
    b = {"name": "b", "type": builtin("text"), "nullable": True, "why": ""}
    # Texts, names and comments keep their question marks; an operator is none of pgjdbc's parameters.
    code.statement(
        "operators", ["SELECT '?' || E'\\'?' /* ? */ AS \"?\" -- ?\nWHERE '{\"a\": 1}'::jsonb ? ", 0, " AND true"],  # noqa: E501
        parameters=[b], columns=[column("?", builtin("text"), nullable=False)], pluck=True,
    )  # fmt: skip
    insert: list[str | int] = ["INSERT INTO t (a, b) VALUES (", 0, ", ", 1, ")"]
    code.statement("add", insert, kind="exec", parameters=[a, b], batch=True)
    row = [column("a", builtin("int4"), nullable=False), column("b", builtin("text"))]
    code.statement(
        "add_returning", [*insert, " RETURNING a, b"], parameters=[a, b], columns=row, batch=True, one=True
    )
    code.statement("touch", ["SELECT count(*) FROM t WHERE a = ", 0], kind="exec", parameters=[a], batch=True)
    # Each place of a variable is a place of its own for JDBC.
    code.statement(
        "twice", ["SELECT ", 0, " + ", 0, " AS a, ", 1, " AS b"], parameters=[a, b], columns=row, one=True,
        result="Item",
    )  # fmt: skip
    code.statement("all_items", ["SELECT a, b FROM t ORDER BY a"], columns=row, result="Item")
    code.statement(
        "count",
        ["SELECT count(*) FROM t"],
        columns=[column("count", builtin("int8"), nullable=False)],
        pluck=True,
        one=True,
    )
    code.statement(
        "all_b", ["SELECT b FROM t ORDER BY a"], columns=[column("b", builtin("text"))], pluck=True
    )
    code.statement(
        "numbers",
        ["SELECT g / (2500 - g) FROM generate_series(1, ", 0, ") g"],
        pluck=True,
        parameters=[a],
        columns=[column("g", builtin("int4"), nullable=False)],
    )
    text = builtin("text") | {"sql": "pg_catalog.text"}
    code.statement(
        "not_null",
        ["SELECT ", 0],
        parameters=[{"name": "class", "type": text, "nullable": False, "why": ""}],
        columns=[column("v", text)],
        pluck=True,
        one=True,
    )
    # Longer than a constant of a class file can be.
    code.statement(
        "long",
        ["SELECT length('" + "\u20ac" * 70_000 + "')"],
        columns=[column("n", builtin("int4"), nullable=False)],
        pluck=True,
        one=True,
    )
    return code


ESCAPES = "*/ \\u002a\\u002f \\\\u000a \\u0022 @deprecated {@code <b>&lt; \u202e"
"""What javac reads before anything else, and what Javadoc takes for its own."""


def words() -> Sql:
    """Give names that mean something in Java, and texts of which javac would make code."""
    names = [
        "string",
        "list",
        "object",
        "record",
        "override",
        "SQLException",
        "wait",
        "getClass",
        "hash_code",
    ]
    names += [
        "toString",
        "notify",
        "connection",
        "s",
        "r",
        "row",
        "rows",
        "item",
        "var",
        "yield",
        "howdah_jdbc",
        "b1",
    ]
    code = Sql("system", types=[
        {"schema": "public", "name": name, "kind": "enum", "labels": ["value", "values", "valueOf", "1", ESCAPES]}  # noqa: E501
        for name in ("string", "system", "list", "a1")
    ])  # fmt: skip
    row = [column(name, builtin("text"), nullable=False) for name in names]
    parameters = [{"name": name, "type": builtin("text"), "nullable": False, "why": ""} for name in names]
    for name in names:
        sql: list[str | int] = ["SELECT "]
        for index, each in enumerate(names):
            sql += [", " if index else "", index, f' AS "{each}"']
        code.statement(
            name, sql, parameters=parameters, columns=row, batch=True, one=True, documentation=[ESCAPES, "@return"],  # noqa: E501
        )  # fmt: skip
        code.table(name, {each: builtin("text") for each in names})
    for number, kind in enumerate(("string", "system", "list", "a1")):
        literal = quoted(ESCAPES)
        columns = [column("v", own(kind), nullable=False)]
        code.statement(f"enum{number}", [f"SELECT {literal}::{kind}"], columns=columns, pluck=True, one=True)
    # Java's text blocks drop blanks at the ends of lines, and take the least indentation for their own.
    texts = [
        "  a \n b\t\n\n   c",
        "a\n  b",
        "a\r\nb\n",
        '"""\n"',
        "\\\n\\u0022",
        "\f\n\x0b",
        "\u3000\n\u2028",
        ESCAPES,
    ]
    for number, text in enumerate(texts):
        code.statement(
            f"text{number}", [f"SELECT E'' ||\n{quoted(text)}"], pluck=True, one=True,
            columns=[column("v", builtin("text"), nullable=False)],
        )  # fmt: skip
        code.statement(
            f"same{number}", [f"SELECT encode(convert_to({quoted(text)}, 'UTF8'), 'hex')"], pluck=True, one=True,  # noqa: E501
            columns=[column("v", builtin("text"), nullable=False)],
        )  # fmt: skip
    return code


ELSEWHERE = {"Migrating.java", "OptionalLines.java"}
"""Programs of code that other files generate."""


@pytest.fixture(scope="module")
def class_path(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Compile all modules and programs of this file at once."""
    folder = tmp_path_factory.mktemp("java")
    made = {"RoundTrip.java": shop(), "ReadRefused.java": refused(), "WriteTooMuch.java": too_much()}
    programs = {name: program for name, (_, program) in made.items()}
    own = [path for path in PROGRAMS.glob("*.java") if path.name not in ELSEWHERE]
    programs |= {path.name: path.read_text() for path in own}
    return compiled(
        folder, [*(code for code, _ in made.values()), *faults(), hostile(), queries(), words()], programs
    )


def test_a_value_of_any_type_is_changed_on_its_way_through_java(class_path: str, database: Database) -> None:
    sql = MADE
    for name, kind, values in cases():
        for table in (f"src_{name}", name, f"{name}_set"):
            sql += f"CREATE TABLE {table} (n int, v {kind['sql']});\n"
        rows = ", ".join(f"({n}, {value})" for n, value in enumerate(values))
        sql += f"INSERT INTO src_{name} VALUES {rows};\n"
    database.sql(sql)
    wrong = run(class_path, "RoundTrip", database)
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


def test_a_value_that_java_cannot_hold_is_changed_and_not_refused(
    class_path: str, database: Database
) -> None:
    database.sql(MADE)
    assert run(class_path, "ReadRefused", database) == []


def test_a_value_that_its_type_cannot_hold_is_changed_by_java(class_path: str, database: Database) -> None:
    database.sql("".join(f"CREATE TABLE t{n} (v {name});" for n, name in enumerate(TOO_MUCH)))
    assert run(class_path, "WriteTooMuch", database) == []
    for number in range(len(TOO_MUCH)):
        assert database.value(f"SELECT count(*) FROM t{number}") == "0"


@pytest.mark.parametrize("form", ["binary", "text"])
def test_an_appender_that_ends_early_leaves_rows_or_keeps_the_connection(
    class_path: str, database: Database, form: str
) -> None:
    last = "int" if form == "binary" else "point"
    database.sql(f"CREATE TABLE t (a int PRIMARY KEY, b date, c {last})")
    assert run(class_path, "Appending", database, form) == []


def test_a_statement_gives_something_else_or_leaves_a_transaction_open(
    class_path: str, database: Database
) -> None:
    database.sql("CREATE TABLE t (a int, b text)")
    assert run(class_path, "Statements", database) == []


def test_a_hostile_name_becomes_java(class_path: str, database: Database) -> None:
    name, labels = double(HOSTILE), ["happy", "Happy", "", HOSTILE, "class", "None", "mro"]
    listed = ", ".join(map(quoted, labels))
    database.sql(f"""
        CREATE SCHEMA {name}; CREATE TYPE {name}.{double(HOSTILE + "1")} AS ENUM ({listed});
        CREATE TYPE {name}.{double(HOSTILE + "2")} AS ({name} {name}.{double(HOSTILE + "1")}, class int);
        CREATE TABLE {name}.{name} ({name} {name}.{double(HOSTILE + "1")},
            self {name}.{double(HOSTILE + "2")}, int int, pg text,
            "a b" date, a_b int[])""")
    # Classes have the names that the golden file shows: reflection finds them by what they are.
    assert run(class_path, "HostileNames", database) == []


def test_a_word_or_an_escape_of_java_becomes_code(class_path: str, database: Database) -> None:
    code = words()
    labels = ", ".join(map(quoted, code.types[0]["labels"]))
    database.sql("".join(f"CREATE TYPE {kind['name']} AS ENUM ({labels});" for kind in code.types))
    given = run(class_path, "Words", database)
    texts = [s["sql"][0]["text"] for s in code.statements if s["name"].startswith("same")]
    assert given == [value for text in texts for value in database.sql(text)] * 2
