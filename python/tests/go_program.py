"""Go programs of generated code: pgx, one build for all of them, and a run with a database."""

import os
import shutil
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path

from conftest import Database
from generated import ROOT, Sql, write
from require import missing

PROGRAMS = Path(__file__).parent / "go"
"""Programs that tests run beside those that they write."""
_MODULE = ROOT / "crates/howdah-codegen/tests/go"
_OFFLINE = os.environ | {"GOFLAGS": "-mod=mod", "GOPROXY": "off", "GOTOOLCHAIN": "local"}


def _go(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = ["go", *arguments]
    return subprocess.run(
        command, cwd=folder, env=_OFFLINE, capture_output=True, text=True, check=False, timeout=600
    )


def driver() -> None:
    """Skip the test where there is no Go, an old one, or no pgx."""
    if shutil.which("go") is None:
        missing("go", "there is no go")
    done = _go(_MODULE, "list", "-deps", "github.com/jackc/pgx/v5/pgxpool")
    if done.returncode != 0:
        missing("go", f"Go cannot compile pgx, which make go-driver gets: {done.stderr.strip()[-300:]}")


def built(folder: Path, packages: Mapping[str, Iterable[Sql]], programs: Mapping[str, str]) -> Path:
    """Build packages of modules with programs, after `go vet` and gofmt, and give what was built."""
    driver()
    for name in ("go.mod", "go.sum"):
        shutil.copy(_MODULE / name, folder / name)
    for package, modules in packages.items():
        (folder / package).mkdir(exist_ok=True)
        write(modules, "go/postgres", folder / package, f"package={package}")
    for name, text in programs.items():
        (folder / name).write_text(text, encoding="utf-8")
    for arguments in (["vet", "./..."], ["build", "-o", "program", "."]):
        done = _go(folder, *arguments)
        assert done.returncode == 0, done.stderr
    command = ["gofmt", "-l", *packages]
    unlike = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert (unlike.stdout, unlike.returncode) == ("", 0), unlike.stderr
    return folder / "program"


def run(program: Path, database: Database, *arguments: str) -> list[str]:
    """Run a program; it finds the database in its environment."""
    # A time zone that shows what depends on it.
    environment = os.environ | {"HOWDAH_DSN": database.dsn, "TZ": "America/St_Johns"}
    done = subprocess.run(
        [program, *arguments], env=environment, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.splitlines()
