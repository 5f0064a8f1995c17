"""A transaction of statements on the server, without rows: how a job's steps run.

The load of no rows into the ledger carries them, as the engine knows of a load whether it was committed.
"""

from __future__ import annotations

import random
import time
from typing import TYPE_CHECKING, TypeVar

from howdah import _errors, _load
from howdah._cluster import _ledger, _refusals, _sql

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import pyarrow as pa

    from howdah._cluster._job import Job

# As a writer's rows.
_RETRY_FOR = 300.0

NO_CONNECTION = "53300"
"""The server's own words: it has no connection left, or none for this role."""

_T = TypeVar("_T")


def _nothing() -> pa.Table:
    """Give no rows for the ledger: a load of them runs its SQL, and knows whether that was committed."""
    import pyarrow as pa  # noqa: PLC0415

    return pa.table({name: pa.array([], pa.null()) for name in _ledger.COLUMNS})


def make_ledger(job: Job) -> None:
    """Make the ledger, unless another job has made it meanwhile."""
    try:
        _load.load(
            _nothing(),
            job.ledger,
            job.spec.dsn,
            mode="create",
            types=_ledger.COLUMNS,
            after=[
                f"ALTER TABLE {job.ledger} ADD PRIMARY KEY ({_sql.names(_ledger.KEY)})",
                f"COMMENT ON TABLE {job.ledger} IS {_sql.literal(_ledger.COMMENT)}",
            ],
            jobs=1,
            progress=False,
        )
    except _errors.DatabaseError as error:
        if error.sqlstate not in {"42P07", "23505"}:
            raise


def run(job: Job, statements: Sequence[str], lock_timeout: float | None = None) -> None:
    """Run statements in one transaction."""
    try:
        _load.load(
            _nothing(),
            job.ledger,
            job.spec.dsn,
            mode="append",
            before=[_ledger.WATCH, *statements],
            lock_timeout=lock_timeout,
            jobs=1,
            progress=False,
        )
    except _errors.Error as error:
        _refusals.explain(error)
        raise


def run_until_known(job: Job, statements: Sequence[str], lock_timeout: float | None = None) -> None:
    """Run statements again and again while the server is away or the answer is lost."""
    again(lambda: run(job, statements, lock_timeout), may_pass)


def again(step: Callable[[], _T], may_pass: Callable[[_errors.OperationalError], bool]) -> _T:
    """Do it again and again while what it fails for may pass."""
    end = time.monotonic() + _RETRY_FOR
    pause = 0.1
    while True:
        try:
            return step()
        except _errors.OperationalError as error:
            if not may_pass(error) or time.monotonic() + pause > end:
                raise
        time.sleep(pause * random.uniform(0.5, 1.5))  # noqa: S311 - spreads drivers, hides nothing
        pause = min(2 * pause, 10.0)


def may_pass(error: _errors.OperationalError) -> bool:
    """Whether it is the connection's or the server's state, and not the request."""
    state = error.sqlstate or ""
    return not state or state.startswith(("08", "40", "53", "57P"))


def is_refused(error: _errors.OperationalError) -> bool:
    """Whether the server answers, and has no connection left."""
    return error.sqlstate == NO_CONNECTION
