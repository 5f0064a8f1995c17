"""What a job is: pure data, which goes from the driver to its tasks and back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

WriteMode: TypeAlias = Literal[
    "append", "create", "create_append", "replace", "truncate", "upsert", "ignore", "update", "delete"
]


@dataclass(frozen=True, kw_only=True)
class JobSpec:
    """What a user asks of a job: how and where it writes."""

    dsn: str
    """The connection, without a password: plans and logs may show it."""
    table: str
    """As the user writes it."""
    mode: WriteMode
    key: tuple[str, ...] = ()
    """The columns that rows are matched by; of a new table, its primary key."""
    types: tuple[tuple[str, str], ...] = ()
    """Types of a new table's columns."""
    allow: tuple[str, ...] = ()
    """Losses that are allowed."""
    connections: int = 4
    """The most connections that the job's tasks have at once."""
    ledger: str | None = None
    """The schema of the ledger and the stage; by default that of the table."""
    lock_timeout: float | None = None
    """Seconds that a statement may wait for a lock."""
    job_id: str | None = None
    """The name under which partitions commit one by one, and later runs go on; none: all commit at once."""


@dataclass(frozen=True, kw_only=True)
class Job:
    """A job that was begun."""

    spec: JobSpec
    id: str
    name: str
    """The target, as messages show it."""
    table: str
    """The target, qualified and quoted."""
    stage: str
    """The table beside it that attempts load into, qualified and quoted."""
    ledger: str
    """The table of jobs, qualified and quoted."""
    columns: tuple[tuple[str, str], ...]
    """Which column of the data goes to which of the table."""
    key: tuple[str, ...]
    """The columns of the table that rows are matched by, or that are its primary key."""
    is_new: bool
    """The publishing makes the table."""

    @property
    def slots(self) -> int:
        """The number under which the job's connections take advisory locks."""
        return int(self.id[:7], 16)

    @property
    def becomes_table(self) -> bool:
        """Whether the stage has the data's types, and takes the table's name in the end."""
        return self.is_new or self.spec.mode == "replace"

    @property
    def targets(self) -> tuple[str, ...]:
        """The columns of the table that get values."""
        return tuple(target for _, target in self.columns)


@dataclass(frozen=True, kw_only=True)
class Epoch:
    """A piece of a stream, which is one job, and which the engine may write again after a restart."""

    query: str
    """The stream's own name, which outlives its drivers."""
    number: int
    """Those of a query grow."""


@dataclass(frozen=True, kw_only=True)
class Receipt:
    """What an attempt says when its rows are in the stage."""

    attempt: int
    """Its number, which nobody else has; 0: it had no rows."""
    rows: int
    partition: int | None = None
    """The partition's number, where partitions commit one by one."""
    fingerprint: str | None = None
    """What tells its rows from others."""
    is_deferred: bool = False
    """Its rows are in the stage, as a partition of an earlier run may hold some of them."""
