"""Generated upserts of Go, TypeScript and Rust: what those of Python and Java show, by programs."""

import json
from collections.abc import Callable
from pathlib import Path

import go_program
import node_program
import pytest
import rust_program
from conftest import Database
from generated import write
from test_generated_appenders import HOSTILE
from test_generated_upserts import (
    LEFT,
    STEPS,
    cases,
    compare,
    hostile_upserts,
    make_hostile,
    pascal,
    tables,
    upserts,
)

Run = Callable[..., list[str]]
MODES = {
    "go": ("conn", "tx", "pool"),
    "typescript": ("client", "transaction", "pool"),
    "rust": ("transaction",),
}


def filled(program: str, lines: list[str]) -> str:
    """Put the steps into a program, and what it is to find."""
    steps = "\n".join(lines)
    return program.replace("// STEPS", steps).replace("LEFT", LEFT).replace('"HOSTILE"', json.dumps(HOSTILE))


def in_go(folder: Path) -> Run:
    lines = []
    for name, *_ in cases():
        stem = pascal(name)
        for batch, verb in STEPS:
            lines.append("\tstep(ctx, func(db upserts.DBTX) (int64, error) {")
            lines.append("\t\tq := upserts.New(db)")
            lines.append(f"\t\trows := must(q.Source{stem}(ctx, {batch}))")
            lines.append(f"\t\treturn q.{verb.capitalize()}{stem}(ctx, rowsOf[upserts.{stem}Row](rows))")
            lines.append("\t})")
    program = filled((go_program.PROGRAMS / "upserting" / "main.go").read_text(), lines)
    packages = {"upserts": [upserts()], "hostile": [hostile_upserts()]}
    built = go_program.built(folder, packages, {"main.go": program})
    return lambda *given: go_program.run(built, *given)


def in_typescript(folder: Path) -> Run:
    lines = []
    for name, *_ in cases():
        for batch, verb in STEPS:
            source = f"await shop.source{pascal(name)}({batch})"
            lines.append(f"  await step(async () => shop.{verb}{pascal(name)}({source}));")
    programs = {
        "check.ts": (node_program.PROGRAMS / "check.ts").read_text(),
        "upserting.ts": filled((node_program.PROGRAMS / "upserting" / "main.ts").read_text(), lines),
    }
    node_program.driver()
    write([upserts(), hostile_upserts()], "typescript/postgres", folder)
    code = node_program.compiled(folder, programs)
    return lambda *given: node_program.run(code, "upserting.js", *given)


def in_rust(_: Path) -> Run:
    lines = []
    for case in cases():
        name, columns = case[0], case[3]
        fields = ", ".join(f"{column}: row.{column}" for column in columns)
        if columns.get("p") == "point":
            fields = fields.replace("row.p", "row.p.map(howdah_postgres::Literal)")
        for batch, verb in STEPS:
            lines.append("    let mut tx = client.transaction().await?;")
            lines.append(f"    let rows = q::source_{name}(&tx, {batch}).await?;")
            lines.append(f"    let rows = rows.into_iter().map(|row| q::{pascal(name)}Row {{ {fields} }});")
            lines.append(f'    println!("{{}}", q::{verb}_{name}(&mut tx, rows).await?);')
            lines.append("    tx.commit().await?;")
    text = filled((rust_program.PROGRAMS / "upserting.rs").read_text(), lines)
    built = rust_program.compiled([upserts(points="p::text AS p"), hostile_upserts()], {"main.rs": text})
    rust_program.lint("upserts", "howdah_postgres")
    return lambda database, task, _: rust_program.run(built, database, task, HOSTILE)


@pytest.fixture(scope="module")
def programs() -> dict[str, Run]:
    return {}


@pytest.fixture
def program(language: str, programs: dict[str, Run], tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Build the program of a language once."""
    if language not in programs:
        build = {"go": in_go, "typescript": in_typescript, "rust": in_rust}[language]
        programs[language] = build(tmp_path_factory.mktemp(language))
    return programs[language]


EACH = pytest.mark.parametrize(("language", "mode"), [(each, mode) for each in MODES for mode in MODES[each]])


@EACH
def test_an_upsert_differs_from_a_loop(program: Run, database: Database, mode: str) -> None:
    counts: list[str] = []

    def write(*_: object) -> int:
        if not counts:
            counts.extend(program(database, "steps", mode))
        return int(counts.pop(0))

    compare(database, write, ahead=True)
    assert counts == []


@EACH
def test_an_upsert_that_ends_early_leaves_rows_or_a_table_or_spoils_the_transaction(
    program: Run, database: Database, language: str, mode: str
) -> None:
    database.sql(tables() + "ALTER TABLE one_binary ADD CHECK (c < 100); CREATE TABLE log (a int)")
    assert program(database, "faults", mode) == []
    assert database.sql("SELECT a, b, c FROM one_binary") == ["1|b|2"]
    assert database.value("SELECT count(*) FROM log") == {"go": "5", "typescript": "6", "rust": "4"}[language]
    assert database.value("SELECT count(*) FROM one_text") == "0"
    assert database.value(LEFT) == "0"


@pytest.mark.parametrize(("language", "task"), [("go", "stopped"), ("typescript", "lost")])
def test_a_call_whose_context_or_connection_ends_leaves_rows(
    program: Run, database: Database, task: str
) -> None:
    database.sql(tables())
    assert program(database, task, "client") == []
    assert database.value("SELECT count(*) FROM one_binary") == "0"
    assert database.value(LEFT) == "0"


@pytest.mark.parametrize("language", MODES)
def test_a_hostile_name_upserts(program: Run, database: Database) -> None:
    make_hostile(database)
    assert program(database, "hostile", "pool") == []
