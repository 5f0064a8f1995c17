"""Fit the model's costs to runs, and compare it with runs that it was not made from.

Only one and two lanes make the costs; four and eight are left for the comparison.
"""

import statistics
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import scale_model
from scale_model import Costs, RowCosts, StepCosts

Run = dict[str, Any]

FITTED_LANES, CHECKED_LANES = (1, 2), (4, 8)
LANES_OF = {
    "lanes": "tasks of a cluster",
    "slow lanes": "the same on slow executors",
    "jobs": "one `howdah load`, `--jobs`",
}
"""What was run with one lane and more."""
PUBLISHED = {
    "publish append": "publishing into a table that is there, 4 times the rows",
    "publish new": "publishing as a new table, 4 times the rows",
}
"""What was run with some rows and with more."""


@dataclass(frozen=True)
class Spread:
    """The median of some runs, with the least and the greatest."""

    median: float
    least: float
    most: float

    @classmethod
    def of(cls, values: Iterable[float]) -> "Spread":
        """Take the values of all rounds."""
        found = list(values)
        return cls(statistics.median(found), min(found), max(found))


@dataclass(frozen=True)
class Check:
    """What the model said before, and what was measured."""

    what: str
    lanes: int
    is_fitted: bool
    predicted: float
    measured: Spread

    @property
    def error(self) -> float:
        """How much more the model said, as a share of what was measured."""
        return self.predicted / self.measured.median - 1


class Runs:
    """The runs of a measurement, without those of the round that warms up."""

    def __init__(self, runs: list[Run]) -> None:
        """Take all lines of the file; the first says what was measured, and with what."""
        self.setting, *rest = runs
        self.cores = int(self.setting["cores"])
        self.tasks = int(self.setting["tasks"])
        self._runs = [run for run in rest if run["round"] > 0]

    def of(self, what: str, **facts: int) -> list[Run]:
        """Give the runs of one kind."""
        found = [run for run in self._runs if run["what"] == what and facts.items() <= run.items()]
        if not found:
            message = f"no run of {what} {facts or ''}"
            raise ValueError(message)
        return found

    def spread(self, what: str, value: Callable[[Run], float], **facts: int) -> Spread:
        """Give what the runs of one kind have of something."""
        return Spread.of(value(run) for run in self.of(what, **facts))

    def median(self, what: str, value: Callable[[Run], float], **facts: int) -> float:
        """Give its median."""
        return self.spread(what, value, **facts).median

    def of_fitted(self, what: str, value: Callable[[Run], float]) -> float:
        """Give the median of all runs with one or two lanes."""
        runs = [run for lanes in FITTED_LANES for run in self.of(what, lanes=lanes)]
        return Spread.of(value(run) for run in runs).median


def seconds(run: Run) -> float:
    """Give how long it took."""
    return float(run["seconds"])


def cpu(run: Run) -> float:
    """Give the CPU seconds of clients and server."""
    return float(run["client_cpu"]) + float(run["server_cpu"])


def sizes(runs: Runs) -> tuple[int, int]:
    """Give the rows of the smaller and of the larger job that is published."""
    rows = [int(run["rows"]) for run in runs.of("publish append")]
    return min(rows), max(rows)


def others(runs: Runs) -> Spread:
    """Give the share of the cores that other programs had while all rows were sent."""
    return Spread.of(
        max(float(run["machine_cpu"]) - cpu(run), 0.0) / seconds(run) / runs.cores
        for lanes in (*FITTED_LANES, *CHECKED_LANES)
        for run in runs.of("lanes", lanes=lanes)
    )


def each(field: str, of: str) -> Callable[[Run], float]:
    """Give a run's ``field``, by row or by time."""
    return lambda run: float(run[field]) / float(run[of])


def fit(runs: Runs) -> Costs:
    """Make the costs of the model."""
    publish = runs.median("publish one row", seconds)
    few, _ = sizes(runs)
    copied = max(runs.median("publish append", seconds, rows=few) - publish, 0.0) / few
    return Costs(
        row=RowCosts(
            lane=_lane(runs),
            client=runs.of_fitted("lanes", each("client_cpu", "rows")),
            server=runs.of_fitted("lanes", each("server_cpu", "rows")),
            copied=copied,
            table_bytes=runs.median("lanes of a new table", each("table_bytes", "rows")),
            sent_wal=runs.median("lanes of a new table", each("log_bytes", "rows")),
            copied_wal=runs.median("publish append", each("log_bytes", "rows")),
        ),
        step=StepCosts(
            task=runs.median("task", seconds),
            task_cpu=runs.median("task", lambda run: float(run["server_cpu"])),
            adding=runs.median("task that adds", seconds),
            adding_cpu=runs.median("task that adds", lambda run: float(run["server_cpu"])),
            refused=runs.median("refusals", each("seconds", "times")),
            refused_cpu=runs.median("refusals", each("server_cpu", "times")),
            job=runs.median("begin", seconds) + publish,
            receipt=max(
                runs.median("publish receipts", lambda run: (seconds(run) - publish) / float(run["times"])),
                0.0,
            ),
        ),
    )


def checks(runs: Runs) -> list[Check]:
    """Compare all that was run with lanes, and tasks that waited for slots."""
    return [
        *(
            Check(
                what,
                lanes,
                lanes in FITTED_LANES,
                _predicted(runs, what, lanes),
                runs.spread(what, seconds, lanes=lanes),
            )
            for what in LANES_OF
            for lanes in (*FITTED_LANES, *CHECKED_LANES)
        ),
        *(_published(runs, what) for what in PUBLISHED),
        _waiting(runs),
    ]


def _lane(runs: Runs) -> float:
    """Give the seconds of a row on one lane, without what tasks take to start."""
    start = runs.tasks * runs.median("start of the command", seconds)
    return runs.median("lanes", lambda run: (seconds(run) - start) / float(run["rows"]), lanes=1)


def _predicted(runs: Runs, what: str, lanes: int) -> float:
    """Say how long all rows take over so many lanes, where clients and server share the cores."""
    one, two = (runs.median(what, seconds, lanes=fitted) for fitted in FITTED_LANES)
    cores_take = runs.of_fitted(what, cpu) / runs.cores
    return scale_model.shared(one, scale_model.contention(one, two), lanes, cores_take)


def _published(runs: Runs, what: str) -> Check:
    """Say how long it takes to publish more rows than those that the costs are from."""
    costs, (_, many) = fit(runs), sizes(runs)
    # A new table is not looked at.
    each_row = costs.row.copied if what == "publish append" else 0.0
    predicted = runs.median("publish one row", seconds) + many * each_row
    return Check(
        what, 1, is_fitted=False, predicted=predicted, measured=runs.spread(what, seconds, rows=many)
    )


def _waiting(runs: Runs) -> Check:
    """Say how long tasks take that outnumber their slots, from what as many tasks take as there are slots."""
    tasks, slots = (int(runs.of("waiting")[0][name]) for name in ("tasks", "slots"))
    predicted = scale_model.waiting(tasks, slots, runs.median("alone", seconds)).seconds
    measured = runs.spread("waiting", seconds)
    return Check("waiting", slots, is_fitted=False, predicted=predicted, measured=measured)
