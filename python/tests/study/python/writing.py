"""Writes the study's rows three ways by generated code, and prints after each what its queries give."""

import math
import os
import uuid
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import psycopg
from queries import Queries, SensorReadingsRow

ROWS = 1000
BEGIN = datetime(1999, 12, 31, 23, tzinfo=UTC)
PLACES = ["Halle 3", "", "a\tb\\c\n", "Köln ☃ 𝄞", '"quoted", {braces}', "NULL", None]
TAGS: list[list[str | None] | None] = [
    [],
    ["indoor"],
    ["indoor", None, ""],
    ["NULL", "a b", "c,d"],
    ['x"y', "\\"],
    None,
]
LITERALS = ["{}", "{indoor}", '{indoor,NULL,""}', '{"NULL","a b","c,d"}', '{"x\\"y","\\\\"}', None]
TEMPERATURES = [None, -0.0, math.inf, 5e-324]


def row(i: int) -> SensorReadingsRow:
    """Give a row by its number."""
    return SensorReadingsRow(
        device_id=uuid.UUID(f"00000000-0000-4000-8000-{i * 7919 % 100:012x}"),
        timestamp=BEGIN + timedelta(milliseconds=i * 10007),
        temperature=TEMPERATURES[i % 11] if i % 11 < len(TEMPERATURES) else i * 37 / 7 - 100,
        humidity=None if i % 13 == 0 else i * 53 % 1000 / 8,
        pressure=None if i % 17 == 0 else Decimal(i * 7919 % 2000001 - 1000000).scaleb(-2),
        battery_level=None if i % 19 == 0 else i % 200 - 100,
        is_anomaly=[True, False, None][i % 3],
        location=PLACES[i % 7],
        tags=TAGS[i % 6],
    )


def append(queries: Queries, rows: list[SensorReadingsRow]) -> int:
    return queries.bulk_insert_sensor_readings_rows(rows)


def insert(queries: Queries, rows: list[SensorReadingsRow]) -> int:
    return sum(
        queries.insert_reading(
            each.device_id,
            each.timestamp,
            each.temperature,
            each.humidity,
            each.pressure,
            each.battery_level,
            each.is_anomaly,
            each.location,
            each.tags,
        )
        for each in rows
    )


def unnest(queries: Queries, rows: list[SensorReadingsRow]) -> int:
    return queries.insert_readings_unnest(
        [each.device_id for each in rows],
        [each.timestamp for each in rows],
        [each.temperature for each in rows],
        [each.humidity for each in rows],
        [each.pressure for each in rows],
        [each.battery_level for each in rows],
        [each.is_anomaly for each in rows],
        [each.location for each in rows],
        [LITERALS[i % 6] for i in range(len(rows))],
    )


def verified(queries: Queries) -> str:
    count, sums = queries.count_readings(), queries.sums()
    assert count is not None
    assert sums is not None
    one = queries.reading_by_id(count - 499)
    assert one is not None
    assert one.tags is not None
    newest = queries.last_readings()
    seconds = (newest[0].timestamp - BEGIN) // timedelta(milliseconds=1)
    words = [count, sums.batteries, sums.pressure, sums.anomalies, one.device_id, one.pressure, len(one.tags)]
    return " ".join(map(str, [*words, len(newest), seconds]))


with psycopg.connect(os.environ["HOWDAH_DSN"], autocommit=True) as connection:
    print(Queries.apply_migrations(connection))  # noqa: T201 - what it prints is compared
    queries = Queries(connection)
    rows = [row(i) for i in range(ROWS)]
    for write in (append, insert, unnest):
        with connection.transaction():
            written = write(queries, rows)
        print(written, verified(queries))  # noqa: T201 - what it prints is compared
