"""What a job's steps cost the server: pages read, which grow where a step looks at what is not its own."""

import time
from collections.abc import Callable
from functools import partial

import pytest
import require
from cluster_job import Run
from conftest import Database
from test_cluster import rows

pa = require.library("pyarrow")

from howdah._cluster._job import JobSpec, WriteMode  # noqa: E402

FEW, MANY, WIDE = 10, 40_000, "v" * 1000
# Pages that so many more rows fill; the rest is the catalogs, which are read more or less often.
GROWN = MANY // 7


def pages_read(database: Database, step: Callable[[], object]) -> int:
    """Give how many pages the server looked at for a step of one session after the other."""
    before = _pages(database)
    step()
    return _pages(database) - before


def _pages(database: Database) -> int:
    """Count them from another database: a session tells its own when it ends."""
    elsewhere = Database(database.dsn.rpartition("/")[0] + "/howdah", database.psql)
    name = database.dsn.rpartition("/")[2]
    for _ in range(600):
        if elsewhere.value(f"SELECT count(*) FROM pg_stat_activity WHERE datname = '{name}'") == "0":
            found = f"SELECT blks_read + blks_hit FROM pg_stat_database WHERE datname = '{name}'"
            return int(elsewhere.value(found))
        time.sleep(0.1)
    raise AssertionError(name)


def test_a_task_passes_over_rows_of_others(database: Database) -> None:
    read, others = [], (FEW, MANY)
    for number, size in enumerate(others):
        spec = JobSpec(dsn=database.dsn, table=f"t{number}", mode="create_append", job_id=str(number))
        run = Run.begin(spec, [rows(0, size, WIDE), rows(size, size + 1, WIDE)])
        run.receipts[0] = run.attempt(0)
        read.append(pages_read(database, partial(run.attempt, 1)))
    assert abs(read[1] - read[0]) < GROWN / 2, read


@pytest.mark.parametrize("mode", ["create", "replace"])
def test_a_new_table_is_read_to_be_published(database: Database, mode: WriteMode) -> None:
    read = []
    for number, size in enumerate((FEW, MANY)):
        run = Run.begin(JobSpec(dsn=database.dsn, table=f"t{number}", mode=mode), [rows(0, size, WIDE)])
        run.finish()
        read.append(pages_read(database, run.publish))
    assert abs(read[1] - read[0]) < GROWN / 2, read
