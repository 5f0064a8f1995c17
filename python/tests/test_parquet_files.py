"""Parquet files that nobody here wrote: each loads as pyarrow and DuckDB read it, or is refused and says why.

`docs/parquet-files.md` lists them; the list and this test hold each other to it.
"""

import contextlib
import json
import math
import re
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from conftest import Database
from require import ROOT, library, real_files

import howdah

np = library("numpy")
pa = library("pyarrow")
pq = library("pyarrow.parquet")
duckdb = library("duckdb")

FILES = real_files() / "parquet-testing" / "data"
LIST = ROOT / "docs" / "parquet-files.md"

# Its moments are beyond Python's years, and in structs: no reader can hand them over.
UNSPEAKABLE = {"nested_structs.rust.parquet"}


def listed() -> dict[str, str]:
    """What the document says of each file: the number of rows that load, or why none does."""
    rows = re.findall(r"^\| `([^`]+)` \| (.*?) \|$", LIST.read_text(encoding="utf-8"), re.MULTILINE)
    return dict(rows)


def plain(value: Any) -> Any:  # noqa: ANN401, PLR0911 - whatever a library's value is; a case a line
    """Spell a value in the one way in which values of three readers can be compared."""
    if isinstance(value, dict | list) and not value:
        # An empty map is a list without pairs to pyarrow.
        return "empty"
    if isinstance(value, dict):
        return {str(key): plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        # A map is a list of pairs to pyarrow.
        if value and all(isinstance(part, tuple) and len(part) == 2 for part in value):
            return {str(plain(key)): plain(part) for key, part in value}
        return [plain(part) for part in value]
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return value
    if isinstance(value, bytes | bytearray):
        return "\\x" + bytes(value).hex()
    if isinstance(value, float):
        if not math.isfinite(value):
            return str(value).replace("inf", "Infinity").replace("nan", "NaN")
        return format(Decimal(repr(value)).normalize(), "f")
    if isinstance(value, int | Decimal):
        return format(Decimal(value).normalize(), "f")
    raise AssertionError(type(value))


def as_read(table: Any) -> list[list[Any]]:  # noqa: ANN401 - pyarrow has no types
    """Give the rows of an Arrow table, moments as microseconds, floats as short as their width."""
    columns = [spelled(column.combine_chunks()) for column in table.columns]
    return [list(row) for row in zip(*columns, strict=True)] if columns else []


def spelled(array: Any) -> list[Any]:  # noqa: ANN401
    kind = array.type
    if pa.types.is_dictionary(kind):
        return spelled(array.dictionary_decode())
    if pa.types.is_timestamp(kind):
        per_micro = {"s": 1_000_000, "ms": 1_000, "us": 1}.get(kind.unit, 0)
        whole = array.cast(pa.int64()).to_pylist()
        micros = [n if n is None else n * per_micro if per_micro else n // 1_000 for n in whole]
        return [plain(n) for n in micros]
    if pa.types.is_date(kind):
        return [plain(n) for n in array.cast(pa.date32()).cast(pa.int32()).to_pylist()]
    if pa.types.is_time(kind):
        micros = array.cast(pa.time64("us")).cast(pa.int64())
        return [plain(n) for n in micros.to_pylist()]
    if pa.types.is_float16(kind) or pa.types.is_float32(kind):
        short = [n if n is None else float(str(np.float32(n))) for n in array.to_pylist()]
        return [plain(n) for n in short]
    return [plain(value) for value in array.to_pylist()]


SELECT = {
    "timestamp without time zone": "(extract(epoch FROM {}) * 1000000)::bigint::text",
    "timestamp with time zone": "(extract(epoch FROM {}) * 1000000)::bigint::text",
    "date": "({} - DATE '1970-01-01')::text",
    "time without time zone": "(extract(epoch FROM {}) * 1000000)::bigint::text",
}


def as_loaded(database: Database) -> list[list[Any]]:
    """Give the table's rows in the order of the file."""
    parts = []
    for name, kind in database.types("t").items():
        quoted = '"' + name.replace('"', '""') + '"'
        parts.append(SELECT.get(kind, "to_json({})").format(quoted))
    lines = database.sql(f"SELECT json_build_array({', '.join(parts)}) FROM t ORDER BY ctid")
    return [plain(json.loads(line, parse_float=Decimal, parse_int=Decimal)) for line in lines]


def loaded(file: Path, database: Database) -> str:
    """Load the file, and give what the document should say of it."""
    try:
        report = howdah.load(file, "t", database.dsn, jobs=1, format="parquet")
    except howdah.Error as error:
        return str(error).splitlines()[0].replace(str(file), "FILE")
    return f"{report.rows} rows"


def read(file: Path) -> Iterator[list[list[Any]]]:
    """Give the rows as those readers see them that can."""
    readers: list[Callable[[], Any]] = [
        lambda: pq.read_table(file),
        lambda: duckdb.sql(f"SELECT * FROM read_parquet('{file}')").arrow().read_all(),
    ]
    for reader in readers:
        # A reader that cannot read it is no witness, whatever it raises.
        with contextlib.suppress(Exception):
            yield as_read(reader())


@pytest.mark.parametrize(
    "file",
    sorted([*FILES.glob("*.parquet"), *FILES.glob("*.encrypted")]),
    ids=lambda file: file.name,
)
def test_a_file_of_others_loads_as_others_read_it_or_says_why_not(file: Path, database: Database) -> None:
    said = loaded(file, database)
    assert listed().get(file.name) == said, "docs/parquet-files.md"
    if not said.endswith(" rows"):
        return
    seen = list(read(file))
    assert seen or file.name in UNSPEAKABLE
    assert seen == [as_loaded(database)] * len(seen)
