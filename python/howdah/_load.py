"""The load, for a program that waits and for one that does not."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypedDict

from howdah import _errors, _native, _progress, _report

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import TypeAlias, Unpack

    from howdah._progress import Progress
    from howdah._report import LoadReport

    Place: TypeAlias = str | os.PathLike[str]
    Names: TypeAlias = str | Sequence[str]


class _File(Protocol):
    def read(self, size: int = -1, /) -> str | bytes: ...


class _ArrowStream(Protocol):
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...


class _ArrowArray(Protocol):
    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]: ...


if TYPE_CHECKING:
    Data: TypeAlias = Place | _File | _ArrowStream | _ArrowArray | Iterable[object]


class Options(TypedDict, total=False):
    """What may be said of a load beside the data, the table and the server. None is as good as nothing."""

    mode: (
        Literal[
            "append", "create", "create_append", "replace", "truncate", "upsert", "ignore", "update", "delete"
        ]
        | None
    )
    """What becomes of a table that is there, or is not (create_append)."""
    key: Names | None
    """A new table's primary key; in modes that match rows, the columns to match them by (the table's key)."""
    create_schema: bool | None
    """Make a new table's schema too."""
    unlogged: bool | None
    """New tables are UNLOGGED: faster, emptied by a crash of the server."""
    dry_run: bool | None
    """Make the plan and judge every record, change nothing."""

    format: Literal["csv", "tsv", "text", "ndjson", "json", "parquet", "arrow", "binary", "rejects"] | None
    """Of files (by the name's ending, else csv)."""
    encoding: str | None
    """Of text (a byte order mark, else guessed)."""
    delimiter: str | None
    null: str | None
    """What stands for NULL in a file."""
    default: str | None
    """What stands for a column's DEFAULT in a file."""
    quote: str | None
    escape: str | None
    header: bool | Literal["auto"] | None
    """Whether record 1 of a file names the columns (auto)."""
    decimal: Literal[".", ","] | None
    date_format: str | None
    """How dates are written in a file: ``%d.%m.%Y``."""
    force_null: Names | None
    force_not_null: Names | None
    hive: bool | None
    """Directories such as ``year=2024`` on the way to a file are columns of its rows."""
    skip_lines: int | None
    """Lines to drop at every file's start."""
    limit: int | None
    """Load at most so many records."""

    columns: Sequence[str] | None
    """The columns of the fields, in their order; of rows that are dicts, the keys that are loaded."""
    map: Mapping[str, str] | None
    """Columns for names in the data that differ from the table's."""
    skip_columns: Names | None
    """Names in the data that are not loaded."""
    types: Mapping[str, str] | None
    """A new table's types, where they are not to be found."""
    names: Literal["keep", "snake"] | None
    """What a new table's columns are called."""
    file_column: str | None
    """A column of text that gets the name of each row's file."""
    allow: Names | None
    """Losses that are allowed: ``nanoseconds`` cut off, ``decimals`` and ``floats`` rounded."""

    on_error: Literal["stop", "ignore"] | None
    """What happens at a record that is no row (stop)."""
    reject_limit: int | str | None
    """The most records that may be ignored: a number, or a share such as ``"5%"``."""
    rejects: Place | None
    """Where ignored records go (TABLE.LOAD_ID.rejects.jsonl in the working directory)."""
    on_nul: Literal["error", "strip"] | None

    jobs: int | None
    """Connections that write at once (by cores, input and indexes)."""
    write_path: str | None
    """How rows travel: docs/write-paths.md."""
    landing_table: str | None
    keep_landing: bool | None
    rows_per_statement: int | None
    freeze: bool | None
    before: Names | None
    """SQL before row 1, in the load's transaction."""
    after: Names | None
    """SQL after all rows, in the load's transaction."""
    analyze: bool | None
    """ANALYZE the table after the commit."""


def load(
    data: Data,
    table: str | None = None,
    dsn: str | None = None,
    *,
    progress: bool | Callable[[Progress], object] | None = None,
    **options: Unpack[Options],
) -> LoadReport:
    """Load ``data`` into ``table``: all of it or nothing.

    ``data`` is a path, a URL or a glob; a file object; a table of pyarrow, polars, pandas, DuckDB or whatever
    else has ``__arrow_c_stream__`` or ``__arrow_c_array__``; an iterable of such tables, or of rows: tuples
    (with ``columns``), named tuples, dicts or dataclasses. A list of paths and file objects is loaded as one.

    ``table`` is ``[SCHEMA.]TABLE``, folded to lower case unless quoted, and made where it is missing; by
    default it is the first file's name. ``dsn`` is what psql takes after ``-d``: a URI, a key=value string or
    a database's name; by default the ``PG*`` variables say it, else howdah uses a server of its own.

    ``progress`` shows a line on a terminal and in notebooks (None), always (True) or never (False), or calls
    a function with a ``howdah.Progress`` about ten times a second. The other arguments are the command's long
    options with ``_`` for ``-``: see ``howdah load --help`` and docs/python.md. Names of columns are taken as
    they are, not folded.

    Generators, file objects and the function for the progress are called in this thread. What they raise, and
    Ctrl-C, ends the load with nothing changed, and is raised again when the load has ended. Whatever else
    goes wrong is a ``howdah.Error``.
    """
    return _run(data, table, dsn, progress, options, _native.Control())


async def aload(
    data: Data,
    table: str | None = None,
    dsn: str | None = None,
    *,
    progress: bool | Callable[[Progress], object] | None = None,
    **options: Unpack[Options],
) -> LoadReport:
    """Load as ``load`` does, in a thread of the event loop's executor, where ``data`` is read too.

    Cancelling stops the load, and waits until it has ended.
    """
    import asyncio  # noqa: PLC0415

    control = _native.Control()
    task = asyncio.ensure_future(asyncio.to_thread(_run, data, table, dsn, progress, options, control))
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
    dsn: str | None,
    progress: bool | Callable[[Progress], object] | None,  # noqa: FBT001
    options: Options,
    control: _native.Control,
) -> LoadReport:
    if unknown := options.keys() - Options.__annotations__.keys():
        message = f"howdah.load() got an unexpected keyword argument {min(unknown)!r}"
        raise TypeError(message)
    given = {name: value for name, value in options.items() if value is not None}
    meter = _progress.chosen(progress)
    told: dict[str, Any] = json.loads(_native.load(data, table, dsn, given, control, meter))
    report = _report.from_native(told)
    if report.error is not None:
        raise _errors.from_native(report.error, report)
    return report
