"""Every contender that can run here stores what psql's \\copy stores, and keeps its word when it cannot.

Contenders that are not installed are skipped: `make contenders` installs them.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from require import missing

import setup

if TYPE_CHECKING:
    from collections.abc import Iterator

HOWDAH = os.environ.get("HOWDAH", str(Path(sys.executable).parent / "howdah"))
# The harness's: generated code knows its table by name.
TABLE = "howdah_bench"
ROWS = 1_000
BATCH = 300  # so that there are several, the last one smaller

COLUMNS = {
    "github-events": [
        "event_id text",
        "event_type text",
        "actor_id bigint",
        "actor_login text",
        "repo_id bigint",
        "repo_name text",
        "created_at timestamptz",
        "is_public boolean",
        "payload jsonb",
    ],
    "readings": [
        "time timestamptz",
        "tags_id integer",
        "latitude double precision",
        "longitude double precision",
        "elevation double precision",
        "velocity double precision",
        "heading double precision",
        "grade double precision",
        "fuel_consumption double precision",
    ],
    "sensor-readings": [
        "device_id uuid",
        "timestamp timestamptz",
        "temperature double precision",
        "humidity double precision",
        "pressure numeric(10,2)",
        "battery_level smallint",
        "is_anomaly boolean",
        "location text",
        "tags text[]",
    ],
}
# Programs that make values for the types of the other data sets only; the rest store sensor-readings too.
FEWER_TYPES = {
    "jdbc-batch",
    "jdbc-batch-rewritten",
    "adbc",
    "polars",
    "pandas",
    "pandas-multi",
    "pgpq",
}
# Records that are written after the made ones: nulls, quotes, line ends, unicode, other notations.
ODD = {
    "github-events": [
        (
            '46000000001,"Üñí""co, \\N",,,,,2025-02-01T00:00:00.123456Z,false,'
            '"{""a"": ""\\u00e9 ☃ \\""q\\"""", ""b"": null}"'
        ),
        '46000000002,"two\nlines",-5,"tab\there",,a\\b,2025-02-01T00:00:00+02,true,[]',
        "46000000003,NULL,9223372036854775807,nan,0,\U0001f9ed,1999-12-31 23:59:59+00,true,1e3",
    ],
    "readings": [
        ",,,,,,,,",
        "2024-02-29 12:00:00.000001+00,-2147483648,-0,1e-300,1.7976931348623157e308,0.1,5,,",
        ",7,,2.5,,,,,0.30000000000000004",
    ],
    "sensor-readings": [
        ",,,,,,,,",
        'FFFFFFFF-0000-4000-8000-00000000000A,1999-12-31 23:59:59+00,-0,1e-300,-99999999.99,-32768,,"a,b",{}',
        ',2025-02-01T00:00:00.123456Z,,,0.1,32767,true,,"{a,NULL,""b,c"",""[{\'x\'}]"",""q\\""\\\\"",Ü}"',
    ],
}
ALL = setup.contenders()
CONTENDERS = [entry for entry in ALL if entry["kind"] == "load"]
SERVICES = [entry for entry in ALL if entry["kind"] == "service"]
PARQUET = [entry for entry in CONTENDERS if "parquet" in entry["inputs"]]
# How rows are offered to services: one producer as fast as it can, several that wait, rates in turn.
OFFERS = {
    "full": {"CONTENDER_PRODUCERS": "0", "CONTENDER_PACE": ""},
    "waiting": {"CONTENDER_PRODUCERS": "7", "CONTENDER_PACE": ""},
    "paced": {"CONTENDER_PRODUCERS": "0", "CONTENDER_PACE": "2000:0.2,4000:0.05"},
}


@pytest.fixture(scope="session")
def url() -> Iterator[str]:
    """Start a server of a name of its own, and delete it."""
    server = [HOWDAH, "server", "--name", f"contenders-test-{os.getpid()}"]
    for command in (HOWDAH, "psql"):
        if shutil.which(command) is None:
            missing("psql", f"there is no {command}")
    try:
        done = subprocess.run([*server, "url"], capture_output=True, text=True, timeout=120, check=True)
        yield done.stdout.strip()
    finally:
        subprocess.run([*server, "delete", "--yes"], capture_output=True, timeout=60, check=True)


@pytest.fixture(scope="session", params=COLUMNS)
def data(request: pytest.FixtureRequest, url: str, tmp_path_factory: pytest.TempPathFactory) -> Data:
    """A data set's file, and what psql's \\copy makes of it."""
    directory = tmp_path_factory.mktemp(request.param)
    file = directory / "data.csv"
    command = [HOWDAH, "dataset", request.param, "--rows", str(ROWS), "--output", str(file)]
    subprocess.run(command, capture_output=True, timeout=60, check=True)
    with file.open("a", encoding="utf-8") as out:
        out.writelines(record + "\n" for record in ODD[request.param])
    made = Data(url, file, COLUMNS[request.param], "")
    psql(url, made.create("expected"), f"\\copy expected FROM '{file}' (FORMAT csv, HEADER)")
    return Data(url, file, made.columns, rows_of(url, "expected"))


@dataclass(frozen=True)
class Data:
    url: str
    file: Path
    columns: list[str]
    expected: str

    def create(self, table: str) -> str:
        return f"DROP TABLE IF EXISTS {table}; CREATE TABLE {table} ({', '.join(self.columns)})"

    def load(self, contender: dict[str, Any], file: Path) -> subprocess.CompletedProcess[str]:
        """Run a contender as the harness does, into a new table."""
        psql(self.url, self.create(TABLE))
        return self.run(contender["run"], contender["directory"], file)

    def run(
        self, command: list[str], directory: str, file: Path, **more: str
    ) -> subprocess.CompletedProcess[str]:
        task = {
            "CONTENDER_URL": self.url,
            "CONTENDER_TABLE": TABLE,
            "CONTENDER_COLUMNS": "\n".join(self.columns),
            "CONTENDER_INPUT": str(file),
            "CONTENDER_BATCH": str(BATCH),
            "CONTENDER_CONNECTIONS": "1",
        }
        return subprocess.run(
            command,
            cwd=directory,
            env=os.environ | task | more,
            input="GO\n",
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )


def psql(url: str, *commands: str) -> str:
    options = [option for command in commands for option in ("-c", command)]
    done = subprocess.run(
        ["psql", "--no-psqlrc", "--quiet", "-v", "ON_ERROR_STOP=1", "-At", url, *options],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def rows_of(url: str, table: str) -> str:
    return psql(url, f"COPY (SELECT * FROM {table} ORDER BY {table}::text) TO STDOUT")


@pytest.fixture(params=CONTENDERS, ids=[entry["name"] for entry in CONTENDERS])
def contender(request: pytest.FixtureRequest, data: Data) -> dict[str, Any]:
    entry: dict[str, Any] = request.param
    skip_unless_able(entry, data)
    return entry


def skip_unless_able(entry: dict[str, Any], data: Data) -> None:
    if not entry["available"]:
        missing("contenders", f"{entry['reason']}: make contenders")
    if entry["datasets"] and data.columns not in [COLUMNS[name] for name in entry["datasets"]]:
        pytest.skip("its code was generated for another table")  # noqa: TID251 - nothing is missing
    if data.columns == COLUMNS["sensor-readings"] and entry["name"] in FEWER_TYPES:
        pytest.skip("it makes no values for uuid, smallint, numeric and text[]")  # noqa: TID251 - nothing is missing


def test_stores_what_psql_stores_and_counts_it(contender: dict[str, Any], data: Data) -> None:
    done = data.load(contender, data.file)
    assert done.stdout.splitlines() == ["READY", f"DONE {ROWS + 3}"], done.stderr
    assert done.returncode == 0
    assert rows_of(data.url, TABLE) == data.expected


@pytest.mark.parametrize("contender", PARQUET, ids=[entry["name"] for entry in PARQUET])
def test_stores_the_same_from_parquet(contender: dict[str, Any], data: Data, tmp_path: Path) -> None:
    skip_unless_able(contender, data)
    file = tmp_path / "data.parquet"
    made = data.run([contender["run"][0], "to_parquet.py", str(file)], contender["directory"], data.file)
    assert made.returncode == 0, made.stderr
    done = data.load(contender, file)
    assert done.stdout.splitlines() == ["READY", f"DONE {ROWS + 3}"], done.stderr
    assert rows_of(data.url, TABLE) == data.expected


def test_a_record_that_is_no_row_fails_the_load(
    contender: dict[str, Any], data: Data, tmp_path: Path
) -> None:
    """Nothing may be counted that was not committed, and nothing committed by a load that says it failed."""
    lines = data.file.read_text(encoding="utf-8").splitlines(keepends=True)
    lines.insert(ROWS // 2, "45999999999,no moment,x,x,x,x,x,x,x\n")
    file = tmp_path / "bad.csv"
    file.write_text("".join(lines), encoding="utf-8")
    done = data.load(contender, file)
    words = done.stdout.splitlines()
    assert [word.split(" ", 1)[0] for word in words] == ["READY", "FAILED"], done.stderr
    assert len(words[1]) > len("FAILED "), "it says why"
    assert done.returncode == 1
    if contender["transaction"] == "one":
        assert rows_of(data.url, TABLE) == ""


@pytest.fixture(params=SERVICES, ids=[entry["name"] for entry in SERVICES])
def service(request: pytest.FixtureRequest, data: Data) -> dict[str, Any]:
    entry: dict[str, Any] = request.param
    if not entry["available"]:
        missing("contenders", f"{entry['reason']}: make contenders")
    if data.columns != COLUMNS["github-events"]:
        pytest.skip("one table is enough: offers differ, not tables")  # noqa: TID251 - nothing is missing
    return entry


def serve(service: dict[str, Any], data: Data, offer: str, **more: str) -> subprocess.CompletedProcess[str]:
    psql(data.url, data.create(TABLE))
    defaults = {"CONTENDER_INTERVAL_MS": "5", "CONTENDER_DISCARD": "0", "CONTENDER_CONNECTIONS": "3"}
    words = defaults | {"CONTENDER_BATCH": "50", "CONTENDER_ROWS": str(2 * ROWS)} | OFFERS[offer] | more
    return data.run(service["run"], service["directory"], data.file, **words)


def told(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    """What a service says between READY and DONE."""
    words = done.stdout.splitlines()
    assert [word.split(" ", 1)[0] for word in words] == ["READY", "TOLD", "DONE"], (words, done.stderr)
    assert words[2] == f"DONE {ROWS + 3}"
    said: dict[str, Any] = json.loads(words[1].removeprefix("TOLD "))
    return said


@pytest.mark.parametrize("offer", OFFERS)
def test_a_service_stores_every_row_once_and_times_each(
    service: dict[str, Any], data: Data, offer: str
) -> None:
    said = told(serve(service, data, offer))
    assert rows_of(data.url, TABLE) == data.expected
    assert sum(count for _, count in said["counts"]) == ROWS + 3
    longest = max(nanoseconds for nanoseconds, _ in said["counts"]) / 1e9
    assert 0 < longest <= said["seconds"] * 1.01
    # 400 rows take 0.2 s, the other 603 another 0.15 s: rows offered early would have gone sooner.
    assert offer != "paced" or said["seconds"] > 0.34


def test_a_service_writes_no_more_rows_than_it_is_told(service: dict[str, Any], data: Data) -> None:
    done = serve(service, data, "waiting", CONTENDER_ROWS="130")
    assert done.stdout.splitlines()[-1] == "DONE 130", done.stderr
    assert psql(data.url, f"SELECT count(*) FROM {TABLE}") == "130\n"


def test_a_service_that_discards_writes_nothing_and_counts_all(service: dict[str, Any], data: Data) -> None:
    told(serve(service, data, "full", CONTENDER_DISCARD="1"))
    assert rows_of(data.url, TABLE) == ""


def test_a_service_says_that_rows_were_refused(service: dict[str, Any], data: Data) -> None:
    psql(data.url, "DROP TABLE IF EXISTS missing")
    done = serve(service, data, "waiting", CONTENDER_TABLE="missing")
    words = done.stdout.splitlines()
    assert [word.split(" ", 1)[0] for word in words] == ["READY", "FAILED"], done.stderr
    assert "missing" in words[1]
    assert done.returncode == 1


def test_descriptions_are_whole() -> None:
    """The harness prints these for every contender, also where it cannot run."""
    names = [entry["name"] for entry in ALL]
    assert len(set(names)) == len(names)
    for entry in ALL:
        assert entry["kind"] in {"load", "service"}
        program = next((part for part in entry["run"] if part.endswith((".py", ".sh"))), None)
        assert program is None or (Path(entry["directory"]) / program).is_file()
        assert "csv" in entry["inputs"]
        assert set(entry["datasets"]) <= set(COLUMNS)
        assert entry["connections"] in {"one", "any"}
        assert entry["transaction"] in {"one", "one a batch"}
        assert entry["startup"] in {"before READY", "counted"}
        assert entry["what"]
        assert entry["available"] is (entry["reason"] is None)
