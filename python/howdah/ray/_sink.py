"""The datasink: what Ray calls on its driver and in its tasks."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import ray.data
from ray.data.block import BlockAccessor

from howdah import _errors
from howdah._cluster import _attempt, _driver
from howdah._cluster._rules import refuse
from howdah.ray import _options

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from howdah._cluster._job import Job, Receipt, WriteMode

# Small blocks are gathered for a task, so that its transaction is worth a connection.
_BYTES_A_TASK = 16 << 20

# Without rows, they change nothing.
_ADDING = ("append", "create_append", "upsert", "ignore", "update", "delete")


@dataclass(frozen=True)
class Written:
    """What a task tells the driver."""

    job: Job
    receipt: Receipt


class Datasink(ray.data.Datasink):  # type: ignore[misc]
    """Writes a dataset into a table: attempts of tasks into a stage, those that Ray counts into the table.

    ``table`` is ``[SCHEMA.]TABLE``, folded to lower case unless quoted. ``dsn`` is what psql takes, without
    a password: the driver and the nodes find that as psql does. ``mode``, ``key``, ``types``, ``allow`` and
    ``lock_timeout`` are those of ``howdah.load``. The job has at most ``connections`` connections at work at
    once. ``ledger`` is the schema of stage and ledger; by default that of the table. With ``commit="tasks"``
    tasks commit one by one, under the name ``job_id``, and a later run goes on.
    """

    def __init__(  # noqa: PLR0913 - what, where to, and how
        self,
        table: str,
        dsn: str,
        *,
        mode: WriteMode = "create_append",
        key: str | Sequence[str] = (),
        types: Mapping[str, str] | None = None,
        allow: str | Sequence[str] = (),
        connections: int = 4,
        ledger: str | None = None,
        lock_timeout: float | None = None,
        commit: str = "job",
        job_id: str | None = None,
    ) -> None:
        """Read what is asked; nothing is done before Ray writes."""
        if not hasattr(ray.data.Datasink, "min_bytes_per_write"):
            message = f"howdah needs a later Ray than {ray.__version__}: it is tested with 2.60"
            raise _errors.NotSupportedError(message)
        options = _options.Options(
            mode=mode,
            key=key,
            types=types,
            allow=allow,
            connections=connections,
            ledger=ledger,
            lock_timeout=lock_timeout,
            commit=commit,
            job_id=job_id,
        )
        self._spec = _options.spec(table, dsn, options)
        self._begun: tuple[Job, pa.Schema] | None = None

    def get_name(self) -> str:
        """Give the name of the tasks."""
        return "Howdah"

    @property
    def min_bytes_per_write(self) -> int:
        """Have tasks of their own for the write: else the columns that it starts with are not those it gets.

        Ray joins steps into one task otherwise, and tells the sink the columns that go into the first step.
        """
        return _BYTES_A_TASK

    def on_write_start(self, schema: pa.Schema | None = None) -> None:
        """Begin a job when the first block is there, before any task has the sink."""
        self._begun = None
        if schema is None or not schema.names:
            return
        job = _driver.begin(self._spec, schema)
        self._begun = job, schema
        said = dict(self._spec.types)
        if unknown := [name for name in _nulls(schema) if job.becomes_table and name not in said]:
            refuse(
                f"the first rows of {', '.join(unknown)} are null, and say no type for the new table",
                f'types={{"{unknown[0]}": "text"}} says one',
            )

    def write(self, blocks: Iterable[Any], ctx: Any) -> Written | None:  # noqa: ANN401 - Ray's
        """Load a task's blocks; which attempt of the task it is plays no part."""
        tables = (BlockAccessor.for_block(block).to_arrow() for block in blocks)
        # Ray has blocks without rows that have no columns either.
        tables = (table for table in tables if table.num_columns)
        if self._begun is None:
            if next(tables, None) is None:
                return None
            message = "Ray sent a task a sink whose write has not started"
            raise _errors.InternalError(message)
        job, schema = self._begun
        batches = _batches(tables, schema)
        if job.spec.job_id is not None:
            return Written(job, _attempt.load_partition(job, batches, ctx.task_idx))
        return Written(job, _attempt.load(job, batches))

    def on_write_complete(self, write_result: Any) -> None:  # noqa: ANN401 - Ray's
        """Publish the attempts that Ray counts, each task's one."""
        written = [one for one in write_result.write_returns if one is not None]
        if self._begun is None:
            self._end_without_columns(written)
            return
        job, _ = self._begun
        receipts = [one.receipt for one in written]
        partitions = [receipt.partition for receipt in receipts if receipt.partition is not None]
        if {one.job for one in written} - {job} or len(set(partitions)) != len(partitions):
            message = f"{len(written)} tasks wrote {len(set(partitions))} partitions, or into other jobs"
            raise _errors.InternalError(message)
        _driver.publish(job, receipts)

    def on_write_failed(self, error: Exception) -> None:
        """Leave nothing behind, if that can be; what failed is what the user has to hear of."""
        del error
        if self._begun is not None:
            with contextlib.suppress(_errors.Error):
                _driver.abort(self._begun[0])

    def _end_without_columns(self, written: list[Written]) -> None:
        if written:
            message = "Ray lost the job that tasks wrote"
            raise _errors.InternalError(message)
        if self._spec.mode not in _ADDING:
            refuse(
                f"the dataset has no rows and says no columns, which {self._spec.mode} needs",
                "ray.data.from_arrow(schema.empty_table()) has columns",
            )


def _batches(tables: Iterator[pa.Table], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Give the batches of blocks, each with all columns of the job and with no other."""
    for table in tables:
        if set(table.column_names) != set(schema.names):
            refuse(
                f"a block has the columns {', '.join(table.column_names)}, and an earlier one"
                f" {', '.join(schema.names)}",
                "make them the same, by map_batches or select_columns",
            )
        yield from _typed(table.select(schema.names), schema).to_batches()


def _typed(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """Give columns that have nothing but nulls the type that they have elsewhere."""
    for name in _nulls(table.schema):
        at = schema.get_field_index(name)
        table = table.set_column(at, schema.field(at), pa.nulls(table.num_rows, schema.field(at).type))
    return table


def _nulls(schema: pa.Schema) -> list[str]:
    return [field.name for field in schema if pa.types.is_null(field.type)]
