"""The format ``howdah``: what Spark calls on its driver and in its tasks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark import TaskContext
from pyspark.sql.datasource import DataSource, DataSourceArrowWriter, WriterCommitMessage

from howdah import _errors
from howdah._cluster import _attempt, _driver
from howdah.spark import _options, _schema

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa
    from pyspark.sql.types import StructType

    from howdah._cluster._job import Job, Receipt
    from howdah.spark._stream import HowdahStreamWriter


class HowdahDataSource(DataSource):  # type: ignore[misc]
    """Tables of PostgreSQL, to write to."""

    @classmethod
    def name(cls) -> str:
        """Give the name after ``format``."""
        return "howdah"

    def schema(self) -> str:
        """Refuse to read."""
        message = "the format howdah writes; Spark's own format jdbc reads"
        raise _errors.NotSupportedError(message)

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceArrowWriter:  # noqa: FBT001 - Spark's
        """Begin a job, before a row moves."""
        spec = _options.spec(self.options, overwrite=overwrite)
        return HowdahWriter(_driver.begin(spec, _schema.arrow(schema)))

    def streamWriter(self, schema: StructType, overwrite: bool) -> HowdahStreamWriter:  # noqa: FBT001, N802 - Spark's
        """Begin the job of an epoch, or end one: Spark does not say which it wants."""
        try:
            from howdah.spark._stream import HowdahStreamWriter  # noqa: PLC0415 - it came with Spark 4.1
        except ImportError as error:
            message = "streams of Arrow batches need Spark 4.1"
            raise _errors.NotSupportedError(message) from error
        spec = _options.spec(self.options, overwrite=overwrite, streams=True)
        return HowdahStreamWriter(None if self._travelled else _driver.begin(spec, _schema.arrow(schema)))

    # An epoch is planned with a source that was just made, and ended with one that came from elsewhere. If
    # that should change, an epoch is begun in vain, and its stage removed as a dead driver's.
    _travelled = False

    def __setstate__(self, state: dict[str, object]) -> None:
        """Arrive in another process."""
        self.__dict__.update(state)
        self._travelled = True


@dataclass(frozen=True)
class Written(WriterCommitMessage):  # type: ignore[misc]
    """What a task tells the driver."""

    receipt: Receipt


class HowdahWriter(DataSourceArrowWriter):  # type: ignore[misc]
    """Writes one DataFrame: attempts into a stage, those that Spark counts into the table, all at once."""

    def __init__(self, job: Job) -> None:
        """Carry the job to tasks and back."""
        self._job = job

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Written:
        """Load a partition; which attempt of which task it is plays no part."""
        if self._job.spec.job_id is not None:
            return Written(_attempt.load_partition(self._job, iterator, _partition()))
        return Written(_attempt.load(self._job, iterator))

    def commit(self, messages: list[Written | None]) -> None:
        """Publish the attempts that Spark counts, each partition's one."""
        receipts = [message.receipt for message in messages if message is not None]
        if len(receipts) < len(messages):
            message = f"{len(messages) - len(receipts)} of {len(messages)} partitions have no receipt"
            raise _errors.InternalError(message)
        _driver.publish(self._job, receipts)

    def abort(self, messages: list[Written | None]) -> None:
        """Leave nothing behind."""
        del messages
        _driver.abort(self._job)


def _partition() -> int:
    task = TaskContext.get()
    if task is None:
        message = "the engine does not say which partition a task writes, which commit tasks needs"
        raise _errors.NotSupportedError(message)
    return int(task.partitionId())
