"""Options of Spark's format: what is not understood is refused by its name, before anything else."""

from typing import Any

import pytest
import require

import howdah

require.spark()
pa = require.library("pyarrow")

from pyspark.sql import types  # noqa: E402

from howdah._cluster._job import JobSpec  # noqa: E402
from howdah.spark import _options, _schema, _url  # noqa: E402

PLACE = {"url": "postgresql://db.example/shop", "dbtable": "t"}


def spec(overwrite: bool = False, **options: str) -> JobSpec:  # noqa: FBT001, FBT002
    return _options.spec({**PLACE, **options}, overwrite=overwrite)


def refused(overwrite: bool = False, **options: Any) -> str:  # noqa: ANN401, FBT001, FBT002
    given = {name: value for name, value in {**PLACE, **options}.items() if value is not None}
    with pytest.raises(howdah.ProgrammingError) as error:
        _options.spec(given, overwrite=overwrite)
    assert error.value.visible == "nothing was changed"
    return str(error.value)


def test_an_option_means_something_else_than_it_says() -> None:
    assert spec() == JobSpec(dsn=PLACE["url"], table="t", mode="create_append")
    assert spec(overwrite=True).mode == "replace"
    assert spec(overwrite=True, truncate="TRUE").mode == "truncate"
    assert spec(overwrite=True, write_mode="truncate").mode == "truncate"
    assert spec(TRUNCATE="false", connections="8", lock_timeout="2.5").connections == 8
    assert spec(commit="tasks", job_id="nightly").job_id == "nightly"
    assert spec(commit="job") == spec()
    found = spec(write_mode="upsert", key=" day, sensor ", ledger="staging", allow="decimals,floats")
    assert (found.key, found.ledger, found.allow) == (("day", "sensor"), "staging", ("decimals", "floats"))


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"dbtable": None}, "dbtable is missing"),
        ({"dbtable": "(SELECT 1) AS q"}, "dbtable is a query"),
        ({"url": None}, "url is missing"),
        ({"url": "jdbc:mysql://db.example/shop"}, "another database"),
        ({"numPartitions": "4"}, "connections bounds"),
        ({"driver": "org.postgresql.Driver"}, "needs no driver"),
        ({"batchsize": "10000"}, "COPY, which has no batches"),
        ({"path": "t"}, "dbtable names the table"),
        ({"sslpassword": "x"}, "PGPASSWORD"),
        ({"connections": "0"}, "from 1 to 1000"),
        ({"connections": "many"}, "from 1 to 1000"),
        ({"lock_timeout": "-1"}, "number of seconds"),
        ({"truncate": "yes"}, "true or false"),
        ({"truncate": "true"}, "overwrite"),
        ({"write_mode": "replace"}, "overwrite"),
        ({"write_mode": "merge"}, "write_mode is one of"),
        ({"write_mode": "upsert"}, "needs key"),
        ({"commit": "task"}, "commit is job or tasks, not task"),
        ({"commit": "tasks"}, "needs job_id"),
        ({"commit": "tasks", "job_id": " "}, "needs job_id"),
        ({"job_id": "nightly"}, "job_id goes with commit tasks"),
        ({"commit": "tasks", "job_id": "n", "write_mode": "create"}, "only adds rows"),
        ({"commit": "tasks", "job_id": "n", "write_mode": "upsert", "key": "id"}, "only adds rows"),
        ({"commit": "tasks", "job_id": "n", "overwrite": True}, "does not go with replace"),
        ({"allow": "all"}, "allow takes"),
        ({"createTableColumnTypes": "id int,, v text"}, "', v text' on"),
        ({"overwrite": True, "write_mode": "upsert", "key": "id"}, 'contradicts mode("overwrite")'),
        ({"overwrite": True, "write_mode": "replace", "truncate": "true"}, "contradicts truncate true"),
    ],
)
def test_an_option_is_ignored(options: dict[str, Any], told: str) -> None:
    assert told in refused(**options)


def streamed(overwrite: bool = False, **options: str) -> JobSpec:  # noqa: FBT001, FBT002
    return _options.spec({**PLACE, **options}, overwrite=overwrite, streams=True)


def test_an_option_of_streams_means_something_else_than_it_says() -> None:
    assert streamed(checkpointLocation="c", queryName="q").mode == "create_append"
    assert streamed(write_mode="upsert", key="id").mode == "upsert"
    assert streamed(overwrite=True, checkpointLocation="c").mode == "truncate"
    assert streamed(overwrite=True, truncate="TRUE", write_mode="truncate").mode == "truncate"
    assert "no option checkpointlocation" in refused(checkpointLocation="c")


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"write_mode": "create"}, "refused by the second epoch"),
        ({"write_mode": "replace"}, "it would drop the table in each epoch"),
        ({"truncate": "true"}, 'truncate goes with outputMode("complete")'),
        ({"overwrite": True, "truncate": "false"}, "leave truncate and write_mode out"),
        ({"overwrite": True, "write_mode": "append"}, "leave truncate and write_mode out"),
        ({"path": "t"}, "dbtable names the table"),
        ({"password": "secret"}, "PGPASSWORD"),
        ({"trigger": "1s"}, "there is no option trigger"),
        ({"commit": "tasks"}, "commit does not go with streams"),
        ({"job_id": "nightly"}, "job_id does not go with streams"),
    ],
)
def test_an_option_of_streams_is_ignored(options: dict[str, Any], told: str) -> None:
    with pytest.raises(howdah.ProgrammingError) as error:
        streamed(**options)
    assert told in str(error.value)
    assert "secret" not in str(error.value)


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://me:secret@db.example/shop",
        "postgresql://db.example/shop?password=secret",
        "host=db.example password=secret",
        "jdbc:postgresql://db.example/shop?user=me&password=secret",
        "jdbc:postgresql://me:secret@db.example/shop",
        "JDBC:PostgreSQL://me:secret@db.example/shop",
        "jdbc:postgresql:me:secret@db.example/shop",
        "jdbc:postgresql://db.example/shop;password=secret",
        "jdbc:postgresql://db.example/shop?user=me;password=secret",
        "postgresql://me:sec/ret:secret@db.example/shop",
        "postgresql://db.example/shop?pass%77ord=secret",
        "postgresql://db.example/shop?options=-cmine.password%3Dsecret",
        "user='me'password=secret",
    ],
)
def test_a_password_reaches_plans_and_logs(url: str) -> None:
    told = refused(url=url)
    assert "PGPASSWORD" in told
    assert "secret" not in told


@pytest.mark.parametrize(
    ("url", "user", "meant"),
    [
        ("shop", None, "shop"),
        ("shop", "me", "dbname='shop' user='me'"),
        ("service=shop", r"o'b\n", r"service=shop user='o\'b\\n'"),
        ("postgresql://db.example/shop", "m e", "postgresql://db.example/shop?user=m%20e"),
        ("jdbc:postgresql://a:1,b:2/shop", None, "postgresql://a:1,b:2/shop"),
        ("jdbc:postgresql:shop", None, "postgresql://localhost/shop"),
        ("jdbc:postgresql://a/b?ssl=true", None, "postgresql://a/b?sslmode=verify-full"),
        ("jdbc:postgresql://a/b?ssl=true&sslmode=require", None, "postgresql://a/b?sslmode=require"),
        ("jdbc:postgresql://a/b?user=me&ApplicationName=x%20y", None, "postgresql://a/b?user=me&application_name=x%20y"),
        ("jdbc:postgresql://a/b?reWriteBatchedInserts=true", "me", "postgresql://a/b?user=me"),
        ("jdbc:postgresql://a/b?currentSchema=s", None, "postgresql://a/b?options=-csearch_path%3Ds"),
        ("jdbc:postgresql://a/b?currentSchema=s&options=-cx%3D1%20-cy%3D2", None, "postgresql://a/b?options=-csearch_path%3Ds%20-cx%3D1%20-cy%3D2"),
        ("jdbc:postgresql://a/b?options=-cx%3D1&currentSchema=%22a%20b%22,%20c", None, "postgresql://a/b?options=-cx%3D1%20-csearch_path%3D%22a%5C%20b%22%2C%5C%20c"),
        ("postgresql://me@a/b", "other", "postgresql://me@a/b"),
        ("postgresql://a/b?user=me", "other", "postgresql://a/b?user=me"),
        ("host=a user = me", "other", "host=a user = me"),
        ("user=me", "other", "user=me"),
        ("postgresql://[::1]:5/b", "me", "postgresql://[::1]:5/b?user=me"),
        ("jdbc:postgresql://[::1]:5,[::2]/b?user=a:b%40c", None, "postgresql://[::1]:5,[::2]/b?user=a%3Ab%40c"),
        ("postgresql://a/b?options=-cpassword_encryption%3Dx", None, "postgresql://a/b?options=-cpassword_encryption%3Dx"),
        ("jdbc:postgresql://a/b?targetServerType=primary", None, "postgresql://a/b?target_session_attrs=primary"),
    ],
)  # fmt: skip
def test_a_url_leads_elsewhere(url: str, user: str | None, meant: str) -> None:
    assert _url.dsn(url, user) == meant


def test_a_setting_of_pgjdbc_is_ignored() -> None:
    told = refused(url="jdbc:postgresql://a/b?socketFactory=x&targetServerType=secondary")
    assert "only pgjdbc knows: socketFactory, targetServerType" in told


def test_types_of_columns_are_cut_in_the_wrong_place() -> None:
    said = 'id INT, "a ""b" NUMERIC(10, 2), `c d` timestamp(3) with time zone,e double precision'
    assert spec(createTableColumnTypes=said).types == (
        ("id", "INT"),
        ('a "b', "NUMERIC(10, 2)"),
        ("c d", "timestamp(3) with time zone"),
        ("e", "double precision"),
    )


def test_an_array_of_nothing_is_refused_in_words_of_arrow() -> None:
    kind = types.StructType().add("a", types.ArrayType(types.NullType(), containsNull=False))
    with pytest.raises(howdah.NotSupportedError) as refused:
        _schema.arrow(kind)
    assert "a (array<void>): CAST(a AS array" in (refused.value.hint or "")


def test_an_engine_that_has_arrow_already_is_refused() -> None:
    schema = pa.schema([("id", pa.int64()), ("word", pa.string())])
    assert _schema.arrow(schema) is schema
