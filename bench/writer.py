"""How many rows a second one Python thread hands to `howdah.Writer`, encoding included, and writes for real.

The rows are those of study 5: one column of jsonb of about 1 KB, beside an identity and a default. The null
lane takes rows as fast as they come and throws them away: what is left is what Python costs. Ways take turns
in every round; the medians are printed with the least and the greatest. Run it with
``make bench-python-writer`` (``ARGS='--rows 1000000 --rounds 5'``).
"""

import argparse
import asyncio
import json
import statistics
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import howdah

if TYPE_CHECKING:
    from collections.abc import Callable

TABLE = """CREATE TABLE tasks (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
created_at timestamptz NOT NULL DEFAULT now(), args jsonb NOT NULL)"""

# Made beforehand: what is measured is the writer, not json.dumps.
PAYLOADS = 1000

TASKS = 100


def payload(number: int) -> dict[str, object]:
    """Give a task's arguments, about 1 KB as JSON."""
    return {
        "task": number,
        "user": f"user-{number * 7919 % 10007}",
        "attempt": number % 3,
        "ratio": number / 7,
        "tags": ["import", "nightly", str(number)],
        "body": "lorem ipsum dolor sit amet " * 33,
    }


def sends(dsn: str, rows: list[object], count: int, *, discard: bool) -> float:
    """Write without acknowledgements."""
    with howdah.Writer("tasks", dsn, discard=discard) as writer:
        send = writer.send
        start = time.perf_counter()
        for n in range(count):
            send(rows[n % PAYLOADS])
        writer.flush()
        return time.perf_counter() - start


def writes(dsn: str, rows: list[object], count: int, *, discard: bool) -> float:
    """Write with acknowledgements that nobody keeps."""
    with howdah.Writer("tasks", dsn, discard=discard) as writer:
        write = writer.write
        start = time.perf_counter()
        for n in range(count):
            write(rows[n % PAYLOADS])
        writer.flush()
        return time.perf_counter() - start


def awaits(dsn: str, rows: list[object], count: int, *, discard: bool) -> float:
    """Write in an event loop, in which a hundred tasks wait for their rows."""

    async def task(writer: howdah.AsyncWriter, number: int) -> None:
        for n in range(count // TASKS):
            await (await writer.write(rows[(number + n) % PAYLOADS]))

    async def run() -> float:
        async with howdah.AsyncWriter("tasks", dsn, discard=discard) as writer:
            start = time.perf_counter()
            await asyncio.gather(*(task(writer, number) for number in range(TASKS)))
            return time.perf_counter() - start

    return asyncio.run(run())


def main() -> int:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=400_000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    dicts = [payload(n) for n in range(PAYLOADS)]
    texts = [json.dumps(each) for each in dicts]
    tuples: list[object] = [(text,) for text in texts]
    dict_tuples: list[object] = [(each,) for each in dicts]
    named: list[object] = [{"args": text} for text in texts]
    bytes_each = sum(map(len, texts)) / len(texts)
    contenders: dict[str, tuple[Callable[..., float], list[object], bool]] = {
        "null lane, send (text,)": (sends, tuples, True),
        "null lane, write (text,)": (writes, tuples, True),
        "null lane, write {text}": (writes, named, True),
        "null lane, write (dict,)": (writes, dict_tuples, True),
        "null lane, await": (awaits, tuples, True),
        "table, send (text,)": (sends, tuples, False),
        "table, await": (awaits, tuples, False),
    }
    rates: dict[str, list[float]] = {}
    with howdah.server() as server:
        psql = [str(server.bin_dir / "psql"), "-Xqd", server.dsn, "-c"]
        # Round 0 is the warm-up.
        for round_ in range(options.rounds + 1):
            for name, (measure, rows, discard) in contenders.items():
                for statement in ("DROP TABLE IF EXISTS tasks", TABLE, "CHECKPOINT"):
                    subprocess.run([*psql, statement], check=True, capture_output=True)
                wall = measure(server.dsn, rows, options.rows, discard=discard)
                if round_:
                    rates.setdefault(name, []).append(options.rows / wall)
    print(f"{options.rows:,} rows of {bytes_each:.0f} bytes")
    for name, each in rates.items():
        print(f"{name:24} {statistics.median(each):>10,.0f} rows/s ({min(each):,.0f} to {max(each):,.0f})")
    return 0


if __name__ == "__main__":
    sys.exit(main())
