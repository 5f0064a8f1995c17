"""Java programs of generated code: pgjdbc, one javac for all of them, and a run with a database."""

import os
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import urlsplit

from conftest import Database
from generated import ROOT, Sql, write
from require import missing

_JARS = ("build/java", "build/contenders/jars")
PROGRAMS = Path(__file__).parent / "java"
"""Programs that tests run beside those that they write."""


def driver() -> Path:
    """Give pgjdbc, or skip the test."""
    for command in ("java", "javac"):
        if shutil.which(command) is None:
            missing("java", f"there is no {command}")
    jars = [jar for folder in _JARS for jar in sorted((ROOT / folder).glob("postgresql-*.jar"))]
    if not jars:
        missing("java", "there is no pgjdbc: make java-driver")
    return jars[0]


def compiled(folder: Path, modules: Iterable[Sql] | None, programs: dict[str, str]) -> str:
    """Compile modules, generated if they are not there, with programs, in the strictest setting.

    Give the class path.
    """
    jar = driver()
    if modules is not None:
        write(modules, "java/postgres", folder)
    for name, text in programs.items():
        (folder / name).write_text(text)
    sources = [str(path) for path in sorted(folder.glob("*.java"))]
    classes = folder / "classes"
    # The encoding of the machine is none that generated code may depend on.
    command = [
        "javac",
        "-Xlint:all",
        "-Werror",
        "--release",
        "17",
        "-encoding",
        "US-ASCII",
        "-d",
        str(classes),
    ]
    done = subprocess.run([*command, "-cp", str(jar), *sources], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return f"{classes}{os.pathsep}{jar}"


def run(class_path: str, program: str, database: Database, *arguments: str) -> list[str]:
    """Run a program; it finds the database in its environment, and its connection takes some from the URL."""
    parts = urlsplit(database.dsn)
    url = f"jdbc:postgresql://{parts.hostname}:{parts.port}{parts.path}"
    environment = os.environ | {
        "HOWDAH_URL": url, "HOWDAH_USER": parts.username or "", "HOWDAH_PASSWORD": parts.password or "",
    }  # fmt: skip
    # A locale and a time zone that show what depends on them.
    java = ["java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Duser.language=ar", "-Duser.country=EG"]
    java += ["-Duser.timezone=America/St_Johns", "-cp", class_path, program, *arguments]
    done = subprocess.run(java, env=environment, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.splitlines()
