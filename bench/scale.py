"""What limits a job of a cluster: measured here with up to eight lanes, drawn to 1,000 tasks and 10 TB.

It prints the tables of ``docs/scale.md``, and keeps each run as a line of JSON. What is measured takes turns
in an order of its own in every round; figures are medians, with the least and the greatest. Run it with
``make bench-scale`` (``ARGS='--quick'``, ``'--write'``: into the document, ``'--from FILE'``: the tables of
runs that are there). It needs Linux, which tells the server's CPU seconds.
"""

import argparse
import json
import os
import sys
import tempfile
from pathlib import Path

import scale_tables
from scale_fit import Run, Runs

ROOT = Path(__file__).resolve().parents[1]
DOCUMENT = ROOT / "docs" / "scale.md"
PUBLISHED = ROOT / "docs" / "benchmarks" / "cluster-scale.jsonl"
_QUICK = {"rows": 160_000, "rounds": 1}


def main() -> int:
    """Measure, unless runs are given, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=4_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="few rows, one round: whether it works")
    parser.add_argument("--howdah", help="the command; by default that of this Python")
    parser.add_argument("--output", type=Path, default=ROOT / "build" / "bench-scale.jsonl")
    parser.add_argument("--from", dest="source", type=Path, help="runs that are there: nothing is measured")
    parser.add_argument("--write", action="store_true", help="publish runs and tables in docs/")
    options = parser.parse_args()
    if options.quick:
        options.rows, options.rounds = _QUICK["rows"], _QUICK["rounds"]
    if options.source:
        runs = read(options.source)
    else:
        runs = measured(options)
        _keep(runs, options.output)
    found = scale_tables.tables(Runs(runs))
    for name, table in found.items():
        print(f"<!-- {name} -->\n{table}\n")
    if options.write:
        _keep(runs, PUBLISHED)
        DOCUMENT.write_text(filled(DOCUMENT.read_text(), found))
    return 0


def measured(options: argparse.Namespace) -> list[Run]:
    """Run all rounds on a server of our own, as durable as PostgreSQL's defaults; the first one warms up."""
    import howdah  # noqa: PLC0415 - tables of runs need none
    from scale_measure import TASKS, Measurement  # noqa: PLC0415

    command = [options.howdah] if options.howdah else [sys.executable, "-m", "howdah"]
    durable = {"fsync": "on", "full_page_writes": "on", "synchronous_commit": "on"}
    # What the server does at times of its own would be chance: each part begins with a checkpoint.
    quiet = {"max_wal_size": "8GB", "checkpoint_timeout": "1h", "autovacuum": "off"}
    with tempfile.TemporaryDirectory() as folder, howdah.server(**durable, **quiet) as server:
        measurement = Measurement(server, command, options.rows, Path(folder))
        for round_ in range(options.rounds + 1):
            measurement.all()
            print(f"round {round_} of {options.rounds}", file=sys.stderr)
        setting: Run = {
            "what": "setting",
            "rows": measurement.rows,
            "rounds": options.rounds,
            "tasks": TASKS,
            "cores": os.cpu_count(),
            "server": server.version,
        }
        return [setting, *measurement.runs]


def read(file: Path) -> list[Run]:
    """Read runs, one a line."""
    return [json.loads(line) for line in file.read_text().splitlines()]


def filled(document: str, tables: dict[str, str]) -> str:
    """Put each table between its two marks."""
    for name, table in tables.items():
        before, begins, rest = document.partition(f"<!-- {name} -->\n")
        _, ends, after = rest.partition(f"\n<!-- end of {name} -->")
        if not begins or not ends:
            message = f"the document has no place for {name}"
            raise ValueError(message)
        document = f"{before}{begins}{table}{ends}{after}"
    return document


def _keep(runs: list[Run], file: Path) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(f"{json.dumps(run)}\n" for run in runs))


if __name__ == "__main__":
    sys.exit(main())
