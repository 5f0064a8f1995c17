"""Jobs, and what other jobs, roles and sessions do meanwhile."""

import contextlib
import re
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import require
from cluster_job import Run
from conftest import Database
from test_cluster import left, ran, rows
from test_cluster_faults import until

import howdah

pa = require.library("pyarrow")
psycopg = require.library("psycopg")

from howdah._cluster import _attempt  # noqa: E402
from howdah._cluster._job import JobSpec  # noqa: E402


@pytest.fixture
def people(database: Database) -> Database:
    database.sql("CREATE TABLE t (id int PRIMARY KEY, v text); INSERT INTO t VALUES (1, 'old'), (2, 'old')")
    return database


def test_a_role_that_may_write_to_the_ledger_runs_sql_as_another(people: Database) -> None:
    ran(JobSpec(dsn=people.dsn, table="t", mode="append"), rows(10, 11))
    people.sql("CREATE TABLE precious ()")
    for state in ("open", "aborted"):
        stage = f"precious; CREATE TABLE planted_{state} ()"
        people.sql(
            f"INSERT INTO howdah_jobs (job, attempt, state, stage, at)"
            f" VALUES ('{state}''x', 0, '{state}', '{stage}', now() - interval '2 days'),"
            f" ('{state}', 0, '{state}', 'precious', now() - interval '2 days')"
        )
    ran(JobSpec(dsn=people.dsn, table="t", mode="append"), rows(11, 12))
    assert people.sql("SELECT relname FROM pg_class WHERE relname ~ '^(precious|planted)'") == ["precious"]


def test_a_step_fails_because_its_role_has_no_connection_left(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    role = f"few_{database.dsn.rpartition('/')[2]}"
    database.sql(
        f"CREATE ROLE {role} LOGIN PASSWORD 'p' CONNECTION LIMIT 1; GRANT CREATE ON SCHEMA public TO {role}"
    )
    dsn = re.sub("//[^@]*@", f"//{role}:p@", database.dsn)
    others, refused = [psycopg.connect(dsn)], []

    def pause(seconds: float) -> None:
        refused.append(seconds)
        if others:
            others.pop().close()

    monkeypatch.setattr(time, "sleep", pause)
    run = Run.begin(JobSpec(dsn=dsn, table="t", mode="create_append"), [rows(0, 1)])
    for step in (run.finish, run.publish):
        others.append(psycopg.connect(dsn))
        step()
    assert len(refused) >= 3
    assert database.value("SELECT count(*) FROM t") == "1"


def test_a_view_on_a_dead_jobs_stage_keeps_others_from_beginning(people: Database) -> None:
    spec = JobSpec(dsn=people.dsn, table="t", mode="append")
    dead = Run.begin(spec, [rows(10, 11)])
    people.sql(f"CREATE VIEW looks AS SELECT * FROM {dead.job.stage}")
    people.sql("UPDATE howdah_jobs SET at = at - interval '2 days'")
    ran(spec, rows(11, 12))
    assert people.value("SELECT count(*) FROM t") == "3"
    people.sql("DROP VIEW looks")
    ran(spec, rows(12, 13))
    assert left(people) == []


def test_a_dead_stage_that_somebody_reads_costs_each_begin_a_second(people: Database) -> None:
    spec = JobSpec(dsn=people.dsn, table="t", mode="append")
    dead = [Run.begin(spec, [rows(10, 11)]) for _ in range(8)]
    people.sql("UPDATE howdah_jobs SET at = at - interval '2 days'")
    locks = f"SELECT count(*) FROM pg_locks WHERE relation = '{dead[-1].job.stage}'::regclass AND granted"
    with session(people, "".join(f"TABLE {run.job.stage};" for run in dead)):
        until(people, locks, "1")
        waited = []
        begin = threading.Thread(target=lambda: ran(spec, rows(11, 12)))
        begin.start()
        while begin.is_alive():
            waited.append(people.value("SELECT count(*) FROM pg_locks WHERE NOT granted"))
        assert set(waited) == {"0"}
        assert len(left(people)) == 8
    ran(spec, rows(12, 13))
    assert left(people) == []


@pytest.mark.parametrize("schema", ["s1", "s2", "s3"])
def test_one_of_the_first_jobs_of_a_schema_fails(people: Database, schema: str) -> None:
    people.sql(f"CREATE SCHEMA {schema}")
    spec = JobSpec(dsn=people.dsn, table=f"{schema}.t", mode="create_append")
    begun: list[Run] = []
    at_once([lambda: begun.append(Run.begin(spec, [rows(0, 1)]))] * 4)
    assert len(begun) == 4


@pytest.mark.parametrize("isolation", ["read committed", "repeatable read", "serializable"])
def test_a_straggler_commits_while_its_job_is_published(
    database: Database, monkeypatch: pytest.MonkeyPatch, isolation: str
) -> None:
    monkeypatch.setattr(_attempt, "_HELD_BYTES", 1)
    name = database.value("SELECT current_database()")
    database.sql(f"ALTER DATABASE {name} SET default_transaction_isolation = '{isolation}'")
    run = Run.begin(JobSpec(dsn=database.dsn, table="t", mode="create_append"), [rows(0, 4)])
    run.finish()
    locks = f"SELECT count(*) FROM pg_locks WHERE relation = to_regclass('{run.job.stage}') AND"
    done = threading.Event()

    def slow() -> Iterator[Any]:
        yield rows(0, 2)
        assert done.wait(60)
        yield rows(2, 4)

    def straggle() -> None:
        # Where transactions are serializable, it fails.
        with contextlib.suppress(howdah.OperationalError):
            _attempt.load(run.job, slow())

    straggler = threading.Thread(target=straggle)
    publisher = threading.Thread(target=run.publish)
    straggler.start()
    try:
        until(database, f"{locks} granted", "1")
        publisher.start()
        waits_or_ended = f"({locks} NOT granted) + (SELECT count(*) FROM howdah_jobs WHERE rows = 4)"
        until(database, f"SELECT ({waits_or_ended}) > 0", "t")
    finally:
        done.set()
        straggler.join()
    publisher.join()
    assert database.value("SELECT count(*), count(DISTINCT id) FROM t") == "4|4"


@pytest.mark.parametrize("mode", ["create_append", "create"])
def test_somebody_makes_the_table_while_its_job_is_published(database: Database, mode: Any) -> None:  # noqa: ANN401
    run = Run.begin(JobSpec(dsn=database.dsn, table="new", mode=mode), [rows(0, 2)])
    run.finish()
    failed: list[str] = []

    def publish() -> None:
        try:
            run.publish()
        except howdah.Error as error:
            failed.append(error.sqlstate or "")

    publisher = threading.Thread(target=publish)
    with session(database, "CREATE TABLE new (id int, v text);"):
        until(database, "SELECT count(*) FROM pg_locks WHERE locktype = 'transactionid' AND granted", "1")
        publisher.start()
        until(database, "SELECT count(*) FROM pg_locks WHERE NOT granted", "1")
    publisher.join()
    assert failed == ([] if mode == "create_append" else ["42P07"])
    assert database.value("SELECT count(*) FROM new") == ("2" if mode == "create_append" else "0")


@pytest.mark.parametrize("mode", ["create_append", "append", "truncate", "upsert", "update"])
def test_a_column_that_changes_meanwhile_rounds_values(database: Database, mode: Any) -> None:  # noqa: ANN401
    if mode != "create_append":
        database.sql("CREATE TABLE t (id int PRIMARY KEY, v numeric)")
    key = ("id",) if mode in {"upsert", "update"} else ()
    batch = pa.record_batch({"id": pa.array([1], pa.int32()), "v": [1.6]})
    run = Run.begin(JobSpec(dsn=database.dsn, table="t", mode=mode, key=key), [batch])
    run.finish()
    database.sql(
        "DROP TABLE IF EXISTS t; CREATE TABLE t (id int PRIMARY KEY, v int);INSERT INTO t VALUES (1, 7)"
        if key
        else "DROP TABLE IF EXISTS t; CREATE TABLE t (id int, v int)"
    )
    with pytest.raises(howdah.DatabaseError, match="has other columns now: v") as refused:
        run.publish()
    assert "again" in (refused.value.hint or "")
    assert database.sql("SELECT v FROM t") == (["7"] if key else [])


@pytest.mark.parametrize("published", ["ALL TABLES", "TABLES IN SCHEMA public"])
def test_a_stage_is_sent_to_subscribers(database: Database, published: str) -> None:
    database.sql(f"CREATE PUBLICATION everything FOR {published}")
    run = Run.begin(JobSpec(dsn=database.dsn, table="t", mode="create_append", key=("id",)), [rows(0, 4)])
    run.attempt(0)
    run.finish()
    sent = "SELECT tablename FROM pg_publication_tables WHERE tablename <> 'howdah_jobs'"
    assert database.sql(sent) == []
    run.publish()
    assert database.sql(sent) == ["t"]
    assert database.value("SELECT count(*), count(DISTINCT id) FROM t") == "4|4"


@contextlib.contextmanager
def session(database: Database, statements: str) -> Iterator[None]:
    """Run statements in a transaction that is committed in the end."""
    command = [str(database.psql), "-XAtq", "-d", database.dsn]
    with subprocess.Popen(command, stdin=subprocess.PIPE, text=True) as psql:
        assert psql.stdin is not None
        psql.stdin.write(f"BEGIN; {statements}\n")
        psql.stdin.flush()
        yield
        psql.stdin.write("COMMIT;\n")
        psql.stdin.flush()
        psql.stdin.close()


def at_once(calls: list[Callable[[], object]]) -> None:
    threads = [threading.Thread(target=call) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
