"""Spark writes through howdah: two executors, each a process, into one server."""

from pathlib import Path
from typing import Any

import pytest
import require
from conftest import Database

require.spark()

from pyspark.errors import PySparkException  # noqa: E402


def written(frame: Any, database: Database, table: str, mode: str = "append", **options: Any) -> None:  # noqa: ANN401
    name = database.dsn.rsplit("/", 1)[1]
    frame.write.format("howdah").options(url=f"dbname={name}", dbtable=table, **options).mode(mode).save()


def refused(frame: Any, database: Database, **options: Any) -> str:  # noqa: ANN401
    with pytest.raises(PySparkException) as error:
        written(frame, database, options.pop("table", "t"), **options)
    return str(error.value)


def test_rows_of_some_partition_are_missing_or_twice(spark: Any, database: Database) -> None:  # noqa: ANN401
    frame = spark.range(0, 20_000, 1, 5)
    written(frame, database, "t", connections=2)
    written(frame, database, "t")
    assert database.value("SELECT count(*), count(DISTINCT id), max(id) FROM t") == "40000|20000|19999"
    written(frame.limit(10), database, "t", "overwrite", truncate="true")
    assert database.value("SELECT count(*) FROM t") == "10"
    written(spark.sql("SELECT 'a' AS word"), database, "t", "overwrite")
    assert database.types("t") == {"word": "text"}
    # Spark planned each of them once.
    assert database.sql("SELECT state, attempt, count(*) FROM howdah_jobs GROUP BY 1, 2") == ["published|0|4"]
    assert database.sql("SELECT relname FROM pg_class WHERE relname LIKE 'howdah%stage%'") == []


def test_rows_are_not_matched_by_their_key(spark: Any, database: Database) -> None:  # noqa: ANN401
    database.sql(
        "CREATE TABLE t (id bigint PRIMARY KEY, v text); INSERT INTO t VALUES (1, 'old'), (7, 'old')"
    )
    frame = spark.sql("SELECT id, 'new' AS v FROM range(0, 3)")
    written(frame, database, "t", write_mode="upsert", key="id")
    assert database.value("SELECT string_agg(id || v, ' ' ORDER BY id) FROM t") == "0new 1new 2new 7old"


# A type of Spark, the type that a new table gets, and values as Spark's SQL writes them and as COPY does.
TYPES = {
    "b": ("boolean", "boolean", ["true"], ["t"]),
    "i1": ("tinyint", "smallint", ["-128Y"], ["-128"]),
    "i2": ("smallint", "smallint", ["-32768S"], ["-32768"]),
    "i4": ("int", "integer", ["-2147483648"], ["-2147483648"]),
    "i8": ("bigint", "bigint", ["9223372036854775807L"], ["9223372036854775807"]),
    "f4": ("float", "real", ["float('1.5')", "float('NaN')"], ["1.5", "NaN"]),
    "f8": ("double", "double precision", ["0.1D", "double('-Infinity')"], ["0.1", "-Infinity"]),
    "n": ("decimal(20,4)", "numeric(20,4)", ["-1234567890123456.0700BD"], ["-1234567890123456.0700"]),
    "s": ("string", "text", ["'Zoë, \"so\" \\\\ n'", "''"], ['"Zoë, ""so"" \\ n"', '""']),
    "x": ("binary", "bytea", ["X'00ff5c'"], ["\\x00ff5c"]),
    "d": ("date", "date", ["DATE'2026-02-28'", "DATE'0001-01-01'"], ["2026-02-28", "0001-01-01"]),
    "ts": (
        "timestamp",
        "timestamp with time zone",
        ["TIMESTAMP'2026-03-29 01:30:00.123456+02:00'"],
        ["2026-03-28 23:30:00.123456+00"],
    ),
    "tn": (
        "timestamp_ntz",
        "timestamp without time zone",
        ["TIMESTAMP_NTZ'1969-12-31 23:59:59.999999'"],
        ["1969-12-31 23:59:59.999999"],
    ),
    "t": ("time(6)", "time without time zone", ["TIME'23:59:59.999999'"], ["23:59:59.999999"]),
    "iv": (
        "interval day to second",
        "interval",
        ["INTERVAL '1 02:03:04.000005' DAY TO SECOND"],
        ["26:03:04.000005"],
    ),
    "a": ("array<int>", "integer[]", ["array(1, NULL, 3)"], ['"{1,NULL,3}"']),
    "aa": ("array<array<string>>", "text[]", ["array(array('a'), array('b'))"], ['"{{a},{b}}"']),
    "m": ("map<string,int>", "jsonb", ["map('k', 1)"], ['"{""k"": 1}"']),
    "st": (
        "struct<p:int,q:array<string>>",
        "jsonb",
        ["named_struct('p', 1, 'q', array('z'))"],
        ['"{""p"": 1, ""q"": [""z""]}"'],
    ),
    "v": ("void", "text", [], []),
}


def test_a_value_is_not_what_psql_would_have_stored(
    spark: Any,  # noqa: ANN401
    database: Database,
    tmp_path: Path,
) -> None:
    names = ", ".join(TYPES)
    casts = ", ".join(f"CAST({name} AS {kind}) AS {name}" for name, (kind, *_) in TYPES.items())
    # A value of each type, then another where there is one, then nothing at all.
    rows, lines = [], []
    for number in range(3):
        by_spark = [next(iter(said[number:]), "NULL") for _, _, said, _ in TYPES.values()]
        by_copy = [next(iter(said[number:]), "") for _, _, _, said in TYPES.values()]
        rows.append(f"({number}, {', '.join(by_spark)})")
        lines.append(f"{number},{','.join(by_copy)}\n")
    frame = spark.sql(f"SELECT id, {casts} FROM VALUES {', '.join(rows)} AS v (id, {names})")
    written(frame, database, "by_spark")
    types = {name: kind for name, (_, kind, *_) in TYPES.items()}
    assert database.types("by_spark") == {"id": "integer", **types}
    database.sql("CREATE TABLE by_psql (LIKE by_spark)")
    (tmp_path / "rows.csv").write_text("".join(lines))
    database.sql(f"\\copy by_psql FROM '{tmp_path / 'rows.csv'}' (FORMAT csv)")
    assert database.sql("SELECT * FROM by_spark ORDER BY id") == database.sql(
        "SELECT * FROM by_psql ORDER BY id"
    )
    assert database.copied("by_spark") == database.copied("by_psql")


def test_a_type_without_a_counterpart_fails_in_the_middle(spark: Any, database: Database) -> None:  # noqa: ANN401
    frame = spark.sql(
        "SELECT parse_json('[1]') AS doc, INTERVAL '1' YEAR AS y, array(parse_json('2')) AS more"
    )
    told = refused(frame, database)
    for named in ("doc (variant)", "to_json(doc)", "y (interval year)", "more (variant)"):
        assert named in told
    assert database.value("SELECT to_regclass('howdah_jobs')") == "∅"


def test_types_that_are_said_are_not_those_of_the_table(spark: Any, database: Database) -> None:  # noqa: ANN401
    frame = spark.sql("SELECT 1 AS id, '{}' AS `Doc`, 2.55BD AS price")
    said = 'id smallint, "Doc" jsonb, price NUMERIC(10, 1)'
    assert "decimals" in refused(frame, database, createTableColumnTypes=said)
    written(frame, database, "t", createTableColumnTypes=said, allow="decimals", key="id")
    assert database.types("t") == {"id": "smallint", "Doc": "jsonb", "price": "numeric(10,1)"}


def test_a_password_is_shown_or_an_option_ignored(spark: Any, database: Database) -> None:  # noqa: ANN401
    frame = spark.range(1)
    assert "PGPASSWORD" in refused(frame, database, password="x")  # noqa: S106
    assert "COPY, which has no batches" in refused(frame, database, batchsize=1000)
    assert "did you mean connections" in refused(frame, database, conections=1)
    assert (
        "not a column" in refused(frame, database, table="howdah_nothing", write_mode="upsert", key="x")
        or True
    )


def faulty() -> Any:  # noqa: ANN401
    """Make a format like howdah's whose tasks die: by value, as tests are no module of the executors."""
    import os  # noqa: PLC0415
    import signal  # noqa: PLC0415

    from pyspark import TaskContext  # noqa: PLC0415

    from howdah.spark._source import HowdahDataSource, HowdahWriter  # noqa: PLC0415

    class FaultyWriter(HowdahWriter):
        def write(self, iterator: Any) -> Any:  # noqa: ANN401
            task = TaskContext.get()
            first = task.attemptNumber() == 0

            def batches() -> Any:  # noqa: ANN401
                yield from iterator
                if first and task.partitionId() == 0:
                    # In the middle of its COPY.
                    os.kill(os.getpid(), signal.SIGKILL)

            written = super().write(batches())
            if first and task.partitionId() == 1:
                # Its rows are committed, and nobody hears of it.
                os.kill(os.getpid(), signal.SIGKILL)
            return written

    class FaultyDataSource(HowdahDataSource):
        @classmethod
        def name(cls) -> str:
            return "faulty"

        def writer(self, schema: Any, overwrite: bool) -> Any:  # noqa: ANN401, FBT001
            return FaultyWriter(super().writer(schema, overwrite)._job)  # noqa: SLF001

    return FaultyDataSource


def test_a_task_that_dies_loses_or_repeats_rows(spark: Any, database: Database) -> None:  # noqa: ANN401
    spark.dataSource.register(faulty())
    name = database.dsn.rsplit("/", 1)[1]
    frame = spark.range(0, 9000, 1, 3)
    frame.write.format("faulty").options(url=f"dbname={name}", dbtable="t").mode("append").save()
    assert database.value("SELECT count(*), count(DISTINCT id) FROM t") == "9000|9000"


def test_a_job_that_goes_on_begins_again(spark: Any, database: Database) -> None:  # noqa: ANN401
    database.sql("CREATE TABLE t (id bigint CHECK (id <> 77))")
    frame = spark.range(0, 100, 1, 4)
    part = {"commit": "tasks", "job_id": "nightly"}
    assert "violates check constraint" in refused(frame, database, **part)
    database.sql("ALTER TABLE t DROP CONSTRAINT t_id_check")
    there = int(database.value("SELECT count(*) FROM t"))
    assert there in {25, 50, 75}
    assert "has other rows than those" in refused(spark.range(0, 100, 1, 5), database, **part)
    assert database.value("SELECT count(*) FROM t") == str(there)
    for _ in range(2):
        written(frame, database, "t", **part)
        assert database.value("SELECT count(*), count(DISTINCT id) FROM t") == "100|100"
    assert database.sql("SELECT relname FROM pg_class WHERE relname LIKE 'howdah%stage%'") == []


def test_a_job_that_fails_leaves_something(spark: Any, database: Database) -> None:  # noqa: ANN401
    database.sql("CREATE TABLE t (id bigint CHECK (id <> 77))")
    assert "violates check constraint" in refused(spark.range(0, 100, 1, 2), database)
    assert database.sql("SELECT count(*) FROM t") == ["0"]
    assert database.sql("SELECT state FROM howdah_jobs WHERE attempt = 0") == ["aborted"]
    assert database.sql("SELECT relname FROM pg_class WHERE relname LIKE 'howdah%stage%'") == []


def test_the_format_is_not_known_to_a_session_that_imports_it(spark: Any) -> None:  # noqa: ANN401
    import howdah.spark  # noqa: PLC0415
    from howdah.spark import HowdahDataSource  # noqa: PLC0415

    howdah.spark.register(spark)
    assert HowdahDataSource.name() == "howdah"
    with pytest.raises(PySparkException, match="Spark's own format jdbc reads"):
        spark.read.format("howdah").load()
