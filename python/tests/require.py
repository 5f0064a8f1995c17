"""What tests need that a machine may lack.

A test skips itself where it is missing, and fails where ``HOWDAH_REQUIRE`` names it: a run that is to cover
everything cannot pass by skipping. The names are those of the Rust tests.
"""

import importlib.util
import os
import shutil
from pathlib import Path
from typing import Any, NoReturn

import pytest

ROOT = Path(__file__).resolve().parents[2]
"""The checkout."""

FILES = ROOT.parent / "shared" / "data"
"""Real files that nobody here wrote."""

_TEXT = (ROOT / "crates" / "howdah-testkit" / "needs.txt").read_text()
_NAMES = frozenset(line.split()[0] for line in _TEXT.splitlines() if not line.startswith("#"))


def parsed(text: str) -> frozenset[str]:
    """Give the needs of a comma-separated list: names, ``all``, and with a ``-`` what is taken out again."""
    needs: frozenset[str] = frozenset()
    for word in filter(None, map(str.strip, text.split(","))):
        name = word.removeprefix("-")
        if name != "all" and name not in _NAMES:
            message = f"HOWDAH_REQUIRE names {name!r}, which is none of {', '.join(sorted(_NAMES))}, all"
            raise pytest.UsageError(message)
        meant = _NAMES if name == "all" else {name}
        needs = needs - meant if word != name else needs | meant
    return needs


_REQUIRED = parsed(os.environ.get("HOWDAH_REQUIRE", ""))


def missing(need: str, why: str, *, module: bool = False) -> NoReturn:
    """Skip the test, or the ``module``, because ``need`` is not met; fail where it is required."""
    assert need in _NAMES, f"{need} is missing from needs.txt"
    if need in _REQUIRED:
        pytest.fail(f"HOWDAH_REQUIRE names {need}, but {why}", pytrace=False)
    pytest.skip(f"{why} ({need})", allow_module_level=module)  # noqa: TID251 - the one place


def library(name: str, minversion: str | None = None) -> Any:  # noqa: ANN401 - whatever module it is
    """Import a library of requirements-dev.txt, or skip the test; at the top of a module, the module."""
    try:
        return pytest.importorskip(name, minversion)  # noqa: TID251 - the one place
    except pytest.skip.Exception as skipped:  # noqa: TID251 - the one place
        why = str(skipped)
    missing("libraries", why, module=True)


def spark() -> None:
    """Skip the test, or the module, without PySpark 4 and a Java that runs it."""
    if importlib.util.find_spec("pyspark") is None:
        missing("spark", "PySpark is not installed", module=True)
    if shutil.which("java") is None:
        missing("spark", "there is no java", module=True)


def sail() -> None:
    """Skip the test, or the module, without Sail and the clients of Spark Connect."""
    spark()
    if importlib.util.find_spec("pysail") is None:
        missing("sail", "Sail is not installed", module=True)


def ray() -> None:
    """Skip the test, or the module, without Ray's datasets."""
    if importlib.util.find_spec("ray") is None:
        missing("ray", "Ray is not installed", module=True)


def real_files() -> Path:
    """Give the folder of the real files: all of them are there where it is. Else skip the module."""
    if not FILES.is_dir():
        missing("data", f"there is no {FILES}", module=True)
    return FILES
