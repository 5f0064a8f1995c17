"""The example of ``howdah codegen init`` in Rust runs; the others do in the command's own tests."""

import os
import subprocess
import sys
from pathlib import Path

from conftest import Database
from rust_program import compiled

COMMAND = Path(sys.executable).parent / "howdah"


def howdah(*arguments: str, folder: Path) -> None:
    done = subprocess.run([COMMAND, *arguments], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_example_in_rust_runs(tmp_path: Path, database: Database) -> None:
    howdah("codegen", "init", "--generator", "rust/postgres", folder=tmp_path)
    howdah("codegen", "generate", folder=tmp_path)
    howdah("migrate", "apply", "-d", database.dsn, folder=tmp_path)
    program = compiled([], {}, tmp_path / "src")
    environment = os.environ | {"DATABASE_URL": database.dsn}
    done = subprocess.run([program], env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("3 tasks written\nfirst: ")
    assert done.stdout.endswith("\nall: 3\nurgent: Pay the rent\nurgent: Call Ada\n")
