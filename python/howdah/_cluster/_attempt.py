"""What a task does: one attempt loads its batches into the stage, in one transaction on one connection.

An attempt that dies leaves nothing. One that is done has noted its number and its transaction, and nobody
sees its rows unless the driver publishes that number.
"""

from __future__ import annotations

import contextlib
import itertools
import random
import secrets
import time
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from howdah import _errors, _load
from howdah._cluster import _ledger, _partitions, _refusals, _transaction
from howdah._cluster._fingerprint import Fingerprint
from howdah._cluster._job import Receipt

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pyarrow as pa

    from howdah._cluster._job import Epoch, Job

# A task computes so many bytes before it asks for a connection: short ones are done by then.
_HELD_BYTES = 16 << 20
_NO_CONNECTION = {_refusals.NO_SLOT, _transaction.NO_CONNECTION}
_NO_TABLE = "42P01"

_T = TypeVar("_T")


def load(job: Job, batches: Iterator[pa.RecordBatch], epoch: Epoch | None = None) -> Receipt:
    """Load the batches; wait, without a connection, while the job's are taken."""
    flow = _Flow(job, batches)
    if not flow.held:
        return Receipt(attempt=0, rows=0)
    return Receipt(
        attempt=flow.attempt, rows=_sent(job, flow, job.stage, _ledger.attempted(job, flow.attempt, epoch))
    )


def load_partition(job: Job, batches: Iterator[pa.RecordBatch], partition: int) -> Receipt:
    """Load the batches and add them to the table, unless they are there."""
    fingerprint = Fingerprint()
    watched = fingerprint.watched(batches)
    flow = _Flow(job, watched)
    attempt = 0
    if flow.held and _has_stage(job, flow.attempt, partition):
        attempt = flow.attempt
        _sent(job, flow, _partitions.stage(job, attempt), _ledger.attempted(job, attempt, None))
    for _ in watched:
        # Where the partition is known, nobody else took them.
        pass
    receipt = Receipt(
        attempt=attempt, rows=fingerprint.rows, partition=partition, fingerprint=fingerprint.hex()
    )
    statements = [_ledger.admission(job), *_partitions.publish(job, receipt)]
    try:
        _admitted(lambda: _transaction.run_until_known(job, statements, job.spec.lock_timeout))
    except _errors.Error as error:
        if error.sqlstate != _refusals.DEFERRED:
            raise
        return replace(receipt, is_deferred=True)
    return receipt


def _has_stage(job: Job, attempt: int, partition: int) -> bool:
    """Make the attempt's own stage, unless the partition is in the table."""
    statements = [
        _ledger.admission(job),
        _partitions.unless_known(job, partition),
        _partitions.make_stage(job, attempt),
    ]
    try:
        _admitted(lambda: _transaction.run(job, statements))
    except _errors.Error as error:
        if error.sqlstate != _refusals.KNOWN:
            raise
        return False
    return True


def _sent(job: Job, flow: _Flow, stage: str, noted: str) -> int:
    """Load all rows into the stage with their note, and give how many the server counted."""
    holds = [_partitions.hold_stage(job)] if stage != job.stage else []

    def sent() -> int:
        try:
            report = _load.load(
                flow.tables(),
                stage,
                job.spec.dsn,
                mode="append",
                allow=job.spec.allow or None,
                before=[_ledger.WATCH, _ledger.admission(job), *holds],
                after=noted,
                jobs=1,
                progress=False,
            )
        except _errors.Error as error:
            if error.sqlstate == _NO_TABLE:
                error.sqlstate = _refusals.OVER
                error.args = (f"job {job.id} into {job.name} is over: its stage is gone", *error.args[1:])
            if flow.is_started or error.sqlstate not in _NO_CONNECTION:
                _refusals.explain(error)
            raise
        return report.rows

    return _admitted(sent, lambda: not flow.is_started)


def _admitted(step: Callable[[], _T], may_begin_again: Callable[[], bool] = lambda: True) -> _T:
    """Do it as soon as the job or the server has a connection for it."""
    for pause in _pauses():
        try:
            return step()
        except _errors.Error as error:
            if error.sqlstate not in _NO_CONNECTION or not may_begin_again():
                raise
        time.sleep(pause)
    raise AssertionError


def _pauses() -> Iterator[float]:
    """Give pauses that are long enough that waiting costs little, and no connection is free for long."""
    began = time.monotonic()
    while True:
        pause = min(max((time.monotonic() - began) / 4, 0.1), 15.0)
        yield pause * random.uniform(0.5, 1.5)  # noqa: S311 - spreads tasks, hides nothing


def note_failure(job: Job, epoch: Epoch) -> None:
    """Let the job be known as its query's, if that can be: an epoch to come then removes its stage."""
    with contextlib.suppress(_errors.Error):
        _transaction.run(job, [_ledger.failed(job, _number(), epoch)])


def _number() -> int:
    return secrets.randbits(62) + 1


class _Flow:
    """The batches of an attempt, with the table's columns; its start can be had again."""

    def __init__(self, job: Job, batches: Iterator[pa.RecordBatch]) -> None:
        self.attempt = _number()
        self.is_started = False
        self._sources = [source for source, _ in job.columns]
        self._targets = job.targets
        self._batches = (batch for batch in batches if batch.num_rows)
        self.held: list[pa.RecordBatch] = []
        size = 0
        for batch in self._batches:
            self.held.append(batch)
            size += batch.nbytes
            if size >= _HELD_BYTES:
                break

    def tables(self) -> Iterator[pa.RecordBatch]:
        """Give all batches; before more than what is held was asked for, it may be called again."""
        return map(self._named, itertools.chain(self.held, self._others()))

    def _others(self) -> Iterator[pa.RecordBatch]:
        self.is_started = True
        self.held = []
        yield from self._batches

    def _named(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        return batch.select(self._sources).rename_columns(self._targets)
