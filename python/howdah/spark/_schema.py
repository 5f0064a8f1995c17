"""Spark's types as Arrow's, which decide the types of a new table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import types
from pyspark.sql.pandas.types import to_arrow_schema

from howdah import _errors

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import DataType, StructType

# Of types that have no counterpart, the expression that has one.
_INSTEAD = {
    "array<void>": "CAST({} AS array<…>), which says of what",
    "variant": "to_json({}), into a column of jsonb",
    "geometry": "st_asbinary({}), into a column of bytea or geometry",
    "geography": "st_asbinary({}), into a column of bytea or geography",
    "interval": "CAST({} AS STRING), into a column of interval",
}


def arrow(schema: StructType | pa.Schema) -> pa.Schema:
    """Give the schema of the batches that tasks will get, or refuse all columns that have none at once."""
    if not isinstance(schema, types.StructType):
        # Sail has Arrow's already.
        return schema
    refused = [
        f"{field.name} ({found}): {_INSTEAD[kind].format(field.name)}"
        for field in schema.fields
        for kind, found in [_without_counterpart(field.dataType)]
        if kind
    ]
    if refused:
        error = _errors.NotSupportedError("columns have types that PostgreSQL does not have")
        error.hint = "; ".join(refused)
        error.visible = "nothing was changed"
        raise error
    # Tasks get instants in the session's zone, and an instant is the same in every zone.
    return to_arrow_schema(schema, timezone="UTC")


def _without_counterpart(kind: DataType) -> tuple[str, str]:
    """Say what of a type has no counterpart, and how Spark calls it."""
    if isinstance(kind, types.ArrayType) and (
        kind.containsNull or not isinstance(kind.elementType, types.NullType)
    ):
        return _without_counterpart(kind.elementType)
    if isinstance(kind, types.MapType):
        return max(_without_counterpart(kind.keyType), _without_counterpart(kind.valueType))
    if isinstance(kind, types.StructType):
        return max((_without_counterpart(field.dataType) for field in kind.fields), default=("", ""))
    if isinstance(kind, types.UserDefinedType):
        return _without_counterpart(kind.sqlType())
    if isinstance(kind, types.DayTimeIntervalType):
        return "", ""
    name = kind.simpleString()
    return next(((found, name) for found in _INSTEAD if name.startswith(found)), ("", ""))
