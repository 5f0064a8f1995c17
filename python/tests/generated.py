"""Models of annotated SQL for tests of generated code, and the code that is made of them."""

import functools
import hashlib
import importlib
import json
import os
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

Type = dict[str, Any]
Piece = dict[str, Any]
ROOT = Path(__file__).parents[2]


def quoted(text: str) -> str:
    """Give a literal of SQL."""
    return "'" + text.replace("'", "''") + "'"


def builtin(name: str, *, array: bool = False) -> Type:
    """Give a type of pg_catalog."""
    written = f'"{name}"' if name == "char" else name
    return {
        "schema": "pg_catalog",
        "name": name,
        "array": array,
        "sql": f"pg_catalog.{written}{'[]' * array}",
    }


def own(name: str, *, array: bool = False, schema: str = "public") -> Type:
    """Give a type that a test made."""
    names = [part.replace('"', '""') for part in (schema, name)]
    return {"schema": schema, "name": name, "array": array, "sql": f'"{names[0]}"."{names[1]}"{"[]" * array}'}


def column(name: str, kind: Type, *, nullable: bool = True) -> dict[str, Any]:
    """Give a column of a result."""
    return {"name": name, "type": kind, "nullable": nullable, "why": "the test says so"}


def fragment(piece: str | int | Piece) -> Piece:
    """Give a piece of a statement as a model has it; a number stands for that parameter."""
    if isinstance(piece, str):
        return {"text": piece}
    return {"parameter": piece} if isinstance(piece, int) else piece


def line(decides: int, *sql: str | int | Piece) -> Piece:
    """Give a line that is there while a parameter is not null, or true."""
    return {"optional": {"parameter": decides, "sql": [fragment(piece) for piece in sql]}}


def parameter(name: str, kind: Type, *, nullable: bool = True, role: object = "value") -> dict[str, Any]:
    """Give a parameter."""
    return {"name": name, "type": kind, "nullable": nullable, "why": "", "role": role}


@dataclass
class Sql:
    """A module of a model, filled by a test."""

    name: str
    types: list[dict[str, Any]] = field(default_factory=list)
    statements: list[dict[str, Any]] = field(default_factory=list)
    tables: list[dict[str, Any]] = field(default_factory=list)
    migrations: list[dict[str, Any]] = field(default_factory=list)

    def statement(self, name: str, sql: Sequence[str | int | Piece], **rest: object) -> None:
        """Add a QUERY; a number in its SQL stands for that parameter."""
        pieces = [fragment(piece) for piece in sql]
        plain: dict[str, object] = {
            "name": name, "kind": "query", "one": False, "pluck": False, "batch": False, "file": "a.sql", "line": 1,  # noqa: E501
            "sql": pieces, "parameters": [], "columns": [],
        }  # fmt: skip
        self.statements.append(plain | rest)

    def table(self, name: str, columns: dict[str, Type], *, schema: str = "public", **rest: object) -> None:
        """Add a TABLE with an appender."""
        written = [{"name": n, "type": t, "nullable": True, "written": True} for n, t in columns.items()]
        self.tables.append({
            "name": name, "schema": schema, "table": name, "file": "a.sql", "line": 9, "appender": True,
            "columns": written,
        } | rest)  # fmt: skip

    def migration(self, name: str, *statements: str, alone: bool = False) -> None:
        """Add a MIGRATE."""
        sql = "; ".join(statements)
        self.migrations.append({
            "id": name, "sql": sql, "statements": statements, "no_transaction": alone, "file": "a.sql",
            "line": len(self.migrations) + 1, "checksum": hashlib.sha256(sql.encode()).hexdigest(),
        })  # fmt: skip

    def module(self) -> dict[str, Any]:
        """Give it as a model has it."""
        return {
            "name": self.name, "files": ["a.sql"], "statements": self.statements, "tables": self.tables,
            "migrations": self.migrations,
        }  # fmt: skip

    def write(self, folder: Path, *options: str) -> Path:
        """Generate its Python in a folder, and give the module's path."""
        write([self], "python/postgres", folder, *options)
        return folder / f"{self.name}.py"

    def load(self, folder: Path, *options: str) -> ModuleType:
        """Generate its code and import it."""
        self.write(folder, *options)
        if str(folder) not in sys.path:
            sys.path.insert(0, str(folder))
        importlib.invalidate_caches()
        support = ("copy", "cursors", "migrate", "observer", "psycopg", "runtime")
        for name in (self.name, *(f"howdah_{part}" for part in support)):
            sys.modules.pop(name, None)
        return importlib.import_module(self.name)


@functools.cache
def renderer() -> Path:
    """Give the program that renders models, built with what the workspace's tests are built with."""
    command = ["cargo", "build", "--quiet", "--locked", "--workspace", "--example", "render-model"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "debug" / "examples" / "render-model"


def write(modules: Iterable[Sql], generator: str, folder: Path, *options: str) -> None:
    """Generate the code of modules in a folder, with options of `render-model`."""
    modules = list(modules)
    types = {(kind["schema"], kind["name"]): kind for module in modules for kind in module.types}
    model = {
        "model": 1,
        "engine": "postgresql",
        "project": "test",
        "modules": [module.module() for module in modules],
        "types": list(types.values()),
    }
    (folder / "model.json").write_text(json.dumps(model))
    command = [str(renderer()), str(folder / "model.json"), generator, str(folder), *options]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
