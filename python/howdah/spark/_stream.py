"""A stream's writer: what Spark calls for each epoch, where it is planned, in tasks, and where it ends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceStreamArrowWriter, WriterCommitMessage

from howdah import _errors
from howdah._cluster import _attempt, _driver
from howdah._cluster._job import Epoch

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

    from howdah._cluster._job import Job, Receipt

# What Spark tells the tasks of a stream. The query's number is in its checkpoint.
_QUERY = "sql.streaming.queryId"
_EPOCH = "streaming.sql.batchId"


@dataclass(frozen=True)
class WrittenEpoch(WriterCommitMessage):  # type: ignore[misc]
    """What a task of an epoch tells the driver: all of it, as the one who commits knows nothing else."""

    job: Job
    epoch: Epoch
    receipt: Receipt


class HowdahStreamWriter(DataSourceStreamArrowWriter):  # type: ignore[misc]
    """Writes one epoch of a query: attempts into a stage, those that Spark counts into the table, once."""

    def __init__(self, job: Job | None) -> None:
        """Carry the epoch's job to tasks; whoever ends an epoch has none."""
        self._job = job

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WrittenEpoch:
        """Load a partition."""
        if self._job is None:
            message = "Spark sent a task the writer of a process that ends epochs"
            raise _errors.InternalError(message)
        epoch = _of_task()
        try:
            return WrittenEpoch(self._job, epoch, _attempt.load(self._job, iterator, epoch))
        except BaseException:
            _attempt.note_failure(self._job, epoch)
            raise

    def commit(self, messages: list[WrittenEpoch | None], batchId: int) -> None:  # noqa: N803 - Spark's
        """Publish the attempts that Spark counts, unless the epoch is published."""
        written = [message for message in messages if message is not None]
        parts = {(message.job, message.epoch) for message in written}
        if len(written) < len(messages) or len(parts) != 1:
            message = f"{len(written)} of {len(messages)} partitions have receipts, of {len(parts)} epochs"
            raise _errors.InternalError(message)
        job, epoch = parts.pop()
        if epoch.number != batchId:
            message = f"tasks wrote epoch {epoch.number}, and Spark ends epoch {batchId}"
            raise _errors.InternalError(message)
        _driver.publish(job, [message.receipt for message in written], epoch)

    def abort(self, messages: list[WrittenEpoch | None], batchId: int) -> None:  # noqa: N803 - Spark's
        """Leave nothing behind; of an epoch without any message, the next one removes the stage."""
        del batchId
        for job in {message.job for message in messages if message is not None}:
            _driver.abort(job)


def _of_task() -> Epoch:
    task = TaskContext.get()
    query, number = (task.getLocalProperty(name) if task else None for name in (_QUERY, _EPOCH))
    if not query or not number:
        message = "the engine does not say which query and which epoch a task writes, as Spark 4.1 does"
        error = _errors.NotSupportedError(message)
        error.hint = "write each batch by foreachBatch, with df.write.format('howdah')"
        raise error
    return Epoch(query=query, number=int(number))
