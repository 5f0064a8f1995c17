"""A stream's row in the ledger, with its last epoch: what makes an epoch that comes again change nothing.

The row is locked by whoever publishes an epoch, in the transaction that publishes it. Two drivers of one
query, of which one does not know yet that it is dead, publish an epoch once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from howdah._cluster import _ledger, _sql

if TYPE_CHECKING:
    from howdah._cluster._job import Epoch, Job


def unless_published(job: Job, epoch: Epoch) -> str:
    """Give the statements that end a block where the epoch is published; ``last_epoch`` is its variable."""
    query = _sql.literal(epoch.query)
    return f"""INSERT INTO {job.ledger} (job, attempt, state, rows, target, at)
    VALUES ({query}, 0, '{_ledger.STREAM}', 0, {_sql.literal(job.name)}, pg_catalog.clock_timestamp())
    ON CONFLICT DO NOTHING;
SELECT j.epoch INTO last_epoch FROM {job.ledger} AS j WHERE {_is_stream(epoch)} FOR UPDATE;
IF last_epoch >= {epoch.number} THEN RETURN; END IF;"""


def published(job: Job, epoch: Epoch, rows: int) -> str:
    """Give the statement that notes it."""
    return f"""UPDATE {job.ledger} AS j SET epoch = {epoch.number}, rows = j.rows + {rows},
    at = pg_catalog.clock_timestamp() WHERE {_is_stream(epoch)};"""


def question(job: Job, epoch: Epoch) -> str:
    """Ask for the stream's last epoch."""
    return f"SELECT epoch FROM {job.ledger} AS j WHERE {_is_stream(epoch)}"


def clear_dead(job: Job, epoch: Epoch) -> str:
    """Remove what drivers left who died in this epoch or before: nobody will publish it."""
    stage = _ledger.stage_of(job.ledger, "dead.job")
    return _sql.block(
        f"dead record; {_ledger.DROPPING}",
        f"""FOR dead IN SELECT DISTINCT a.job FROM {job.ledger} AS a
    WHERE a.query = {_sql.literal(epoch.query)} AND a.epoch <= {epoch.number} AND a.attempt <> 0
    AND a.job <> {_sql.literal(job.id)}
LOOP
    BEGIN
        {_ledger.drop_stage(stage)}
        DELETE FROM {job.ledger} AS j WHERE j.job = dead.job;
    EXCEPTION WHEN OTHERS THEN
        -- A straggler writes to it: the next job removes it.
        UPDATE {job.ledger} AS j SET state = 'aborted' WHERE j.job = dead.job AND j.state = 'open';
    END;
END LOOP;""",
    )


def _is_stream(epoch: Epoch) -> str:
    return f"j.job = {_sql.literal(epoch.query)} AND j.attempt = 0"
