"""What the Python contenders share: their task, the words of the contract, and the values of a CSV file."""

from __future__ import annotations

import csv
import os
import re
import sys
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import UUID

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ELEMENT = re.compile(r'"((?:[^"\\]|\\.)*)"|([^,{}]+)', re.DOTALL)


def texts(literal: str) -> list[str | None]:
    """Give the elements of an array's literal, `{a,"b c",NULL}`."""
    return [
        None if bare == "NULL" else bare or re.sub(r"\\(.)", r"\1", quoted, flags=re.DOTALL)
        for quoted, bare in ELEMENT.findall(literal)
    ]


# A field of text to the Python value that drivers take for a column of that type. A document stays text.
PARSERS: dict[str, Callable[[str], Any]] = {
    "text": str,
    "jsonb": str,
    "smallint": int,
    "integer": int,
    "bigint": int,
    "double precision": float,
    "numeric(10,2)": Decimal,
    "boolean": lambda field: field in {"true", "t"},
    "timestamptz": datetime.fromisoformat,
    "uuid": UUID,
    "text[]": texts,
}


@dataclass(frozen=True)
class Task:
    """What to load, and where: the environment that README.md lists."""

    url: str
    table: str
    columns: dict[str, str]
    input: Path
    batch: int

    @classmethod
    def from_environment(cls) -> Task:
        """Take the task that the harness set."""
        lines = os.environ["CONTENDER_COLUMNS"].splitlines()
        return cls(
            url=os.environ["CONTENDER_URL"],
            table=os.environ["CONTENDER_TABLE"],
            columns=dict(line.split(" ", 1) for line in lines),
            input=Path(os.environ["CONTENDER_INPUT"]),
            batch=int(os.environ["CONTENDER_BATCH"]),
        )

    @property
    def names(self) -> str:
        """The columns as SQL lists them."""
        return ", ".join(self.columns)

    def texts(self) -> Iterator[list[str | None]]:
        """Give the records of the CSV file as text, None where a field is empty."""
        for record in self._records():
            yield [field or None for field in record]

    def values(self) -> Iterator[list[Any]]:
        """Give the records of the CSV file as values of their columns' types, None where a field is empty."""
        parsers = [PARSERS[type_] for type_ in self.columns.values()]
        for record in self._records():
            yield [parse(field) if field else None for parse, field in zip(parsers, record, strict=True)]

    def _records(self) -> Iterator[list[str]]:
        csv.field_size_limit(2**31 - 1)
        with self.input.open(newline="", encoding="utf-8") as file:
            reader = csv.reader(file)
            next(reader)  # the header
            yield from reader


def go() -> None:
    """Say that everything before the load is done, and wait until the clock runs."""
    print("READY", flush=True)
    if sys.stdin.readline().strip() != "GO":
        message = "no GO on standard input"
        raise EOFError(message)


def run(load: Callable[[Task], int]) -> None:
    """Be a contender: `load` calls `go`, loads, commits and returns how many rows the server acknowledged."""
    try:
        rows = load(Task.from_environment())
    except Exception as error:  # noqa: BLE001  whatever a tool raises is its result
        reason = " ".join(str(error).split()) or "no message"
        print(f"FAILED {type(error).__name__}: {reason}", flush=True)
        sys.exit(1)
    print(f"DONE {rows}", flush=True)
