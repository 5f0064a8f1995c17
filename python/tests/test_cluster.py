"""Jobs of many machines, step by step: what is published, what is refused, what is left behind."""

import threading
from collections.abc import Iterator
from typing import Any

import pytest
import require
from cluster_job import KilledError, Run
from conftest import Database

import howdah

pa = require.library("pyarrow")

from howdah._cluster import _attempt, _driver  # noqa: E402
from howdah._cluster._job import JobSpec  # noqa: E402


def rows(first: int, last: int, word: str = "v") -> Any:  # noqa: ANN401 - of a library without types here
    numbers = range(first, last)
    return pa.record_batch({"id": pa.array(numbers, pa.int32()), "v": [f"{word}{n}" for n in numbers]})


def ran(spec: JobSpec, *batches: Any) -> Run:  # noqa: ANN401
    run = Run.begin(spec, list(batches))
    run.finish()
    run.publish()
    return run


def left(database: Database) -> list[str]:
    """Give the tables that nobody made by name."""
    return database.sql("SELECT relname FROM pg_class WHERE relname LIKE 'howdah%stage%'")


@pytest.fixture
def people(database: Database) -> Database:
    database.sql("CREATE TABLE t (id int PRIMARY KEY, v text); INSERT INTO t VALUES (1, 'old'), (2, 'old')")
    return database


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let tasks ask for a connection when they have a batch."""
    monkeypatch.setattr(_attempt, "_HELD_BYTES", 1)


def test_a_new_table_lacks_rows_types_or_its_key(database: Database) -> None:
    ran(JobSpec(dsn=database.dsn, table="t", mode="create_append", key=("id",)), rows(0, 3), rows(3, 5))
    assert database.value("SELECT string_agg(v, ' ' ORDER BY id) FROM t") == "v0 v1 v2 v3 v4"
    assert database.types("t") == {"id": "integer", "v": "text"}
    assert database.value("SELECT indisprimary FROM pg_index WHERE indrelid = 't'::regclass") == "t"
    assert left(database) == []


def test_a_table_that_is_there_is_made_again_or_loses_rows(people: Database) -> None:
    ran(JobSpec(dsn=people.dsn, table="t", mode="create_append"), rows(10, 12))
    assert people.value("SELECT count(*) FROM t") == "4"
    with pytest.raises(howdah.ProgrammingError, match="exists already"):
        Run.begin(JobSpec(dsn=people.dsn, table="t", mode="create"), [rows(0, 1)])
    with pytest.raises(howdah.ProgrammingError, match="does not exist"):
        Run.begin(JobSpec(dsn=people.dsn, table="nobody", mode="append"), [rows(0, 1)])


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("upsert", "1=new1 2=new2 3=new3"),
        ("ignore", "1=old 2=old 3=new3"),
        ("update", "1=new1 2=new2"),
        ("delete", ""),
        ("truncate", "1=new1 2=new2 3=new3"),
        ("replace", "1=new1 2=new2 3=new3"),
    ],
)
def test_a_mode_does_what_another_does(people: Database, mode: Any, expected: str) -> None:  # noqa: ANN401
    key = ("id",) if mode in {"upsert", "ignore", "update", "delete"} else ()
    ran(JobSpec(dsn=people.dsn, table="t", mode=mode, key=key), rows(1, 3, "new"), rows(3, 4, "new"))
    assert people.value("SELECT coalesce(string_agg(id || '=' || v, ' ' ORDER BY id), '') FROM t") == expected
    kept = people.value("SELECT count(*) FROM pg_index WHERE indrelid = 't'::regclass")
    assert kept == ("0" if mode == "replace" else "1")


@pytest.mark.parametrize("mode", ["upsert", "update"])
def test_one_of_two_rows_with_a_key_wins_by_chance(people: Database, mode: Any) -> None:  # noqa: ANN401
    with pytest.raises(howdah.DatabaseError) as refused:
        ran(JobSpec(dsn=people.dsn, table="t", mode=mode, key=("id",)), rows(1, 3, "a"), rows(2, 4, "b"))
    assert "dropDuplicates" in (refused.value.hint or "")
    assert people.value("SELECT string_agg(v, ' ') FROM t") == "old old"


def test_columns_are_matched_by_their_place(people: Database) -> None:
    people.sql("ALTER TABLE t ADD n int GENERATED ALWAYS AS IDENTITY")
    batch = pa.record_batch({"V": ["x"], "n": pa.array([7]), "Id": pa.array([9], pa.int64())})
    ran(JobSpec(dsn=people.dsn, table="t", mode="append"), batch)
    assert people.value("SELECT t::text FROM t WHERE id = 9") == "(9,x,7)"
    with pytest.raises(howdah.ProgrammingError, match="not a column"):
        Run.begin(JobSpec(dsn=people.dsn, table="t", mode="append"), [pa.record_batch({"other": [1]})])


@pytest.mark.parametrize(
    ("sql", "named"),
    [
        ("CREATE VIEW names AS SELECT v FROM t", "the view names"),
        ("CREATE TABLE child (t int CONSTRAINT up REFERENCES t)", "the foreign key up of child"),
        ("CREATE FUNCTION of_row(t) RETURNS int LANGUAGE sql RETURN 1", "the function of_row"),
        ("CREATE FUNCTION of_rows() RETURNS SETOF t LANGUAGE sql AS 'TABLE t'", "the function of_rows"),
        ("CREATE FUNCTION counts() RETURNS bigint LANGUAGE sql RETURN (SELECT count(*) FROM t)", "counts"),
        ("CREATE TABLE other (rows t[])", "the column rows of table other"),
        (
            "CREATE TABLE u (); CREATE POLICY p ON u USING ((SELECT count(*) FROM t) > 0)",
            "policy p on table u",
        ),
    ],
)
def test_a_table_that_others_need_is_replaced(people: Database, sql: str, named: str) -> None:
    people.sql(sql)
    with pytest.raises(howdah.DatabaseError, match=named) as refused:
        Run.begin(JobSpec(dsn=people.dsn, table="t", mode="replace"), [rows(0, 1)])
    assert "truncate" in (refused.value.hint or "")
    assert people.sql("SELECT count(*) FROM howdah_jobs") == ["0"]


def test_a_table_is_not_replaced_for_what_goes_with_it(people: Database) -> None:
    people.sql(
        "CREATE SEQUENCE numbers OWNED BY t.id; CREATE INDEX ON t (lower(v));"
        "CREATE STATISTICS s ON id, v FROM t;"
        "CREATE POLICY mine ON t USING ((SELECT count(*) FROM t AS u WHERE u.id > t.id) >= 0);"
        "ALTER TABLE t ALTER id SET DEFAULT nextval('numbers'), ADD CHECK (id > length(v) - 99);"
        "ALTER TABLE t ADD twice int GENERATED ALWAYS AS (id * 2) STORED, ADD up int REFERENCES t;"
        "CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN new; END';"
        "CREATE TRIGGER when_changed BEFORE UPDATE OF v ON t FOR EACH ROW WHEN (new.v <> old.v)"
        " EXECUTE FUNCTION f(); CREATE RULE r AS ON DELETE TO t DO ALSO NOTIFY gone"
    )
    ran(JobSpec(dsn=people.dsn, table="t", mode="replace"), rows(0, 3))
    assert people.value("SELECT count(*) FROM t") == "3"


def test_a_new_table_keeps_rows_that_do_not_count(database: Database) -> None:
    batches = [rows(0, 4), rows(4, 8)]
    spec = JobSpec(dsn=database.dsn, table="t", mode="create_append", key=("id",))
    run = Run.begin(spec, batches)
    run.attempt(0)
    run.killed_attempt(0)
    run.finish()
    run.attempt(1)
    # Somebody makes the table in the meantime.
    other = Run.begin(spec, [rows(8, 9)])
    run.publish()
    other.finish()
    other.publish()
    assert database.value("SELECT count(*), count(DISTINCT id), max(id) FROM t") == "9|9|8"
    assert (
        database.value(
            "SELECT obj_description('t'::regclass), reloptions FROM pg_class WHERE oid = 't'::regclass"
        )
        == "∅|∅"
    )
    assert left(database) == []


def test_names_are_taken_for_sql(database: Database) -> None:
    name = """we"ird $howdah$ '\\ t"""
    quoted = '"' + name.replace('"', '""') + '"'
    database.sql('CREATE SCHEMA "S\'p $howdah$"')
    batch = pa.record_batch({name: [1, 2], "landed": ["a", "b"], "found_state": ["c", "d"]})
    for mode in ("create_append", "append", "replace", "truncate"):
        ran(JobSpec(dsn=database.dsn, table=f'"S\'p $howdah$".{quoted}', mode=mode), batch)
    assert database.sql(f'SELECT count(*) FROM "S\'p $howdah$".{quoted}') == ["2"]


def test_a_second_success_of_a_partition_is_published(people: Database) -> None:
    run = Run.begin(JobSpec(dsn=people.dsn, table="t", mode="append"), [rows(10, 14), rows(14, 18)])
    run.attempt(0)
    run.killed_attempt(1)
    run.finish()
    run.attempt(1)
    run.publish()
    assert people.value("SELECT count(*), count(DISTINCT id) FROM t") == "10|10"


def test_publishing_again_publishes_twice(people: Database) -> None:
    people.sql("ALTER TABLE t DROP CONSTRAINT t_pkey")
    run = ran(JobSpec(dsn=people.dsn, table="t", mode="append"), rows(10, 14))
    run.publish()
    run.abort()
    assert people.value("SELECT count(*) FROM t") == "6"
    with pytest.raises(howdah.Error):
        run.attempt(0)


def test_a_job_that_was_given_up_is_published(people: Database) -> None:
    run = Run.begin(JobSpec(dsn=people.dsn, table="t", mode="append"), [rows(10, 14)])
    run.finish()
    run.abort()
    assert left(people) == []
    with pytest.raises(howdah.DatabaseError, match="is over: aborted"):
        run.publish()
    assert people.value("SELECT count(*) FROM t") == "2"


def test_rows_that_a_crash_took_from_the_stage_are_missed(people: Database) -> None:
    run = Run.begin(JobSpec(dsn=people.dsn, table="t", mode="append"), [rows(10, 14), rows(14, 18)])
    run.finish()
    people.sql(f"TRUNCATE {run.job.stage}")
    with pytest.raises(howdah.DatabaseError, match="0 rows of 8") as refused:
        run.publish()
    assert "crash" in (refused.value.hint or "")
    assert people.value("SELECT count(*) FROM t") == "2"


def test_an_attempt_that_a_failover_took_is_missed(database: Database) -> None:
    spec = JobSpec(dsn=database.dsn, table="t", mode="create")
    run = Run.begin(spec, [rows(10, 14), rows(14, 18)])
    run.finish()
    # Rows and note go together: the one is proof of the other.
    database.sql(f"DELETE FROM {run.job.stage} WHERE id < 14")
    database.sql(f"DELETE FROM howdah_jobs WHERE attempt = {run.receipts[0].attempt}")
    with pytest.raises(howdah.DatabaseError, match="4 rows of 8"):
        run.publish()
    assert database.value("SELECT to_regclass('t')") == "∅"


def test_rows_that_a_trigger_drops_are_missed(people: Database) -> None:
    people.sql(
        "CREATE FUNCTION odd() RETURNS trigger LANGUAGE plpgsql AS"
        " $$BEGIN RETURN CASE WHEN new.id % 2 = 1 THEN new END; END$$;"
        "CREATE TRIGGER odd BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION odd()"
    )
    ran(JobSpec(dsn=people.dsn, table="t", mode="append"), rows(10, 14), rows(14, 18))
    assert people.value("SELECT count(*) FROM t") == "6"


@pytest.mark.usefixtures("short")
def test_a_dead_drivers_stage_stays_or_one_that_is_alive_loses_it(people: Database) -> None:
    spec = JobSpec(dsn=people.dsn, table="t", mode="append")
    dead, quiet, busy = (Run.begin(spec, [rows(start, start + 4)]) for start in (10, 20, 30))
    dead.finish()
    quiet.finish()
    for run in (dead, busy):
        people.sql(f"UPDATE howdah_jobs SET at = at - interval '2 days' WHERE job = '{run.job.id}'")
    sending, done = threading.Event(), threading.Event()

    def slow() -> Iterator[Any]:
        yield busy.batches[0]
        sending.set()
        assert done.wait(60)

    try:
        receipts = []
        task = threading.Thread(target=lambda: receipts.append(_attempt.load(busy.job, slow())))
        task.start()
        assert sending.wait(60)
        ran(spec, rows(40, 44))
        names = {run.job.stage.split('"')[-2] for run in (quiet, busy)}
        assert set(left(people)) == names
    finally:
        done.set()
    task.join()
    quiet.publish()
    _driver.publish(busy.job, receipts)
    with pytest.raises(howdah.DatabaseError, match="is over: aborted"):
        dead.publish()
    found = "SELECT string_agg(id::text, ' ' ORDER BY id) FROM t WHERE id >= 10"
    assert people.value(found) == "20 21 22 23 30 31 32 33 40 41 42 43"


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize("mode", ["append", "replace"])
def test_a_straggler_keeps_its_job_from_being_published(people: Database, mode: Any) -> None:  # noqa: ANN401
    run = Run.begin(JobSpec(dsn=people.dsn, table="t", mode=mode), [rows(10, 14)])
    run.finish()
    sending, done = threading.Event(), threading.Event()

    def slow() -> Iterator[Any]:
        yield run.batches[0]
        sending.set()
        assert done.wait(60)
        raise KilledError

    def straggle() -> None:
        with pytest.raises(KilledError):
            _attempt.load(run.job, slow())

    straggler = threading.Thread(target=straggle)
    straggler.start()
    try:
        assert sending.wait(60)
        run.publish()
        there = 2 if mode == "append" else 0
        assert people.value("SELECT count(*) FROM t") == str(there + 4)
        assert len(left(people)) == 1
    finally:
        done.set()
        straggler.join()
    ran(JobSpec(dsn=people.dsn, table="t", mode="append"), rows(20, 21))
    assert left(people) == []
    assert people.value("SELECT count(*) FROM t") == str(there + 5)


@pytest.mark.usefixtures("short")
def test_a_job_has_more_connections_at_work_than_it_may(people: Database) -> None:
    spec = JobSpec(dsn=people.dsn, table="t", mode="append", connections=2)
    run = Run.begin(spec, [rows(start, start + 10) for start in range(10, 130, 10)])
    most: list[int] = []
    lock = threading.Lock()

    def counted(batch: Any) -> Iterator[Any]:  # noqa: ANN401
        yield batch
        locks = f"SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND classid = {run.job.slots}"
        with lock:
            most.append(int(people.value(locks)))

    def task(partition: int) -> None:
        run.receipts[partition] = _attempt.load(run.job, counted(run.batches[partition]))

    tasks = [threading.Thread(target=task, args=(partition,)) for partition in range(len(run.batches))]
    for one in tasks:
        one.start()
    for one in tasks:
        one.join()
    run.publish()
    assert len(most) == 12
    assert max(most) == 2
    assert people.value("SELECT count(*), count(DISTINCT id) FROM t") == "122|122"


def test_an_empty_job_makes_no_table_or_empties_none(people: Database) -> None:
    ran(JobSpec(dsn=people.dsn, table="t", mode="truncate"), rows(0, 0))
    ran(JobSpec(dsn=people.dsn, table="fresh", mode="create_append"), rows(0, 0), rows(0, 0))
    assert people.value("SELECT (SELECT count(*) FROM t), (SELECT count(*) FROM fresh)") == "0|0"


def test_the_ledger_is_where_it_was_asked_for(people: Database) -> None:
    people.sql("CREATE SCHEMA staging")
    spec = JobSpec(dsn=people.dsn, table="t", mode="append", ledger="staging")
    run = Run.begin(spec, [rows(10, 14)])
    assert run.job.stage.startswith('"staging".')
    run.finish()
    run.publish()
    ran(JobSpec(dsn=people.dsn, table="fresh", mode="create", ledger="staging"), rows(10, 15))
    assert people.sql("SELECT state, rows FROM staging.howdah_jobs ORDER BY at") == [
        "published|4",
        "published|5",
    ]
    assert people.value("SELECT count(*) FROM public.fresh") == "5"
    assert people.value("SELECT to_regclass('public.howdah_jobs')") == "∅"
