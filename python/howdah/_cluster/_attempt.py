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
from typing import TYPE_CHECKING

from howdah import _errors, _load
from howdah._cluster import _ledger, _partitions, _refusals, _transaction
from howdah._cluster._fingerprint import Fingerprint
from howdah._cluster._job import Receipt

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

    from howdah._cluster._job import Epoch, Job

# A task computes so many bytes before it asks for a connection: short ones are done by then.
_HELD_BYTES = 16 << 20
# The server's own words for the same: it has no connection left.
_NO_CONNECTION = {_refusals.NO_SLOT, "53300"}
_NO_TABLE = "42P01"


def load(
    job: Job, batches: Iterator[pa.RecordBatch], epoch: Epoch | None = None, partition: int | None = None
) -> Receipt:
    """Load the batches; wait, without a connection, while the job's are taken."""
    flow = _Flow(job, batches)
    if not flow.held:
        return Receipt(attempt=0, rows=0)
    gates = [] if partition is None else [_partitions.unless_known(job, partition)]
    for pause in _pauses():
        try:
            report = _load.load(
                flow.tables(),
                job.stage,
                job.spec.dsn,
                mode="append",
                allow=job.spec.allow or None,
                before=[_ledger.WATCH, _ledger.admission(job), *gates],
                after=_ledger.attempted(job, flow.attempt, epoch),
                jobs=1,
                progress=False,
            )
            return Receipt(attempt=flow.attempt, rows=report.rows)
        except _errors.Error as error:
            if error.sqlstate == _refusals.KNOWN:
                return Receipt(attempt=0, rows=0)
            if error.sqlstate == _NO_TABLE:
                error.sqlstate = _refusals.OVER
                error.args = (f"job {job.id} into {job.name} is over: its stage is gone", *error.args[1:])
            if error.sqlstate not in _NO_CONNECTION or flow.is_started:
                _refusals.explain(error)
                raise
        time.sleep(pause)
    raise AssertionError


def load_partition(job: Job, batches: Iterator[pa.RecordBatch], partition: int) -> Receipt:
    """Load the batches and add them to the table, unless they are there."""
    fingerprint = Fingerprint()
    watched = fingerprint.watched(batches)
    attempt = load(job, watched, partition=partition).attempt
    for _ in watched:
        # Where the partition is known, nobody else took them.
        pass
    receipt = Receipt(
        attempt=attempt, rows=fingerprint.rows, partition=partition, fingerprint=fingerprint.hex()
    )
    statements = [_ledger.admission(job), _partitions.publish(job, receipt)]
    for pause in _pauses():
        try:
            _transaction.run_until_known(job, statements, job.spec.lock_timeout)
        except _errors.Error as error:
            if error.sqlstate == _refusals.DEFERRED:
                return replace(receipt, is_deferred=True)
            if error.sqlstate not in _NO_CONNECTION:
                raise
        else:
            return receipt
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
