"""Objects of an S3 store, on a server that knows more of S3 than the tests of the engine do."""

import gzip
import http.client
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import Database

import howdah

pytest.importorskip("moto.server", reason="moto is not installed")

BUCKET = "data"


@pytest.fixture(scope="module")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    log = (tmp_path_factory.mktemp("moto") / "log").open("wb")
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    with log, subprocess.Popen(command, stdout=log, stderr=log) as server:
        url = f"http://127.0.0.1:{port}"
        try:
            for _ in range(300):
                try:
                    socket.create_connection(("127.0.0.1", port), timeout=5).close()
                    break
                except OSError:
                    time.sleep(0.1)
            put(url, "", b"")
            yield url
        finally:
            server.terminate()


def put(endpoint: str, key: str, content: bytes) -> None:
    host = endpoint.removeprefix("http://")
    connection = http.client.HTTPConnection(host, timeout=30)
    connection.request("PUT", f"/{BUCKET}/{key}", content, {"Content-Type": "application/octet-stream"})
    assert connection.getresponse().status == 200
    connection.close()


@pytest.fixture(autouse=True)
def _credentials(endpoint: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {
        "AWS_ENDPOINT_URL": endpoint,
        "AWS_ALLOW_HTTP": "true",
        "AWS_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": "nobody",
        "AWS_SECRET_ACCESS_KEY": "secret-canary",
    }.items():
        monkeypatch.setenv(name, value)


def test_text_plain_and_compressed_is_read_by_name_pattern_and_prefix(
    endpoint: str, database: Database
) -> None:
    put(endpoint, "people/a.csv", b"id,name\n1,Ada\n2,Grace\n")
    put(endpoint, "people/b.csv.gz", gzip.compress(b"name,id\nEdsger,3\n"))
    put(endpoint, "people/deep/c.csv", b"id,name\n4,Barbara\n")
    assert howdah.load(f"s3://{BUCKET}/people/a.csv", "one", database.dsn).rows == 2
    assert howdah.load(f"s3://{BUCKET}/people/*.csv*", "two", database.dsn).rows == 3
    assert howdah.load(f"s3://{BUCKET}/people/", "all_", database.dsn).rows == 4
    assert database.value("SELECT string_agg(id || name, ' ' ORDER BY id) FROM all_") == (
        "1Ada 2Grace 3Edsger 4Barbara"
    )


def test_parquet_is_read_in_parts_and_partitions_become_columns(
    endpoint: str, database: Database, tmp_path: Path
) -> None:
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    for year in (2025, 2026):
        file = tmp_path / f"{year}.parquet"
        rows = range(20_000)
        pq.write_table(pa.table({"n": rows, "unused": [f"x{n}" for n in rows]}), file, row_group_size=3_000)
        put(endpoint, f"events/year={year}/part-0.parquet", file.read_bytes())
    report = howdah.load(
        f"s3://{BUCKET}/events/**/*.parquet",
        "events",
        database.dsn,
        skip_columns="unused",
        hive=True,
        types={"year": "int"},
        jobs=2,
    )
    assert report.rows == 40_000
    assert database.sql("SELECT year, count(*), sum(n) FROM events GROUP BY year ORDER BY year") == [
        "2025|20000|199990000",
        "2026|20000|199990000",
    ]


def test_a_missing_object_and_a_missing_bucket_are_said_without_the_secret(database: Database) -> None:
    for url in (f"s3://{BUCKET}/nothing.csv", "s3://no-such-bucket/x.csv", f"s3://{BUCKET}/none/*.csv"):
        with pytest.raises(howdah.Error) as caught:
            howdah.load(url, "t", database.dsn)
        text = f"{caught.value} {caught.value.hint}"
        assert url in text
        assert "secret-canary" not in text
