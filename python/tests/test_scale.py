"""The model of a cluster's jobs, its fit, and that the document shows what comes of the published runs."""

import heapq
import json
import random
from dataclasses import astuple, replace
from pathlib import Path

import pytest

import scale
import scale_fit
import scale_model
import scale_tables
from scale_fit import Run, Runs
from scale_model import Costs, RowCosts, Server, StepCosts, Work

COSTS = Costs(
    row=RowCosts(
        lane=1e-6,
        client=0.25e-6,
        server=0.5e-6,
        copied=2e-6,
        table_bytes=100,
        sent_wal=100,
        copied_wal=150,
    ),
    step=StepCosts(
        task=0.01,
        task_cpu=0.005,
        adding=0.04,
        adding_cpu=0.02,
        refused=0.02,
        refused_cpu=0.01,
        job=0.1,
        receipt=1e-5,
    ),
)
FAST_DISK = Server(cores=4, disk=1e12)
WORK = Work(way="new", rows=1e9, tasks=64, connections=4)


def said(work: Work, server: Server = FAST_DISK) -> scale_model.Forecast:
    return scale_model.forecast(COSTS, server, work)


def test_what_is_busy_longest_is_not_what_limits() -> None:
    few = replace(WORK, connections=1)
    assert (said(few).limit, round(said(few).sending)) == ("connections", 1056)
    assert said(replace(WORK, tasks=2, connections=8)).limit == "tasks"
    many = said(replace(WORK, connections=16))
    assert (many.limit, round(many.sending)) == ("cores", 128)
    slow = said(WORK, Server(cores=4, disk=1e8))
    # Table and log. That it gets a name is nothing.
    assert (round(slow.sending), round(slow.publishing), slow.limit) == (2000, 0, "disk")
    copied = said(replace(WORK, way="append"), Server(cores=4, disk=1e8))
    assert (round(copied.publishing), copied.limit) == (4500, "copying, by the disk")
    tiny = replace(WORK, rows=1000, tasks=1000)
    assert said(tiny).limit == "asking for slots"
    slow_to_start = replace(COSTS, step=replace(COSTS.step, task=1.0))
    assert (
        scale_model.forecast(slow_to_start, FAST_DISK, replace(tiny, connections=999)).limit
        == "starts of tasks"
    )


def test_rows_that_are_copied_cost_no_more_than_a_new_table() -> None:
    new, added = said(WORK), said(replace(WORK, way="append"))
    assert new.sending == added.sending
    assert (round(new.publishing), round(added.publishing), added.limit) == (0, 2000, "copying")


def test_tasks_that_add_their_own_rows_do_so_in_turn_or_look_at_those_of_others() -> None:
    few, many = (said(replace(WORK, way="tasks", tasks=tasks)) for tasks in (8, 1000))
    assert few.limit == many.limit == "connections"
    # Each row is sent and copied on one of four lanes.
    assert few.sending == pytest.approx(1e9 * 3e-6 / 4, rel=0.05)
    assert many.sending == pytest.approx(few.sending, rel=0.05)
    tiny = replace(WORK, way="tasks", rows=1000, tasks=4)
    assert said(tiny).sending == pytest.approx(0.04 + 250 * 3e-6)


def simulated(tasks: int, connections: int, hold: float, seed: int) -> tuple[float, int]:
    """Let each task pause as it does; give the seconds of all, and how often they were refused."""
    chance = random.Random(seed)  # noqa: S311 - nothing is secret here
    asks = [(0.0, number) for number in range(tasks)]
    ends: list[float] = []
    refused = 0
    while asks:
        now, number = heapq.heappop(asks)
        ends = [end for end in ends if end > now]
        if len(ends) < connections:
            ends.append(now + hold)
            continue
        refused += 1
        pause = min(max(now / 4, 0.1), 15.0) * chance.uniform(0.5, 1.5)
        heapq.heappush(asks, (now + pause, number))
    return max(ends), refused


@pytest.mark.parametrize(
    ("tasks", "connections", "hold"), [(24, 2, 0.3), (50, 4, 10.0), (200, 4, 1.0), (1000, 64, 10.0)]
)
def test_slots_pass_from_task_to_task_otherwise_than_tasks_ask(
    tasks: int, connections: int, hold: float
) -> None:
    runs = [simulated(tasks, connections, hold, seed) for seed in range(10)]
    seconds = sum(run[0] for run in runs) / len(runs)
    refused = sum(run[1] for run in runs) / len(runs)
    told = scale_model.waiting(tasks, connections, hold)
    assert told.seconds == pytest.approx(seconds, rel=0.12)
    assert told.refusals == pytest.approx(refused, rel=0.25)


def test_tasks_that_need_not_wait_wait() -> None:
    assert scale_model.waiting(4, 8, 3.0) == scale_model.Waiting(seconds=3.0, refusals=0.0)
    assert scale_model.questions_a_second(4, 8) == 0
    assert scale_model.questions_a_second(1004, 4) == pytest.approx(1000 / 15)


def test_lanes_that_share_the_cores_are_faster_than_these() -> None:
    assert scale_model.contention(8.0, 4.0) == 0
    assert scale_model.contention(8.0, 8.0) == 1
    assert scale_model.shared(8.0, 0.0, 4, cores_take=0.5) == 2.0
    assert scale_model.shared(8.0, 0.0, 4, cores_take=3.0) == 3.0
    assert scale_model.shared(8.0, 1.0, 4, cores_take=0.5) == 8.0


def made_runs(lanes_8: float = 2.0) -> list[Run]:
    """Make runs of which the costs are round."""
    runs: list[Run] = []

    def ran(what: str, seconds: float, **facts: float) -> None:
        used = {"client_cpu": 1.0, "server_cpu": 2.0, "machine_cpu": 3.0, "log_bytes": 0}
        # The round that warms up is slow.
        runs.extend(
            {"what": what, "seconds": seconds * slow, "round": round_, **used, **facts}
            for round_, slow in ((0, 9), (1, 1), (2, 1))
        )

    for what in scale_fit.LANES_OF:
        for lanes, seconds in ((1, 8.8), (2, 4.4), (4, 2.2), (8, lanes_8)):
            ran(what, seconds, lanes=lanes, rows=8_000_000)
    for what in ("begin", "publish one row", "task", "task that adds", "start of the command"):
        ran(what, 0.1)
    for what in ("slot", "nothing", "note", "note and commit"):
        ran(what, 0.001)
    ran("refusals", 0.5, times=10)
    ran("ledger rows", 2.0, times=1000)
    ran("publish receipts", 0.2, times=1000)
    ran("dry run", 1.0, rows=8_000_000)
    ran("disk", 1.0, bytes=500_000_000)
    ran("lanes of a new table", 4.0, rows=8_000_000, table_bytes=800_000_000, log_bytes=640_000_000)
    for rows, append, new in ((2_000_000, 4.1, 0.3), (8_000_000, 20.1, 0.4)):
        ran("publish append", append, rows=rows, log_bytes=120 * rows)
        ran("publish new", new, rows=rows, log_bytes=100 * rows)
    ran("begin beside many", 0.3)
    ran("first reader", 1.6, rows=8_000_000, log_bytes=800_000_000)
    ran("alone", 0.3, times=2)
    ran("waiting", 5.0, tasks=24, slots=2)
    runs += [{"what": "locks", "all": 7, "shared": 2, "round": round_} for round_ in (0, 1, 2)]
    setting = {"what": "setting", "rows": 8_000_000, "rounds": 2, "tasks": 8, "cores": 2, "server": "18.6"}
    return [setting, *runs]


def test_costs_are_not_what_was_measured() -> None:
    costs = scale_fit.fit(Runs(made_runs()))
    # Lanes, CPU of client and server, copied, in µs; then bytes.
    expected = [1, 0.125, 0.25, 2, 100e6, 80e6, 120e6]
    assert [cost * 1e6 for cost in astuple(costs.row)] == pytest.approx(expected)
    assert costs.step.receipt == pytest.approx(1e-4)
    assert costs.step.job == pytest.approx(0.2)


def test_runs_with_four_or_eight_lanes_make_the_model_that_they_check() -> None:
    one, other = (scale_fit.checks(Runs(made_runs(lanes_8=seconds))) for seconds in (2.0, 3.0))
    assert [check.predicted for check in one] == [check.predicted for check in other]
    assert [(check.lanes, check.is_fitted) for check in one[:4]] == [
        (1, True),
        (2, True),
        (4, False),
        (8, False),
    ]
    # A quarter of the rows took 4.0 s: all of them should take 16, and took 20.
    assert one[-3].error == pytest.approx(16.1 / 20.1 - 1)
    # Three CPU seconds on two cores are more than what eight lanes would take.
    assert [check.error for check in other[:4]] == pytest.approx([0, 0, 0, -0.5])


def test_a_table_has_no_place_or_is_put_beside_it() -> None:
    document = "a\n<!-- rows -->\nold\n<!-- end of rows -->\nb\n"
    assert scale.filled(document, {"rows": "| new |"}) == document.replace("old", "| new |")
    with pytest.raises(ValueError, match="no place for steps"):
        scale.filled(document, {"steps": ""})


@pytest.mark.parametrize(
    ("seconds", "shown"), [(0.25, "0.2 s"), (59.0, "59 s"), (90, "1.5 min"), (7200, "2.0 h"), (9e5, "10 d")]
)
def test_a_duration_is_hard_to_read(seconds: float, shown: str) -> None:
    assert scale_tables.duration(seconds) == shown


def test_the_document_has_other_tables_than_come_of_the_published_runs() -> None:
    document = scale.DOCUMENT.read_text()
    tables = scale_tables.tables(Runs(scale.read(scale.PUBLISHED)))
    assert scale.filled(document, tables) == document
    assert "[run]" not in document


def test_runs_are_read_otherwise_than_they_are_kept(tmp_path: Path) -> None:
    file = tmp_path / "runs.jsonl"
    file.write_text("".join(f"{json.dumps(run)}\n" for run in made_runs()))
    assert scale.read(file) == made_runs()
    assert set(scale_tables.tables(Runs(scale.read(file)))) >= {"rows", "checks", "larger"}
