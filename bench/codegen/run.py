"""Measure generated code beside what people write by hand with the same driver, in every language here.

Run it with ``make bench-codegen`` (``ARGS='--only java'``, …); README.md says what is fair about it.
"""

import argparse
import json
import os
import platform
import random
import shutil
import statistics
import sys
from pathlib import Path
from typing import Any

import psycopg

import howdah
from languages import BUILD, LANGUAGES, PROJECT, ROOT, MissingError, project, schema
from program import Program, Took
from ratios import interval, paired

# A JVM and V8 compile while they run; what they take at first is not what they take.
_WARM_UPS = {"append": 2, "one": 10, "all": 10}
_CALLS = {"one": 2_000, "all": 50_000}
_UNIT = {"append": "rows", "one": "calls", "all": "rows"}
# Of the text of every row: the same values are there, whoever wrote them, in whatever language.
_CONTENT = """SELECT count(*), coalesce(sum(hashtextextended(
    (device_id, extract(epoch FROM timestamp), temperature, humidity, pressure, battery_level, is_anomaly,
    location, tags)::text, 0)), 0) FROM sensor_readings"""

Run = dict[str, Any]


class Measurement:
    """A server with the table, and the runs so far."""

    def __init__(self, dsn: str, options: argparse.Namespace) -> None:
        """Connect beside the programs."""
        self.dsn = dsn
        self.options = options
        self.runs: list[Run] = []
        self.versions: dict[str, str] = {}
        self.content: object = None
        self.connection = psycopg.connect(dsn, autocommit=True)
        self.connection.execute("ALTER TABLE sensor_readings SET (autovacuum_enabled = off)")

    def language(self, name: str, command: list[str]) -> None:
        """Measure all that a language's program can do."""
        with Program(command, PROJECT / name, self.dsn, self.options.rows) as program:
            self.versions[name] = program.version
            self.task(name, "append", program, self.options.rounds)
            self.connection.execute("VACUUM ANALYZE sensor_readings")
            for task in ("one", "all"):
                self.task(name, task, program, self.options.read_rounds)

    def task(self, language: str, task: str, program: Program, rounds: int) -> None:
        """Let the ways of a task take turns, in an order of its own in each round."""
        ways = program.ways(task)
        checks: set[int] = set()
        turns = random.Random(task)  # noqa: S311 - the same orders in each run
        for number in range(-_WARM_UPS[task], rounds):
            for way in turns.sample(ways, len(ways)):
                if task == "append":
                    self.connection.execute("TRUNCATE sensor_readings RESTART IDENTITY")
                    self.connection.execute("CHECKPOINT")
                took = program.take(f"{task} {way}")
                checks.add(took.check)
                if task == "append":
                    self.appended(way, took, first=number == -_WARM_UPS[task])
                if len(checks) > 1:
                    sys.exit(f"{language}, {task} {way}: other values than the other ways")
                if number >= 0:
                    run = {"language": language, "task": task, "way": way, "round": number}
                    self.runs.append(run | {"wall": took.wall, "cpu": took.cpu})

    def appended(self, way: str, took: Took, *, first: bool) -> None:
        """Look whether all rows are there, and once for each way whether they are those of all other ways."""
        sql = _CONTENT if first else "SELECT count(*), NULL FROM sensor_readings"
        count, content = self.connection.execute(sql).fetchone() or (0, None)
        if not count == took.check == self.options.rows:
            sys.exit(f"append {way}: {took.check} rows said, {count} there")
        if first:
            self.content = self.content or content
            if content != self.content:
                sys.exit(f"append {way}: other values than those of the first way")

    def table(self, language: str) -> None:
        """Print a line for each way: medians, and how many times as fast as it generated code is."""
        print(f"\n{language} ({self.versions[language]})")
        print(f"  {'':30}{'median s':>9}{'client CPU s':>14}{'a second':>15}   generated is")
        for task in ("append", "one", "all"):
            mine = self.walls(language, task, "generated")
            ways = dict.fromkeys(run["way"] for run in self.of(language, task))
            for way in ways:
                walls = self.walls(language, task, way)
                cpu = statistics.median(run["cpu"] for run in self.of(language, task, way))
                wall = statistics.median(walls)
                rate = f"{_CALLS.get(task, self.options.rows) / wall:,.0f} {_UNIT[task]}"
                line = f"  {task + ' ' + way:30}{wall:9.3f}{cpu:14.3f}{rate:>15}"
                if way != "generated":
                    ratios = paired(walls, mine)
                    low, high = interval(ratios)
                    line += f"   {statistics.median(ratios):.2f} times as fast ({low:.2f} to {high:.2f})"
                print(line, flush=True)

    def of(self, language: str, task: str, way: str | None = None) -> list[Run]:
        """Give the runs of a way, or of all ways of a task."""
        return [
            run
            for run in self.runs
            if (run["language"], run["task"]) == (language, task) and way in {None, run["way"]}
        ]

    def walls(self, language: str, task: str, way: str) -> list[float]:
        """Give the seconds of a way, round by round."""
        return [run["wall"] for run in sorted(self.of(language, task, way), key=lambda run: run["round"])]

    def save(self, path: Path) -> None:
        """Keep every run, and where they ran."""
        server = self.connection.execute("SELECT version()").fetchone()
        data = {
            "server": server and server[0],
            "machine": {"cpus": os.cpu_count(), "load": os.getloadavg(), "system": platform.platform()},
            "versions": self.versions,
            "rows": self.options.rows,
            "runs": self.runs,
        }
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(data, indent=1) + "\n")


def _howdah() -> Path:
    built = ROOT / "target" / "release" / "howdah"
    return built if built.exists() else Path(shutil.which("howdah") or built)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=7, help="of appends, after the warm-up")
    parser.add_argument("--read-rounds", type=int, default=31, help="of reads, after the warm-up")
    parser.add_argument("--only", choices=LANGUAGES, action="append", help="a language; may be repeated")
    parser.add_argument("--howdah", type=Path, default=_howdah(), help="the command that generates")
    parser.add_argument("--json", type=Path, default=BUILD / "runs.json", help="where all runs are kept")
    return parser.parse_args()


def main() -> int:
    """Build, measure and print."""
    options = _options()
    command = options.howdah.absolute()
    project(command)
    commands: dict[str, list[str]] = {}
    for name in options.only or LANGUAGES:
        try:
            commands[name] = LANGUAGES[name](PROJECT / name)
        except MissingError as missing:
            print(f"{name}: left out, {missing}", flush=True)
    with howdah.server() as server:
        schema(command, server.dsn)
        measurement = Measurement(server.dsn, options)
        for name, program in commands.items():
            measurement.language(name, program)
            measurement.save(options.json)
            measurement.table(name)
        measurement.connection.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
