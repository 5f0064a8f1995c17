"""The tables of ``docs/scale.md``, made of the runs of a measurement."""

from collections.abc import Callable, Iterable

import scale_model
from scale_fit import (
    FITTED_LANES,
    LANES_OF,
    PUBLISHED,
    Check,
    Run,
    Runs,
    Spread,
    checks,
    each,
    fit,
    others,
    seconds,
)
from scale_model import Costs, Server, Way, Work

_MICROSECONDS, _MILLISECONDS, _MB = 1e6, 1e3, 1e6
_SIZES = {"10 GB": 1e10, "100 GB": 1e11, "1 TB": 1e12, "10 TB": 1e13}
_CONNECTIONS = (1, 4, 16, 64)
_TASKS = (1, 4, 16, 64, 256, 1000)
_WAYS: dict[Way, str] = {"append": "a table that is there", "new": "a new table", "tasks": '`commit="tasks"`'}
_LARGER = Server(cores=16, disk=1e9)
"""Nothing was measured on such a server."""
_MANY_TASKS, _FIXED_CONNECTIONS, _FIXED_SIZE = 1000, 16, "1 TB"
_MINUTE, _HOUR, _DAY = 60, 3600, 86400
_LOCKS_OF_A_TABLE = 64 * 100
"""PostgreSQL's defaults: max_locks_per_transaction by max_connections."""


def tables(runs: Runs) -> dict[str, str]:
    """Give all tables, by the names that the document has for them."""
    costs = fit(runs)
    here = Server(cores=runs.cores, disk=runs.median("disk", each("bytes", "seconds")))
    return {
        "setting": _setting(runs),
        "rows": _rows(runs, costs),
        "steps": _steps(runs),
        "checks": _checks(checks(runs)),
        "here": _by_size(costs, here),
        "larger": _by_size(costs, _LARGER),
        "tasks": _by_tasks(costs, _LARGER),
        "waiting": _waiting(costs),
    }


def duration(value: float) -> str:
    """Say how long it is, to two figures or a second."""
    for unit, length in (("d", _DAY), ("h", _HOUR), ("min", _MINUTE)):
        if value >= length:
            return f"{value / length:.{0 if value >= 10 * length else 1}f} {unit}"
    return f"{value:.{0 if value >= 10 else 1}f} s"  # noqa: PLR2004 - two figures


def _table(heads: Iterable[str], lines: Iterable[Iterable[str]], *, first: int = 1) -> str:
    """Make a table whose columns behind the ``first`` are figures."""
    names = list(heads)
    rules = [" --- " if at < first else " ---: " for at in range(len(names))]
    rows = [f"| {' | '.join(line)} |" for line in lines]
    return "\n".join([f"| {' | '.join(names)} |", f"|{'|'.join(rules)}|", *rows])


def _of(spread: Spread, unit: float = 1.0, places: int = 2) -> str:
    median, least, most = (
        f"{value * unit:.{places}f}" for value in (spread.median, spread.least, spread.most)
    )
    return f"{median} ({least} to {most})"


def _setting(runs: Runs) -> str:
    said, beside = runs.setting, others(runs)
    return (
        f"{said['rounds']} rounds of {said['rows']:,} rows of `readings` in {runs.tasks} tasks,"
        f" PostgreSQL {said['server']},\n{runs.cores} cores shared by clients and server. Other programs had"
        f" {beside.median:.0%} of the cores,\n{beside.most:.0%} at most."
    )


def _rows(runs: Runs, costs: Costs) -> str:
    rows: list[tuple[str, Spread]] = [
        ("read and encoded by one thread, CPU", runs.spread("dry run", each("client_cpu", "rows"))),
        ("one lane, all in all", runs.spread("lanes", each("seconds", "rows"), lanes=1)),
        ("a lane's client, CPU, of 1 and 2 lanes", _fitted(runs, each("client_cpu", "rows"))),
        (
            "its backend and the server's writers, CPU, of 1 and 2 lanes",
            _fitted(runs, each("server_cpu", "rows")),
        ),
        ("published into a table that is there", runs.spread("publish append", each("seconds", "rows"))),
        ("published as a new table", runs.spread("publish new", each("seconds", "rows"))),
        ("counted there by the first reader", runs.spread("first reader", each("seconds", "rows"))),
    ]
    size = costs.row.table_bytes
    timed = [
        [name, _of(spread, _MICROSECONDS, 3), f"{size / spread.median / _MB:,.0f}"] for name, spread in rows
    ]
    log = {
        "sent into a stage that is not logged": runs.median("lanes", each("log_bytes", "rows"), lanes=1),
        "copied from there into the table": costs.row.copied_wal,
        "sent into a stage that becomes the table": costs.row.sent_wal,
        "that stage published": runs.median("publish new", each("log_bytes", "rows")),
        "that table read for the first time, after a checkpoint": runs.median(
            "first reader", each("log_bytes", "rows")
        ),
    }
    disk = runs.spread("disk", each("bytes", "seconds"))
    return "\n\n".join(
        [
            _table(["a row", "µs", "MB/s of the table"], timed),
            _table(
                ["a row", "bytes"],
                [
                    ["in the table's files", f"{size:.0f}"],
                    *([f"of the log, {name}", f"{value:.0f}"] for name, value in log.items()),
                ],
            ),
            f"The disk takes {_of(disk, 1 / _MB, 0)} MB/s, with `fsync` at the end.",
        ]
    )


def _fitted(runs: Runs, value: Callable[[Run], float]) -> Spread:
    return Spread.of(value(run) for lanes in FITTED_LANES for run in runs.of("lanes", lanes=lanes))


def _steps(runs: Runs) -> str:
    steps: list[tuple[str, Spread]] = [
        ("the driver begins a job", runs.spread("begin", seconds)),
        ("the same where the ledger has 10,000 jobs", runs.spread("begin beside many", seconds)),
        ("a task of one row, in the package", runs.spread("task", seconds)),
        ("the same as a process of the command", runs.spread("start of the command", seconds)),
        ('the same with `commit="tasks"`, in the package', runs.spread("task that adds", seconds)),
        ("its CPU of the server", runs.spread("task that adds", lambda run: float(run["server_cpu"]))),
        ("a slot taken and given back, in SQL", runs.spread("slot", seconds)),
        ("a transaction of nothing, in SQL", runs.spread("nothing", seconds)),
        ("an attempt noted in the ledger, in SQL, not flushed", runs.spread("note", seconds)),
        ("the same with its commit flushed", runs.spread("note and commit", seconds)),
        ("a task that finds no slot", runs.spread("refusals", each("seconds", "times"))),
        ("its CPU of the server", runs.spread("refusals", each("server_cpu", "times"))),
        ("the driver publishes one attempt of a row, and clears", runs.spread("publish one row", seconds)),
        ("it publishes 1,000 attempts of a row", runs.spread("publish receipts", seconds)),
    ]
    every = runs.median("locks", lambda run: float(run["all"]))
    shared = runs.median("locks", lambda run: float(run["shared"]))
    return "\n\n".join(
        [
            _table(["step", "ms"], [[name, _of(spread, _MILLISECONDS)] for name, spread in steps]),
            (
                f"A task that commits has {every:.0f} locks, {shared:.0f} of them in the lock table that"
                f" all share\n(room for {_LOCKS_OF_A_TABLE:,} by default)."
            ),
        ]
    )


def _checks(compared: list[Check]) -> str:
    names = {**LANES_OF, **PUBLISHED, "waiting": "24 tasks at once; lanes are slots"}
    return _table(
        ["what", "lanes", "model, s", "measured, s", "error", ""],
        [
            [
                names[check.what],
                str(check.lanes),
                f"{check.predicted:.2f}",
                _of(check.measured),
                f"{check.error:+.0%}",
                "fitted" if check.is_fitted else "",
            ]
            for check in compared
        ],
    )


def _cell(costs: Costs, server: Server, work: Work) -> str:
    said = scale_model.forecast(costs, server, work)
    return f"{duration(said.seconds)}, {said.limit}"


def _work(costs: Costs, way: Way, size: str, tasks: int, connections: int) -> Work:
    return Work(way=way, rows=_SIZES[size] / costs.row.table_bytes, tasks=tasks, connections=connections)


def _by_size(costs: Costs, server: Server) -> str:
    ways: tuple[Way, ...] = ("append", "new")
    return _table(
        ["into", "size", *(f"connections: {connections}" for connections in _CONNECTIONS)],
        [
            [_WAYS[way], size]
            + [_cell(costs, server, _work(costs, way, size, _MANY_TASKS, many)) for many in _CONNECTIONS]
            for way in ways
            for size in _SIZES
        ],
        first=2,
    )


def _by_tasks(costs: Costs, server: Server) -> str:
    return _table(
        ["tasks", *_WAYS.values()],
        [
            [f"{tasks:,}"]
            + [
                _cell(costs, server, _work(costs, way, _FIXED_SIZE, tasks, _FIXED_CONNECTIONS))
                for way in _WAYS
            ]
            for tasks in _TASKS
        ],
    )


def _waiting(costs: Costs) -> str:
    lines = []
    for tasks in (64, 256, _MANY_TASKS):
        for connections in (4, 64):
            asked = scale_model.questions_a_second(tasks, connections)
            lost = scale_model.waiting(tasks, connections, _MINUTE).seconds
            whole = scale_model.lanes_seconds(tasks, connections, _MINUTE)
            lines.append(
                [
                    f"{tasks:,}",
                    str(connections),
                    f"{asked:.1f}",
                    f"{asked * costs.step.refused:.2f}",
                    f"{asked * costs.step.refused_cpu:.2f}",
                    f"{lost / whole - 1:.1%}",
                ]
            )
    heads = ["tasks", "connections", "ask a second", "sessions for that", "cores for that", "slots idle"]
    return _table(heads, lines, first=0)
