"""How fast `howdah.load` takes tables of other libraries, beside the same rows as a Parquet file.

Contenders take turns in every round; ratios are taken within a round, and the medians printed with the least
and the greatest. Run it with ``make bench-python`` (``ARGS='--rows 1000000 --rounds 5'``).
"""

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import howdah

TABLE = "readings"
COLUMNS = """time timestamptz, tags_id integer, latitude double precision, longitude double precision,
elevation double precision, velocity double precision, heading double precision, grade double precision,
fuel_consumption double precision"""


def contenders(file: Path) -> dict[str, Callable[[], Any]]:
    """Give the data of each, as far as the libraries are installed; the first is the file."""
    found: dict[str, Callable[[], Any]] = {"Parquet file": lambda: file}
    try:
        import pyarrow.parquet as pq  # noqa: PLC0415 - whoever has it

        table = pq.read_table(file)
        found["pyarrow Table"] = lambda: table
    except ImportError:
        pass
    try:
        import polars as pl  # noqa: PLC0415 - whoever has it

        frame = pl.read_parquet(file)
        found["polars DataFrame"] = lambda: frame
    except ImportError:
        pass
    try:
        import pandas as pd  # noqa: PLC0415 - whoever has it

        pandas = pd.read_parquet(file)
        found["pandas DataFrame"] = lambda: pandas
    except ImportError:
        pass
    return found


def main() -> int:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory, howdah.server() as server:
        file = Path(directory) / "readings.parquet"
        command = [sys.executable, "-m", "howdah", "dataset", "readings", "--rows", str(options.rows)]
        subprocess.run([*command, "--format", "parquet", "-o", file, "--seed", "42"], check=True)
        psql = [str(server.bin_dir / "psql"), "-Xqd", server.dsn, "-c"]
        walls: dict[str, list[float]] = {}
        # Round 0 is the warm-up.
        for round_ in range(options.rounds + 1):
            for name, data in contenders(file).items():
                fresh = f"DROP TABLE IF EXISTS {TABLE}; CREATE TABLE {TABLE} ({COLUMNS})"
                for statement in (fresh, "CHECKPOINT"):
                    subprocess.run([*psql, statement], check=True)
                given = data()
                start = time.perf_counter()
                report = howdah.load(given, TABLE, server.dsn, jobs=options.jobs, progress=False)
                wall = time.perf_counter() - start
                if report.rows != options.rows:
                    sys.exit(f"{name}: {report.rows} rows arrived")
                if round_:
                    walls.setdefault(name, []).append(wall)
    first = next(iter(walls.values()))
    print(f"{'':20} {'s':>24} {'÷ Parquet file':>24}")
    for name, seconds in walls.items():
        ratios = [wall / beside for wall, beside in zip(seconds, first, strict=True)]
        print(f"{name:20} {spread(seconds):>24} {spread(ratios):>24}")
    return 0


def spread(values: list[float]) -> str:
    """Median, least and greatest."""
    return f"{statistics.median(values):.2f} ({min(values):.2f} to {max(values):.2f})"


if __name__ == "__main__":
    sys.exit(main())
