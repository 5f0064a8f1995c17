"""Jobs whose tasks die, run twice and come late, and whose drivers die or never hear that they committed.

A driver of our own calls what Spark calls. Its runs are drawn from seeds: ``HOWDAH_SEED`` is the first, and
``HOWDAH_JOB_RUNS`` says how many.
"""

import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, Self

import pytest
import require
from cluster_job import Run
from conftest import Database
from lossy_proxy import LossyProxy

import howdah

pa = require.library("pyarrow")

from howdah._cluster._job import JobSpec, Receipt, WriteMode  # noqa: E402

FIRST = int(os.environ.get("HOWDAH_SEED", "1"))
RUNS = int(os.environ.get("HOWDAH_JOB_RUNS", "20"))

# What is there before the job, where it is.
OLD = range(10)


@pytest.fixture
def proxy(server: howdah.Server) -> Iterator[LossyProxy]:
    with LossyProxy("127.0.0.1", server.port) as proxy:
        yield proxy


class Scene:
    """A table, what it may show, and a reader that looks at it all the time."""

    def __init__(self, database: Database, table: str) -> None:
        self._database = database
        self._table = table
        self.allowed: set[str] = set()
        self._seen: list[str] = []
        self._over = threading.Event()
        self._reader = threading.Thread(target=self._look)

    def __enter__(self) -> Self:
        self._reader.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._over.set()
        self._reader.join()
        assert set(self._seen) <= self.allowed, f"a reader saw {set(self._seen) - self.allowed}"

    def now(self) -> str:
        if self._database.value(f"SELECT to_regclass('{self._table}')") == "∅":
            return "none"
        return self._database.value(
            f"SELECT coalesce(string_agg(id::text, ' ' ORDER BY id), '') FROM {self._table}"
        )

    def _look(self) -> None:
        while not self._over.wait(0.01):
            self._seen.append(self.now())


def batches(chance: random.Random) -> list[Any]:
    """Cut the numbers from 100 on as partitions, of which some are empty."""
    sizes = [chance.choice([0, 2, 5, 9]) for _ in range(chance.randint(1, 3))]
    starts = [100 + sum(sizes[:index]) for index in range(len(sizes))]
    parts = zip(starts, sizes, strict=True)
    return [
        pa.record_batch({"id": pa.array(range(start, start + size), pa.int32())}) for start, size in parts
    ]


def at_once(*calls: Callable[[], Any]) -> None:
    threads = [threading.Thread(target=call) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def twice(run: Run, partition: int) -> list[Receipt]:
    """Run two attempts at once, which both succeed."""
    receipts: list[Receipt] = []
    at_once(*[lambda: receipts.append(run.attempt(partition))] * 2)
    assert len(receipts) == 2
    return receipts


def attempts(run: Run, chance: random.Random, fired: Counter[str]) -> None:
    """Run the tasks: some die, some run twice at once and both succeed."""
    for partition, batch in enumerate(run.batches):
        if batch.num_rows and chance.random() < 0.4:
            run.killed_attempt(partition)
            fired["killed task"] += 1
        if batch.num_rows and chance.random() < 0.4:
            run.receipts[partition] = chance.choice(twice(run, partition))
            fired["two successes"] += 1
    run.finish()


def late(run: Run, fired: Counter[str]) -> None:
    """Run attempts of a job that is over: each is refused, or nobody sees what it does."""
    for partition, batch in enumerate(run.batches):
        if batch.num_rows:
            with pytest.raises(howdah.Error):
                run.attempt(partition)
            fired["late task"] += 1


def one_run(database: Database, proxy: LossyProxy, seed: int, fired: Counter[str]) -> None:
    chance = random.Random(seed)  # noqa: S311 - a run is to be had again
    modes: list[WriteMode] = ["append", "create_append", "truncate", "replace"]
    mode = chance.choice(modes)
    table = f"t{seed}"
    is_there = mode == "append" or chance.random() < 0.5
    if is_there:
        old = " UNION ALL ".join(f"SELECT {n} AS id" for n in OLD)
        database.sql(f"CREATE TABLE {table} AS {old}")
    through = database.dsn.replace(f":{database.dsn.rsplit(':', 1)[1].split('/')[0]}/", f":{proxy.port}/")
    spec = JobSpec(dsn=through, table=table, mode=mode, connections=chance.randint(1, 3))
    parts = batches(chance)
    new = [number for part in parts for number in part.column("id").to_pylist()]
    after = [*OLD, *new] if is_there and mode in {"append", "create_append"} else new
    before, published = (" ".join(map(str, OLD)) if is_there else "none"), " ".join(map(str, after))
    with Scene(database, table) as scene:
        scene.allowed = {before, published}
        for dead in range(chance.choice([0, 0, 1])):
            run = Run.begin(spec, parts)
            attempts(run, chance, fired)
            if chance.random() < 0.5:
                run.abort()
                late(run, fired)
                fired["aborted"] += 1
            else:
                fired["driver that is gone"] += 1 + dead
            assert scene.now() == before
        run = Run.begin(spec, parts)
        attempts(run, chance, fired)
        end = chance.choice(["plain", "lost", "twice", "lost and away"])
        if end.startswith("lost"):
            lost = proxy.lost
            proxy.lose_next(2.0 if end == "lost and away" else 0.0)
            run.publish()
            assert proxy.lost == lost + 1
        elif end == "twice":
            at_once(run.publish, run.publish)
        else:
            run.publish()
        fired[f"published: {end}"] += 1
        assert scene.now() == published
        late(run, fired)
        run.abort()
        assert scene.now() == published


def test_rows_of_a_job_are_lost_or_twice_or_half_of_them_seen(database: Database, proxy: LossyProxy) -> None:
    fired: Counter[str] = Counter()
    for seed in range(FIRST, FIRST + RUNS):
        try:
            one_run(database, proxy, seed, fired)
        except BaseException as error:
            error.add_note(f"seed {seed}: HOWDAH_SEED={seed} HOWDAH_JOB_RUNS=1 runs it again")
            raise
    print(f"{RUNS} runs: {dict(sorted(fired.items()))}")  # noqa: T201 - shown by -s, and where it fails
    if RUNS >= 20:
        assert len(fired) == 9, fired


def test_a_driver_that_is_killed_while_it_publishes_shows_half(database: Database) -> None:
    database.sql("CREATE TABLE t (id int); INSERT INTO t VALUES (1)")
    program = """
import sys, pyarrow
from howdah._cluster import _attempt, _driver
from howdah._cluster._job import JobSpec
batch = pyarrow.record_batch({"id": pyarrow.array([7, 8, 9], pyarrow.int32())})
job = _driver.begin(JobSpec(dsn=sys.argv[1], table="t", mode="truncate"), batch.schema)
receipt = _attempt.load(job, iter([batch]))
print("ready", flush=True)
sys.stdin.readline()
_driver.publish(job, [receipt])
"""
    command = [sys.executable, "-c", program, database.dsn]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as driver:
        assert driver.stdin is not None
        assert driver.stdout is not None
        assert driver.stdout.readline() == "ready\n"
        reader = subprocess.Popen(
            [str(database.psql), "-XAtq", "-d", database.dsn], stdin=subprocess.PIPE, text=True
        )
        assert reader.stdin is not None
        # A reader is in its way: the statement waits in the middle of the transaction.
        reader.stdin.write("BEGIN; SELECT * FROM t \\g /dev/null\n")
        reader.stdin.flush()
        until(database, "SELECT count(*) FROM pg_locks WHERE relation = 't'::regclass AND granted", "1")
        driver.stdin.write("go\n")
        driver.stdin.flush()
        until(database, "SELECT count(*) FROM pg_locks WHERE relation = 't'::regclass AND NOT granted", "1")
        driver.send_signal(signal.SIGKILL)
        driver.wait()
        reader.stdin.close()
        reader.wait()
    until(database, "SELECT count(*) FROM pg_locks WHERE relation = 't'::regclass", "0")
    assert database.sql("SELECT id FROM t") == ["1"]
    assert database.sql("SELECT state FROM howdah_jobs WHERE attempt = 0") == ["open"]


def until(database: Database, statement: str, wanted: str) -> None:
    for _ in range(600):
        if database.value(statement) == wanted:
            return
        time.sleep(0.1)
    raise AssertionError(statement)
