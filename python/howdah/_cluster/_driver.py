"""What the driver does: begin a job, publish it or give it up.

Each step is one transaction that runs on the server, and is harmless when it runs again: where the answer is
lost, it is sent once more.
"""

from __future__ import annotations

import contextlib
import random
import re
import time
import uuid
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from howdah import _errors, _load
from howdah._cluster import _checks, _ledger, _publish, _refusals, _sql
from howdah._cluster._job import Job

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

    from howdah._cluster._job import JobSpec, Receipt, WriteMode

# As a writer's rows.
_RETRY_FOR = 300.0
# A straggler may hold the stage of a job that has ended: then the next job removes it.
_CLEARING_WAITS = 2.0

_EXISTS = re.compile(r"table (.+) exists already", re.DOTALL)


def begin(spec: JobSpec, schema: pa.Schema) -> Job:
    """Check what can be checked before a row moves, and make the stage."""
    job = _planned(spec, schema)
    statements = _ledger.begin(job)
    if spec.mode in {"replace", "truncate"} and not job.is_new:
        statements.append(_checks.may_replace(job) if spec.mode == "replace" else _checks.may_truncate(job))
    if not job.becomes_table:
        columns = _sql.names(job.targets)
        statements.append(
            f"CREATE UNLOGGED TABLE {job.stage} AS SELECT {columns} FROM {job.table} WITH NO DATA"
        )
    try:
        _run(job, statements)
    except _errors.ProgrammingError as error:
        if error.sqlstate != "42P01":
            raise
        _make_ledger(job)
        _run(job, statements)
    if job.becomes_table:
        try:
            _make_stage(job, schema)
        except _errors.Error:
            abort(job)
            raise
    return job


def publish(job: Job, receipts: Sequence[Receipt]) -> None:
    """Make the rows of these attempts visible, all at once."""
    try:
        _run_until_known(job, [_publish.statement(job, receipts)], lock_timeout=job.spec.lock_timeout)
    except _errors.OperationalError as error:
        if _may_pass(error):
            error.committed = None
            error.visible = "nobody knows: the server could not be asked whether the job is published"
            error.hint = f"ask it when it is back: {_ledger.question(job)}"
        raise
    _clear(job)


def abort(job: Job) -> None:
    """Give the job up, unless it is published."""
    _run_until_known(job, [_ledger.abort(job)])
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
        mode = "create_append" if spec.mode in {"replace", "truncate"} else spec.mode
        plan = _plan(spec, schema, spec.table, mode=mode)
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


def _nothing() -> pa.Table:
    """Give no rows for the ledger: a load of them runs its SQL, and knows whether that was committed."""
    import pyarrow as pa  # noqa: PLC0415

    return pa.table({name: pa.array([], pa.null()) for name in _ledger.COLUMNS})


def _make_ledger(job: Job) -> None:
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
        # Another job may have made it meanwhile.
        if error.sqlstate not in {"42P07", "23505"}:
            raise


def _run(job: Job, statements: Sequence[str], lock_timeout: float | None = None) -> None:
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


def _run_until_known(job: Job, statements: Sequence[str], lock_timeout: float | None = None) -> None:
    """Run statements again and again while the server is away or the answer is lost."""
    end = time.monotonic() + _RETRY_FOR
    pause = 0.1
    while True:
        try:
            _run(job, statements, lock_timeout)
        except _errors.OperationalError as error:
            if not _may_pass(error) or time.monotonic() + pause > end:
                raise
        else:
            return
        time.sleep(pause * random.uniform(0.5, 1.5))  # noqa: S311 - spreads drivers, hides nothing
        pause = min(2 * pause, 10.0)


def _may_pass(error: _errors.OperationalError) -> bool:
    """Whether it is the connection's or the server's state, and not the request."""
    state = error.sqlstate or ""
    return not state or state.startswith(("08", "40", "53", "57P"))


def _clear(job: Job) -> None:
    """Drop the stage of a job that has ended; where that fails, the next job does it."""
    with contextlib.suppress(_errors.Error):
        _run(job, _ledger.clear(job), lock_timeout=_CLEARING_WAITS)
