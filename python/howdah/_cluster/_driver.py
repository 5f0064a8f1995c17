"""What the driver does: begin a job, publish it or give it up.

Each step is one transaction that runs on the server, and is harmless when it runs again: where the answer is
lost, it is sent once more.
"""

from __future__ import annotations

import contextlib
import re
import uuid
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from howdah import _errors, _load
from howdah._cluster import _checks, _ledger, _partitions, _publish, _refusals, _sql, _stream, _transaction
from howdah._cluster._job import Job

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

    from howdah._cluster._job import Epoch, JobSpec, Receipt, WriteMode

# A straggler may hold the stage of a job that has ended: then the next job removes it.
_CLEARING_WAITS = 2.0

# What makes a table that is missing, and takes it as it is otherwise.
_MAKES = {"create_append", "truncate", "replace"}
_ONLY_NEW = re.compile(r"^(?:key|types) (?:is|are) for new tables, and .+ exists$", re.DOTALL)
_EXISTS = re.compile(r"table (.+) exists already", re.DOTALL)


def begin(spec: JobSpec, schema: pa.Schema) -> Job:
    """Check what can be checked before a row moves, and make the stage.

    Where the server has no connection left it is begun again, as another job.
    """
    return _transaction.again(lambda: _begun(spec, schema), _transaction.is_refused)


def _begun(spec: JobSpec, schema: pa.Schema) -> Job:
    job = _planned(spec, schema)
    if spec.job_id is not None and job.is_new:
        # Partitions need a table to go into.
        _make_table(job, schema)
        job = _planned(spec, schema)
    statements = [_ledger.begin(job)]
    if spec.job_id is not None:
        statements.append(_partitions.begin(job))
    if spec.mode in {"replace", "truncate"} and not job.is_new:
        statements.append(_checks.may_replace(job) if spec.mode == "replace" else _checks.may_truncate(job))
    if spec.mode in {"create_append", "truncate"} and not job.is_new and job.key:
        statements.append(_checks.has_key(job))
    if not job.becomes_table:
        columns = _sql.names(job.targets)
        statements.append(
            f"CREATE UNLOGGED TABLE {job.stage} AS SELECT {columns} FROM {job.table} WITH NO DATA"
        )
    try:
        _sweep(job, statements)
    except _errors.ProgrammingError as error:
        if error.sqlstate != "42P01":
            raise
        _transaction.make_ledger(job)
        _transaction.run(job, statements)
    if job.becomes_table:
        try:
            _make_stage(job, schema)
        except _errors.Error:
            abort(job)
            raise
    return job


def publish(job: Job, receipts: Sequence[Receipt], epoch: Epoch | None = None) -> None:
    """Make the rows of these attempts visible, all at once; not those of an epoch that was published."""
    if job.spec.job_id is not None:
        _publish_partitions(job, receipts)
        return
    try:
        statement = _publish.statement(job, receipts, epoch)
        _transaction.run_until_known(job, [statement], lock_timeout=job.spec.lock_timeout)
    except _errors.OperationalError as error:
        if _transaction.may_pass(error):
            error.committed = None
            error.visible = "nobody knows: the server could not be asked whether the job is published"
            question = _stream.question(job, epoch) if epoch else _ledger.question(job)
            error.hint = f"ask it when it is back: {question}"
        raise
    _clear(job, epoch)


def _publish_partitions(job: Job, receipts: Sequence[Receipt]) -> None:
    """Add the partitions that tasks could not add, when all of an earlier run were seen again."""
    deferred = [_partitions.publish(job, receipt) for receipt in receipts if receipt.is_deferred]
    for statements in [[_partitions.check(job)], *deferred, [_partitions.end(job)]]:
        _transaction.run_until_known(job, statements, lock_timeout=job.spec.lock_timeout)
    _clear(job)


def abort(job: Job) -> None:
    """Give the job up, unless it is published."""
    _transaction.run_until_known(job, [_ledger.abort(job)])
    _clear(job)


def _planned(spec: JobSpec, schema: pa.Schema) -> Job:
    """Ask the engine for a plan, which refuses what does not fit."""
    job_id = uuid.uuid4().hex
    replaced = _existing(spec, schema) if spec.mode == "replace" else None
    if replaced is not None:
        # The new one has the data's columns, whatever the old one has.
        plan = _plan(spec, schema, _ledger.STAGE + job_id, mode="create")
        table, is_new = replaced, False
    else:
        plan = _plan_of_table(spec, schema)
        table, is_new = str(plan["table"]), bool(plan["creates_table"])
    beside = _sql.name(spec.ledger) if spec.ledger else _sql.schema_of(_sql.quoted(table))
    columns = tuple((column["source"], column["target"]) for column in plan["columns"])
    return Job(
        spec=spec,
        id=job_id,
        name=table,
        table=_sql.quoted(table),
        stage=f"{beside}.{_sql.name(_ledger.STAGE + job_id)}",
        ledger=f"{beside}.{_sql.name(_ledger.NAME)}",
        columns=columns,
        key=tuple(_target(name, columns) for name in spec.key),
        is_new=is_new,
    )


def _plan_of_table(spec: JobSpec, schema: pa.Schema) -> dict[str, Any]:
    if spec.mode not in _MAKES:
        return _plan(spec, schema, spec.table, mode=spec.mode)
    try:
        return _plan(spec, schema, spec.table, mode="create_append")
    except _errors.ProgrammingError as error:
        if not _ONLY_NEW.search(error.message):
            raise
    # They are about a table that is made, and this one is there.
    return _plan(replace(spec, key=(), types=()), schema, spec.table, mode="append")


def _target(name: str, columns: Sequence[tuple[str, str]]) -> str:
    """Give the table's column that a column of the key is: by its name there, or by that in the data."""
    targets = [target for _, target in columns]
    if name in targets:
        return name
    return next(
        (target for pair in columns for target in pair[1:] if name.lower() in map(str.lower, pair)), name
    )


def _existing(spec: JobSpec, schema: pa.Schema) -> str | None:
    """Give the table's qualified name, if it is there, whatever its columns are."""
    try:
        _plan(replace(spec, key=()), schema, spec.table, mode="create")
    except _errors.ProgrammingError as error:
        found = _EXISTS.fullmatch(error.message)
        if found is None:
            raise
        return found[1]
    return None


def _plan(spec: JobSpec, schema: pa.Schema, table: str, mode: WriteMode) -> dict[str, Any]:
    try:
        report = _load.load(
            schema.empty_table(),
            table,
            spec.dsn,
            mode=mode,
            key=spec.key or None,
            types=dict(spec.types) or None,
            allow=spec.allow or None,
            dry_run=True,
            progress=False,
        )
    except _errors.Error as error:
        _refusals.explain(error)
        raise
    assert report.plan is not None  # noqa: S101 - a dry run has one
    return report.plan


def _make_table(job: Job, schema: pa.Schema) -> None:
    """Make the table, empty."""
    _load.load(
        schema.empty_table(),
        job.spec.table,
        job.spec.dsn,
        mode="create_append",
        key=job.spec.key or None,
        types=dict(job.spec.types) or None,
        allow=job.spec.allow or None,
        after=f"COMMENT ON TABLE {job.table} IS NULL",
        jobs=1,
        progress=False,
    )


def _make_stage(job: Job, schema: pa.Schema) -> None:
    """Make a stage with the types that a new table gets."""
    _load.load(
        schema.empty_table(),
        job.stage,
        job.spec.dsn,
        mode="create",
        types=dict(job.spec.types) or None,
        allow=job.spec.allow or None,
        after=[f"COMMENT ON TABLE {job.stage} IS NULL", _publish.unlogged_where_sent(job)],
        jobs=1,
        progress=False,
    )


def _clear(job: Job, epoch: Epoch | None = None) -> None:
    """Drop the stage of a job that has ended; where that fails, the next job does it."""
    dead = [_stream.clear_dead(job, epoch)] if epoch else []
    with contextlib.suppress(_errors.Error):
        if job.spec.job_id is not None:
            # Its attempts may have left more stages than one transaction should drop.
            _sweep(job, [])
            return
        _transaction.run(job, [*dead, *_ledger.clear(job, epoch)], lock_timeout=_CLEARING_WAITS)


def _sweep(job: Job, statements: Sequence[str]) -> None:
    """Remove what dead jobs left and run the statements, in one transaction where that is not too much."""
    try:
        _transaction.run(job, [_ledger.sweep(job.ledger, is_all=True), *statements])
    except _errors.Error as error:
        if error.sqlstate != _refusals.MORE:
            raise
        for _ in range(int(error.message)):
            _transaction.run(job, [_ledger.sweep(job.ledger)])
        _transaction.run(job, [_ledger.sweep(job.ledger), *statements])
