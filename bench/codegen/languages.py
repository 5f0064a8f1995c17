"""Build the program of each language, with the code that was generated beside it."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[2]
BUILD = ROOT / "build" / "bench-codegen"
PROJECT = BUILD / "project"
"""A copy of this folder, into which code is generated: the working tree stays as it is."""


class MissingError(Exception):
    """A language cannot be measured here, since a command is not there."""

    def __init__(self, command: str) -> None:
        """Name the command."""
        super().__init__(f"there is no {command}")


def project(howdah: Path) -> None:
    """Copy the programs, and generate the code that they measure."""
    shutil.rmtree(PROJECT, ignore_errors=True)
    shutil.copytree(Path(__file__).parent, PROJECT, ignore=shutil.ignore_patterns("__pycache__"))
    _run(PROJECT, str(howdah), "codegen", "generate", ".")


def schema(howdah: Path, dsn: str) -> None:
    """Make the table, as its MIGRATE step says."""
    _run(PROJECT, str(howdah), "migrate", "apply", "-d", dsn)


def python(folder: Path) -> list[str]:
    """Nothing is built: the interpreter is that of this program, which has psycopg."""
    return [sys.executable, str(folder / "sensor_program.py")]


def java(folder: Path) -> list[str]:
    """Compile with the versions of bench/contenders."""
    _want("java", "javac", "mvn")
    jars = BUILD / "jars"
    if not list(jars.glob("pgbulkinsert-*")):
        pom = ROOT / "bench" / "contenders" / "java" / "pom.xml"
        maven = ["mvn", "--quiet", "--batch-mode", "--file", str(pom), "dependency:copy-dependencies"]
        _run(ROOT, *maven, f"-DoutputDirectory={jars}")
    path = f"{folder}{os.pathsep}{jars}/*"
    _run(folder, "javac", "-Xlint:all", "-cp", path, *[str(file) for file in folder.glob("*.java")])
    return ["java", "-cp", path, "SensorProgram"]


def go(folder: Path) -> list[str]:
    """Build with the versions that the tests of generated Go have."""
    _want("go")
    for name in ("go.mod", "go.sum"):
        shutil.copy(ROOT / "crates" / "howdah-codegen" / "tests" / "go" / name, folder)
    _run(folder, "go", "build", "-o", "program", ".", GOFLAGS="-mod=mod", GOTOOLCHAIN="local")
    return [str(folder / "program")]


def rust(folder: Path) -> list[str]:
    """Build as a release, with the versions of its lock file."""
    _want("cargo")
    target = BUILD / "rust-target"
    _run(folder, "cargo", "build", "--release", "--quiet", "--locked", CARGO_TARGET_DIR=str(target))
    return [str(target / "release" / "sensor-program")]


def typescript(folder: Path) -> list[str]:
    """Compile with the versions of its lock file."""
    _want("node", "npm")
    _run(folder, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline")
    _run(folder, "node", str(folder / "node_modules" / "typescript" / "bin" / "tsc"))
    # The rows are in memory all the time, beside what a run makes.
    return ["node", "--expose-gc", "--max-old-space-size=8192", str(folder / "out" / "program.js")]


LANGUAGES: dict[str, Callable[[Path], list[str]]] = {
    "python": python,
    "java": java,
    "go": go,
    "rust": rust,
    "typescript": typescript,
}
"""They give the command that runs the program."""


def _want(*commands: str) -> None:
    for command in commands:
        if shutil.which(command) is None:
            raise MissingError(command)


def _run(folder: Path, *command: str, **environment: str) -> None:
    done = subprocess.run(
        command,
        cwd=folder,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
