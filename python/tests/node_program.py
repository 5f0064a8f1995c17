"""Node programs of generated TypeScript: node-postgres, one tsc for all, and a run with a database."""

import functools
import os
import shutil
import subprocess
from pathlib import Path

from conftest import Database
from generated import ROOT
from require import missing

PROGRAMS = Path(__file__).parent / "typescript"
"""Programs that tests run beside those that they write."""
_SETTINGS = ROOT / "crates" / "howdah-codegen" / "tests" / "typescript"
_OLDEST = 20
_INSTALLED = ROOT / "build" / "node" / "node_modules"


def driver() -> Path:
    """Give the folder of node-postgres and TypeScript, or skip the test."""
    if shutil.which("node") is None:
        missing("node", "there is no node")
    if (found := version()) < _OLDEST:
        missing("node", f"node is {found}, and generated code wants {_OLDEST}")
    if not (_INSTALLED.parent / "ready").exists():
        missing("node", "there is no node-postgres: make node-driver")
    return _INSTALLED


@functools.cache
def version() -> int:
    """Give the first number of node's version."""
    command = ["node", "--version"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return int(done.stdout.removeprefix("v").split(".")[0])


def compiled(folder: Path, programs: dict[str, str]) -> Path:
    """Compile the modules in a folder with programs, in the strictest setting. Give the code's folder."""
    installed = driver()
    for name, text in programs.items():
        (folder / name).write_text(text)
    if not (folder / "node_modules").exists():
        (folder / "node_modules").symlink_to(installed)
    shutil.copy(_SETTINGS / "tsconfig.json", folder)
    (folder / "package.json").write_text('{"type": "module"}')
    check(folder, "typescript")
    return folder / "out"


def check(folder: Path, compiler: str, *options: str) -> None:
    """Let a version of TypeScript's compiler read a folder."""
    command = ["node", str(driver() / compiler / "bin" / "tsc"), "--project", str(folder), *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr


def run(code: Path, program: str, database: Database, *arguments: str) -> list[str]:
    """Run a program, which finds the database in its environment."""
    # A locale and a time zone that show what depends on them.
    environment = os.environ | {"HOWDAH_URL": database.dsn, "TZ": "America/St_Johns", "LC_ALL": "ar_EG.UTF-8"}
    node = ["node", "--expose-gc", str(code / program), *arguments]
    done = subprocess.run(node, env=environment, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.splitlines()
