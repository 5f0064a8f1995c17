"""Frames of polars as Arrow's readers take them: without columns of nothing, of objects, of 128 bits."""

from __future__ import annotations

import sys
from typing import Any

from howdah import _errors


def table_of(data: Any, kind: str) -> Any:  # noqa: ANN401 - polars' own
    """Give the frame of what is called ``kind``: a frame, a lazy one, or a series."""
    if kind == "Series":
        data = data.to_frame()
    elif kind == "LazyFrame":
        # What it raises is about its query, and is raised as it is.
        data = data.collect()
    # Whoever has a frame has imported it.
    polars = sys.modules["polars"]
    changed = []
    for name, given in data.schema.items():
        taken = _taken(given, polars)
        if taken is None:
            message = "polars' objects have no form in PostgreSQL that everybody would agree on"
            hint = f"make its values one type: pl.col({name!r}).map_elements(str, return_dtype=pl.String)"
            raise _refused(name, message, hint)
        if taken != given:
            try:
                changed.append(data[name].cast(taken))
            except polars.exceptions.PolarsError as refused:
                message = f"its {given} do not fit {taken}: {str(refused).splitlines()[0]}"
                raise _refused(name, message, f"pl.col({name!r}).cast(pl.String)") from refused
    return data.with_columns(changed) if changed else data


def _taken(given: Any, polars: Any) -> Any:  # noqa: ANN401
    """Give the type as which a column is read, which is mostly its own; None: there is none."""
    if given == polars.Object:
        return None
    if given == polars.Null:
        # Nothing says what it would be; a text is read as whatever the table's column is.
        return polars.String
    if str(given) in {"Int128", "UInt128"}:
        return polars.Decimal(38, 0)
    if given == polars.List and (inner := _taken(given.inner, polars)) is not None:
        return polars.List(inner)
    if given == polars.Struct:
        fields = {field.name: _taken(field.dtype, polars) for field in given.fields}
        return polars.Struct(fields) if None not in fields.values() else None
    return given


def _refused(column: str, message: str, hint: str) -> _errors.Error:
    error = _errors.DataError(message)
    error.column, error.hint, error.visible = column, hint, "nothing was changed"
    return error
