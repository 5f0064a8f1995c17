"""The load, for a program that waits and for one that does not."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Protocol

from howdah import _columns, _errors, _frames, _native, _progress, _report, _target
from howdah._options import Options, documented

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import TypeAlias, Unpack

    from howdah._options import Place
    from howdah._progress import Progress
    from howdah._report import LoadReport
    from howdah._target import Target


class _File(Protocol):
    def read(self, size: int = -1, /) -> str | bytes: ...


class _ArrowStream(Protocol):
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...


class _ArrowArray(Protocol):
    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]: ...


if TYPE_CHECKING:
    Data: TypeAlias = Place | _File | _ArrowStream | _ArrowArray | Iterable[object]


@documented(Options)
def load(  # noqa: PLR0913 - what, where to, and how
    data: Data,
    table: str | None = None,
    dsn: Target | None = None,
    *,
    server: str | None = None,
    index: bool | None = None,
    progress: bool | Callable[[Progress], object] | None = None,
    **options: Unpack[Options],
) -> LoadReport:
    """Load ``data`` into ``table``: all of it or nothing.

    ``data`` is a path, a URL or a glob; a file object; a table of pyarrow, polars, pandas, DuckDB or whatever
    else has ``__arrow_c_stream__`` or ``__arrow_c_array__``; a dict of columns, or an array of numpy; an
    iterable of such tables, or of rows: tuples (with ``columns``), named tuples, dicts, dataclasses, or
    objects of attrs or pydantic. A list of paths and file objects is loaded as one.

    ``table`` is ``[SCHEMA.]TABLE``, folded to lower case unless quoted, and made where it is missing; by
    default it is the first file's name. ``dsn`` is what psql takes after ``-d``: a URI, a key=value string or
    a database's name; or an engine or URL of SQLAlchemy, or a connection of SQLAlchemy or psycopg, whose
    parameters are taken for connections of howdah's own. By default the ``PG*`` variables say it, else howdah
    uses a server of its own. ``server`` is one of those by its name, as ``howdah server list`` shows them.

    ``index`` says of a frame or series of pandas whether its index is columns too: by default what of it has
    a name, with True all of it, under pandas' own names, with False nothing.

    ``progress`` shows a line on a terminal and in notebooks (None), always (True) or never (False), or calls
    a function with a ``howdah.Progress`` about ten times a second. Names of columns are taken as they are,
    not folded.

    Generators, file objects and the function for the progress are called in this thread. What they raise, and
    Ctrl-C, ends the load with nothing changed, and is raised again when the load has ended. Whatever else
    goes wrong is a ``howdah.Error``.
    """
    return _run(data, table, (dsn, server), index, progress, options, _native.Control())


@documented(Options)
async def aload(  # noqa: PLR0913 - what, where to, and how
    data: Data,
    table: str | None = None,
    dsn: Target | None = None,
    *,
    server: str | None = None,
    index: bool | None = None,
    progress: bool | Callable[[Progress], object] | None = None,
    **options: Unpack[Options],
) -> LoadReport:
    """Load as ``load`` does, in a thread of the event loop's executor, where ``data`` is read too.

    Cancelling stops the load, and waits until it has ended.
    """
    import asyncio  # noqa: PLC0415

    control = _native.Control()
    place = (dsn, server)
    task = asyncio.ensure_future(
        asyncio.to_thread(_run, data, table, place, index, progress, options, control)
    )
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError as cancelled:
        control.cancel()
        while not task.done():
            try:
                await asyncio.wait([task])
            except asyncio.CancelledError:
                # Asked once more: it is on its way.
                continue
        if task.exception() is None:
            loaded = task.result()
            cancelled.add_note(f"howdah: {loaded.rows} rows into {loaded.table} had been committed already")
        raise


def _run(  # noqa: PLR0913, PLR0917 - everything that a load is
    data: Data,
    table: str | None,
    place: tuple[Target | None, str | None],
    index: bool | None,  # noqa: FBT001
    progress: bool | Callable[[Progress], object] | None,  # noqa: FBT001
    options: Options,
    control: _native.Control,
) -> LoadReport:
    if unknown := options.keys() - Options.__annotations__.keys():
        message = f"howdah.load() got an unexpected keyword argument {min(unknown)!r}"
        raise TypeError(message)
    _check(data, table)
    server = _target.place(*place)
    given = {name: value for name, value in options.items() if value is not None}
    notices: list[str] = []
    data = _columns.rows_of(_frames.table_of(data, index, notices), given)
    meter = _progress.chosen(progress)
    told: dict[str, Any] = json.loads(_native.load(data, table, server, given, control, meter))
    told["notices"] = [*notices, *told["notices"]]
    report = _report.from_native(told)
    if report.error is not None:
        raise _errors.from_native(report.error, report)
    return report


def _check(data: object, table: object) -> None:
    """Say what stands in whose place: a table's name is a text."""
    if table is None or isinstance(table, str):
        return
    error = _errors.ProgrammingError(f"table takes a text, not a value of type {type(table).__name__}")
    if isinstance(data, str):
        error = _errors.ProgrammingError("the data come first, then the table: the arguments are swapped")
        error.hint = f"howdah.load(data, {data!r})"
    error.visible = "nothing was changed"
    raise error
