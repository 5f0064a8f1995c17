"""Objects of Azure's and Google's stores, where somebody's server that stands for them is installed.

``azurite-blob`` is of the npm package azurite; fake-gcs-server is a program in Go of fsouza's.
"""

import base64
import email.utils
import gzip
import hashlib
import hmac
import http.client
import json
import shutil
import urllib.parse
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from conftest import Database, free_port, serving
from require import missing

import howdah

# The account and the key of every emulator.
ACCOUNT = "devstoreaccount1"
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="

Put = Callable[[str, bytes], None]


def program(name: str) -> str:
    """Give the path of a program, or skip the test."""
    path = shutil.which(name)
    if path is None:
        missing("stores", f"{name} is not installed")
    return path


def put_azure(port: int, name: str, content: bytes = b"") -> None:
    """Make a container, or a blob in it, with a signed request."""
    query = "" if "/" in name else "restype=container"
    headers = {"x-ms-date": email.utils.formatdate(usegmt=True), "x-ms-version": "2021-08-06"}
    if "/" in name:
        headers["x-ms-blob-type"] = "BlockBlob"
    length = str(len(content)) if content else ""
    resource = f"/{ACCOUNT}/{ACCOUNT}/{name}" + ("\n" + query.replace("=", ":") if query else "")
    signed = [f"{key}:{headers[key]}" for key in sorted(headers)]
    text = "\n".join(["PUT", "", "", length, *[""] * 8, *signed, resource])
    digest = hmac.new(base64.b64decode(KEY), text.encode(), hashlib.sha256).digest()
    headers["Authorization"] = f"SharedKey {ACCOUNT}:{base64.b64encode(digest).decode()}"
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request("PUT", f"/{ACCOUNT}/{name}?{query}", content, headers)
    assert connection.getresponse().status == 201
    connection.close()


@pytest.fixture
def azure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Put]:
    port = free_port()
    options = ["--inMemoryPersistence", "--silent", "--skipApiVersionCheck", "--disableTelemetry"]
    command = [program("azurite-blob"), "--blobHost", "127.0.0.1", "--blobPort", str(port), *options]
    with serving(command, port, tmp_path / "log"):
        put_azure(port, "data")
        monkeypatch.setenv("AZURE_STORAGE_USE_EMULATOR", "true")
        monkeypatch.setenv("AZURITE_BLOB_STORAGE_URL", f"http://127.0.0.1:{port}")
        yield lambda key, content: put_azure(port, f"data/{key}", content)


def post(port: int, path: str, content: bytes) -> None:
    """Tell Google's store something."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request("POST", path, content, {"Content-Type": "application/json"})
    assert connection.getresponse().status == 200
    connection.close()


@pytest.fixture
def google(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Put]:
    port = free_port()
    place = f"127.0.0.1:{port}"
    options = ["-scheme", "http", "-host", "127.0.0.1", "-port", str(port), "-public-host", place]
    command = [program("fake-gcs-server"), "-backend", "memory", *options]
    account = {"gcs_base_url": f"http://{place}", "disable_oauth": True, "client_email": ""}
    account |= {"private_key": "", "private_key_id": ""}
    file = tmp_path / "account.json"
    file.write_text(json.dumps(account))
    with serving(command, port, tmp_path / "log"):
        post(port, "/storage/v1/b?project=x", b'{"name": "data"}')
        monkeypatch.setenv("GOOGLE_SERVICE_ACCOUNT", str(file))
        monkeypatch.setenv("GOOGLE_ALLOW_HTTP", "true")

        def put(key: str, content: bytes) -> None:
            name = urllib.parse.quote(key, safe="")
            post(port, f"/upload/storage/v1/b/data/o?uploadType=media&name={name}", content)

        yield put


@pytest.mark.parametrize(("store", "scheme"), [("azure", "az"), ("google", "gs")])
def test_objects_are_read_by_name_pattern_and_prefix_and_a_missing_one_is_said(
    store: str, scheme: str, request: pytest.FixtureRequest, database: Database
) -> None:
    put: Put = request.getfixturevalue(store)
    put("people/a.csv", b"id,name\n1,Ada\n2,Grace\n")
    put("people/b.csv.gz", gzip.compress(b"name,id\nEdsger,3\n"))
    put("people/deep/c.csv", b"id,name\n4,Barbara\n")
    assert howdah.load(f"{scheme}://data/people/a.csv", "one", database.dsn).rows == 2
    assert howdah.load(f"{scheme}://data/people/*.csv*", "two", database.dsn).rows == 3
    assert howdah.load(f"{scheme}://data/people/", "all_", database.dsn).rows == 4
    assert database.value("SELECT string_agg(id || name, ' ' ORDER BY id) FROM all_") == (
        "1Ada 2Grace 3Edsger 4Barbara"
    )
    for url in (f"{scheme}://data/none.csv", f"{scheme}://nowhere/x.csv"):
        with pytest.raises(howdah.Error, match="there is no such object") as caught:
            howdah.load(url, "t", database.dsn)
        assert url in str(caught.value)
