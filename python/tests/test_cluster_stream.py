"""Streams, epoch by epoch: what comes again, what a dead driver left, and runs that are drawn from seeds.

A driver of our own calls what Spark calls. ``HOWDAH_SEED`` is the first seed, and ``HOWDAH_JOB_RUNS`` says
how many.
"""

import os
import random
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
import require
from cluster_job import Run
from conftest import Database
from lossy_proxy import LossyProxy
from test_cluster import left, rows
from test_cluster_faults import Scene, at_once, twice

import howdah

pa = require.library("pyarrow")

from howdah._cluster._job import Epoch, JobSpec, WriteMode  # noqa: E402

FIRST = int(os.environ.get("HOWDAH_SEED", "1"))
RUNS = int(os.environ.get("HOWDAH_JOB_RUNS", "20"))

FIRED: Counter[str] = Counter()
"""How often each fault fired."""

QUERY = "0d4ab6b6-6f3c-4d0f-8a50-6f2c4f0f3c11"


def planned(spec: JobSpec, number: int, *batches: Any, query: str = QUERY) -> Run:  # noqa: ANN401
    run = Run.begin(spec, list(batches))
    run.epoch = Epoch(query=query, number=number)
    return run


def wrote(spec: JobSpec, number: int, *batches: Any, query: str = QUERY) -> Run:  # noqa: ANN401
    run = planned(spec, number, *batches, query=query)
    run.finish()
    run.publish()
    return run


def spec(database: Database, **options: Any) -> JobSpec:  # noqa: ANN401
    return JobSpec(**{"dsn": database.dsn, "table": "t", "mode": "create_append", **options})


def test_an_epoch_that_comes_again_is_written_again(database: Database) -> None:
    wrote(spec(database), 0, rows(0, 3), rows(3, 5))
    wrote(spec(database), 0, rows(0, 3), rows(3, 5))
    wrote(spec(database), 1, rows(5, 6))
    wrote(spec(database), 0, rows(0, 5))
    # Another query counts for itself.
    wrote(spec(database), 1, rows(6, 8), query="other")
    assert database.value("SELECT string_agg(id::text, ' ' ORDER BY id) FROM t") == "0 1 2 3 4 5 6 7"
    assert left(database) == []
    assert database.sql("SELECT job, state, rows, epoch, target FROM howdah_jobs ORDER BY job") == [
        f"{QUERY}|stream|6|1|public.t",
        "other|stream|2|1|public.t",
    ]


@pytest.mark.parametrize("mode", ["upsert", "truncate", "delete"])
def test_an_old_epoch_overwrites_what_came_after_it(database: Database, mode: Any) -> None:  # noqa: ANN401
    database.sql("CREATE TABLE t (id int PRIMARY KEY, v text); INSERT INTO t VALUES (9, 'old')")
    key = () if mode == "truncate" else ("id",)
    wrote(spec(database, mode=mode, key=key), 4, rows(9, 10, "a"))
    wrote(spec(database, mode="upsert", key=("id",)), 5, rows(9, 10, "b"))
    wrote(spec(database, mode=mode, key=key), 4, rows(9, 10, "a"))
    assert database.sql("SELECT v FROM t") == ["b9"]


def test_a_key_is_refused_by_the_second_epoch(database: Database) -> None:
    wrote(spec(database, key=("id",)), 0, rows(0, 3))
    wrote(spec(database, key=("id",)), 1, rows(3, 5))
    assert database.value("SELECT count(*) FROM t") == "5"


def test_what_a_dead_driver_left_stays_for_a_day(database: Database) -> None:
    dead = planned(spec(database), 0, rows(0, 2))
    dead.finish()
    failing = planned(spec(database), 0, rows(0, 2))
    failing.note_failure()
    elsewhere = planned(spec(database), 0, rows(10, 12), query="other")
    elsewhere.finish()
    wrote(spec(database), 0, rows(0, 2))
    assert left(database) == [elsewhere.job.stage.split('"')[-2]]
    # The dead one is not dead, and comes late.
    dead.publish()
    with pytest.raises(howdah.DatabaseError, match="is over: its stage is gone"):
        failing.attempt(0)
    elsewhere.publish()
    assert database.value("SELECT string_agg(id::text, ' ' ORDER BY id) FROM t") == "0 1 10 11"
    assert left(database) == []


def test_two_drivers_of_one_query_write_an_epoch_twice(database: Database) -> None:
    for number in range(5):
        runs = [planned(spec(database), number, rows(number, number + 1)) for _ in range(2)]
        for run in runs:
            run.finish()
        at_once(*[run.publish for run in runs])
    assert database.value("SELECT string_agg(id::text, ' ' ORDER BY id) FROM t") == "0 1 2 3 4"
    assert left(database) == []


def test_a_stream_is_forgotten_while_it_stands_still(database: Database) -> None:
    wrote(spec(database), 0, rows(0, 2))
    database.sql("UPDATE howdah_jobs SET at = at - interval '30 days'")
    wrote(spec(database), 0, rows(0, 2), query="other")
    wrote(spec(database), 0, rows(0, 2))
    assert database.value("SELECT count(*) FROM t") == "4"


@pytest.fixture
def proxy(server: howdah.Server) -> Iterator[LossyProxy]:
    with LossyProxy("127.0.0.1", server.port) as proxy:
        yield proxy


def attempts(run: Run, chance: random.Random) -> None:
    for partition, batch in enumerate(run.batches):
        if batch.num_rows and chance.random() < 0.3:
            run.killed_attempt(partition)
            run.note_failure()
            FIRED["killed task"] += 1
        if batch.num_rows and chance.random() < 0.3:
            run.receipts[partition] = chance.choice(twice(run, partition))
            FIRED["two successes"] += 1
    run.finish()


def one_epoch(spec: JobSpec, proxy: LossyProxy, parts: tuple[int, list[Any]], chance: random.Random) -> Run:
    """Write an epoch, until its engine knows it: drivers die before they publish, and after."""
    while True:
        run = planned(spec, parts[0], *parts[1])
        end = chance.choice(["plain", "lost", "twice", "died", "died", "aborted", "unheard"])
        FIRED[end] += 1
        if end == "died" and chance.random() < 0.3:
            # At once.
            continue
        attempts(run, chance)
        if end == "aborted":
            run.abort()
        elif end == "lost":
            proxy.lose_next(0.0)
            run.publish()
        elif end == "twice":
            at_once(run.publish, run.publish)
        elif end != "died":
            run.publish()
        if end in {"plain", "lost", "twice"}:
            return run


def one_run(database: Database, proxy: LossyProxy, seed: int) -> None:
    """Write a stream of a few epochs, each as often as its engine would."""
    chance = random.Random(seed)  # noqa: S311 - a run is to be had again
    table, old = f"t{seed}", "none"
    through = database.dsn.replace(f":{database.dsn.rsplit(':', 1)[1].split('/')[0]}/", f":{proxy.port}/")
    modes: list[WriteMode] = ["create_append", "truncate"]
    mode = chance.choice(modes)
    spec = JobSpec(dsn=through, table=table, mode=mode, connections=chance.randint(1, 3))
    there: list[int] = []
    earlier: list[Run] = []
    with Scene(database, table) as scene:
        scene.allowed.add(old)
        for number in range(chance.randint(2, 4)):
            start = 100 * number
            sizes = [chance.choice([0, 1, 4]) for _ in range(chance.randint(1, 3))]
            starts = [start + sum(sizes[:index]) for index in range(len(sizes))]
            parts = [rows(first, first + size) for first, size in zip(starts, sizes, strict=True)]
            new = list(range(start, start + sum(sizes)))
            there = [*there, *new] if mode == "create_append" else new
            expected = " ".join(map(str, there))
            scene.allowed.add(expected)
            run = one_epoch(spec, proxy, (number, parts), chance)
            assert scene.now() == expected
            if earlier and chance.random() < 0.5:
                # A driver that was thought dead publishes its epoch, which is over.
                chance.choice(earlier).publish()
                FIRED["late driver"] += 1
            for partition, batch in enumerate(parts):
                if batch.num_rows:
                    with pytest.raises(howdah.Error):
                        run.attempt(partition)
                    FIRED["late task"] += 1
            assert scene.now() == expected
            earlier.append(run)
    # Of drivers that died at once nothing is known but that they were.
    staged = database.sql(f"SELECT job FROM howdah_jobs WHERE attempt <> 0 AND query = '{QUERY}'")
    assert staged == []
    database.sql(f"DELETE FROM howdah_jobs WHERE job = '{QUERY}'")


def test_rows_of_a_stream_are_lost_or_twice_or_half_an_epoch_seen(
    database: Database, proxy: LossyProxy
) -> None:
    for seed in range(FIRST, FIRST + RUNS):
        try:
            one_run(database, proxy, seed)
        except BaseException as error:
            error.add_note(f"seed {seed}: HOWDAH_SEED={seed} HOWDAH_JOB_RUNS=1 runs it again")
            raise
    print(f"{RUNS} runs: {dict(sorted(FIRED.items()))}")  # noqa: T201 - shown by -s, and where it fails
    if RUNS >= 20:
        assert len(FIRED) == 10, FIRED
