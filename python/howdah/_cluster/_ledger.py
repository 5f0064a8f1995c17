"""The ledger of jobs: a row a job, which says what became of it, and a row an attempt.

The job's row is locked by whoever ends the job, in the transaction that ends it. So a job ends once, and an
answer that was lost can be asked for. A stream has a row of its own, with its last epoch (``_stream``), and
the name of a job that commits partition by partition has one (``_partitions``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from howdah._cluster import _refusals, _sql

if TYPE_CHECKING:
    from collections.abc import Sequence

    from howdah._cluster._job import Epoch, Job

NAME = "howdah_jobs"
STAGE = "howdah_stage_"
"""What the names of stages begin with; the job's number follows."""

_ROOM = 100
DROPPING = f"room integer := {_ROOM}; dropped integer; parts text;"
"""The variables of ``drop_stage``: how many stages of attempts a transaction may drop.

Each of them takes five entries of the table of locks, which has room for 6,400 by default.
"""

STREAM = "stream"
"""The state of the row that a stream has; it is never forgotten."""
PARTIAL, COMPLETE = "partial", "complete"
"""The states of the row of a job that commits partition by partition; it is never forgotten either."""

COLUMNS = {
    "job": "text",
    "attempt": "bigint",
    "transaction": "bigint",
    "state": "text",
    "rows": "bigint",
    "target": "text",
    "stage": "text",
    "at": "timestamptz",
    "query": "text",
    "epoch": "bigint",
    "fingerprint": "text",
    "run": "text",
}
KEY = ("job", "attempt")

COMMENT = "jobs of engines that write through howdah: attempt 0 is the job itself"

# A driver that is alive may have no task under way while the cluster is busy with others.
ABANDONED_AFTER = "1 day"
# As long as the ledger of writers.
FORGOTTEN_AFTER = "7 days"


# Who holds a connection and is gone with its machine is found out within a minute, not within hours.
WATCH = "; ".join(
    f"SET LOCAL {name} = {value}"
    for name, value in {
        "tcp_keepalives_idle": 30,
        "tcp_keepalives_interval": 10,
        "tcp_keepalives_count": 3,
        "idle_in_transaction_session_timeout": "'60s'",
    }.items()
)


def begin(job: Job) -> str:
    """Note a new job."""
    values = ", ".join(
        [
            _sql.literal(job.id),
            "0, 'open'",
            _sql.literal(job.name),
            _sql.literal(job.stage),
            "pg_catalog.clock_timestamp()",
        ]
    )
    columns = "job, attempt, state, target, stage, at"
    return f"INSERT INTO {job.ledger} ({columns}) VALUES ({values})"


def admission(job: Job) -> str:
    """Take one of the job's connections for this transaction, or fail; the job must be open."""
    return _sql.block(
        "found_state text;",
        f"""SELECT j.state INTO found_state FROM {job.ledger} AS j WHERE {_is_job(job)};
IF found_state IS DISTINCT FROM 'open' THEN {_over(job)} END IF;
FOR slot IN 1..{job.spec.connections} LOOP
    IF pg_catalog.pg_try_advisory_xact_lock({job.slots}, slot) THEN RETURN; END IF;
END LOOP;
{_sql.refusal(_refusals.NO_SLOT, f"'all {job.spec.connections} connections of the job are taken'")}""",
    )


def attempted(job: Job, attempt: int, epoch: Epoch | None) -> str:
    """Note an attempt with its transaction, which is what its rows are known by; a sign of life, too."""
    return _noted(job, attempt, "pg_catalog.pg_current_xact_id()::text::bigint, 'staged'", epoch)


def failed(job: Job, attempt: int, epoch: Epoch) -> str:
    """Note that an attempt has no rows, so that the job is known as its query's."""
    return _noted(job, attempt, "NULL, 'failed'", epoch)


def _noted(job: Job, attempt: int, how: str, epoch: Epoch | None) -> str:
    part = f"{_sql.literal(epoch.query)}, {epoch.number}" if epoch else "NULL, NULL"
    return (
        f'INSERT INTO {job.ledger} (job, attempt, "transaction", state, at, query, epoch)'
        f" VALUES ({_sql.literal(job.id)}, {attempt}, {how}, pg_catalog.clock_timestamp(), {part})"
    )


def are_all(job: Job, attempts: Sequence[int]) -> str:
    """Give the condition that these attempts are noted, and no others that may have rows."""
    numbers = _numbers(attempts)
    return (
        f"SELECT count(*) FILTER (WHERE a.attempt = ANY ({numbers})) = {len(attempts)}"
        f" AND count(*) = {len(attempts)} FROM {job.ledger} AS a"
        f' WHERE a.job = {_sql.literal(job.id)} AND a.attempt <> 0 AND a."transaction" IS NOT NULL'
    )


def of_attempts(job: Job, attempts: Sequence[int]) -> str:
    """Give the condition of rows of the stage that come from these attempts."""
    numbers = _numbers(attempts)
    # A row knows the lower half of its transaction's number. Those of a thousand attempts are hashed.
    return (
        f'xmin IN (SELECT (a."transaction" & 4294967295)::text::xid FROM {job.ledger} AS a'
        f" WHERE a.job = {_sql.literal(job.id)} AND a.attempt = ANY ({numbers}))"
    )


def publish(job: Job, rows: int | str, body: str, before: str = "", after: str = "") -> str:
    """Run ``body`` and note that the job is published, unless it is already."""
    return _sql.block(
        "found_state text; found_run text; landed bigint; staged bigint; others text; patience text;"
        " is_alone boolean; last_epoch bigint;",
        f"""{before}
SELECT j.state INTO found_state FROM {job.ledger} AS j WHERE {_is_job(job)} FOR UPDATE;
IF found_state = 'published' THEN RETURN; END IF;
IF found_state IS DISTINCT FROM 'open' THEN {_over(job)} END IF;
{body}
UPDATE {job.ledger} AS j SET state = 'published', rows = {rows}, at = pg_catalog.clock_timestamp()
    WHERE {_is_job(job)};
{after}""",
    )


def question(job: Job) -> str:
    """Ask what became of a job."""
    return f"SELECT state FROM {job.ledger} WHERE job = {_sql.literal(job.id)} AND attempt = 0"


def abort(job: Job) -> str:
    """Note that the job is given up, unless it is published."""
    return (
        f"UPDATE {job.ledger} AS j SET state = 'aborted', at = pg_catalog.clock_timestamp()"
        f" WHERE {_is_job(job)} AND j.state = 'open'"
    )


def clear(job: Job, epoch: Epoch | None) -> list[str]:
    """Remove the stage and the notes of attempts of a job that has ended; what it was, the stream knows."""
    rest = "" if epoch else " AND j.attempt <> 0"
    return [
        f"DELETE FROM {job.ledger} AS j WHERE j.job = {_sql.literal(job.id)}{rest}",
        f"DROP TABLE IF EXISTS {job.stage}",
    ]


def drop_stage(of: str) -> str:
    """Give the statements that drop a stage, at once or not at all, where ``of`` is an expression.

    Before it go the stages of its attempts, which inherit from it. While there are more of them than there is
    ``room`` for, the stage stays, and the next one who drops it goes on.
    """
    attempts = f"FROM pg_catalog.pg_inherits AS i WHERE i.inhparent = pg_catalog.to_regclass({of})"
    return f"""IF pg_catalog.to_regclass({of}) IS NOT NULL THEN
    EXECUTE 'LOCK TABLE ONLY ' || {of} || ' IN ACCESS EXCLUSIVE MODE NOWAIT';
    SELECT string_agg(a.inhrelid::pg_catalog.regclass::text, ', '), count(*) INTO parts, dropped
        FROM (SELECT i.inhrelid {attempts} LIMIT room) AS a;
    IF parts IS NOT NULL THEN
        EXECUTE 'LOCK TABLE ' || parts || ' IN ACCESS EXCLUSIVE MODE NOWAIT';
        EXECUTE 'DROP TABLE ' || parts;
        room := room - dropped;
    END IF;
    IF NOT EXISTS (SELECT {attempts}) THEN EXECUTE 'DROP TABLE ' || {of}; END IF;
END IF;"""


def stage_of(ledger: str, job: str) -> str:
    """Give the expression of a stage's name, where ``job`` is that of its job's number.

    Others may write to the ledger: what it says of stages is never run as SQL.
    """
    return f"pg_catalog.format('%s.%I', {_sql.literal(_sql.schema_of(ledger))}, '{STAGE}' || {job})"


def sweep(ledger: str, *, is_all: bool = False) -> str:
    """Remove stages of jobs that have ended or are dead, except those that somebody still writes to.

    It drops no more of them than a transaction may. Where ``is_all`` and that is not enough, it fails, and
    the message says how often to sweep.
    """
    stage = stage_of(ledger, "j.job")
    left = f"""SELECT count(*) INTO dropped FROM ({_dead(ledger)}) AS d
    JOIN pg_catalog.pg_inherits AS i ON i.inhparent = pg_catalog.to_regclass(d.stage)"""
    more = (
        f"IF room = 0 THEN {left}; {_sql.refusal(_refusals.MORE, f'(dropped / {_ROOM} + 2)::text')} END IF;"
    )
    lasting = ", ".join(map(_sql.literal, (STREAM, PARTIAL, COMPLETE)))
    return _sql.block(
        f"dead record; {DROPPING}",
        f"""FOR dead IN {_dead(ledger)} FOR UPDATE OF j SKIP LOCKED
LOOP
    BEGIN
        {drop_stage("dead.stage")}
        UPDATE {ledger} AS j SET state = 'aborted' WHERE j.job = dead.job AND j.state = 'open';
        DELETE FROM {ledger} AS j WHERE j.job = dead.job AND j.attempt <> 0;
    EXCEPTION WHEN OTHERS THEN
        -- It is in use, or another's, or a view needs it: that is no reason to refuse a new job.
        CONTINUE;
    END;
END LOOP;
{more if is_all else ""}
DELETE FROM {ledger} AS j WHERE j.state NOT IN ('open', {lasting}) AND j.attempt = 0
    AND j.at < pg_catalog.now() - interval '{FORGOTTEN_AFTER}'
    AND pg_catalog.to_regclass({stage}) IS NULL;
DELETE FROM {ledger} AS p USING {ledger} AS j WHERE j.job = p.job AND j.attempt = 0 AND p.attempt <> 0
    AND j.state = '{COMPLETE}' AND j.at < pg_catalog.now() - interval '{FORGOTTEN_AFTER}';""",
    )


def _numbers(attempts: Sequence[int]) -> str:
    return f"'{{{','.join(map(str, attempts))}}}'::bigint[]"


def _is_job(job: Job) -> str:
    return f"j.job = {_sql.literal(job.id)} AND j.attempt = 0"


def _over(job: Job) -> str:
    told = f"job {job.id} into {job.name} is over: "
    return _sql.refusal(
        _refusals.OVER,
        f"{_sql.literal(told)} || coalesce(found_state, 'the ledger does not know it any more')",
    )


def _dead(ledger: str) -> str:
    """Find jobs whose stages are to be removed.

    Dead is an open job of which nothing was heard for long; the stage of one that is at work is locked.
    """
    sign_of_life = f"(SELECT max(a.at) FROM {ledger} AS a WHERE a.job = j.job)"
    stage = stage_of(ledger, "j.job")
    return f"""SELECT j.job, {stage} AS stage FROM {ledger} AS j WHERE j.attempt = 0
    AND CASE j.state WHEN 'open'
        THEN {sign_of_life} < pg_catalog.now() - interval '{ABANDONED_AFTER}'
        ELSE pg_catalog.to_regclass({stage}) IS NOT NULL END"""
