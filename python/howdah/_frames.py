"""What is loaded of frames and series: pandas' indexes, single columns, and what pyarrow says of values."""

from __future__ import annotations

import re
from itertools import chain
from types import GeneratorType
from typing import Any

from howdah import _errors, _polars

_COLUMN = re.compile(r"^Conversion failed for column (.+) with type ")


def table_of(data: object, index: bool | None, notices: list[str]) -> Any:  # noqa: ANN401, FBT001
    """Give the table that is loaded: frames of pandas with the ``index`` as columns, series as one column.

    Everything else comes back as it is.
    """
    library, kind = _kind(data)
    if library == "polars":
        data = _polars.table_of(data, kind)
    if library != "pandas":
        if index is not None:
            message = "index is about frames and series of pandas"
            raise _errors.ProgrammingError(message)
        return data if library else _each(data)
    if kind == "Series":
        data = data.to_frame()  # type: ignore[attr-defined]
    return _from_pandas(data, index, notices)


def _each(data: Any) -> Any:  # noqa: ANN401
    """Look at each of the frames of polars that a list or a generator gives, as the first of them tells."""
    if isinstance(data, list | tuple):
        return map(_frame_of_polars, data) if data and _kind(data[0])[0] == "polars" else data
    if isinstance(data, GeneratorType):
        for first in data:
            items = chain([first], data)
            return map(_frame_of_polars, items) if _kind(first)[0] == "polars" else items
    return data


def _frame_of_polars(data: Any) -> Any:  # noqa: ANN401
    library, kind = _kind(data)
    return _polars.table_of(data, kind) if library == "polars" else data


def _kind(data: object) -> tuple[str, str]:
    """Name the library and the kind, without importing anything: a frame of geopandas is one of pandas."""
    for kind in type(data).__mro__:
        library = kind.__module__.partition(".")[0]
        if library in {"pandas", "polars"} and kind.__name__ in {"DataFrame", "LazyFrame", "Series"}:
            return library, kind.__name__
    return "", ""


def _from_pandas(frame: Any, index: bool | None, notices: list[str]) -> Any:  # noqa: ANN401, FBT001
    try:
        import pyarrow as pa  # noqa: PLC0415
    except ImportError as missing:
        message = "frames of pandas are loaded through pyarrow, which is not installed"
        error = _errors.InterfaceError(message)
        error.hint = "pip install pyarrow"
        raise error from missing
    frame = _in_texts(frame, notices)
    levels = list(frame.index.names)
    wanted = _wanted(frame, levels, index, notices)
    try:
        table = pa.Table.from_pandas(frame, preserve_index=bool(wanted))
        columns = len(frame.columns)
        names = table.column_names[:columns]
        chosen = [columns + level for level in wanted]
        table = table.select([*chosen, *range(columns)])
        return table.rename_columns([*wanted.values(), *names])
    except Exception as refused:
        raise _refused(refused) from refused


def _in_texts(frame: Any, notices: list[str]) -> Any:  # noqa: ANN401
    """Make texts of periods and intervals, of which Arrow has the numbers or the ends alone."""
    places = [at for at, kind in enumerate(frame.dtypes) if _is_span(kind)]
    if places or _is_span(frame.index.dtype):
        frame = frame.copy(deep=False)
    for at in places:
        texts = frame.iloc[:, at].astype(object).map(str, na_action="ignore")
        frame.isetitem(at, texts)
        notices.append(f"{frame.columns[at]} has periods or intervals, which are loaded as texts")
    if _is_span(frame.index.dtype):
        frame.index = frame.index.astype(object).map(str, na_action="ignore")
        notices.append("the index has periods or intervals, which are loaded as texts")
    return frame


def _is_span(kind: Any) -> bool:  # noqa: ANN401 - one of pandas' types
    categories = getattr(kind, "categories", None)
    name = type(kind if categories is None else categories.dtype).__name__
    return name in {"PeriodDtype", "IntervalDtype"}


def _wanted(frame: Any, levels: list[Any], index: bool | None, notices: list[str]) -> dict[int, str]:  # noqa: ANN401, FBT001
    """Name the levels of the index that are columns, as ``to_sql`` does.

    By default those are all, but for numbers without a name: pandas gives them to the rows of every frame.
    """
    if index is False:
        return {}
    wanted = {level: str(name) for level, name in enumerate(levels) if name is not None}
    taken = {str(name) for name in frame.columns}
    if index or not _is_numbers(frame.index):
        alone = len(levels) == 1 and "index" not in taken
        made = {
            level: "index" if alone else f"level_{level}"
            for level in range(len(levels))
            if level not in wanted
        }
        wanted |= made
        if made and index is None:
            names = ", ".join(made.values())
            notices.append(f"the index has no name and is loaded as {names}: index=False leaves it out")
    if clash := taken & set(wanted.values()):
        message = f"the index and a column are both called {min(clash)!r}"
        error = _errors.ProgrammingError(message)
        error.hint = "index=False leaves the index out; frame.rename_axis(...) gives it another name"
        raise error
    return dict(sorted(wanted.items()))


def _is_numbers(index: Any) -> bool:  # noqa: ANN401
    """Whether an index without a name is no more than the numbers that pandas gave the rows."""
    return index.nlevels == 1 and getattr(index.dtype, "kind", "O") in "iu"


def _refused(refused: Exception) -> _errors.Error:
    """Say in howdah's words what pyarrow would not have."""
    said = [str(part) for part in refused.args] or [type(refused).__name__]
    column = next((found[1] for part in said if (found := _COLUMN.match(part))), None)
    if isinstance(refused, UnicodeEncodeError):
        said = ["a text has a lone surrogate, which is no character in UTF-8"]
    error = _errors.DataError(f"the frame cannot be made a table: {said[0]}")
    error.column = column
    if column is not None:
        error.hint = f"make its values one type: frame[{column!r}].astype(str), or pandas.to_numeric(...)"
    error.visible = "nothing was changed"
    return error
