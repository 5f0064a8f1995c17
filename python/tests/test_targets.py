"""What SQLAlchemy and psycopg connect with, as targets: howdah's own connections go where theirs go."""

import asyncio
import functools
import ssl
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import pytest
from conftest import Database, secret_in
from require import library

import howdah
from howdah import _conninfo

ROWS = [{"id": 1, "v": "a"}, {"id": 2, "v": "b"}]


def password_of(dsn: str) -> str:
    return dsn.split(":")[2].partition("@")[0]


def alchemy_url(dsn: str, driver: str = "psycopg") -> str:
    return dsn.replace("postgresql://", f"postgresql+{driver}://", 1)


@pytest.fixture
def engine(database: Database) -> Iterator[Any]:
    alchemy = library("sqlalchemy")
    library("psycopg")
    engine = alchemy.create_engine(alchemy_url(database.dsn))
    yield engine
    engine.dispose()


@pytest.fixture
def connection(database: Database) -> Iterator[Any]:
    with closing(library("psycopg").connect(database.dsn)) as connection:
        yield connection


def loads(target: Any, database: Database) -> None:  # noqa: ANN401 - any kind of target
    """Load into it in every way, and find the rows in the database."""
    database.sql("DROP TABLE IF EXISTS t; CREATE TABLE t (id int, v text)")
    assert howdah.load(ROWS, "t", target).rows == 2
    assert asyncio.run(howdah.aload(ROWS, "t", target)).rows == 2
    with howdah.bulk("t", target) as bulk:
        bulk.write((3, "c"))
    with howdah.Writer("t", target) as writer:
        writer.write((4, "d")).result()

    async def written() -> None:
        async with howdah.AsyncWriter("t", target) as writer:
            await (await writer.write((5, "e")))

    asyncio.run(written())
    assert database.value("SELECT count(*), sum(id) FROM t") == "7|18"
    password = password_of(database.dsn)
    assert secret_in(password, [repr(writer), repr(bulk)]) is None


def test_an_engine_names_its_server(engine: Any, database: Database) -> None:  # noqa: ANN401
    loads(engine, database)
    assert engine.pool.checkedout() == 0


def test_a_url_of_sqlalchemy_names_its_server(database: Database) -> None:
    make_url = library("sqlalchemy.engine").make_url
    loads(make_url(alchemy_url(database.dsn)), database)
    loads(make_url(alchemy_url(database.dsn, "asyncpg") + "?prepared_statement_cache_size=0"), database)
    loads(alchemy_url(database.dsn, "asyncpg"), database)


def test_connections_and_sessions_of_sqlalchemy_name_their_server(
    engine: Any,  # noqa: ANN401
    database: Database,
) -> None:
    orm = library("sqlalchemy.orm")
    with engine.connect() as connection:
        loads(connection, database)
    with orm.Session(engine) as session:
        loads(session, database)
    loads(orm.scoped_session(orm.sessionmaker(engine)), database)


def test_a_connection_of_psycopg_names_its_server(connection: Any, database: Database) -> None:  # noqa: ANN401
    loads(connection, database)
    loads(connection.info, database)
    assert connection.info.transaction_status.name == "IDLE", "it is left as it is"


def test_a_connection_of_psycopg2_names_its_server(database: Database) -> None:
    with closing(library("psycopg2").connect(database.dsn)) as connection:
        loads(connection, database)
        loads(connection.info, database)
        connection.cursor().execute("SELECT 1")
        with pytest.warns(howdah.TransactionWarning):
            howdah.load(ROWS, "t", connection)


@pytest.mark.parametrize("driver", ["psycopg2", "pg8000"])
def test_engines_of_other_drivers_name_their_server(driver: str, database: Database) -> None:
    alchemy = library("sqlalchemy")
    library(driver)
    engine = alchemy.create_engine(alchemy_url(database.dsn, driver))
    loads(engine, database)
    with engine.connect() as connection:
        loads(connection, database)
    engine.dispose()


def test_async_engines_and_connections_name_their_server(database: Database) -> None:
    extension = library("sqlalchemy.ext.asyncio")
    psycopg = library("psycopg")
    library("greenlet")
    engine = extension.create_async_engine(alchemy_url(database.dsn))
    loads(engine, database)

    async def load() -> None:
        database.sql("CREATE TABLE a (id int, v text)")
        async with engine.connect() as connection:
            await howdah.aload(ROWS, "a", connection)
        async with extension.AsyncSession(engine) as session:
            await howdah.aload(ROWS, "a", session)
        async with await psycopg.AsyncConnection.connect(database.dsn) as connection:
            await howdah.aload(ROWS, "a", connection)
        with pytest.raises(howdah.InterfaceError, match="not connected"):
            await howdah.aload(ROWS, "a", engine.connect())
        await engine.dispose()

    asyncio.run(load())
    assert database.value("SELECT count(*) FROM a") == "6"


def test_what_an_engine_is_told_beside_its_url_counts(database: Database) -> None:
    alchemy = library("sqlalchemy")
    extension = library("sqlalchemy.ext.asyncio")
    psycopg = library("psycopg")
    library("greenlet")
    bare = alchemy_url(database.dsn).replace(f":{password_of(database.dsn)}@", "@")
    arguments = {"password": password_of(database.dsn), "options": "-c search_path=elsewhere"}
    database.sql("CREATE SCHEMA elsewhere; CREATE TABLE elsewhere.t (id int, v text)")
    engines = [
        alchemy.create_engine(bare, connect_args=arguments),
        alchemy.create_engine(bare, creator=lambda: psycopg.connect(database.dsn, **arguments)),
        extension.create_async_engine(bare, connect_args=arguments),
    ]
    for engine in engines:
        assert howdah.load(ROWS, "t", engine).table == "elsewhere.t"
    engines[0].dispose()
    engines[1].dispose()


def test_tls_of_other_drivers_is_taken_over_or_refused(database: Database) -> None:
    extension = library("sqlalchemy.ext.asyncio")
    library("asyncpg")
    library("greenlet")
    url = alchemy_url(database.dsn, "asyncpg")
    loads(extension.create_async_engine(url), database)
    for verifying, says in (
        ("verify-full", "root certificate"),
        (True, "not support SSL"),
        ("require", "SSL"),
    ):
        engine = extension.create_async_engine(url, connect_args={"ssl": verifying})
        with pytest.raises(howdah.OperationalError, match=says):
            howdah.load(ROWS, "t", engine)
    engine = extension.create_async_engine(url, connect_args={"ssl": ssl.create_default_context()})
    with pytest.raises(howdah.ProgrammingError, match="TLS is a value of type SSLContext") as caught:
        howdah.load(ROWS, "t", engine)
    assert "sslrootcert=FILE" in str(caught.value.hint)
    settings = {"server_settings": {"application_name": "it's", "search_path": '"a b", public'}}
    engine = extension.create_async_engine(url, connect_args=settings)
    said = "SELECT current_setting('application_name') || '|' || current_setting('search_path')"
    howdah.load(ROWS, "said", engine, before=f"CREATE TABLE named AS {said}")
    assert database.value("TABLE named") == 'it\'s|"a b", public'
    engine = extension.create_async_engine(url, async_creator=lambda: None)
    with pytest.raises(howdah.ProgrammingError, match="a function of its own"):
        howdah.load(ROWS, "t", engine)


def test_odd_passwords_and_names_stay_what_they_are(database: Database) -> None:
    url = library("sqlalchemy.engine").URL
    secret = "a'b\\c d@e:f/g%h?i"  # noqa: S105
    quoted = secret.replace("'", "''")
    database.sql(f"CREATE ROLE \"o'dd \\ one\" LOGIN PASSWORD '{quoted}'")
    database.sql("CREATE TABLE t (id int, v text); GRANT ALL ON t TO PUBLIC")
    host, _, port = database.dsn.split("@")[1].split("/")[0].partition(":")
    name = database.dsn.rpartition("/")[2]
    odd = url.create("postgresql+psycopg", "o'dd \\ one", secret, host, int(port), name)
    assert howdah.load(ROWS, "t", odd).rows == 2
    hosts = {"host": ("127.0.0.1:1", f"{host}:{port}")}
    several = url.create("postgresql+psycopg", "o'dd \\ one", secret, database=name, query=hosts)
    assert howdah.load(ROWS, "t", several).rows == 2
    psycopg = library("psycopg")
    parameters = {"host": host, "port": port, "user": "o'dd \\ one", "password": secret, "dbname": name}
    with closing(psycopg.connect(**parameters)) as connection:
        assert howdah.load(ROWS, "t", connection).rows == 2


def test_several_hosts_of_a_url_are_taken_apart() -> None:
    make_url = library("sqlalchemy.engine").make_url
    query = "host=a:1&host=b&host=%5B::1%5D:2&host=::2&sslmode=require&prepare_threshold=3"
    assert _conninfo.of_url(make_url(f"postgresql+psycopg://u:p@/d?{query}")) == (
        "user='u' password='p' dbname='d' host='a,b,::1,::2' port='1,,2,' sslmode='require'"
    )
    assert _conninfo.of_url(make_url("postgresql://")) == "host=''"


def test_the_environment_does_not_lead_elsewhere(
    connection: Any,  # noqa: ANN401
    database: Database,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in {"PGHOST": "nowhere.invalid", "PGPORT": "1", "PGSSLMODE": "verify-full"}.items():
        monkeypatch.setenv(name, value)
    assert howdah.load(ROWS, "t", connection).rows == 2
    monkeypatch.undo()
    assert database.value("SELECT count(*) FROM t") == "2"


def test_a_transaction_is_said_not_to_be_shared(connection: Any, engine: Any, database: Database) -> None:  # noqa: ANN401
    orm = library("sqlalchemy.orm")
    text = library("sqlalchemy").text
    database.sql("CREATE TABLE t (id int, v text)")

    def warned(call: Callable[[], object]) -> None:
        with pytest.warns(howdah.TransactionWarning, match="is not shared") as caught:
            call()
        assert caught[0].filename == __file__

    connection.execute("SELECT 1")
    warned(lambda: howdah.load(ROWS, "t", connection))
    warned(lambda: howdah.Writer("t", connection).close())
    warned(lambda: howdah.bulk("t", connection).finish())
    with engine.connect() as open_, orm.Session(engine) as session:
        howdah.load(ROWS, "t", open_)
        howdah.load(ROWS, "t", session)
        for target in (open_, session):
            target.execute(text("INSERT INTO t VALUES (9)"))
            warned(functools.partial(howdah.load, ROWS, "t", target))
    assert database.value("SELECT count(*), count(*) FILTER (WHERE id = 9) FROM t") == "10|0"
    with warnings.catch_warnings():
        connection.commit()
        howdah.load(ROWS, "t", connection)


def test_other_databases_are_refused_by_name() -> None:
    alchemy = library("sqlalchemy")
    engine = alchemy.create_engine("sqlite://")
    with engine.connect() as connection, library("sqlalchemy.orm").Session(engine) as session:
        url = alchemy.engine.make_url("mysql+pymysql://u:canary@h/d")
        for target, name in ((engine, "sqlite"), (connection, "sqlite"), (session, "sqlite"), (url, "mysql")):
            with pytest.raises(howdah.ProgrammingError, match=f"is one of {name}, and howdah") as caught:
                howdah.load(ROWS, "t", target)
            assert "canary" not in "".join(traceback.format_exception(caught.value))
    engine.dispose()


def test_what_is_no_target_is_refused_with_what_is(connection: Any) -> None:  # noqa: ANN401
    cursor = connection.cursor()
    for target in (cursor, 5432, {"host": "x"}, object()):
        for call in (
            lambda target=target: howdah.load(ROWS, "t", target),
            lambda target=target: howdah.Writer("t", target),
            lambda target=target: howdah.bulk("t", target),
        ):
            with pytest.raises(howdah.ProgrammingError, match="dsn takes a text, not a value of") as caught:
                call()
            assert "an engine, URL, connection or session of SQLAlchemy" in str(caught.value.hint)
    with pytest.raises(howdah.ProgrammingError, match="server takes a text"):
        howdah.load(ROWS, "t", server=connection)


def test_a_connection_that_is_closed_is_refused(database: Database, engine: Any) -> None:  # noqa: ANN401
    connection = library("psycopg").connect(database.dsn)
    info = connection.info
    connection.close()
    closed = engine.connect()
    closed.close()
    for target in (connection, info, closed):
        with pytest.raises(howdah.Error, match=r"not connected|does not tell its parameters"):
            howdah.load(ROWS, "t", target)
    unbound = library("sqlalchemy.orm").Session()
    with pytest.raises(howdah.OperationalError, match="the session has no engine"):
        howdah.load(ROWS, "t", unbound)


def test_an_engine_that_cannot_connect_shows_no_password(database: Database) -> None:
    alchemy = library("sqlalchemy")
    library("psycopg")
    password = password_of(database.dsn)
    wrong = alchemy_url(database.dsn).replace(password, f"not-{password}")
    for target in (alchemy.create_engine(wrong), alchemy.engine.make_url(wrong)):
        with pytest.raises(howdah.OperationalError, match="password authentication failed") as caught:
            howdah.load(ROWS, "t", target)
        shown = ["".join(traceback.format_exception(caught.value)), repr(caught.value)]
        assert secret_in(password, shown) is None
