"""Measure generated Python and what one writes by hand with psycopg: an action a line, an answer a line."""

import gc
import json
import sys
import time
from typing import TYPE_CHECKING

import psycopg
from psycopg.rows import args_row
from sensor import ReadingByIdRow, ReadingsFromRow, Sensor

from sensor_rows import make_keys, make_rows, total

if TYPE_CHECKING:
    from collections.abc import Callable

_CALLS, _PAGES, _PAGE = 2_000, 50, 1_000
_COLUMNS = "device_id, timestamp, temperature, humidity, pressure, battery_level, is_anomaly, location, tags"
_TYPES = ("uuid", "timestamptz", "float8", "float8", "numeric", "int2", "bool", "text", "text[]")
_COPY = f"COPY sensor_readings ({_COLUMNS}) FROM STDIN (FORMAT binary)"
_ONE = f"SELECT id, {_COLUMNS} FROM sensor_readings WHERE id = %s"
_ALL = f"SELECT id, {_COLUMNS} FROM sensor_readings WHERE id >= %s ORDER BY id LIMIT %s"


class Program:
    """Both ways, on one connection, with the same rows."""

    def __init__(self, count: int) -> None:
        """Make the rows, and connect."""
        self.rows = make_rows(count)
        self.keys = make_keys(_CALLS, count)
        self.pages = make_keys(_PAGES, max(1, count - _PAGE))
        self.connection = psycopg.connect("", autocommit=True)
        self.sensor = Sensor(self.connection)

    def append_generated(self) -> int:
        """All rows by the generated appender."""
        with self.connection.transaction():
            return int(self.sensor.bulk_insert_sensor_readings_rows(self.rows))

    def append_psycopg(self) -> int:
        """All rows by psycopg's own binary COPY."""
        with self.connection.transaction(), self.connection.cursor() as cursor:
            with cursor.copy(_COPY) as copy:
                copy.set_types(_TYPES)
                write = copy.write_row
                for row in self.rows:
                    write(
                        (
                            row.device_id,
                            row.timestamp,
                            row.temperature,
                            row.humidity,
                            row.pressure,
                            row.battery_level,
                            row.is_anomaly,
                            row.location,
                            row.tags,
                        )
                    )
            return int(cursor.rowcount)

    def one_generated(self) -> int:
        """Rows by key."""
        find = self.sensor.reading_by_id
        return total(find(key) for key in self.keys)

    def one_hand(self) -> int:
        """Rows by key."""
        return total(self._one(key, binary=False) for key in self.keys)

    def one_hand_binary(self) -> int:
        """Rows by key, whose values come in binary form: a word more by hand."""
        return total(self._one(key, binary=True) for key in self.keys)

    def all_generated(self) -> int:
        """Pages of rows."""
        return sum(total(self.sensor.readings_from(key, _PAGE)) for key in self.pages)

    def all_hand(self) -> int:
        """Pages of rows."""
        return sum(total(self._all(key, binary=False)) for key in self.pages)

    def all_hand_binary(self) -> int:
        """Pages of rows, whose values come in binary form."""
        return sum(total(self._all(key, binary=True)) for key in self.pages)

    def _one(self, key: int, *, binary: bool) -> ReadingByIdRow | None:
        with self.connection.cursor(binary=binary, row_factory=args_row(ReadingByIdRow)) as cursor:
            return cursor.execute(_ONE, (key,)).fetchone()

    def _all(self, key: int, *, binary: bool) -> list[ReadingsFromRow]:
        with self.connection.cursor(binary=binary, row_factory=args_row(ReadingsFromRow)) as cursor:
            rows: list[ReadingsFromRow] = cursor.execute(_ALL, (key, _PAGE)).fetchall()
            return rows


def main() -> None:
    """Answer until the input ends."""
    program = Program(int(sys.argv[1]))
    actions: dict[str, Callable[[], int]] = {
        "append generated": program.append_generated,
        "append psycopg": program.append_psycopg,
        "one generated": program.one_generated,
        "one hand": program.one_hand,
        "one hand binary": program.one_hand_binary,
        "all generated": program.all_generated,
        "all hand": program.all_hand,
        "all hand binary": program.all_hand_binary,
    }
    # The rows are no work for the collector of either way.
    gc.collect()
    gc.freeze()
    version = f"Python {sys.version.split()[0]}, psycopg {psycopg.__version__}"
    print(json.dumps({"version": version, "actions": list(actions)}), flush=True)
    for line in sys.stdin:
        action = actions[line.strip()]
        gc.collect()
        cpu, wall = time.process_time(), time.perf_counter()
        check = action()
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        print(json.dumps({"wall": wall, "cpu": cpu, "check": check}), flush=True)


if __name__ == "__main__":
    main()
