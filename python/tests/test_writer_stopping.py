"""Ends of all kinds while a writer has rows: Ctrl-C, forks, the interpreter's end, kills, lost servers."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import Database
from require import library

import howdah

SLOW = (
    "CREATE TABLE t (id int PRIMARY KEY, v text);"
    "CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS"
    " $$BEGIN PERFORM pg_sleep(60); RETURN NEW; END$$;"
    "CREATE TRIGGER slow AFTER INSERT ON t FOR EACH ROW EXECUTE FUNCTION slow()"
)


HELD = (
    "CREATE TABLE t (id int PRIMARY KEY, v text);"
    "CREATE FUNCTION held() RETURNS trigger LANGUAGE plpgsql AS"
    " $$BEGIN PERFORM pg_advisory_xact_lock_shared(7); RETURN NEW; END$$;"
    "CREATE TRIGGER held AFTER INSERT ON t FOR EACH ROW EXECUTE FUNCTION held()"
)


def run(script: str, *arguments: str, options: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *options, "-c", script, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


INTERRUPTED = """
import sys, howdah
writer = howdah.Writer("t", sys.argv[1], queue_rows=1)
ack = writer.write((1, "x"))
print("waiting", flush=True)
try:
    {wait}
except KeyboardInterrupt:
    print("interrupted", flush=True)
    try:
        writer.close(deadline=0.1)
    except howdah.OperationalError:
        sys.exit(7)
"""


def until_it_waits(pid: int, database: Database, event: str = "PgSleep") -> None:
    """Wait until the row is with the server and the process's main thread sleeps."""
    asleep = (
        f"SELECT count(*) FROM pg_stat_activity WHERE wait_event = '{event}' AND datname = current_database()"
    )

    def sleeps() -> bool:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
        return state == "S" and database.value(asleep) != "0"

    end = time.monotonic() + 60
    while not sleeps():
        assert time.monotonic() < end, "it does not wait"
        time.sleep(0.01)


@pytest.mark.parametrize("wait", ["ack.result()", "writer.write((2, 'y'))", "writer.flush()"])
def test_ctrl_c_ends_every_wait(database: Database, wait: str) -> None:
    database.sql(SLOW)
    command = [sys.executable, "-c", INTERRUPTED.format(wait=wait), database.dsn]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == "waiting\n"
            until_it_waits(process.pid, database)
            process.send_signal(signal.SIGINT)
            assert process.stdout.readline() == "interrupted\n"
            assert process.wait(timeout=60) == 7
        finally:
            process.kill()
    assert database.value("SELECT count(*) FROM t") == "0"


CLOSED_TWICE = """
import sys, howdah
writer = howdah.Writer("t", sys.argv[1])
writer.send((1, "x"))
writer.send((1, "y"))
print("closing", flush=True)
try:
    writer.close()
except KeyboardInterrupt:
    print("interrupted", "closed" in repr(writer), flush=True)
    sys.stdin.readline()
    try:
        print(writer.close())
    except howdah.IntegrityError as error:
        print(error.message.partition(",")[0])
    print(writer.close().rows_written, "closed" in repr(writer))
"""


def test_rows_of_a_close_that_ctrl_c_ended_are_lost_in_silence(database: Database) -> None:
    database.sql(HELD)
    psycopg = library("psycopg")
    command = [sys.executable, "-c", CLOSED_TWICE, database.dsn]
    with (
        psycopg.connect(database.dsn, autocommit=True) as holder,
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process,
    ):
        assert process.stdout is not None
        try:
            holder.execute("SELECT pg_advisory_lock(7)")
            assert process.stdout.readline() == "closing\n"
            until_it_waits(process.pid, database, "advisory")
            process.send_signal(signal.SIGINT)
            assert process.stdout.readline() == "interrupted False\n"
            holder.execute("SELECT pg_advisory_unlock(7)")
            rest, _ = process.communicate("\n", timeout=60)
        finally:
            process.kill()
    assert rest.splitlines() == ["1 row is not in the table", "1 True"]


FORKED = """
import os, sys, warnings, howdah
writer = howdah.Writer("t", sys.argv[1])
ack = writer.write((1, "parent"))
child = os.fork()
if child == 0:
    for what in (lambda: writer.write((2, "child")), writer.flush, writer.close, lambda: writer.statistics,
                 lambda: howdah.Writer("t", sys.argv[1]), lambda: howdah.bulk("t", sys.argv[1])):
        try:
            what()
            print("done", flush=True)
        except howdah.InterfaceError as refused:
            print("refused", "spawn" in refused.hint, flush=True)
    del writer, ack
    sys.exit(0)
assert os.waitpid(child, 0)[1] == 0
ack.result(20)
writer.write((3, "parent"))
print(writer.close().rows_written)
"""


def test_a_forked_child_is_refused_and_leaves_its_parent_s_writer_alone(database: Database) -> None:
    database.sql("CREATE TABLE t (id int PRIMARY KEY, v text)")
    done = run(FORKED, database.dsn)
    assert (done.stdout, done.returncode) == ("refused True\n" * 6 + "2\n", 0), done.stderr
    assert database.sql("SELECT * FROM t ORDER BY id") == ["1|parent", "3|parent"]


FORGOTTEN = """
import sys, howdah
writer = howdah.Writer("t", sys.argv[1])
for n in range(50_000):
    writer.send((n, "x" * 100))
print("ending", flush=True)
"""


def test_rows_of_a_writer_that_nobody_closed_are_written_at_the_interpreter_s_end(
    database: Database,
) -> None:
    database.sql("CREATE TABLE t (id int PRIMARY KEY, v text)")
    done = run(FORGOTTEN, database.dsn, options=("-W", "always::ResourceWarning"))
    assert (done.stdout, done.returncode) == ("ending\n", 0), done.stderr
    assert "unclosed <howdah.Writer into t" in done.stderr
    assert database.value("SELECT count(*) FROM t") == "50000"


REFUSED = """
import sys, howdah
writer = howdah.Writer("t", sys.argv[1])
writer.send((1, "x"))
writer.write((1, "y"))
"""


def test_refusals_that_nobody_asked_about_are_warned_of_at_the_interpreter_s_end(database: Database) -> None:
    database.sql("CREATE TABLE t (id int PRIMARY KEY, v text)")
    done = run(REFUSED, database.dsn)
    assert (done.stdout, done.returncode) == ("", 0), done.stderr
    assert "WriterWarning: <howdah.Writer into t" in done.stderr
    assert "1 row is not in the table, and nobody took its acknowledgement: duplicate key" in done.stderr


ENDING = """
import sys, threading, time, howdah
writer = howdah.Writer("t", sys.argv[1], queue_rows=10)
def produce(thread):
    n = 0
    while True:
        writer.send((thread * 1_000_000 + n, "x"))
        n += 1
for thread in range(4):
    threading.Thread(target=produce, args=(thread,), daemon=True).start()
# The queue is full, or rows come through all the time.
while writer.statistics.queued_rows < 10 and writer.statistics.rows_written < 1000:
    time.sleep(0.001)
print("ending", flush=True)
"""


@pytest.mark.parametrize("speed", ["fast", "slow"])
def test_the_interpreter_ends_while_daemon_threads_wait_for_room(database: Database, speed: str) -> None:
    database.sql(SLOW if speed == "slow" else "CREATE TABLE t (id int PRIMARY KEY, v text)")
    start = time.monotonic()
    done = run(ENDING, database.dsn)
    assert done.stdout == "ending\n"
    assert done.returncode == 0, done.stderr
    assert time.monotonic() - start < 60


ASYNC_END = """
import asyncio, sys, howdah
writer = howdah.AsyncWriter("t", sys.argv[1])
async def main():
    await writer.connect()
    for n in range(1000):
        await writer.send((n, "x"))
    asyncio.create_task(writer.flush())
    await asyncio.sleep(0)
asyncio.run(main())
print("ending", flush=True)
"""


def test_a_loop_that_ends_before_its_writer_breaks_nothing(database: Database) -> None:
    database.sql("CREATE TABLE t (id int PRIMARY KEY, v text)")
    done = run(ASYNC_END, database.dsn)
    assert (done.stdout, done.returncode) == ("ending\n", 0), done.stderr
    assert database.value("SELECT count(*) FROM t") == "1000"


KILLED = """
import sys, howdah
writer = howdah.Writer("t", sys.argv[1], max_rows=100)
acks = [writer.write((n, "x")) for n in range(20_000)]
for n, ack in enumerate(acks):
    ack.result()
    print(n, flush=True)
"""


def test_what_was_acknowledged_before_a_kill_is_there(database: Database) -> None:
    database.sql("CREATE TABLE t (id int PRIMARY KEY, v text)")
    with subprocess.Popen(
        [sys.executable, "-c", KILLED, database.dsn], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            last = int(line)
            if last >= 1000:
                break
        process.kill()
        lines = process.stdout.read().splitlines()
    # The last may have been cut off.
    last = max([last, *(int(line) for line in lines[:-1])])
    assert int(database.value(f"SELECT count(*) FROM t WHERE id <= {last}")) == last + 1


def test_connections_that_are_cut_cost_no_row_and_double_none(database: Database) -> None:
    database.sql("CREATE TABLE t (id int, v text)")
    with howdah.Writer("t", database.dsn, max_rows=50) as writer:
        acks = []
        for n in range(3000):
            acks.append(writer.write((n, "x")))
            if n % 1000 == 500:
                database.sql(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                    " WHERE datname = current_database() AND pid <> pg_backend_pid()"
                )
        for ack in acks:
            assert ack.result(60) is None
        assert writer.statistics.reconnections > 0
    assert database.value("SELECT count(*), count(DISTINCT id) FROM t") == "3000|3000"


def test_a_server_that_is_gone_fails_rows_when_patience_ends() -> None:
    with howdah.server() as server:
        howdah.load([{"id": 1}], "t", server.dsn)
        writer = howdah.Writer("t", server.dsn, retry_for=0.5)
        writer.write((2,)).result(20)
    ack = writer.write((3,))
    with pytest.raises(howdah.OperationalError):
        ack.result(30)
    assert writer.close(deadline=5).rows_written == 1
