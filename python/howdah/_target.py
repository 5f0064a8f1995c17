"""Which server is meant: by a text, or by what SQLAlchemy and psycopg connect with.

Its parameters are taken. Neither library is imported: what is given has brought its own along.
"""

from __future__ import annotations

import contextlib
import warnings
from typing import TYPE_CHECKING, Any, Protocol

from howdah import _conninfo, _errors

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TypeAlias


class _Engine(Protocol):
    @property
    def url(self) -> Any: ...  # noqa: ANN401 - SQLAlchemy's


class _Connection(Protocol):
    @property
    def info(self) -> Any: ...  # noqa: ANN401 - psycopg's or SQLAlchemy's


class _Url(Protocol):
    def get_backend_name(self) -> str: ...


class _Info(Protocol):
    @property
    def transaction_status(self) -> int: ...


if TYPE_CHECKING:
    Target: TypeAlias = str | _Engine | _Connection | _Url | _Info

_TAKEN = (
    "dsn is a URI, key=value pairs or a database's name; an engine, URL, connection or session of SQLAlchemy;"
    " or a connection of psycopg"
)

# libpq's numbers of what a session does: a statement, a transaction, a failed transaction.
_WITHIN_TRANSACTION = {1, 2, 3}

_DRIVERS_ON_LIBPQ = {"psycopg", "psycopg2", "psycopg2cffi"}


def place(dsn: object, server: object, *, stacklevel: int = 4) -> tuple[str | None, str | None]:
    """Give the connection string and the name of an own server, as the native module takes them.

    ``stacklevel`` is how far away the caller is who is warned of a transaction.
    """
    if server is not None and not isinstance(server, str):
        raise _no_text("server", server)  # noqa: EM101 - a name, no message
    if dsn is None or isinstance(dsn, str):
        return dsn, server
    text, within = _dsn(dsn)
    if within:
        warnings.warn(
            f"the {type(dsn).__name__} is within a transaction, which is not shared: howdah's own connections"
            " do not see what it has not committed, and wait for what it has locked",
            _errors.TransactionWarning,
            stacklevel=stacklevel,
        )
    return text, server


def _dsn(target: Any) -> tuple[str, bool]:  # noqa: ANN401 - whatever was given
    """Give the connection string, with its password, and whether the target is within a transaction."""
    library, names = _kind(target)
    if library in {"psycopg", "psycopg2"}:
        return _of_psycopg(target)
    if library != "sqlalchemy":
        raise _refused(target)
    if "URL" in names:
        _check(target.get_backend_name(), "URL")
        return _conninfo.of_url(target), False
    within = False
    if hasattr(target, "get_bind"):
        # A scoped session stands for one of this thread or task.
        target = target.registry() if "registry" in vars(target) else target
        within = target.in_transaction()
        with _in_our_words("the session has no engine"):
            target = target.get_bind()
    if hasattr(target, "in_transaction"):
        text, of_connection = _of_connection(target)
        return text, within or of_connection
    if hasattr(target, "dialect"):
        return _of_engine(target), within
    raise _refused(target)


def _kind(target: object) -> tuple[str, set[str]]:
    """Name the library of the target, and its class with those that it is derived from there."""
    for library in ("psycopg", "psycopg2", "sqlalchemy"):
        kinds = type(target).__mro__
        names = {kind.__name__ for kind in kinds if kind.__module__.partition(".")[0] == library}
        if names:
            return library, names
    return "", set()


def _of_psycopg(target: Any) -> tuple[str, bool]:  # noqa: ANN401
    info = getattr(target, "info", target)
    if not hasattr(info, "transaction_status"):
        raise _refused(target)
    if getattr(target, "closed", False):
        raise _closed(target)
    with _in_our_words("the connection does not tell its parameters"):
        return _conninfo.of_libpq(info), int(info.transaction_status) in _WITHIN_TRANSACTION


def _of_connection(target: Any) -> tuple[str, bool]:  # noqa: ANN401
    connection = getattr(target, "sync_connection", target)
    if connection is None or connection.closed:
        raise _closed(target)
    _check(connection.dialect.name, type(target).__name__)
    with _in_our_words("the connection does not tell its parameters"):
        driver = connection.connection.driver_connection
    if _kind(driver)[0]:
        return _of_psycopg(driver)[0], connection.in_transaction()
    return _of_engine(connection.engine), connection.in_transaction()


def _of_engine(target: Any) -> str:  # noqa: ANN401
    engine = getattr(target, "sync_engine", target)
    dialect = engine.dialect
    _check(dialect.name, type(target).__name__)
    if dialect.driver in _DRIVERS_ON_LIBPQ and not dialect.is_async:
        # A connection of its own knows best: of what events and `connect_args` change, too.
        with _in_our_words("the engine cannot connect"), contextlib.closing(engine.raw_connection()) as raw:
            return _of_psycopg(raw.driver_connection)[0]
    return _conninfo.of_arguments(_conninfo.arguments(engine))


def _check(backend: str, kind: str) -> None:
    if backend != "postgresql":
        message = f"the {kind} is one of {backend}, and howdah writes into PostgreSQL"
        raise _errors.ProgrammingError(message)


@contextlib.contextmanager
def _in_our_words(what: str) -> Iterator[None]:
    try:
        yield
    except _errors.Error:
        raise
    except Exception as cause:
        lines = str(cause).splitlines() or [type(cause).__name__]
        error = _errors.OperationalError(f"{what}: {lines[0]}")
        error.visible = "nothing was changed"
        raise error from cause


def _closed(target: object) -> _errors.Error:
    error = _errors.InterfaceError(
        f"the {type(target).__name__} is not connected, and has no parameters then"
    )
    error.visible = "nothing was changed"
    return error


def _refused(target: object) -> _errors.Error:
    error = _no_text("dsn", target)
    error.hint = _TAKEN
    return error


def _no_text(name: str, given: object) -> _errors.Error:
    error = _errors.ProgrammingError(f"{name} takes a text, not a value of type {type(given).__name__}")
    error.visible = "nothing was changed"
    return error
