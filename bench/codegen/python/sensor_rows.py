"""Make the rows that every language's program makes, and the sum of what was read."""

import datetime as dt
from collections.abc import Iterable
from decimal import Decimal
from typing import Any
from uuid import UUID

from sensor import SensorReadingsRow

_WORD = 0xFFFFFFFF
_START = dt.datetime(2025, 1, 1, tzinfo=dt.UTC)
_DEVICES = 100
_PLACES = ("Hall A", "Hall B", "Roof", "Cellar", "Yard", "Office 1", "Office 2", "Lab", "Dock", "Gate")
_TAGS: tuple[list[str | None], ...] = (
    [],
    ["indoor"],
    ["outdoor"],
    ["indoor", "calibrated"],
    ["outdoor", "solar"],
    ["test"],
    ["indoor", "critical", "v2"],
)


def mixed(number: int, stream: int) -> int:
    """Give 32 bits that look random and are the same in every language."""
    word = (number + stream * 0x9E3779B9) & _WORD
    word ^= word >> 16
    word = word * 0x7FEB352D & _WORD
    word ^= word >> 15
    word = word * 0x846CA68B & _WORD
    return word ^ word >> 16


def _device(number: int) -> UUID:
    return UUID(bytes=b"".join(mixed(number, stream).to_bytes(4, "big") for stream in range(100, 104)))


def make_rows(count: int) -> list[SensorReadingsRow]:
    """Make rows 0 to count - 1."""
    devices = [_device(number) for number in range(_DEVICES)]
    return [
        SensorReadingsRow(
            devices[mixed(n, 0) % _DEVICES],
            _START + dt.timedelta(seconds=10 * n),
            18.0 + mixed(n, 1) % 1_500_000 / 100_000.0,
            30.0 + mixed(n, 2) % 5_000_000 / 100_000.0,
            Decimal(98_000 + mixed(n, 3) % 4_000).scaleb(-2),
            20 + mixed(n, 4) % 80,
            mixed(n, 5) % 20 == 0,
            _PLACES[mixed(n, 6) % len(_PLACES)],
            list(_TAGS[mixed(n, 7) % len(_TAGS)]),
        )
        for n in range(count)
    ]


def make_keys(count: int, rows: int) -> list[int]:
    """Make keys of rows that are there."""
    return [mixed(n, 8) % rows + 1 for n in range(count)]


def total(rows: Iterable[Any]) -> int:
    """Add up something of every column, so that no value is left unread."""
    sum_ = 0
    for row in rows:
        sum_ += row.id + row.battery_level + row.is_anomaly + len(row.location) + len(row.tags)
        sum_ += row.timestamp.second + row.device_id.int % 251 + int(row.pressure)
        sum_ += int(row.temperature) + int(row.humidity)
    return sum_
