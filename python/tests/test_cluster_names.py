"""Jobs whose names are unusual, and what a job may not do, refused when it begins."""

from typing import Any

import pytest
import require
from cluster_job import Run
from conftest import Database
from test_cluster import ran, rows

import howdah

pa = require.library("pyarrow")

from howdah._cluster._job import JobSpec  # noqa: E402


@pytest.mark.parametrize("table", ['"order"', '"user".t', '"user"."table"', '"two\nlines"', 'public."a.b"'])
def test_a_name_that_is_a_word_of_sql_is_taken_for_it(database: Database, table: str) -> None:
    database.sql('CREATE SCHEMA "user"')
    modes: list[Any] = ["create_append", "append", "replace", "truncate", "replace"]
    for mode in modes:
        ran(JobSpec(dsn=database.dsn, table=table, mode=mode), rows(0, 2))
    assert database.value(f"SELECT count(*) FROM {table}") == "2"


@pytest.mark.parametrize("mode", ["upsert", "ignore", "update", "delete"])
def test_a_key_is_written_as_the_data_writes_it(database: Database, mode: Any) -> None:  # noqa: ANN401
    database.sql("CREATE TABLE t (id int PRIMARY KEY, v text); INSERT INTO t VALUES (1, 'old')")
    batch = pa.record_batch({"Id": pa.array([1], pa.int32()), "V": ["new"]})
    ran(JobSpec(dsn=database.dsn, table="t", mode=mode, key=("Id",)), batch)
    expected = {"ignore": ["1|old"], "delete": []}.get(mode, ["1|new"])
    assert database.sql("SELECT * FROM t") == expected


def test_a_key_can_be_given_once_only(database: Database) -> None:
    for number in (1, 2):
        ran(JobSpec(dsn=database.dsn, table="t", mode="replace", key=("id",)), rows(0, number))
        assert database.value("SELECT count(*) FROM t") == str(number)
        assert (
            database.value(
                "SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE contype = 'p'"
                " AND conrelid = 't'::regclass"
            )
            == "PRIMARY KEY (id)"
        )


def test_what_only_a_new_table_gets_is_refused_by_the_second_run(database: Database) -> None:
    modes: list[Any] = ["create_append", "create_append", "truncate"]
    for mode in modes:
        spec = JobSpec(dsn=database.dsn, table="t", mode=mode, key=("id",), types=(("v", "varchar(9)"),))
        ran(spec, rows(0, 3))
        assert database.value("SELECT count(*) FROM t") == "3"
        database.sql("DELETE FROM t")
    assert database.types("t") == {"id": "integer", "v": "character varying(9)"}
    with pytest.raises(howdah.DatabaseError, match=r"public\.t exists, and v, id is no key of it") as refused:
        Run.begin(JobSpec(dsn=database.dsn, table="t", mode="create_append", key=("v", "id")), [rows(0, 1)])
    assert "ADD PRIMARY KEY" in (refused.value.hint or "")
    with pytest.raises(howdah.ProgrammingError, match="key is for new tables"):
        Run.begin(JobSpec(dsn=database.dsn, table="t", mode="append", key=("id",)), [rows(0, 1)])


@pytest.mark.parametrize(
    ("mode", "told"),
    [("truncate", "permission denied to truncate"), ("replace", "must be owner of")],
)
def test_a_right_is_missing_when_all_tasks_have_run(database: Database, mode: Any, told: str) -> None:  # noqa: ANN401
    name = f"loader_{database.value('SELECT current_database()')}"
    database.sql(
        f"CREATE ROLE {name} LOGIN PASSWORD 'loads'; CREATE TABLE t (id int, v text);"
        f"GRANT SELECT, INSERT ON t TO {name}; GRANT CREATE ON SCHEMA public TO {name}"
    )
    dsn = f"postgresql://{name}:loads@{database.dsn.rpartition('@')[2]}"
    with pytest.raises(howdah.ProgrammingError, match=told) as refused:
        Run.begin(JobSpec(dsn=dsn, table="t", mode=mode), [rows(0, 1)])
    assert refused.value.sqlstate == "42501"
    ran(JobSpec(dsn=dsn, table="t", mode="append"), rows(0, 1))


def test_a_foreign_key_forbids_to_truncate_when_all_tasks_have_run(database: Database) -> None:
    database.sql(
        "CREATE TABLE t (id int PRIMARY KEY, v text, up int REFERENCES t);"
        "CREATE TABLE child (t int CONSTRAINT up REFERENCES t)"
    )
    spec = JobSpec(dsn=database.dsn, table="t", mode="truncate")
    with pytest.raises(howdah.DatabaseError, match="cannot be truncated: the foreign key up of child") as no:
        Run.begin(spec, [rows(0, 1)])
    assert "TRUNCATE" in (no.value.hint or "")
    database.sql("DROP TABLE child")
    ran(spec, rows(0, 1))


def test_a_table_that_refers_to_itself_is_truncated(database: Database) -> None:
    database.sql(
        "CREATE TABLE t (id int PRIMARY KEY, v text, up int REFERENCES t) PARTITION BY RANGE (id);"
        "CREATE TABLE t0 PARTITION OF t FOR VALUES FROM (0) TO (9)"
    )
    ran(JobSpec(dsn=database.dsn, table="t", mode="truncate"), rows(0, 1))


def test_a_hint_names_an_option_that_a_job_does_not_have(database: Database) -> None:
    database.sql("CREATE TABLE t (id int, v int)")
    spec = JobSpec(dsn=database.dsn, table="t", mode="append")
    with pytest.raises(howdah.DataError, match="invalid input syntax") as no_number:
        ran(spec, rows(0, 1))
    other = pa.record_batch({"other": [1]})
    with pytest.raises(howdah.ProgrammingError, match="not a column") as no_column:
        Run.begin(spec, [other])
    fraction = pa.record_batch({"id": [1.5]})
    with pytest.raises(howdah.DataError, match="no whole number") as no_loss:
        ran(spec, fraction)
    hints = [refused.value.hint for refused in (no_number, no_column, no_loss)]
    database.sql("CREATE TABLE up (id int)")
    run = Run.begin(JobSpec(dsn=database.dsn, table="up", mode="replace"), [rows(0, 1)])
    run.finish()
    database.sql("CREATE FUNCTION of_row(up) RETURNS int LANGUAGE sql RETURN 1")
    with pytest.raises(howdah.DatabaseError, match="cannot drop") as no_table:
        run.publish()
    assert no_table.value.message.startswith("cannot drop")
    # The server's own advice stays, whoever can take it.
    assert no_table.value.hint == "Use DROP ... CASCADE to drop the dependent objects too."
    assert hints == [None, None, 'allow="floats" takes the loss']
