"""One server for all tests, and a database for each."""

import contextlib
import itertools
import socket
import subprocess
import time
import warnings
from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import require

import howdah

_numbers = itertools.count()


@dataclass(frozen=True)
class Database:
    """A database that no other test uses."""

    dsn: str
    psql: Path
    conninfo: str = ""
    """The same through the Unix socket, which is faster."""

    def sql(self, statements: str) -> list[str]:
        """Run it in psql and give the lines that it prints: fields are divided by ``|``, NULL is ``∅``."""
        command = [str(self.psql), "-XAtq", "-v", "ON_ERROR_STOP=1", "-P", "null=∅", "-d", self.dsn]
        done = subprocess.run(
            command, input=statements, capture_output=True, text=True, timeout=60, check=False
        )
        assert done.returncode == 0, done.stderr
        # Values may hold what Python takes for line ends.
        return done.stdout.split("\n")[:-1]

    def value(self, statement: str) -> str:
        """Give the one line that it prints."""
        (line,) = self.sql(statement)
        return line

    def copied(self, table: str) -> bytes:
        """Give what ``COPY … TO`` makes of the table in binary, in the order of its column ``id``."""
        statement = f"COPY (SELECT * FROM {table} ORDER BY id) TO STDOUT (FORMAT binary)"
        command = [str(self.psql), "-XAtq", "-d", self.dsn, "-c", statement]
        return subprocess.run(command, capture_output=True, check=True, timeout=60).stdout

    def types(self, table: str) -> dict[str, str]:
        """Give the columns with their types."""
        lines = self.sql(
            "SELECT attname || '=' || format_type(atttypid, atttypmod) FROM pg_attribute"
            f" WHERE attrelid = '{table}'::regclass AND attnum > 0 ORDER BY attnum"
        )
        return dict(line.split("=") for line in lines)


def free_port() -> int:
    """Give a port of this machine that nobody listens on."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@contextlib.contextmanager
def serving(command: list[str], port: int, log: Path) -> Iterator[None]:
    """Run a server of somebody else, from when it listens."""
    with log.open("wb") as output, subprocess.Popen(command, stdout=output, stderr=output) as process:
        try:
            for _ in range(300):
                try:
                    socket.create_connection(("127.0.0.1", port), timeout=5).close()
                    break
                except OSError:
                    time.sleep(0.1)
            yield
        finally:
            process.terminate()


def environment(server: howdah.Server) -> dict[str, str]:
    """Give what processes need to know to find the server."""
    password = server.dsn.split(":")[2].split("@")[0]
    return {"PGHOST": "127.0.0.1", "PGPORT": str(server.port), "PGUSER": "howdah", "PGPASSWORD": password}


# Fixtures that are too large for more than one process.
_SHARED = {"spark", "_ray"}
# Groups that take minutes.
_FIRST = ["spark", "rust", "_ray"]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep tests in one process that share something: those of a file at least, which sets it up once.

    What takes longest begins first, so that no process is left alone with it in the end.
    """
    ranks = {}
    for item in items:
        module = item.getparent(pytest.Module)
        used = vars(module.obj).values() if module is not None else ()
        compiles = any(
            getattr(one, "__module__", getattr(one, "__name__", "")) == "rust_program" for one in used
        )
        shared = ["rust"] if compiles else sorted(_SHARED.intersection(getattr(item, "fixturenames", ())))
        group = shared[0] if shared else item.path.name
        item.add_marker(pytest.mark.xdist_group(group))
        ranks[item] = _FIRST.index(group) if group in _FIRST else len(_FIRST)
    items.sort(key=lambda item: ranks[item])


_SECRET = pytest.StashKey[str]()


@pytest.fixture(scope="session")
def server(request: pytest.FixtureRequest) -> Iterator[howdah.Server]:
    with howdah.server() as server:
        request.config.stash[_SECRET] = environment(server)["PGPASSWORD"]
        yield server


def secret_in(password: str | None, shown: Iterable[str]) -> str | None:
    """Give the first text that holds the password, without it."""
    found = (text for text in shown if password and password in text)
    return next((text.replace(password or "", "[the password]") for text in found), None)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Fail a test that printed or logged the password of its server."""
    report = yield
    shown = secret_in(item.config.stash.get(_SECRET, None), (text for _, text in report.sections))
    if shown is not None:
        report.sections = []
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid} shows a password ({call.when}): {shown}"
    return report


@pytest.fixture(scope="session")
def spark(server: howdah.Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Give a session of Spark on two executors, all of whose processes find the server by ``PG*``."""
    require.spark()
    with warnings.catch_warnings():
        # It does not know the newest pandas, and leaves sockets to the garbage collector.
        warnings.simplefilter("ignore")
        from spark_session import started  # noqa: PLC0415

        # Relative paths are its own processes', wherever a test is.
        with contextlib.chdir(tmp_path_factory.mktemp("spark")):
            session = started(server)
    yield session
    session.stop()


@pytest.fixture(scope="session")
def _ray(server: howdah.Server) -> Iterator[None]:
    require.ray()
    with warnings.catch_warnings():
        # It leaves files and sockets to the garbage collector.
        warnings.simplefilter("ignore")
        import ray_session  # noqa: PLC0415

        ray_session.start(server)
        yield
        ray_session.stop()


@pytest.fixture
def ray_cluster(_ray: None, server: howdah.Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a Ray of two workers, all of whose processes find the server by ``PG*``, and this one, too."""
    for name, value in environment(server).items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def database(server: howdah.Server) -> Database:
    psql = server.bin_dir / "psql"
    name = f"test_{next(_numbers)}"
    Database(server.dsn, psql).sql(f"CREATE DATABASE {name} TEMPLATE template0 LOCALE 'C.UTF-8'")
    dsn = server.dsn.removesuffix("/howdah") + f"/{name}"
    return Database(dsn, psql, f"{server.conninfo} dbname={name}")


@pytest.fixture
def table(database: Database) -> Database:
    """Give a database whose table t refuses the value `bad`."""
    database.sql("CREATE TABLE t (id int PRIMARY KEY, v text CHECK (v <> 'bad'))")
    return database


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reject files go where the test is, and no server is found by chance."""
    monkeypatch.chdir(tmp_path)
    for variable in ("PGHOST", "PGHOSTADDR", "PGPORT", "PGSERVICE", "PGDATABASE", "PGUSER", "PGPASSWORD"):
        monkeypatch.delenv(variable, raising=False)
