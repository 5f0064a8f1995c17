"""What can go wrong, under DB-API's names."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from howdah._report import LoadReport


class Location(NamedTuple):
    """A place in the input; what does not apply is None."""

    file: str
    """The file, or ``rows``."""
    line: int | None = None
    """The physical line on which the record starts, from 1."""
    byte_offset: int | None = None
    """Bytes from the start of the input, decompressed and in UTF-8, from 0."""
    row_group: int | None = None
    """Of a Parquet file, from 0."""
    row: int | None = None
    """Of rows, of a row group, or of a stream of batches, from 0."""

    def __str__(self) -> str:
        """``people.csv, line 3 (byte 20)``."""
        parts = [self.file]
        for label, number in (("line", self.line), ("row group", self.row_group), ("row", self.row)):
            if number is not None:
                parts.append(f"{label} {number}")
        offset = "" if self.byte_offset is None else f" (byte {self.byte_offset})"
        return ", ".join(parts) + offset


class Error(Exception):
    """A load that failed, or could not begin, or a row that was refused. What does not apply is None."""

    sqlstate: str | None = None
    """The server's code, or the one that it would have given."""
    location: Location | None = None
    """Where in the input."""
    column: str | None = None
    """Which column."""
    constraint: str | None = None
    """The constraint that the server named."""
    committed: bool | None = False
    """Whether rows are in: False: none is; True: some are; None: nobody knows."""
    detail: str | None = None
    """More about the cause."""
    hint: str | None = None
    """What to do about it."""
    visible: str | None = None
    """What other sessions see now, as a sentence."""
    report: LoadReport | None = None
    """The figures of the load that failed."""

    @property
    def message(self) -> str:
        """What is wrong, in one line, without the place."""
        return str(self.args[0]) if self.args else ""

    def __str__(self) -> str:
        """Where, what, what to do and what is visible, a line each."""
        place = [str(self.location)] if self.location else []
        if self.column is not None:
            place.append(f"column {self.column}")
        first = ": ".join(filter(None, [", ".join(place), self.message]))
        if self.sqlstate is not None:
            first += f" (SQLSTATE {self.sqlstate})"
        more = (("detail", self.detail), ("hint", self.hint), ("now", self.visible))
        return "\n".join([first, *(f"{label}: {text}" for label, text in more if text)])


class InterfaceError(Error):
    """The server had no part in it: an unreadable input, a closed writer, a process that was forked."""


class DatabaseError(Error):
    """The server had a part in it."""


class DataError(DatabaseError):
    """A value or a record of the input is wrong, or too many are."""


class OperationalError(DatabaseError):
    """No connection, a lost one, no room, a lock; or nobody knows whether the commit came through."""


class QueueFull(OperationalError):  # noqa: N818 - as asyncio has it
    """A writer has no room for a row, and was asked not to wait for it any longer."""


class WriterWarning(UserWarning):
    """What makes acknowledgements of a writer worth less than they seem, or rows that it did not write."""


class TransactionWarning(UserWarning):
    """A connection was given to connect like it, and is within a transaction, which is not shared."""


class IntegrityError(DatabaseError):
    """A constraint refused a row."""


class InternalError(DatabaseError):
    """The server, or howdah itself, is wrong."""


class ProgrammingError(DatabaseError):
    """The request cannot be carried out: a table that is not there, an argument that makes no sense."""


class NotSupportedError(DatabaseError):
    """The server does not have what was asked for."""


for _class in [
    Location,
    WriterWarning,
    TransactionWarning,
    Error,
    *Error.__subclasses__(),
    *DatabaseError.__subclasses__(),
    QueueFull,
]:
    _class.__module__ = "howdah"

_BY_KIND: dict[str, type[Error]] = {
    "usage": ProgrammingError,
    "connect": OperationalError,
    "source": InterfaceError,
    "data": DataError,
    "too_many_rejects": DataError,
    "server": OperationalError,
    "cancelled": OperationalError,
    "partly_committed": OperationalError,
    "queue_full": QueueFull,
    "closed": InterfaceError,
    "internal": InternalError,
}

# Kinds of failure that a SQLSTATE says more about.
_TOLD_BY_SQLSTATE = {"usage", "data", "server", "partly_committed"}

# As psycopg has them. Classes that are not here say only that the server refused.
_BY_SQLSTATE: dict[str, type[Error]] = {
    **dict.fromkeys(["0A"], NotSupportedError),
    **dict.fromkeys(["22"], DataError),
    **dict.fromkeys(["23"], IntegrityError),
    **dict.fromkeys(["08", "28", "40", "53", "54", "55", "57", "58", "F0", "HV"], OperationalError),
    **dict.fromkeys(["20", "21", "26", "34", "3D", "3F", "42", "44"], ProgrammingError),
    **dict.fromkeys(["24", "25", "2D", "38", "39", "3B", "XX"], InternalError),
}


def from_native(error: str | dict[str, Any], report: LoadReport | None = None) -> Error:
    """Make the exception of a failure that the native module describes."""
    told: dict[str, Any] = json.loads(error) if isinstance(error, str) else error
    kind, sqlstate = told["kind"], told.get("sqlstate")
    found = _BY_KIND[kind]
    if sqlstate and kind in _TOLD_BY_SQLSTATE:
        found = _BY_SQLSTATE.get(sqlstate[:2], DatabaseError)
    made = found(told["message"])
    for name in ("sqlstate", "column", "constraint", "detail", "hint", "visible"):
        setattr(made, name, told.get(name))
    if place := told.get("location"):
        made.location = Location(**{name: place.get(name) for name in Location._fields})
    made.committed = told["committed"]
    made.report = report
    return made
