"""A driver of our own, which calls the classes that Spark's driver and tasks call."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from howdah._cluster import _attempt, _driver
from howdah._cluster._job import Epoch, Job, JobSpec, Receipt


class KilledError(Exception):
    """A task that dies."""


@dataclass
class Run:
    """A job with the receipts that its driver has so far."""

    job: Job
    batches: list[Any]
    """A batch of rows for each partition, cut in two for its task."""
    receipts: dict[int, Receipt] = field(default_factory=dict)
    epoch: Epoch | None = None
    """Which one of a stream it is."""

    @classmethod
    def begin(cls, spec: JobSpec, batches: list[Any]) -> "Run":
        return cls(_driver.begin(spec, batches[0].schema), batches)

    def attempt(self, partition: int) -> Receipt:
        return self._load(self._halves(partition), partition)

    def killed_attempt(self, partition: int) -> None:
        """Die when half of the rows are sent."""

        def dying() -> Iterator[Any]:
            yield next(self._halves(partition))
            raise KilledError

        try:
            self._load(dying(), partition)
        except KilledError:
            return
        raise AssertionError

    def _load(self, batches: Iterator[Any], partition: int) -> Receipt:
        if self.job.spec.job_id is not None:
            return _attempt.load_partition(self.job, batches, partition)
        return _attempt.load(self.job, batches, self.epoch)

    def note_failure(self) -> None:
        """Do what a task of a stream does when it fails."""
        assert self.epoch is not None
        _attempt.note_failure(self.job, self.epoch)

    def finish(self) -> None:
        for partition in range(len(self.batches)):
            if partition not in self.receipts:
                self.receipts[partition] = self.attempt(partition)

    def publish(self) -> None:
        receipts = [self.receipts[partition] for partition in range(len(self.batches))]
        _driver.publish(self.job, receipts, self.epoch)

    def abort(self) -> None:
        _driver.abort(self.job)

    def _halves(self, partition: int) -> Iterator[Any]:
        batch = self.batches[partition]
        half = batch.num_rows // 2
        yield batch.slice(0, half)
        yield batch.slice(half)
