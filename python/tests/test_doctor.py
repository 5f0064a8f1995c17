"""``howdah.doctor``: what the command finds, as objects; nothing stays, however it ends."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest
from conftest import Database

import howdah

COMMAND = Path(sys.executable).parent / "howdah"


@pytest.fixture
def orders(database: Database) -> Database:
    database.sql(
        "CREATE TABLE orders (id int PRIMARY KEY, customer int, note text);"
        "CREATE INDEX twice ON orders (customer); CREATE INDEX once ON orders (customer, id);"
        "INSERT INTO orders SELECT n, n % 100, 'note ' || n FROM generate_series(1, 20000) n;"
        # Rows that are counted later are rows since the analysis.
        "SELECT pg_stat_force_next_flush(); ANALYZE orders"
    )
    return database


def test_it_finds_what_the_command_finds(orders: Database) -> None:
    command = [str(COMMAND), "doctor", "-d", orders.dsn, "--table", "orders", "--report", "json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    told = json.loads(done.stdout)
    found = howdah.doctor("orders", orders.dsn)
    assert [finding.id for finding in found.findings] == [finding["id"] for finding in told["findings"]]
    assert list(found.fine) == told["fine"]
    assert found.report.keys() == told.keys()
    (twice,) = [finding for finding in found.findings if finding.id == "index.duplicate"]
    assert (twice.severity, twice.basis, twice.cost) == ("costs", "seen", None)
    assert (twice.remedies[0].kind, twice.remedies[0].label) == ("sql", "durable")
    assert twice.remedies[0].text == ["DROP INDEX CONCURRENTLY public.twice;"]
    assert str(twice) == "- index.duplicate: public.twice is covered by once"
    assert str(twice) in repr(found).splitlines()
    assert repr(found).endswith("fine. Nothing was measured.")
    assert orders.dsn not in found.server


def test_the_remedies_are_a_script_that_runs_and_leads_back(orders: Database) -> None:
    definition = "SELECT string_agg(pg_get_indexdef(indexrelid), ';' ORDER BY indexrelid::regclass::text)"
    definition += " FROM pg_index WHERE indrelid = 'orders'::regclass"
    before = orders.value(definition)
    lines = howdah.doctor("orders", orders.dsn).script.splitlines()
    for statement in [line for line in lines if line and not line.startswith("--")]:
        orders.sql(statement)
    assert "twice" in before
    assert "twice" not in orders.value(definition)
    for statement in [line.removeprefix("-- undo: ") for line in lines if line.startswith("-- undo: ")]:
        orders.sql(statement)
    assert orders.value(definition) == before


def test_options_of_the_load_are_python_s(orders: Database) -> None:
    orders.sql("CREATE TABLE fresh AS SELECT n FROM generate_series(1, 1000) n")
    (finding,) = [f for f in howdah.doctor("fresh", orders.dsn).findings if f.id == "table.analyze"]
    assert ("load", "analyze=True") in [(remedy.kind, remedy.text) for remedy in finding.remedies]


def test_a_report_is_judged_again_by_the_command(orders: Database, tmp_path: Path) -> None:
    found = howdah.doctor("orders", orders.dsn)
    saved = tmp_path / "looked.json"
    saved.write_text(json.dumps(found.report), encoding="utf-8")
    command = [str(COMMAND), "doctor", "--facts", str(saved), "--report", "json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    again = [finding["id"] for finding in json.loads(done.stdout)["findings"]]
    assert again == [finding.id for finding in found.findings]


def test_what_became_of_it_is_said(orders: Database, tmp_path: Path) -> None:
    before = howdah.doctor("orders", orders.dsn)
    orders.sql("DROP INDEX twice; ALTER TABLE orders SET UNLOGGED")
    saved = tmp_path / "before.json"
    saved.write_text(json.dumps(before.report), encoding="utf-8")
    for baseline in (before, saved):
        found = howdah.doctor("orders", orders.dsn, baseline=baseline)
        assert found.comparison is not None
        assert found.comparison["gone"] == ["index.duplicate: public.twice is covered by once"]
        assert found.comparison["new"] == ["table.unlogged: public.orders is unlogged"]
    with pytest.raises(howdah.Error, match=r"none\.json cannot be read"):
        howdah.doctor("orders", orders.dsn, baseline=tmp_path / "none.json")
    orders.sql("CREATE TABLE other (id int)")
    with pytest.raises(howdah.ProgrammingError, match=r"the baseline is of public\.orders"):
        howdah.doctor("other", orders.dsn, baseline=before)


def test_what_is_to_come_is_counted(orders: Database, tmp_path: Path) -> None:
    csv = tmp_path / "orders.csv"
    csv.write_text(
        "id,customer,note\n" + "".join(f"{n},1,x\n" for n in range(20001, 20101)), encoding="utf-8"
    )
    found = howdah.doctor("orders", orders.dsn, data=csv)
    assert found.report["ask"]["input"] == {"rows": 100, "is_counted": True}
    bad = tmp_path / "bad.csv"
    bad.write_text("id,customer,note\nno,1,x\n", encoding="utf-8")
    found = howdah.doctor("orders", orders.dsn, data=str(bad))
    assert "input" not in found.report["ask"]
    assert "a dry run of the load failed" in found.notices[-1]


def test_it_watches(orders: Database) -> None:
    found = howdah.doctor(dsn=orders.dsn, watch=1)
    watched = found.report["facts"]["watched"]
    assert watched["seconds"] >= 1
    assert watched["looks"] >= 1
    assert watched["work"]["seen"].keys() == {"seconds", "commits", "rows", "log", "full_pages"}
    assert "watched" not in howdah.doctor(dsn=orders.dsn).report["facts"]
    with pytest.raises(howdah.ProgrammingError, match="a number of seconds, more than 0"):
        howdah.doctor(dsn=orders.dsn, watch=0)


def test_it_watches_programs(orders: Database) -> None:
    found = howdah.doctor(dsn=orders.dsn, watch=1, app=True)
    programs = found.report["facts"]["watched"]["programs"]
    assert programs["seconds"] >= 1
    assert programs["database"]["seen"].keys() == {"commits", "writing", "sessions", "active_s", "idle_s"}
    # The server of the tests does not count statements.
    gaps = [gap for gap in found.not_seen if gap["what"] == "what statements programs send"]
    assert "pg_stat_statements" in gaps[0]["shown_by"]
    assert not any(rule.startswith("app.commit") for rule in found.fine)


def test_it_measures(orders: Database) -> None:
    found = howdah.doctor(
        "orders", orders.dsn, rows=1_000_000, measure=True, seconds=8, bytes=1 << 30, allow_busy=True
    )
    measured = {finding.id: finding.cost for finding in found.findings if finding.cost}
    assert found.report["measured"] is True
    assert measured or found.no_difference, found
    for cost in [*measured.values(), *found.no_difference.values()]:
        assert cost.low <= cost.median <= cost.high
        assert cost.rounds > 0
        assert str(cost).endswith(")")
    assert found.prediction is not None
    assert found.prediction["rows"] == 1_000_000
    assert orders.value("SELECT count(*) FROM pg_class WHERE relname LIKE '%howdah%'") == "0"


def test_it_tries_what_it_found(orders: Database) -> None:
    found = howdah.doctor(
        "orders", orders.dsn, tries=["index.duplicate"], seconds=8, bytes=1 << 30, allow_busy=True
    )
    assert found.tried is not None
    assert found.tried["ids"] == ["index.duplicate"]
    assert found.tried["without"] == ["index twice"]
    assert found.tried["saved"]["rounds"] > 0
    assert found.prescription is None
    with pytest.raises(howdah.ProgrammingError, match=r"\"fk.cost\" cannot be tried on public\.orders"):
        howdah.doctor("orders", orders.dsn, tries="fk.cost")


def test_a_stop_leaves_nothing_and_is_raised_again(orders: Database) -> None:
    working = (
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
        " AND application_name = 'howdah' AND backend_xid IS NOT NULL"
    )

    def stop() -> None:
        while orders.value(working) == "0":
            pass
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=stop)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        howdah.doctor("orders", orders.dsn, measure=True, seconds=600, allow_busy=True)
    thread.join()
    assert orders.value("SELECT count(*) FROM pg_class WHERE relname LIKE '%howdah%'") == "0"
    assert orders.value("SELECT count(*) FROM orders") == "20000"


def test_it_applies_on_a_server_of_howdahs_own(monkeypatch: pytest.MonkeyPatch) -> None:
    with tempfile.TemporaryDirectory(prefix="howdah-test-", dir="/tmp") as folder:
        Path(folder).chmod(0o755)
        monkeypatch.setenv("HOWDAH_DATA_DIR", folder)

        def server(*arguments: str) -> str:
            command = [str(COMMAND), "server", "--name", "trial", *arguments]
            return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

        server("start")
        try:
            for setting in ("SET commit_delay = 20000", "SET commit_siblings = 0"):
                server("psql", "--", "-qc", f"ALTER SYSTEM {setting}")
            server("psql", "--", "-qc", "SELECT pg_reload_conf()")
            found = howdah.doctor(server="trial", apply="commit.delay", seconds=8, allow_busy=True)
            (applied,) = found.applied
            assert (applied["id"], applied["is_kept"]) == ("commit.delay", True)
            assert "commit.delay" not in [finding.id for finding in found.findings]
            assert server("psql", "--", "-Atc", "SHOW commit_delay") == "0"
            with pytest.raises(howdah.ProgrammingError, match="nothing was found under this name"):
                howdah.doctor(server="trial", apply=["commit.delay"])
        finally:
            server("delete", "--yes")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"seconds": 5.0}, "seconds is for measuring"),
        ({"bytes": 5}, "bytes is for measuring"),
        ({"rows": 1, "size": 1}, "rows and size both say"),
        ({"data": "x.csv"}, "none is named"),
        ({"measure": True, "seconds": 0.0}, "more than 0"),
        ({"apply": ["commit.delay"], "measure": True}, "apply measures by itself"),
        ({"apply": "commit.delay"}, "only to servers that are howdah's own"),
    ],
)
def test_what_does_not_go_together_is_refused(
    arguments: dict[str, object], message: str, database: Database
) -> None:
    with pytest.raises(howdah.ProgrammingError, match=message):
        howdah.doctor(dsn=database.dsn, **arguments)  # type: ignore[arg-type]


def test_a_table_or_server_that_is_not_there_is_an_error(database: Database) -> None:
    with pytest.raises(howdah.ProgrammingError) as caught:
        howdah.doctor("nowhere", database.dsn)
    assert caught.value.sqlstate == "42P01"
    with pytest.raises(howdah.OperationalError):
        howdah.doctor(dsn="host=/nowhere dbname=x")
