"""Objects of an S3 store, on a server that knows more of S3 than the tests of the engine do."""

import contextlib
import gzip
import http.client
import shutil
import ssl
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from conftest import Database, free_port, serving
from require import library, missing

import howdah

library("moto.server")

BUCKET = "data"


@contextlib.contextmanager
def served(directory: Path, *options: str) -> Iterator[int]:
    """Run the server, and give its port."""
    port = free_port()
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port), *options]
    with serving(command, port, directory / "log"):
        yield port


@pytest.fixture(scope="module")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with served(tmp_path_factory.mktemp("moto")) as port:
        url = f"http://127.0.0.1:{port}"
        put(url, "", b"")
        yield url


@dataclass(frozen=True)
class Secured:
    """A server behind TLS, and who signed its certificate."""

    url: str
    authority: Path


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    openssl = shutil.which("openssl")
    if openssl is None:
        missing("tls", "there is no openssl")
    directory = tmp_path_factory.mktemp("tls")
    (directory / "names").write_text("subjectAltName=DNS:localhost\n")
    for command in (
        "req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=Authority -keyout ca.key -out ca.pem",
        "req -newkey rsa:2048 -nodes -subj /CN=Server -keyout key.pem -out request.pem",
        "x509 -req -in request.pem -CA ca.pem -CAkey ca.key -CAcreateserial -extfile names -out cert.pem",
    ):
        subprocess.run([openssl, *command.split()], cwd=directory, check=True, capture_output=True)
    authority, files = directory / "ca.pem", ("-c", directory / "cert.pem", "-k", directory / "key.pem")
    with served(directory, *map(str, files)) as port:
        url = f"https://localhost:{port}"
        put(url, "", b"", authority)
        yield Secured(url, authority)


def put(endpoint: str, key: str, content: bytes, authority: Path | None = None) -> None:
    host = endpoint.split("//")[1]
    connection = http.client.HTTPConnection(host, timeout=30)
    if authority is not None:
        context = ssl.create_default_context(cafile=authority)
        connection = http.client.HTTPSConnection(host, timeout=30, context=context)
    headers = {"Content-Type": "application/octet-stream", "x-amz-acl": "public-read"}
    connection.request("PUT", f"/{BUCKET}/{key}", content, headers)
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
    pa = library("pyarrow")
    pq = library("pyarrow.parquet")
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


def test_a_server_behind_tls_is_read_if_its_authority_is_trusted(
    secured: Secured, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(secured.url, "tls/a.csv", b"id,name\n1,Ada\n", secured.authority)
    monkeypatch.setenv("AWS_ENDPOINT_URL", secured.url)
    monkeypatch.setenv("AWS_ALLOW_HTTP", "false")
    monkeypatch.setenv("SSL_CERT_FILE", str(secured.authority))
    assert howdah.load(f"s3://{BUCKET}/tls/a.csv", "by_s3", database.dsn).rows == 1
    assert howdah.load(f"s3://{BUCKET}/tls/*", "by_pattern", database.dsn).rows == 1
    assert howdah.load(f"{secured.url}/{BUCKET}/tls/a.csv", "by_https", database.dsn).rows == 1
    assert database.sql("SELECT * FROM by_s3 NATURAL JOIN by_https NATURAL JOIN by_pattern") == ["1|Ada"]


def test_an_authority_that_nobody_trusts_and_a_wrong_name_are_refused(
    secured: Secured, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(secured.url, "tls/b.csv", b"id\n1\n", secured.authority)
    by_name, by_number = secured.url, secured.url.replace("localhost", "127.0.0.1")
    for url, authority, reason in (
        (by_name, None, "UnknownIssuer"),
        (by_number, secured.authority, "not valid for name"),
    ):
        with monkeypatch.context() as changed:
            if authority is not None:
                changed.setenv("SSL_CERT_FILE", str(authority))
            with pytest.raises(howdah.Error, match=reason) as caught:
                howdah.load(f"{url}/{BUCKET}/tls/b.csv", "t", database.dsn)
        assert str(caught.value).startswith(f"cannot read {url}/{BUCKET}/tls/b.csv: ")
        assert "SSL_CERT_FILE" in str(caught.value.hint)
