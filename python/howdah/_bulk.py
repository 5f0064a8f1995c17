"""One COPY: rows and tables in, all of them or none."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Self

from howdah import _native, _target

if TYPE_CHECKING:
    from collections.abc import Sequence

    from howdah._target import Target


class BulkWriter:
    """Writes rows into one table, in one transaction that ``finish`` commits.

    Leaving a ``with`` statement finishes it, leaving it by an exception gives it up, and so does dropping it:
    then nothing is changed.
    """

    rows: int = 0
    """The rows that are committed, as the server counted them: 0 until it is finished."""

    def __init__(
        self,
        table: str,
        dsn: Target | None = None,
        *,
        server: str | None = None,
        columns: Sequence[str] | None = None,
    ) -> None:
        """Connect and begin; see ``howdah.bulk``."""
        self._table = table
        self._finished = False
        self._native = _native.Bulk(
            table, _target.place(dsn, server), None if columns is None else list(columns)
        )

    @property
    def columns(self) -> list[str]:
        """The columns that rows have values for."""
        return self._native.columns

    def write(self, row: object) -> None:
        """Write a row: a tuple or a list in the columns' order, a dict, a named tuple or a dataclass.

        Or all rows of a table, batch or stream of pyarrow, polars, pandas or DuckDB, columns by name.

        A row that is wrong by itself is refused, and others may follow. What the server refuses, it may say
        later; then everything is given up.
        """
        if type(row).__module__.startswith(("pandas", "polars")):
            from howdah import _frames  # noqa: PLC0415

            row = _frames.table_of(row, None, [])
        self._native.write(row)

    def finish(self) -> int:
        """Commit, and give the server's count of rows."""
        self.rows = self._native.finish()
        self._finished = True
        return self.rows

    def abort(self) -> None:
        """Give it up: nothing is changed."""
        self._finished = True
        self._native.abort()

    def __enter__(self) -> Self:
        """Give itself."""
        return self

    def __exit__(self, kind: type[BaseException] | None, *exception: object) -> None:
        """Finish it, or give it up where there is an exception."""
        if kind is not None:
            self.abort()
        elif not self._finished:
            self.finish()

    def __del__(self) -> None:
        """Warn where it was forgotten."""
        native: _native.Bulk | None = getattr(self, "_native", None)
        if native is not None and native.is_open:
            message = f"unfinished {self!r}: its rows are given up"
            warnings.warn(message, ResourceWarning, stacklevel=1, source=self)

    def __repr__(self) -> str:
        """Name the table and the server."""
        return f"<howdah.BulkWriter into {self._table} on {self._native.server}>"


BulkWriter.__module__ = "howdah"


def bulk(
    table: str,
    dsn: Target | None = None,
    *,
    server: str | None = None,
    columns: Sequence[str] | None = None,
) -> BulkWriter:
    """Begin to write rows into ``table``, which must exist, all of them or none.

    ``dsn`` and ``server`` are what ``howdah.load`` takes.

    ``columns`` are those that rows have values for; by default all that are neither generated nor identity
    and have no default. Rows that are dicts, named tuples or dataclasses may have more than ``columns``.

    Use it in a ``with`` statement::

        with howdah.bulk("people") as people:
            for name in names:
                people.write({"name": name})
        print(people.rows)
    """
    return BulkWriter(table, dsn, server=server, columns=columns)
