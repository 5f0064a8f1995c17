"""The statements of a job that commits partition by partition, and goes on where an earlier run of it ended.

Its name has a row in the ledger, attempt 0, and a row for each partition that is in the table: the attempt is
the partition's number and one. What a run has not seen of them may be rows that are cut otherwise now. So a
run adds no partition before it has found all of them as they were.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from howdah._cluster import _ledger, _publish, _refusals, _sql

if TYPE_CHECKING:
    from howdah._cluster._job import Job, Receipt


def begin(job: Job) -> str:
    """Note the run as the one that counts: from here on, earlier ones add nothing, and have no stage."""
    ended = _sql.literal(f"job_id {job.spec.job_id} has ended, and its partitions are forgotten: rows ")
    told = f"{ended} || total"
    stage = _ledger.stage_of(job.ledger, "found_run")
    return _sql.block(
        f"found_state text; found_run text; total bigint; {_ledger.DROPPING}",
        f"""SELECT n.run INTO found_run FROM {job.ledger} AS n
    WHERE n.job = {_name(job)} AND n.attempt = 0 FOR UPDATE;
IF FOUND THEN
    UPDATE {job.ledger} AS j SET state = 'aborted' WHERE j.job = found_run AND j.state = 'open';
    BEGIN
        {_ledger.drop_stage(stage)}
    EXCEPTION WHEN OTHERS THEN
        -- A straggler writes to it: a job to come removes it.
        found_run := NULL;
    END;
END IF;
INSERT INTO {job.ledger} AS n (job, attempt, state, rows, target, at, run)
    VALUES ({_name(job)}, 0, '{_ledger.PARTIAL}', 0, {_sql.literal(job.name)}, pg_catalog.clock_timestamp(),
        {_run(job)})
    ON CONFLICT (job, attempt) DO UPDATE SET run = excluded.run, at = excluded.at
    RETURNING n.state, n.rows INTO found_state, total;
IF found_state = '{_ledger.COMPLETE}' AND NOT EXISTS (SELECT {_of_partitions(job)}) THEN
    {_sql.refusal(_refusals.FORGOTTEN, told)}
END IF;""",
    )


def unless_known(job: Job, partition: int) -> str:
    """Fail where the partition is in the table: its rows need not be sent to be compared."""
    known = f"SELECT {_of_partitions(job)} AND p.attempt = {partition + 1}"
    return _sql.block(
        "", f"IF EXISTS ({known}) THEN {_sql.refusal(_refusals.KNOWN, _sql.literal('it is there'))} END IF;"
    )


def make_stage(job: Job, attempt: int) -> str:
    """Make a stage for an attempt alone: no other one's rows are passed over when its are added.

    It inherits from the job's, by which it is found, and which cannot be dropped before it.
    """
    return f"CREATE UNLOGGED TABLE IF NOT EXISTS {stage(job, attempt)} () INHERITS ({job.stage})"


def hold_stage(job: Job) -> str:
    """Keep the job's stage from being dropped while an attempt writes to its own."""
    return f"LOCK TABLE ONLY {job.stage} IN ROW EXCLUSIVE MODE"


def stage(job: Job, attempt: int) -> str:
    """Give the name of an attempt's stage, qualified and quoted; it is short enough for PostgreSQL."""
    return f"{_sql.schema_of(job.stage)}.{_sql.name(f'{_ledger.STAGE}{job.id}_{attempt:x}')}"


def publish(job: Job, receipt: Receipt) -> list[str]:
    """Give the statements that add a partition to the table and drop its attempt's stage.

    They find that it is there, or fail as long as that cannot be decided.
    """
    return [_added(job, receipt), _dropped(stage(job, receipt.attempt))]


def _dropped(attempt: str) -> str:
    """Drop the stage of an attempt that counts or will never count, without waiting for who reads it."""
    name = _sql.literal(attempt)
    return _sql.block(
        "",
        f"""IF pg_catalog.to_regclass({name}) IS NOT NULL THEN
    LOCK TABLE {attempt} IN ACCESS EXCLUSIVE MODE NOWAIT;
    DROP TABLE {attempt};
END IF;
EXCEPTION WHEN OTHERS THEN
    -- The job drops it when it ends.
    NULL;""",
    )


def _added(job: Job, receipt: Receipt) -> str:
    assert receipt.partition is not None  # noqa: S101 - tasks of these jobs say it
    place, same = receipt.partition + 1, f"found_print = {_sql.literal(receipt.fingerprint or '')}"
    changed = _cut(job, f"'partition {receipt.partition} has other rows than those that are in the table'")
    more = _cut(job, f"'partition {receipt.partition} did not exist when it ended'")
    body = _publish.added(job, f"FROM {stage(job, receipt.attempt)}", receipt.rows) if receipt.rows else ""
    return _sql.block(
        "found_state text; found_run text; found_print text; found_rows bigint; landed bigint;"
        " staged bigint; others text;",
        f"""{_if_current(job)}
SELECT p.fingerprint, p.rows, p.run INTO found_print, found_rows, found_run {_of_partitions(job)}
    AND p.attempt = {place} FOR UPDATE;
IF FOUND THEN
    IF found_run = {_run(job)} THEN RETURN; END IF;
    IF NOT ({same} AND found_rows = {receipt.rows}) THEN {changed} END IF;
    UPDATE {job.ledger} AS p SET run = {_run(job)} WHERE p.job = {_name(job)} AND p.attempt = {place};
    RETURN;
END IF;
IF found_state = '{_ledger.COMPLETE}' THEN {more} END IF;
IF EXISTS (SELECT {_of_others(job)}) THEN
    {_sql.refusal(_refusals.DEFERRED, _sql.literal("partitions of an earlier run were not yet seen again"))}
END IF;
INSERT INTO {job.ledger} (job, attempt, state, rows, at, fingerprint, run)
    VALUES ({_name(job)}, {place}, 'committed', {receipt.rows}, pg_catalog.clock_timestamp(),
        {_sql.literal(receipt.fingerprint or "")}, {_run(job)})
    ON CONFLICT DO NOTHING;
IF NOT FOUND THEN RETURN; END IF;
{body}""",
    )


def check(job: Job) -> str:
    """Refuse a run without partitions that are in the table."""
    lost = f"SELECT string_agg((p.attempt - 1)::text, ', ' ORDER BY p.attempt) INTO others {_of_others(job)}"
    told = _cut(job, "'it lacks partitions that are in the table: ' || others")
    return _sql.block(
        "found_state text; found_run text; others text;",
        f"{_if_current(job)}\n{lost};\nIF others IS NOT NULL THEN {told} END IF;",
    )


def end(job: Job) -> str:
    """Note that all partitions are in the table."""
    total = f"(SELECT coalesce(sum(p.rows), 0) {_of_partitions(job)})"
    complete = f"""{_if_current(job)}
UPDATE {job.ledger} AS n SET state = '{_ledger.COMPLETE}', rows = {total},
    at = pg_catalog.clock_timestamp() WHERE n.job = {_name(job)} AND n.attempt = 0;"""
    return _ledger.publish(job, total, complete)


def _if_current(job: Job) -> str:
    """Hold the job's name, so that no other run begins meanwhile; fail where one has."""
    told = _sql.literal(
        f"job {job.id} into {job.name} is over: another run of job_id {job.spec.job_id} began"
    )
    return f"""SELECT n.state, n.run INTO found_state, found_run FROM {job.ledger} AS n
    WHERE n.job = {_name(job)} AND n.attempt = 0 FOR SHARE;
IF found_run IS DISTINCT FROM {_run(job)} THEN {_sql.refusal(_refusals.OVER, told)} END IF;"""


def _of_partitions(job: Job) -> str:
    return f"FROM {job.ledger} AS p WHERE p.job = {_name(job)} AND p.attempt <> 0"


def _of_others(job: Job) -> str:
    return f"{_of_partitions(job)} AND p.run <> {_run(job)}"


def _cut(job: Job, what: str) -> str:
    told = _sql.literal(f"job_id {job.spec.job_id} cannot go on: ")
    return _sql.refusal(_refusals.CUT, f"{told} || {what}")


def _name(job: Job) -> str:
    return _sql.literal(f"{job.spec.job_id} into {job.name}")


def _run(job: Job) -> str:
    return _sql.literal(job.id)
