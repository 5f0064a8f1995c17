"""Stopping a load, and loads beside each other: threads, asyncio, forks."""

import asyncio
import itertools
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from conftest import Database
from require import missing

import howdah


def endless() -> Iterator[tuple[int, str]]:
    for n in itertools.count():
        yield (n, "x" * 50)


THEY = (
    "FROM pg_stat_activity"
    " WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'"
)


def backends(database: Database) -> str:
    """Count the connections that loads have left."""
    return database.value(f"SELECT count(*) {THEY}")


def until(database: Database, wanted: str, seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while backends(database) != wanted and time.monotonic() < end:
        time.sleep(0.05)
    what = "SELECT string_agg(concat_ws(' ', pid, application_name, state, wait_event, query), '; ')"
    assert backends(database) == wanted, database.value(f"{what} {THEY}")


STOPPED = """
import itertools, sys, howdah
def rows():
    for n in itertools.count():
        if n == 50_000:
            print("loading", flush=True)
        yield (n, "x" * 50)
try:
    howdah.load(rows() if sys.argv[2] == "rows" else sys.stdin.buffer, "t", sys.argv[1])
except KeyboardInterrupt as stopped:
    print("stopped:", *stopped.__notes__, flush=True)
    sys.exit(7)
"""


@pytest.mark.parametrize("kind", ["rows", "file"])
def test_ctrl_c_ends_the_load_and_is_raised_again(database: Database, kind: str) -> None:
    database.sql("CREATE TABLE t (id bigint, v text)")
    command = [sys.executable, "-c", STOPPED, database.dsn, kind]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        if kind == "rows":
            assert process.stdout.readline() == "loading\n"
        else:
            process.stdin.write("1,a\n" * 100_000)
            process.stdin.flush()
            until(database, "1")
        process.send_signal(signal.SIGINT)
        try:
            said = process.stdout.readline()
            assert process.wait(timeout=60) == 7
        finally:
            process.kill()
    assert said.startswith("stopped: howdah: the load has ended; nothing was changed")
    until(database, "0")
    assert database.value("SELECT count(*) FROM t") == "0"


def test_what_the_progress_function_raises_stops_the_load(database: Database) -> None:
    seen: list[howdah.Progress] = []

    def watch(now: howdah.Progress) -> None:
        seen.append(now)
        if now.rows > 1000:
            message = "enough"
            raise StopAsyncIteration(message)

    database.sql("CREATE TABLE t (id bigint, v text)")
    with pytest.raises(StopAsyncIteration, match="enough"):
        howdah.load(endless(), "t", database.dsn, progress=watch)
    assert seen[-1].phase == "loading"
    assert seen[-1].bytes > 0
    assert database.value("SELECT count(*) FROM t") == "0"


def test_the_progress_function_hears_of_the_end(database: Database) -> None:
    seen: list[howdah.Progress] = []
    howdah.load([{"a": 1}], "t", database.dsn, progress=seen.append)
    assert (seen[-1].phase, seen[-1].rows) == ("done", 1)
    assert seen[-1].fraction == 1.0
    with pytest.raises(howdah.Error):
        howdah.load([{"zz": 1}], "t", database.dsn, progress=seen.append)
    assert seen[-1].phase == "failed"


def test_a_line_of_progress_leaves_nothing_behind(
    database: Database, capsys: pytest.CaptureFixture[str]
) -> None:
    def slowly() -> Iterator[tuple[int]]:
        # The first thousand are looked at before the load begins.
        for n in range(1012):
            if n >= 1000:
                time.sleep(0.1)
            yield (n,)

    database.sql("CREATE TABLE t (id int)")
    howdah.load(slowly(), "t", database.dsn, progress=True)
    shown = capsys.readouterr().err
    assert " rows/s" in shown
    assert shown.endswith("\r")
    assert shown.rsplit("\r", 2)[1].strip() == ""
    howdah.load([{"id": 1}], "t", database.dsn)
    assert capsys.readouterr().err == "", "a file of messages is no terminal"


def test_a_task_that_is_cancelled_has_ended_its_load(database: Database) -> None:
    database.sql("CREATE TABLE t (id bigint, v text)")
    started = threading.Event()

    def rows() -> Iterator[tuple[int, str]]:
        for n, row in enumerate(endless()):
            if n == 20_000:
                started.set()
            yield row

    async def main() -> None:
        task = asyncio.create_task(howdah.aload(rows(), "t", database.dsn))
        await asyncio.to_thread(started.wait, 20)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert backends(database) == "0"

    asyncio.run(main())
    assert database.value("SELECT count(*) FROM t") == "0"


def test_loads_await_side_by_side(database: Database) -> None:
    async def main() -> list[howdah.LoadReport]:
        loads = [howdah.aload([{"n": n}], f"t{n}", database.dsn) for n in range(6)]
        return await asyncio.gather(*loads)

    reports = asyncio.run(main())
    assert [report.table for report in reports] == [f"public.t{n}" for n in range(6)]

    async def failing() -> None:
        await howdah.aload("/no/such.csv", "t", database.dsn)

    with pytest.raises(howdah.InterfaceError):
        asyncio.run(failing())


def test_threads_load_side_by_side(database: Database) -> None:
    database.sql("CREATE TABLE t (id int)")
    with ThreadPoolExecutor(8) as pool:
        reports = pool.map(lambda n: howdah.load([(n,)] * 100, "t", database.dsn, progress=False), range(32))
        assert sum(report.rows for report in reports) == 3200
    assert database.value("SELECT count(*), count(DISTINCT id) FROM t") == "3200|32"


def test_python_goes_on_while_a_load_runs(database: Database) -> None:
    database.sql("CREATE TABLE t (v text)")
    ticks = 0
    stop = threading.Event()

    def tick() -> None:
        nonlocal ticks
        while not stop.wait(0.01):
            ticks += 1

    clock = threading.Thread(target=tick)
    clock.start()
    howdah.load([{"v": "x"}], "t", database.dsn, after="SELECT pg_sleep(0.6)")
    stop.set()
    clock.join()
    assert ticks > 20


FORKED = """
import os, sys, howdah
if sys.argv[2] == "used":
    howdah.load([{"a": 1}], "t", sys.argv[1])
if os.fork() == 0:
    try:
        report = howdah.load([{"a": 2}], "t", sys.argv[1])
        print("loaded", report.rows, flush=True)
    except howdah.InterfaceError as refused:
        print("refused", "spawn" in refused.hint, flush=True)
    os._exit(0)
os.wait()
"""


@pytest.mark.parametrize(("parent", "child"), [("used", "refused True\n"), ("unused", "loaded 1\n")])
def test_a_child_of_a_process_that_has_loaded_is_refused(database: Database, parent: str, child: str) -> None:
    command = [sys.executable, "-c", FORKED, database.dsn, parent]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert (done.stdout, done.returncode) == (child, 0), done.stderr


CHILD_OF_A_SERVER = """
import os, sys, howdah
server = howdah.server()
if os.fork() == 0:
    server.close()
    sys.exit()
os.wait()
print(howdah.load([{"a": 1}], "t", server.dsn).rows)
server.close()
print(server)
"""


def test_a_forked_child_leaves_its_parent_s_server_alone() -> None:
    command = [sys.executable, "-c", CHILD_OF_A_SERVER]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("1\n<howdah.Server")
    assert "closed" in done.stdout


def test_a_server_has_its_settings_and_goes_with_its_block() -> None:
    with howdah.server(work_mem="7MB", jit=False) as server:
        psql = [
            str(server.bin_dir / "psql"),
            "-XAtq",
            "-d",
            server.conninfo,
            "-c",
            "SHOW work_mem",
            "-c",
            "SHOW jit",
        ]
        assert subprocess.run(psql, capture_output=True, text=True, check=True).stdout == "7MB\noff\n"
        assert "password" not in repr(server)
        assert server.dsn.split(":")[2].split("@")[0] not in repr(server)
        data_dir = server.data_dir
        assert data_dir.is_dir()
    assert not data_dir.exists()
    server.close()
    with pytest.raises(howdah.OperationalError):
        howdah.load([{"a": 1}], "t", server.dsn)
    with pytest.raises(howdah.Error):
        howdah.server(no_such_setting=1)


def test_many_calls_leave_nothing_behind(database: Database) -> None:
    """Thousands of calls: good ones, wrong ones and stopped ones."""

    def usage() -> tuple[int, int, int]:
        with open("/proc/self/statm") as statm:  # noqa: PTH123
            pages = int(statm.read().split()[1])
        return pages, len(os.listdir("/proc/self/fd")), len(os.listdir("/proc/self/task"))  # noqa: PTH208

    def stopping() -> Iterator[tuple[int]]:
        yield (1,)
        raise ZeroDivisionError

    def calls(rounds: int) -> None:
        for n in range(rounds):
            howdah.load([(n,)], "t", database.conninfo, columns=["id"], progress=False)
            for wrong in ([("x",)], stopping(), [(object(),)]):
                with pytest.raises((howdah.Error, ZeroDivisionError)):
                    howdah.load(wrong, "t", database.conninfo, columns=["id"])
            for _ in range(6):
                with pytest.raises(howdah.Error):
                    howdah.load([(1,)], "t", database.conninfo, mode="no")  # type: ignore[arg-type]

    if not os.path.exists("/proc/self/statm"):  # noqa: PTH110
        missing("proc", "there is no /proc")
    database.sql("CREATE TABLE t (id int)")
    calls(100)
    pages, files, threads = usage()
    # What the allocator keeps of threads that overlap grows now and then; what leaks grows every time.
    growth: list[int] = []
    while not growth or growth[-1] > 1_000_000:
        assert len(growth) < 8, f"each 3,000 calls took more memory: {growth} bytes"
        calls(300)
        before, pages = pages, usage()[0]
        growth.append((pages - before) * os.sysconf("SC_PAGE_SIZE"))
    # Threads that have sent their last word may still be on their way out.
    end = time.monotonic() + 60
    while usage()[1] > files or usage()[2] > threads:
        assert time.monotonic() < end, f"{usage()} after {(pages, files, threads)}"
        time.sleep(0.01)
