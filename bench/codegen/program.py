"""Hold the program of a language while it runs: an action is a line to it, and what it took is its answer."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from psycopg.conninfo import conninfo_to_dict

_PLACES = {
    "host": "PGHOST",
    "port": "PGPORT",
    "user": "PGUSER",
    "password": "PGPASSWORD",
    "dbname": "PGDATABASE",
}


@dataclass(frozen=True)
class Took:
    """What an action took of the clock and of the program's processor, and what it counted."""

    wall: float
    cpu: float
    check: int


class Program:
    """A program that has made its rows and waits for actions."""

    def __init__(self, command: list[str], folder: Path, dsn: str, rows: int) -> None:
        """Start it, and wait until it has said what it can do."""
        place = conninfo_to_dict(dsn)
        environment = os.environ | {name: str(place[key]) for key, name in _PLACES.items()}
        self._process = subprocess.Popen(
            [*command, str(rows)],
            cwd=folder,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        hello = self._line()
        self.version = str(hello["version"])
        self.actions: list[str] = list(hello["actions"])

    def __enter__(self) -> Self:
        """Give it as it runs."""
        return self

    def __exit__(self, *_: object) -> None:
        """End its input, and with that the program."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        self._process.wait(timeout=60)

    def take(self, action: str) -> Took:
        """Let it do an action."""
        if self._process.stdin is not None:
            print(action, file=self._process.stdin, flush=True)
        return Took(**self._line())

    def ways(self, task: str) -> list[str]:
        """Give the ways of a task, the generated one first."""
        return [action.removeprefix(f"{task} ") for action in self.actions if action.startswith(f"{task} ")]

    def _line(self) -> dict[str, Any]:
        line = self._process.stdout.readline() if self._process.stdout is not None else ""
        if not line:
            sys.exit(f"a program ended with {self._process.wait()}")
        return dict(json.loads(line))
