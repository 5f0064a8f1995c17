"""The Python that README.md and docs/*.md show is run, and what they show of its output is compared.

Blocks of a document are run from top to bottom, those in HTML comments too, in an empty directory; ``PG*``
variables name a server with the empty database ``shop``. A block of text that follows must have been printed,
where ``…`` stands for anything in a line. A block that begins with a comment like ``# test_people.py`` is a
file, and pytest runs it.
"""

import re
import subprocess
import sys
from pathlib import Path

import pytest
import require
from conftest import Database

import howdah

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^```(python|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LIBRARIES = re.compile(r"^import (duckdb|pandas|polars|psycopg|pyarrow|sqlalchemy)$", re.MULTILINE)
DOCUMENTS = [
    path
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    if "```python" in path.read_text()
]


def matches(shown: str, printed: str) -> bool:
    parts = [re.escape(part) for part in shown.split("…")]
    return re.fullmatch(".*".join(parts), printed) is not None


def missing(shown: str, printed: str) -> str | None:
    """Give the first line shown that was not printed after the one before it."""
    lines = iter(printed.splitlines())
    for wanted in shown.splitlines():
        if not any(matches(wanted, line) for line in lines):
            return wanted
    return None


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_no_guide_shows_python_that_does_something_else(  # noqa: PLR0913, PLR0917 - as many surroundings
    document: Path,
    server: howdah.Server,
    database: Database,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    request: pytest.FixtureRequest,
) -> None:
    database.sql("DROP DATABASE IF EXISTS shop")
    database.sql("CREATE DATABASE shop TEMPLATE template0 LOCALE 'C.UTF-8'")
    password = server.dsn.split(":")[2].split("@")[0]
    surroundings = {"HOST": "127.0.0.1", "PORT": str(server.port), "USER": "howdah", "PASSWORD": password}
    for name, value in {**surroundings, "DATABASE": "shop"}.items():
        monkeypatch.setenv(f"PG{name}", value)
    monkeypatch.setenv("EVENTS_DSN", "")
    text = document.read_text()
    names: dict[str, object] = {"__name__": "guide"}
    printed = ""
    for block in BLOCK.finditer(text):
        language, code = block.groups()
        line = text.count("\n", 0, block.start()) + 1
        if language == "text":
            assert missing(code, printed) is None, f"{document.name}:{line}: printed was:\n{printed}"
            continue
        if "from pyspark" in code:
            request.getfixturevalue("spark")
        if "import ray" in code:
            request.getfixturevalue("ray_cluster")
        for library in LIBRARIES.findall(code):
            require.library(library)
        if file := re.match(r"# (test_\w+\.py)\n", code):
            Path(file[1]).write_text(code)
            command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir=.", file[1]]
            done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
            assert done.returncode == 0, done.stdout + done.stderr
            continue
        # Behind as many empty lines, so that a traceback names the document's line.
        exec(compile("\n" * line + code, document.name, "exec"), names)  # noqa: S102
        printed = capsys.readouterr().out


def test_a_guide_that_shows_what_is_not_printed_is_noticed() -> None:
    assert missing("2 rows (…) in … s\nthree\n", "x\n2 rows (9 B) in 0.1 s\nthree\n") is None
    assert missing("three\ntwo\n", "two\nthree\n") == "two"
    assert missing("a…b\n", "a\n") == "a…b"
