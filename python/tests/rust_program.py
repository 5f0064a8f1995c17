"""Rust programs of generated code: one cargo build for all of them, and a run with a database."""

import os
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

from conftest import Database
from generated import ROOT, Sql, write
from require import missing

PROJECT = Path(__file__).parent / "rust"
PROGRAMS = PROJECT / "programs"
"""Programs that have a build of their own: each is a `main.rs`."""
BUILD = ROOT / "build" / "codegen" / "rust"
"""The same place each time, so that nothing is left in the target folder, and as deep as the project."""
RUNTIME = "--features=runtime"
"""All programs have it: with other features their libraries would be compiled once more."""


def cargo(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run cargo in the project's copy, in the workspace's target folder."""
    target = os.environ.get("CARGO_TARGET_DIR", str(ROOT / "target"))
    environment = os.environ | {"CARGO_TARGET_DIR": target}
    command = ["cargo", *arguments, "--quiet", "--locked", "--offline"]
    return subprocess.run(command, cwd=BUILD, env=environment, capture_output=True, text=True, check=False)


def compiled(modules: Iterable[Sql], programs: dict[str, str], generated: Path | None = None) -> Path:
    """Compile modules or generated code with programs, without a warning. Give what has them all."""
    shutil.rmtree(BUILD, ignore_errors=True)
    shutil.copytree(PROJECT, BUILD)
    if cargo("metadata", "--format-version=1").returncode != 0:
        missing("crates", "the crates of generated Rust are not there: make rust-crates")
    sources = BUILD / "src"
    modules = list(modules)
    if modules:
        write(modules, "rust/postgres", sources)
    if generated is not None:
        shutil.copytree(generated, sources, dirs_exist_ok=True)
    for name, text in programs.items():
        (sources / name).write_text(text)
    done = cargo("build", RUNTIME)
    assert done.returncode == 0, done.stderr
    target = os.environ.get("CARGO_TARGET_DIR", str(ROOT / "target"))
    return Path(target) / "debug" / "generated"


def lint(*modules: str) -> None:
    """Check what was compiled last as its users may: by clippy, with all that it has, and by rustfmt."""
    done = cargo("clippy")
    assert (done.returncode, done.stderr) == (0, "")
    laid_out(*modules)


def laid_out(*modules: str) -> None:
    """Check what was compiled last by rustfmt."""
    files = [str(BUILD / "src" / f"{module}.rs") for module in modules]
    command = ["rustfmt", "--check", "--edition", "2024", *files]
    unlike = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (unlike.returncode, unlike.stdout, unlike.stderr) == (0, "", "")


def run(program: Path, database: Database, *arguments: str) -> list[str]:
    """Run a program with a database, and give the lines that it prints."""
    environment = os.environ | {"HOWDAH_DSN": database.dsn}
    done = subprocess.run(
        [program, *arguments], env=environment, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.split("\n")[:-1]


def compile_libraries() -> None:
    """Compile what all programs are built with: on a cold machine that takes longer than a test may."""
    shutil.rmtree(BUILD, ignore_errors=True)
    shutil.copytree(PROJECT, BUILD)
    (BUILD / "src" / "main.rs").write_text("fn main() {}\n")
    # Where crates are missing, the tests say so.
    cargo("build", RUNTIME)


if __name__ == "__main__":
    compile_libraries()
