"""Columns instead of rows: dicts of them, and arrays of numpy. Their values are loaded as those of rows."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any

from howdah import _errors

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

# So many values of an array are Python's at once.
_PIECE = 4096

# numpy's kinds that have values in Python; the others are looked at one by one.
_PLAIN = "biufUSO"

_SHAPES = (
    'columns are a dict of lists or arrays, {"id": [1, 2], "name": ["Ada", "Grace"]};'
    ' one row is a list of one dict, [{"id": 1, "name": "Ada"}]'
)


def rows_of(data: object, given: dict[str, Any]) -> Any:  # noqa: ANN401 - what is loaded
    """Give the rows of columns, whose names are set in ``given``. Everything else comes back as it is."""
    if isinstance(data, dict):
        return _of_columns(data, given)
    if _is_array(data):
        return _of_array(data, given)
    return data


def _of_columns(columns: dict[Any, Any], given: dict[str, Any]) -> Iterator[tuple[Any, ...]]:
    for name in columns:
        if not isinstance(name, str):
            message = f"{name!r} is no name of a column"
            raise _refused(message)
    wanted = given.get("columns", list(columns))
    names = [wanted] if isinstance(wanted, str) else list(wanted)
    if not names:
        message = "the data have no columns"
        raise _refused(message)
    if missing := [name for name in names if name not in columns]:
        message = f"the data have no column {missing[0]!r}"
        raise _refused(message, f"they have {', '.join(columns)}")
    lengths = {name: _length(name, columns[name]) for name in names}
    shortest, longest = min(lengths, key=lengths.__getitem__), max(lengths, key=lengths.__getitem__)
    if lengths[shortest] != lengths[longest]:
        message = (
            f"the columns differ in length: {shortest} has {lengths[shortest]} values,"
            f" and {longest} has {lengths[longest]}"
        )
        raise _refused(message)
    given["columns"] = names
    return zip(*(_values(columns[name]) for name in names), strict=True)


def _length(name: str, values: Any) -> int:  # noqa: ANN401 - anything
    is_one_value = isinstance(values, str | bytes | bytearray | memoryview | dict | set | frozenset)
    try:
        if not is_one_value and hasattr(values, "__iter__"):
            return len(values)
    except TypeError:
        pass
    message = f"column {name} is a value of type {type(values).__name__}, and no list or array of values"
    raise _refused(message)


def _values(values: Any) -> Iterable[Any]:  # noqa: ANN401
    if _is_array(values):
        return _pieces(values)
    # pyarrow's arrays have scalars of their own.
    return values.to_pylist() if hasattr(values, "to_pylist") else values  # type: ignore[no-any-return]


def _of_array(array: Any, given: dict[str, Any]) -> Any:  # noqa: ANN401
    names = array.dtype.names
    if names is not None and array.ndim == 1:
        return _of_columns({name: array[name] for name in names}, given)
    if names is None and array.ndim == 2:  # noqa: PLR2004 - rows and columns
        return _pieces(array) if array.dtype.kind in _PLAIN else map(list, array)
    message = f"an array of {array.ndim} dimensions and type {array.dtype} has no columns"
    raise _refused(message)


def _pieces(array: Any) -> Iterator[Any]:  # noqa: ANN401
    if array.dtype.kind not in _PLAIN:
        return iter(array)
    starts = range(0, len(array), _PIECE)
    return chain.from_iterable(array[start : start + _PIECE].tolist() for start in starts)


def _is_array(data: object) -> bool:
    kinds = type(data).__mro__
    return any(kind.__name__ == "ndarray" and kind.__module__ == "numpy" for kind in kinds)


def _refused(message: str, hint: str = _SHAPES) -> _errors.Error:
    error = _errors.ProgrammingError(message)
    error.hint = hint
    error.visible = "nothing was changed"
    return error
