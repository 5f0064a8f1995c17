"""Every option has one name, in Python, in the command and in the native module, and help shows it."""

from __future__ import annotations

import inspect
import pydoc
import re
import subprocess
import sys
from pathlib import Path

import pytest

import howdah
from howdah._options import Options, WriterOptions

# What the command says of the connection and of its own output, and arguments of the function itself.
ELSEWHERE = {
    "table", "dbname", "server", "host", "port", "username", "no_password", "password", "report",
    "format_report", "progress", "quiet", "verbose", "help", "json", "version", "no_analyze",
}  # fmt: skip


def of_command(command: str) -> dict[str, str]:
    run = [sys.executable, "-m", "howdah", command, "--help"]
    text = subprocess.run(run, capture_output=True, text=True, check=True, env={"COLUMNS": "200"}).stdout
    found = re.findall(r"--([a-z-]+)[^\n]*?  ([^\n]*)", text)
    return {name.replace("-", "_"): meaning for name, meaning in found}


def test_the_command_has_the_same_options() -> None:
    assert set(of_command("load")) - ELSEWHERE == set(Options.__annotations__)


def test_a_server_of_howdahs_own_is_named_and_never_made_by_its_name() -> None:
    with pytest.raises(howdah.Error, match='no server of its own named "trial"') as caught:
        howdah.load([{"a": 1}], "t", server="trial")
    assert "server --name trial start" in str(caught.value.hint)
    for call in (
        lambda: howdah.load([{"a": 1}], "t", "dbname=x", server="trial"),
        lambda: howdah.Writer("t", "dbname=x", server="trial"),
        lambda: howdah.bulk("t", "dbname=x", server="trial"),
    ):
        with pytest.raises(howdah.Error, match="name two servers"):
            call()


@pytest.mark.parametrize("name", Options.__annotations__)
def test_the_native_module_knows_each(name: str) -> None:
    with pytest.raises(howdah.Error, match=name):
        howdah.load([], "t", **{name: object()})  # type: ignore[arg-type]


@pytest.mark.parametrize("name", WriterOptions.__annotations__)
def test_the_native_writer_knows_each(name: str) -> None:
    with pytest.raises(howdah.Error, match=name):
        howdah.Writer("t", **{name: object()})  # type: ignore[arg-type]


def test_a_writer_s_defaults_are_those_of_a_stream() -> None:
    def default(text: str) -> float:
        said = re.search(r"[Dd]efault: (\d[\d.]*?) ?(ms|min|MiB|)[.\]]*$", text)
        assert said, text
        return float(said.group(1)) * {"ms": 1e-3, "min": 60, "MiB": 1, "": 1}[said.group(2)]

    command = of_command("stream")
    for name, annotation in WriterOptions.__annotations__.items():
        if name in command and name not in {
            "columns",
            "write_path",
            "on_conflict",
            "conflict_key",
            "latency_target",
        }:
            assert default(annotation.__metadata__[0]) == default(command[name]), name


def test_the_guide_to_the_writer_has_every_option_with_its_default() -> None:
    guide = (Path(__file__).parents[2] / "docs/python-writer.md").read_text()
    table = guide.partition("| argument | default | meaning |")[2].partition("\n\n")[0]
    shown = dict(re.findall(r"^\| `(\w+)` \| ([^|]+) \|", table, re.MULTILINE))
    of_help = {
        name: annotation.__metadata__[0].rpartition("Default: ")[2].removesuffix(".")
        for name, annotation in WriterOptions.__annotations__.items()
    }
    assert shown == of_help


def test_the_guide_has_every_option() -> None:
    guide = (Path(__file__).parents[2] / "docs/python.md").read_text()
    table = guide.partition("| about | options |")[2].partition("\n\n")[0]
    shown = [name for names in re.findall(r"`([^`]+)`", table) for name in names.split()]
    parameters = inspect.signature(howdah.load).parameters
    assert sorted(shown) == sorted(set(parameters) - {"data", "table", "dsn"})


def test_a_throwaway_server_is_told_from_a_named_one() -> None:
    with pytest.raises(howdah.ProgrammingError, match="a throwaway server, which has no name") as caught:
        howdah.server("trial")
    assert "howdah.load(data, table, server='trial')" in str(caught.value.hint)


@pytest.mark.parametrize("function", [howdah.load, howdah.aload, howdah.Writer.__init__])
def test_help_shows_every_option_with_its_meaning_and_default(function: object) -> None:
    of = WriterOptions if function is howdah.Writer.__init__ else Options
    text = pydoc.plain(pydoc.render_doc(function))
    flat = " ".join(text.split())
    for name, annotation in of.__annotations__.items():
        kind, meaning = annotation.__args__[0], annotation.__metadata__[0]
        assert f"{name}: {' '.join(meaning.split())}" in flat
        assert "Default: " in meaning, name
        parameter = inspect.signature(function).parameters[name]  # type: ignore[arg-type]
        assert (parameter.kind, parameter.annotation) == (parameter.KEYWORD_ONLY, kind)
