"""Failures: what they are, where, and that nothing is changed."""

import pickle
import re
import traceback
from pathlib import Path

import pytest
from conftest import Database, secret_in

import howdah
from howdah._options import Options, WriterOptions

REPOSITORY = Path(__file__).parents[2]


def failure(data: object, database: Database, **options: object) -> howdah.Error:
    with pytest.raises(howdah.Error) as caught:
        howdah.load(data, "t", database.dsn, **options)  # type: ignore[arg-type]
    return caught.value


@pytest.fixture
def people(tmp_path: Path) -> Path:
    path = tmp_path / "people.csv"
    path.write_text("id,born\n1,1815-12-10\n2,1906-13-09\n")
    return path


def test_an_error_says_where_what_and_what_is_visible(database: Database, people: Path) -> None:
    database.sql("CREATE TABLE t (id int, born date)")
    error = failure(people, database)
    assert type(error) is howdah.DataError
    assert isinstance(error, howdah.DatabaseError)
    assert (error.sqlstate, error.column, error.committed) == ("22008", "born", False)
    assert error.location == howdah.Location(str(people), line=3, byte_offset=21)
    assert error.visible == "nothing was changed"
    assert error.report is not None
    assert (error.report.outcome, error.report.rows) == ("failed", 0)
    text = str(error)
    assert text.startswith(f"{people}, line 3 (byte 21), column born: date/time field value out of range")
    assert "(SQLSTATE 22008)" in text
    assert text.endswith("now: nothing was changed")
    assert database.value("SELECT count(*) FROM t") == "0"


def test_errors_are_what_db_api_calls_them(database: Database, people: Path, tmp_path: Path) -> None:
    database.sql(
        "CREATE TABLE t (id int PRIMARY KEY, born text); INSERT INTO t VALUES (1);"
        "CREATE FUNCTION no() RETURNS trigger LANGUAGE plpgsql AS"
        " $$BEGIN RAISE EXCEPTION 'not today' USING ERRCODE = 'P0001'; END$$"
    )
    assert type(failure(people, database)) is howdah.IntegrityError
    assert type(failure(people, database, mode="create")) is howdah.ProgrammingError
    assert type(failure(people, database, map={"zz": "id"})) is howdah.ProgrammingError
    assert type(failure(tmp_path / "absent.csv", database)) is howdah.InterfaceError
    database.sql("CREATE TRIGGER no BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION no()")
    raised = failure(people, database)
    assert (type(raised), raised.sqlstate) == (howdah.DatabaseError, "P0001")
    nowhere = Database(f"host={tmp_path} dbname=x user=y", database.psql)
    assert type(failure(people, nowhere)) is howdah.OperationalError
    missing = Database(database.dsn.rsplit("/", 1)[0] + "/no_such_database", database.psql)
    assert type(failure(people, missing)) is howdah.OperationalError


def test_a_constraint_is_named(database: Database, people: Path) -> None:
    database.sql("CREATE TABLE t (id int CONSTRAINT small CHECK (id < 2), born text)")
    error = failure(people, database)
    assert (type(error), error.constraint, error.sqlstate) == (howdah.IntegrityError, "small", "23514")


def test_too_many_rejects_load_nothing(database: Database, people: Path) -> None:
    database.sql("CREATE TABLE t (id int, born date)")
    error = failure(people, database, on_error="ignore", reject_limit=0)
    assert type(error) is howdah.DataError
    assert error.report is not None
    assert error.report.rows_rejected == 1
    assert database.value("SELECT count(*) FROM t") == "0"


def test_rows_that_committed_by_themselves_are_said_to_be_in(database: Database) -> None:
    database.sql("CREATE TABLE t (id int CHECK (id < 3))")
    error = failure([(1,), (2,), (3,), (4,)], database, write_path="insert-autocommit")
    assert (type(error), error.committed) == (howdah.IntegrityError, True)
    assert error.report is not None
    assert error.report.rows == 2
    assert database.value("SELECT count(*) FROM t") == "2"


def test_messages_name_arguments_and_not_options(database: Database, people: Path) -> None:
    database.sql("CREATE TABLE t (other int)")
    error = failure(people, database, header=True)
    assert "--" not in str(error)
    assert "skip_columns" in str(error.hint)
    assert "--" not in str(failure([{"other": "x--mode"}], database)).replace("x--mode", "")


def test_messages_name_no_parameter_that_is_not_there() -> None:
    lists = REPOSITORY.glob("crates/*/src/**/setting.rs")
    setting = re.compile(r'^    [A-Z_]+ = "(\w+)",$', re.MULTILINE)
    settings = [name for path in lists for name in setting.findall(path.read_text())]
    assert {"mode", "on_error"} <= set(settings)
    # Of the connection string, a parameter of its own; of streams and the doctor, which only the command has.
    others = {"username", "dbname", "table", "follow", "state", "state_table"}
    others |= {"allow_busy", "allow_event_triggers"}
    assert set(settings) - others <= {*Options.__annotations__, *WriterOptions.__annotations__}


def test_messages_show_options_as_python_writes_them(database: Database, people: Path) -> None:
    database.sql("CREATE TABLE t (id int, born date)")
    people.write_text("id,born\n1,1815-12-10\n2,NULL\n")
    hint = failure(people, database).hint
    assert str(hint).startswith('if NULL stands for no value, add null="NULL"; on_error="ignore" keeps')
    assert failure(people, database, key=["id"]).message == "key is for new tables, and public.t exists"
    hint = failure(people, database, mode="create").hint
    assert str(hint).startswith('mode="append" adds to it')
    hint = failure(people, database, header=True, columns=["zz", "born"]).hint
    expected = 'map={NAME: COLUMN} renames, skip_columns=NAME leaves out, columns=["a", "b", …]'
    assert str(hint).startswith(expected)


def test_an_error_survives_a_pickle(database: Database, people: Path) -> None:
    database.sql("CREATE TABLE t (id int, born date)")
    error = failure(people, database)
    again = pickle.loads(pickle.dumps(error))  # noqa: S301
    assert type(again) is type(error)
    assert (str(again), again.location, again.report) == (str(error), error.location, error.report)


def test_a_password_is_in_no_message(database: Database, people: Path) -> None:
    secret = "hunter2"  # noqa: S105
    wrong = database.dsn.replace(database.dsn.split(":")[2].split("@")[0], secret)
    error = failure(people, Database(wrong, database.psql))
    assert type(error) is howdah.OperationalError
    assert secret not in f"{error} {error!r} {error.report!r} {error.report and error.report.error}"


@pytest.mark.parametrize(
    "dsn",
    [
        "mysql://u:canary@h/d",
        "u:canary@h/d",
        "postgresql://u:canary/d",
        "host=h canary=1",
        "host=h;password=canary",
        "host=u:canary@h",
        "u/canary@h/d",
    ],
)
def test_a_connection_string_that_is_not_understood_is_not_shown(dsn: str) -> None:
    for call in (lambda: howdah.load([{"a": 1}], "t", dsn), lambda: howdah.Writer("t", dsn)):
        with pytest.raises(howdah.Error) as caught:
            call()
        assert "canary" not in f"{caught.value} {caught.value!r}"


def test_no_text_of_a_writer_or_a_server_holds_the_password(
    server: howdah.Server, database: Database
) -> None:
    password = server.dsn.split(":")[2].split("@")[0]
    database.sql("CREATE TABLE t (a int CHECK (a > 0))")
    with howdah.Writer("t", database.dsn) as writer:
        with pytest.raises(howdah.Error) as refused:
            writer.write({"a": -1}).result()
        shown = [repr(writer), repr(writer.statistics), repr(server), str(server)]
    wrong = database.dsn.replace(password, f"not-{password}")
    with pytest.raises(howdah.Error) as unknown:
        howdah.Writer("t", wrong)
    for error in (refused.value, unknown.value):
        shown += [repr(error), str(error), *map(str, getattr(error, "__notes__", []))]
        shown.append("".join(traceback.format_exception(error)))
    assert secret_in(password, shown) is None
    # The search finds what is there, and does not repeat it.
    assert secret_in(password, ["fine", f"it is {password}"]) == "it is [the password]"
