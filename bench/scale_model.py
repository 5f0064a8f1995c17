"""A model of N executors, C connections and one server: how long a job takes, and what it waits for.

Pure functions: costs of a row, a task and a job go in, seconds go out: those of the resource that is busy
longest. ``scale.py`` measures the costs, and compares the model with runs that it was not made from.
"""

import heapq
import math
from dataclasses import dataclass
from typing import Literal

Way = Literal["append", "new", "tasks"]
"""Rows are added to a table that is there, become a new one, or are added by tasks (``commit="tasks"``)."""

_FIRST_PAUSE, _LONGEST_PAUSE, _PAUSE_SHARE = 0.1, 15.0, 0.25
"""Seconds between a task's questions for a slot: a quarter of what it has waited, within bounds."""

_FEW_ASK = 0.4
"""From which part on of the slots that get free the tasks that ask are few: as a simulation has it."""


@dataclass(frozen=True, kw_only=True)
class RowCosts:
    """What a row costs: seconds of one thread where nothing else is said, and bytes."""

    lane: float
    """On a lane that has the machine for itself: read, encoded, sent and taken."""
    client: float
    """CPU of the client."""
    server: float
    """CPU of the server."""
    copied: float
    """From the stage into a table that is there."""
    table_bytes: float
    """In the table's files."""
    sent_wal: float
    """Of the log, when it is sent into a stage that becomes the table."""
    copied_wal: float
    """Of the log, when it is copied from the stage."""


@dataclass(frozen=True, kw_only=True)
class StepCosts:
    """What steps cost that have no rows, in seconds."""

    task: float
    """A task on its lane: connect, take a slot, note the attempt, commit."""
    task_cpu: float
    """CPU of the server for that."""
    adding: float
    """A task that adds its own rows: makes a stage, sends, adds, and drops the stage."""
    adding_cpu: float
    """CPU of the server for that."""
    refused: float
    """A task that finds no slot: as long it has a session."""
    refused_cpu: float
    """CPU of the server for that."""
    job: float
    """The driver's begin, publishing and clearing of no rows."""
    receipt: float
    """An attempt more among those that are published."""


@dataclass(frozen=True, kw_only=True)
class Costs:
    """All that the model knows of rows, tasks and jobs."""

    row: RowCosts
    step: StepCosts


@dataclass(frozen=True, kw_only=True)
class Server:
    """A server that has its machine for itself."""

    cores: float
    disk: float
    """Bytes a second that it reads and writes, together."""


@dataclass(frozen=True, kw_only=True)
class Work:
    """A job; all of its tasks are at once on executors with a core each."""

    way: Way
    rows: float
    tasks: int
    connections: int

    @property
    def lanes(self) -> int:
        """How many tasks send at once."""
        return min(self.tasks, self.connections)


@dataclass(frozen=True, kw_only=True)
class Forecast:
    """What the model says of a job."""

    sending: float
    """Seconds until the last task is done."""
    publishing: float
    """Seconds of the driver's steps."""
    limit: str
    """What most of these seconds are spent on."""

    @property
    def seconds(self) -> float:
        """All of it."""
        return self.sending + self.publishing


@dataclass(frozen=True, kw_only=True)
class Waiting:
    """How slots pass from task to task."""

    seconds: float
    """Until the last task is done."""
    refusals: float
    """How often a task asked and found no slot."""


def lanes_seconds(tasks: int, lanes: int, task: float) -> float:
    """Give the seconds of tasks of equal length that have no other limit than lanes."""
    return math.ceil(tasks / lanes) * task


def contention(one: float, two: float) -> float:
    """Give the share of the work that lanes do in turn, from the seconds of one and of two lanes."""
    return max(2 * two / one - 1, 0.0)


def shared(one: float, share: float, lanes: int, cores_take: float) -> float:
    """Give the seconds of so many lanes, which share the cores, by Amdahl's law.

    ``one`` are the seconds of one lane, ``cores_take`` those in which all cores do the work.
    """
    return max(one * (1 + share * (lanes - 1)) / lanes, cores_take)


def waiting(tasks: int, connections: int, hold: float) -> Waiting:
    """Let tasks that all begin now take turns on slots, each for ``hold`` seconds.

    Those that wait ask at times of their own. So of w of them the next one asks a w-th of a pause after the
    last one did. In the end more slots get free than tasks ask: then each that is left goes on when it asks.
    """
    ends = [hold] * min(tasks, connections)
    left = tasks - len(ends)
    asked, refusals = 0.0, float(left)
    while left:
        free = max(heapq.heappop(ends), asked)
        if left / _pause(free) < _FEW_ASK * connections / hold:
            # Of pauses of half to one and a half of the mean, that is where the last of so many ends.
            last = _pause(free) * (1.5 - math.sqrt(2 / (left + 1)))
            return Waiting(seconds=max([free + last + hold, *ends]), refusals=refusals)
        taken = free + _pause(free) / (left + 1)
        # The last of these questions is answered by a slot.
        refusals += max(left * (_questions(taken) - _questions(asked)) - 1, 0.0)
        heapq.heappush(ends, taken + hold)
        asked = taken
        left -= 1
    return Waiting(seconds=max(ends), refusals=refusals)


def _pause(waited: float) -> float:
    return min(max(waited * _PAUSE_SHARE, _FIRST_PAUSE), _LONGEST_PAUSE)


def _questions(waited: float) -> float:
    """Give how often a task has asked in so many seconds: the sum of what a pause is a part of."""
    begins, ends = _FIRST_PAUSE / _PAUSE_SHARE, _LONGEST_PAUSE / _PAUSE_SHARE
    early = min(waited, begins) / _FIRST_PAUSE
    growing = math.log(min(max(waited, begins), ends) / begins) / _PAUSE_SHARE
    return early + growing + max(waited - ends, 0.0) / _LONGEST_PAUSE


def questions_a_second(tasks: int, connections: int) -> float:
    """Give how often tasks ask for a slot that have waited for a minute or longer."""
    return max(tasks - connections, 0) / _LONGEST_PAUSE


def forecast(costs: Costs, server: Server, work: Work) -> Forecast:
    """Say how long a job takes."""
    sending, waits_for = _sending(costs, server, work)
    published, slowest = _publishing(costs, server, work)
    limit = waits_for if sending >= published else slowest
    return Forecast(sending=sending, publishing=published, limit=limit)


def _sending(costs: Costs, server: Server, work: Work) -> tuple[float, str]:
    """Give the seconds of all tasks together, and what they are spent on."""
    row, step, share = costs.row, costs.step, work.rows / work.tasks
    hold = step.task + share * row.lane
    cpu = work.rows * row.server + work.tasks * step.task_cpu
    moved = work.rows * row.table_bytes
    if work.way == "new":
        moved += work.rows * row.sent_wal
    if work.way == "tasks":
        # It has a stage of its own, in which nobody else's rows are.
        hold += step.adding - step.task + share * row.copied
        cpu += work.rows * row.copied + work.tasks * (step.adding_cpu - step.task_cpu)
        moved += work.rows * (3 * row.table_bytes + row.copied_wal)
    turns = waiting(work.tasks, work.connections, hold)
    lanes = "tasks" if work.tasks < work.connections else "connections"
    if work.tasks * step.task > work.rows * row.lane:
        lanes = "starts of tasks"
    # What each resource takes its time for.
    busy = [
        {lanes: turns.seconds},
        {
            "cores": cpu / server.cores,
            "asking for slots": turns.refusals * step.refused_cpu / server.cores,
        },
        {"disk": moved / server.disk},
    ]
    longest = max(busy, key=lambda parts: sum(parts.values()))
    return sum(longest.values()), max(longest, key=lambda name: longest[name])


def _publishing(costs: Costs, server: Server, work: Work) -> tuple[float, str]:
    """Give the seconds of one backend, and what they are spent on."""
    row, step = costs.row, costs.step
    fixed = step.job + work.tasks * step.receipt
    if work.way != "append":
        # Tasks have added their rows, or the stage gets a name.
        return fixed, "the driver"
    computing = work.rows * row.copied
    # The stage is read, its pages are marked and written, and the table and the log are.
    disk = work.rows * (3 * row.table_bytes + row.copied_wal) / server.disk
    parts = {"the driver": fixed, "copying": computing, "copying, by the disk": disk}
    return fixed + max(computing, disk), max(parts, key=lambda part: parts[part])
