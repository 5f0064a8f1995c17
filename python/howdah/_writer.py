"""Rows written continuously by a program: gathered, written in batches, each acknowledged."""

from __future__ import annotations

import atexit
import contextlib
import os
import warnings
import weakref
from collections import namedtuple
from typing import TYPE_CHECKING, Any, Self, cast

from howdah import _errors, _native, _statistics, _target
from howdah._options import WriterOptions, documented

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import TracebackType
    from typing import Unpack

    from howdah._native import Ack
    from howdah._options import Names
    from howdah._statistics import WriterStatistics
    from howdah._target import Target

# Seconds that writers which nobody closed have at the interpreter's end.
_AT_EXIT = 5.0


_open: weakref.WeakSet[Writer | AsyncWriter] = weakref.WeakSet()


class Writer:
    """Writes rows of a running program into one table. Threads may share it.

    Every row that is written is acknowledged when it is committed, or refused by itself. A ``with`` statement
    closes the writer, and raises refusals of rows that nobody asked about. One that is dropped without being
    closed warns, and goes on with what it has as long as the process lives.
    """

    @documented(WriterOptions)
    def __init__(
        self,
        table: str,
        dsn: Target | None = None,
        *,
        server: str | None = None,
        **options: Unpack[WriterOptions],
    ) -> None:
        """Connect. ``dsn`` and ``server`` are what ``howdah.load`` takes; the table must exist."""
        self._table = table
        self._closed = False
        self._native = _connected(table, (dsn, server), options)
        _open.add(self)
        _say(self, self._native)

    @property
    def columns(self) -> list[str]:
        """The columns that rows have values for."""
        return self._native.columns

    @property
    def notices(self) -> tuple[str, ...]:
        """What a program should know of server, table and session before it relies on acknowledgements."""
        return tuple(self._native.notices)

    def write(self, row: object) -> Ack:
        """Write a row: a tuple or a list in the columns' order, a dict, a named tuple or a dataclass.

        It waits while the queue is full. A value that is wrong by itself is raised; what the server thinks
        of the row the acknowledgement tells.
        """
        return self._native.write(row)

    def send(self, row: object) -> None:
        """Write a row of which nobody will ask what became of it.

        It is lost if the process dies before it is written, or if the server refuses it: ``flush`` and
        ``close`` raise that, and statistics count it.
        """
        self._native.send(row)

    def flush(self) -> None:
        """Wait until all rows written so far are settled.

        Refusals of rows that nobody asked about are raised: those that were sent, and those whose
        acknowledgement was forgotten. Else it is the first refusal among rows not settled yet.
        """
        self._native.flush()

    def close(self, deadline: float = 30.0) -> WriterStatistics:
        """Write what is queued, and take no more rows; what is left after ``deadline`` seconds fails.

        Rows that failed without anybody having been told are raised: their number, and the first reasons.
        Where Ctrl-C ends the wait, call it again to hear what became of the rows.
        """
        if self._closed:
            return self.statistics
        with _closing(self):
            return _statistics.from_native(self._native.close(deadline))

    @property
    def statistics(self) -> WriterStatistics:
        """What it has done so far."""
        return _statistics.from_native(self._native.statistics)

    def __enter__(self) -> Self:
        """Give itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, raised: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close it. What ``close`` would raise becomes a note of an exception that is on its way already."""
        try:
            self.close()
        except _errors.Error as error:
            _unless_raised(raised, error)

    def __del__(self) -> None:
        """Warn where it was forgotten."""
        _warn(self)

    def __repr__(self) -> str:
        """Name the table and the server."""
        return _shown(self, self._native)


class AsyncWriter:
    """Writes rows of a running program into one table, for asyncio: ``howdah.Writer``, awaited.

    ``async with`` connects and closes it; ``connect`` and ``close`` do so where that does not fit.
    """

    @documented(WriterOptions)
    def __init__(
        self,
        table: str,
        dsn: Target | None = None,
        *,
        server: str | None = None,
        **options: Unpack[WriterOptions],
    ) -> None:
        """Say what it is to be; nothing happens yet. ``dsn`` and ``server`` are those of ``howdah.load``."""
        self._table = table
        self._place = (dsn, server)
        self._options = options
        self._closed = False
        self._native: _native.Writer | None = None

    async def connect(self) -> Self:
        """Connect, once."""
        import asyncio  # noqa: PLC0415

        if self._native is None:
            self._native = await asyncio.to_thread(_connected, self._table, self._place, self._options)
            _open.add(self)
            _say(self, self._native)
        return self

    @property
    def columns(self) -> list[str]:
        """The columns that rows have values for."""
        return self._connected.columns

    @property
    def notices(self) -> tuple[str, ...]:
        """What a program should know of server, table and session before it relies on acknowledgements."""
        return tuple(self._connected.notices)

    async def write(self, row: object) -> Ack:
        """Write a row as soon as there is room.

        The acknowledgement is awaited for itself, when it matters that the row is committed.
        """
        begun = self._connected.begin_write(row)
        if isinstance(begun, _native.Pending):
            from howdah import _wait  # noqa: PLC0415

            return cast("Ack", await _wait.answer(begun))
        return begun

    async def send(self, row: object) -> None:
        """Write a row of which nobody will ask what became of it.

        It is lost if the process dies before it is written, or if the server refuses it: ``flush`` and
        ``close`` raise that, and statistics count it.
        """
        begun = self._connected.begin_send(row)
        if begun is not None:
            from howdah import _wait  # noqa: PLC0415

            await _wait.answer(begun)

    async def flush(self) -> None:
        """Wait until all rows written so far are settled.

        Refusals of rows that nobody asked about are raised: those that were sent, and those whose
        acknowledgement was forgotten. Else it is the first refusal among rows not settled yet.
        """
        from howdah import _wait  # noqa: PLC0415

        await _wait.answer(self._connected.begin_flush())

    async def close(self, deadline: float = 30.0) -> WriterStatistics:
        """Write what is queued, and take no more rows; what is left after ``deadline`` seconds fails.

        Rows that failed without anybody having been told are raised: their number, and the first reasons.
        Where it is cancelled, call it again to hear what became of the rows.
        """
        from howdah import _wait  # noqa: PLC0415

        if self._closed:
            return self.statistics
        with _closing(self):
            pending = self._connected.begin_close(deadline)
            return _statistics.from_native(cast("_native.Statistics", await _wait.answer(pending)))

    @property
    def statistics(self) -> WriterStatistics:
        """What it has done so far."""
        return _statistics.from_native(self._connected.statistics)

    @property
    def _connected(self) -> _native.Writer:
        if self._native is None:
            message = "the writer is not connected"
            error = _errors.InterfaceError(message)
            error.hint = "use it in an async with statement, or await its connect()"
            raise error
        return self._native

    async def __aenter__(self) -> Self:
        """Connect."""
        return await self.connect()

    async def __aexit__(
        self, kind: type[BaseException] | None, raised: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close it. What ``close`` would raise becomes a note of an exception that is on its way already."""
        try:
            await self.close()
        except _errors.Error as error:
            _unless_raised(raised, error)

    def __del__(self) -> None:
        """Warn where it was forgotten."""
        _warn(self)

    def __repr__(self) -> str:
        """Name the table and the server."""
        return _shown(self, self._native)


for _class in (Writer, AsyncWriter):
    _class.__module__ = "howdah"


def _connected(table: str, place: tuple[Target | None, str | None], options: WriterOptions) -> _native.Writer:
    if unknown := options.keys() - WriterOptions.__annotations__.keys():
        message = f"a howdah writer got an unexpected keyword argument {min(unknown)!r}"
        raise TypeError(message)
    given: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
    return _native.Writer(table, _target.place(*place), given, _row_type(given.get("returning")))


def _row_type(names: Names | None) -> Callable[..., object] | None:
    if names is None:
        return None
    # A column may be called what no attribute can be.
    names = [names] if isinstance(names, str) else names
    try:
        return namedtuple("Returned", names, rename=True)  # noqa: PYI024
    except TypeError:
        # The native module says what is wrong with it.
        return None


# A child has none of the threads.
os.register_at_fork(after_in_child=_open.clear)


@atexit.register
def _close_all() -> None:
    for writer in list(_open):
        native = writer._native  # noqa: SLF001
        if writer._closed or native is None:  # noqa: SLF001
            continue
        _warn(writer)
        writer._closed = True  # noqa: SLF001
        try:
            native.close(_AT_EXIT)
        except _errors.Error as error:
            warnings.warn(f"{writer!r}: {error}", _errors.WriterWarning, stacklevel=1)


@contextlib.contextmanager
def _closing(writer: Writer | AsyncWriter) -> Iterator[None]:
    """Mark a writer as closed, unless nobody was told what became of its rows."""
    try:
        yield
    except _errors.Error:
        writer._closed = True  # noqa: SLF001
        raise
    # Neither Ctrl-C and a cancellation, nor a deadline that is no number.
    writer._closed = True  # noqa: SLF001


def _unless_raised(raised: BaseException | None, error: _errors.Error) -> None:
    if raised is None:
        raise error
    raised.add_note(f"howdah: {error}")


def _say(writer: Writer | AsyncWriter, native: _native.Writer) -> None:
    try:
        for warning in native.warnings:
            warnings.warn(warning, _errors.WriterWarning, stacklevel=3)
    except _errors.WriterWarning:
        # Whoever makes errors of warnings gets no writer that he could close.
        writer._closed = True  # noqa: SLF001
        native.close(0)
        raise


def _warn(writer: Writer | AsyncWriter) -> None:
    # One whose making failed has no such attribute.
    if getattr(writer, "_native", None) is not None and not writer._closed:  # noqa: SLF001
        warnings.warn(f"unclosed {writer!r}", ResourceWarning, stacklevel=2, source=writer)


def _shown(writer: Writer | AsyncWriter, native: _native.Writer | None) -> str:
    where = "not connected" if native is None else f"on {native.server}"
    state = ", closed" if writer._closed else ""  # noqa: SLF001
    return f"<howdah.{type(writer).__name__} into {writer._table} {where}{state}>"  # noqa: SLF001
