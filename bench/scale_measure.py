"""Measure what rows, tasks and jobs of a cluster cost on this machine: a line of JSON for each run.

A lane is one process of the command with the SQL that a task of Spark or Ray has around its rows. What does
not depend on how fast rows are encoded is called in the package, by the classes that Spark and Ray call.
"""

import contextlib
import json
import os
import queue
import random
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
import pyarrow.parquet as pq

import howdah
import scale_cpu
from howdah._cluster import _attempt, _driver, _ledger
from howdah._cluster._job import Job, JobSpec, Receipt

LANES = (1, 2, 4, 8)
TASKS = 8
"""As many as the most lanes."""

WAITING_TASKS, WAITING_SLOTS = 24, 2
RECEIPTS = 1000
_STEPS = 10
"""How often a step is repeated that takes milliseconds."""
_SLOW_SHARE = 6
"""Lanes are slowed down to this part of what all lanes reach: four do not fill the cores, eight do."""
_PART_OF_MANY = 4
"""Slow lanes send this part of the rows, or they would take minutes; it shows how steps grow, too."""
_MANY_JOBS = 10_000
_DISK_BYTES = 256 << 20

TABLE = "readings"
COLUMNS = """time timestamptz, tags_id integer, latitude double precision, longitude double precision,
elevation double precision, velocity double precision, heading double precision, grade double precision,
fuel_consumption double precision"""

Run = dict[str, Any]


class Measurement:
    """A server with a table, the tasks' files, and the runs so far."""

    def __init__(self, server: howdah.Server, command: list[str], rows: int, folder: Path) -> None:
        """Make the files of the tasks; ``command`` is howdah's."""
        self.dsn = server.dsn
        self.command = command
        self.folder = folder
        self.rows = rows // (TASKS * _PART_OF_MANY) * TASKS * _PART_OF_MANY
        self.runs: list[Run] = []
        self.round = 0
        self.rate = 0
        """Bytes a second of a slow lane."""
        self.sql = psycopg.connect(server.dsn, autocommit=True)
        self.sql.execute(f"CREATE TABLE {TABLE} ({COLUMNS})")
        self.postmaster = scale_cpu.parent(self.value("SELECT pg_backend_pid()"))
        self.files = [self._file(number) for number in range(TASKS)]

    def all(self) -> None:
        """Measure everything once."""
        parts: list[Callable[[], None]] = [
            self.dry_run,
            self.disk,
            self.steps,
            self.refusals,
            self.receipts,
            self.waiting,
            self.crowded_ledger,
            *(self._part(self.new_table, part) for part in (1, _PART_OF_MANY)),
            *(self._part(self.lanes, lanes) for lanes in LANES),
            *(self._part(self.slow_lanes, lanes) for lanes in LANES),
            *(self._part(self.jobs, lanes) for lanes in LANES),
        ]
        if self.round == 0:
            # How slow is slow follows from it.
            self.lanes(2)
        random.shuffle(parts)
        for part in parts:
            self.sql.execute("CHECKPOINT")
            part()
        self.round += 1

    def dry_run(self) -> None:
        """Read and encode the rows of all tasks in one thread."""
        with self._run("dry run", rows=self.rows):
            self._howdah(*map(str, self.files), "--table", TABLE, "--dry-run", "--jobs", "1")

    def disk(self) -> None:
        """Write beside the server's files, and wait for the disk."""
        file = self.folder / "disk"
        with self._run("disk", bytes=_DISK_BYTES), file.open("wb") as output:
            block = os.urandom(1 << 20)
            for _ in range(_DISK_BYTES // len(block)):
                output.write(block)
            output.flush()
            os.fsync(output.fileno())
        file.unlink()

    def lanes(self, lanes: int) -> None:
        """Send the rows of all tasks over so many lanes, and publish them."""
        job = self._begin(connections=TASKS)
        with self._run("lanes", rows=self.rows, lanes=lanes) as run:
            receipts = self._send(job, lanes)
        if self.rate == 0:
            size = self.value(f"SELECT pg_table_size('{job.stage}')")
            self.rate = int(size / run["seconds"] / _SLOW_SHARE)
        if lanes == LANES[-1]:
            self._publish("publish append", job, receipts)
        else:
            _driver.abort(job)
        self.sql.execute(f"TRUNCATE {TABLE}")

    def slow_lanes(self, lanes: int) -> None:
        """Do so where each lane is as slow as an executor that computes its rows meanwhile."""
        job = self._begin(connections=TASKS)
        with self._run("slow lanes", rows=self.rows // _PART_OF_MANY, lanes=lanes):
            receipts = self._send(job, lanes, "--max-rate", str(self.rate), part=_PART_OF_MANY)
        if lanes == LANES[-1]:
            self._publish("publish append", job, receipts)
        else:
            _driver.abort(job)
        self.sql.execute(f"TRUNCATE {TABLE}")

    def jobs(self, lanes: int) -> None:
        """Load all files by one command over so many connections, into the table itself."""
        with self._run("jobs", rows=self.rows, lanes=lanes):
            self._howdah(*map(str, self.files), "--table", TABLE, "--mode", "append", "--jobs", str(lanes))
        self.sql.execute(f"TRUNCATE {TABLE}")

    def new_table(self, part: int) -> None:
        """Send a part of the rows into a stage that becomes a table, and publish them after a checkpoint."""
        job = self._begin(table="fresh", mode="create", connections=TASKS)
        with self._run("lanes of a new table", rows=self.rows // part, lanes=2) as run:
            receipts = self._send(job, 2, part=part)
        run["table_bytes"] = self.value(f"SELECT pg_table_size('{job.stage}')")
        self._publish("publish new", job, receipts)
        with self._run("first reader", rows=self.rows // part):
            self.sql.execute("SELECT count(*) FROM fresh")
        self.sql.execute("DROP TABLE fresh")

    def crowded_ledger(self) -> None:
        """Begin a job where the ledger knows many of the last days."""
        # The first job makes it.
        _driver.abort(self._begin())
        self.sql.execute(
            "INSERT INTO howdah_jobs (job, attempt, state, at)"
            " SELECT 'of-another-day-' || n, 0, 'published', now()"
            f" FROM generate_series(1, {_MANY_JOBS}) AS n"
        )
        with self._run("begin beside many"):
            job = self._begin()
        _driver.abort(job)
        self.sql.execute("DELETE FROM howdah_jobs WHERE job LIKE 'of-another-day-%'")

    def steps(self) -> None:
        """Take what has no rows to speak of, one after the other."""
        row = self._some(1)
        for _ in range(_STEPS):
            with self._run("begin"):
                job = self._begin()
            with self._run("start of the command"):
                self._task(job, self.files[0], "--limit", "1")
            with self._run("task"):
                receipt = _attempt.load(job, iter([row]))
            self._locks(job)
            with self._run("publish one row"):
                _driver.publish(job, [receipt])
        self._statements(self._begin())
        going = self._begin(job_id=f"round {self.round}")
        for partition in range(_STEPS):
            with self._run("task that adds"):
                _attempt.load_partition(going, iter([row]), partition)
        _driver.abort(going)
        self.sql.execute(f"TRUNCATE {TABLE}")

    def refusals(self) -> None:
        """Ask for slots that are taken."""
        job = self._begin(connections=1)
        with psycopg.connect(self.dsn) as holder:
            holder.execute(_ledger.admission(job))
            row = self._some(1)
            with self._run("refusals", times=_STEPS):
                for _ in range(_STEPS):
                    self._refused(job, row)
        _driver.abort(job)

    def receipts(self) -> None:
        """Publish a thousand attempts of a row each."""
        job = self._begin()
        names = f"({', '.join(f'{name!r}' for name in job.targets)})".replace("'", '"')
        values = f"INSERT INTO {job.stage} {names} SELECT {', '.join(['NULL'] * len(job.targets))}"
        with self._run("ledger rows", times=RECEIPTS):
            for attempt in range(1, RECEIPTS + 1):
                with self.sql.transaction():
                    self.sql.execute(values)
                    self.sql.execute(_ledger.attempted(job, attempt, None))
        receipts = [Receipt(attempt=attempt, rows=1) for attempt in range(1, RECEIPTS + 1)]
        with self._run("publish receipts", times=RECEIPTS):
            _driver.publish(job, receipts)
        self.sql.execute(f"TRUNCATE {TABLE}")

    def waiting(self) -> None:
        """Let more tasks come at once than there are slots."""
        job = self._begin(connections=WAITING_SLOTS)
        table = self._some(self.rows // TASKS // _STEPS)

        def task() -> None:
            _attempt.load(job, iter(table.to_batches()))

        with self._run("alone", times=WAITING_SLOTS):
            self._at_once(task, WAITING_SLOTS)
        with self._run("waiting", tasks=WAITING_TASKS, slots=WAITING_SLOTS):
            self._at_once(task, WAITING_TASKS)
        _driver.abort(job)

    def _part(self, measure: Callable[[int], None], lanes: int) -> Callable[[], None]:
        return lambda: measure(lanes)

    def _publish(self, what: str, job: Job, receipts: list[Receipt]) -> None:
        # As if the job had taken long: its pages were written since, and the log begins anew.
        self.sql.execute("CHECKPOINT")
        with self._run(what, rows=sum(receipt.rows for receipt in receipts)):
            _driver.publish(job, receipts)

    def _statements(self, job: Job) -> None:
        """Take a slot, note an attempt, and commit, by SQL alone."""
        attempts = iter(range(1, 4 * _STEPS + 1))
        for _ in range(_STEPS):
            with self._run("slot"), self.sql.transaction():
                self.sql.execute(_ledger.admission(job))
            with self._run("nothing"), self.sql.transaction():
                self.sql.execute("SELECT 1")
            with self._run("note and commit"), self.sql.transaction():
                self.sql.execute(_ledger.attempted(job, next(attempts), None))
            with self._run("note"), self.sql.transaction():
                self.sql.execute("SET LOCAL synchronous_commit = off")
                self.sql.execute(_ledger.attempted(job, next(attempts), None))
        _driver.abort(job)

    def _locks(self, job: Job) -> None:
        """Count the locks that a task has when it commits: all, and those in the table that all share."""
        with self.sql.transaction():
            self.sql.execute(_ledger.admission(job))
            self.sql.execute(f"INSERT INTO {job.stage} SELECT * FROM {TABLE} LIMIT 0")
            self.sql.execute(_ledger.attempted(job, 2, None))
            found = self.sql.execute(
                "SELECT count(*), count(*) FILTER (WHERE NOT fastpath) FROM pg_locks"
                " WHERE pid = pg_backend_pid() AND relation IS DISTINCT FROM 'pg_locks'::regclass"
                " AND locktype <> 'virtualxid'"
            ).fetchone()
            assert found is not None  # noqa: S101 - a count is a row
        self._keep({"what": "locks", "all": found[0], "shared": found[1]})

    def _refused(self, job: Job, row: pa.RecordBatch) -> None:
        try:
            howdah.load(
                row,
                job.stage,
                job.spec.dsn,
                mode="append",
                before=[_ledger.WATCH, _ledger.admission(job)],
                jobs=1,
                progress=False,
            )
        except howdah.Error as error:
            if error.sqlstate != "HW001":
                raise
        else:
            message = "a slot that is taken was given"
            raise AssertionError(message)

    def _begin(
        self,
        *,
        table: str = TABLE,
        mode: Any = "append",  # noqa: ANN401
        connections: int = 4,
        job_id: str | None = None,
    ) -> Job:
        spec = JobSpec(dsn=self.dsn, table=table, mode=mode, connections=connections, job_id=job_id)
        return _driver.begin(spec, self._some(1).schema)

    def _send(self, job: Job, lanes: int, *options: str, part: int = 1) -> list[Receipt]:
        """Run all tasks, so many at once, each with a part of its rows."""
        limit = str(self.rows // TASKS // part)
        left: queue.SimpleQueue[Path] = queue.SimpleQueue()
        for file in self.files:
            left.put(file)
        receipts: list[Receipt] = []

        def lane() -> None:
            with contextlib.suppress(queue.Empty):
                while True:
                    receipts.append(self._task(job, left.get_nowait(), "--limit", limit, *options))

        self._at_once(lane, lanes)
        if len(receipts) < TASKS:
            message = f"{len(receipts)} of {TASKS} tasks are done"
            raise AssertionError(message)
        return receipts

    def _at_once(self, work: Callable[[], None], times: int) -> None:
        """Run it in so many threads; the first failure is raised."""
        failures: list[BaseException] = []

        def kept() -> None:
            try:
                work()
            except BaseException as error:  # noqa: BLE001 - raised below
                failures.append(error)

        threads = [threading.Thread(target=kept) for _ in range(times)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if failures:
            raise failures[0]

    def _task(self, job: Job, file: Path, *options: str) -> Receipt:
        attempt = random.getrandbits(62) + 1
        around = [
            f"--before={_ledger.WATCH}",
            f"--before={_ledger.admission(job)}",
            f"--after={_ledger.attempted(job, attempt, None)}",
        ]
        done = self._howdah(
            str(file), "--table", job.stage, "--mode", "append", "--jobs", "1", *around, *options
        )
        return Receipt(attempt=attempt, rows=json.loads(done)["rows"])

    def _howdah(self, *arguments: str) -> bytes:
        command = [*self.command, "load", *arguments, "-d", self.dsn, "--quiet", "--report", "json"]
        return subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout

    def _file(self, number: int) -> Path:
        """Make a task's rows, as Arrow: executors have them in memory."""
        made, file = self.folder / "made.parquet", self.folder / f"task-{number}.arrow"
        rows = str(self.rows // TASKS)
        dataset = ["dataset", "readings", "--rows", rows, "--seed", str(number + 1)]
        command = [*self.command, *dataset, "--format", "parquet", "-o", str(made)]
        subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
        table = pq.read_table(made)
        with pa.OSFile(str(file), "wb") as output, pa.ipc.new_file(output, table.schema) as writer:
            writer.write_table(table, max_chunksize=1 << 16)
        made.unlink()
        return file

    def _some(self, rows: int) -> Any:  # noqa: ANN401 - a table of pyarrow
        with pa.memory_map(str(self.files[0])) as source:
            table = pa.ipc.open_file(source).read_all().slice(0, rows).combine_chunks()
        return table.to_batches()[0] if rows == 1 else table

    @contextlib.contextmanager
    def _run(self, what: str, **facts: int) -> Iterator[Run]:
        """Keep as a run what happens meanwhile: seconds, CPU of clients and server, bytes of the log."""
        run: Run = {"what": what, **facts}
        log, server, client = self._log(), scale_cpu.of_server(self.postmaster), scale_cpu.of_clients()
        machine = scale_cpu.of_machine()
        start = time.perf_counter()
        yield run
        run["seconds"] = time.perf_counter() - start
        run["machine_cpu"] = scale_cpu.of_machine() - machine
        run["client_cpu"] = scale_cpu.of_clients() - client
        run["server_cpu"] = scale_cpu.of_server(self.postmaster) - server
        run["log_bytes"] = self._log() - log
        self._keep(run)

    def _keep(self, run: Run) -> None:
        run["round"] = self.round
        self.runs.append(run)

    def _log(self) -> int:
        return self.value("SELECT (pg_current_wal_insert_lsn() - '0/0')::bigint")

    def value(self, statement: str) -> int:
        """Give the one number that it finds."""
        found = self.sql.execute(statement).fetchone()
        assert found is not None  # noqa: S101 - callers ask for one
        return int(found[0])
