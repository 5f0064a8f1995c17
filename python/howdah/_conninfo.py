"""The parameters of other libraries' connections, as a connection string that means the same to howdah.

Nothing that says whom to trust is left out in silence: what cannot be said in a connection string is refused.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from howdah import _errors

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

# Of libpq's parameters: what a service says is in the others, and of the hosts one is connected.
_NOT_PASSED_ON = {"service", "servicefile", "client_encoding", "password", "host", "hostaddr", "port"}

# libpq gives them with their defaults, and howdah has no use for them.
_UNUSED = {"krbsrvname", "gssdelegation", "authtype", "tty"}

# What other drivers call libpq's parameters.
_RENAMED = {"database": "dbname", "username": "user", "timeout": "connect_timeout", "unix_sock": "host"}

# Drivers have many others, which are about their own statements and results.
_PARAMETERS = {
    *("host", "hostaddr", "port", "dbname", "user", "password", "passfile", "service", "connect_timeout"),
    *("options", "application_name", "channel_binding", "require_auth", "requirepeer", "gssencmode"),
    *("target_session_attrs", "load_balance_hosts", "tcp_user_timeout", "krbsrvname"),
    *("keepalives", "keepalives_idle", "keepalives_interval", "keepalives_count"),
}


def of_libpq(info: Any) -> str:  # noqa: ANN401 - psycopg's `Connection.info`
    """Give the string of a connection that is open: its server, of several hosts, and its role.

    It leaves nothing open that the environment could fill: libpq's defaults are said too.
    """
    if hasattr(info, "dsn_parameters"):
        said = {name: (value, value) for name, value in info.dsn_parameters.items()}
    else:
        options = [option for option in info.pgconn.info if option.val is not None]
        said = {
            option.keyword.decode(): (option.val.decode(), (option.compiled or b"").decode())
            for option in options
        }
    passed_on = {
        name: value
        for name, (value, default) in said.items()
        if name not in _NOT_PASSED_ON and not (name in _UNUSED and value == default)
    }
    passed_on |= {"host": info.host, "port": info.port, "password": info.password or None}
    if "hostaddr" in said:
        passed_on["hostaddr"] = info.hostaddr
    return _written(passed_on)


def of_url(url: Any) -> str:  # noqa: ANN401 - SQLAlchemy's URL
    """Give the string of a URL that SQLAlchemy has taken apart."""
    named = {"user": url.username, "password": url.password, "host": url.host, "port": url.port}
    arguments: dict[str, Any] = {name: value for name, value in named.items() if value is not None}
    arguments |= {"dbname": url.database} if url.database else {}
    for name, value in url.query.items():
        values = [value] if isinstance(value, str) else list(value)
        if name == "host":
            arguments |= _hosts(values)
        else:
            arguments[name] = values[-1]
    return of_arguments(arguments)


def arguments(engine: Any) -> Mapping[str, Any]:  # noqa: ANN401 - SQLAlchemy's Engine
    """Give what the engine calls its driver with: `connect_args`, too, which it shows nowhere else."""
    import inspect  # noqa: PLC0415

    found = inspect.getclosurevars(engine.pool._creator).nonlocals  # noqa: SLF001
    if "cparams" in found:
        known: Mapping[str, Any] = found["cparams"]
        return known
    message = "the engine connects by a function of its own, which does not tell its parameters"
    error = _errors.ProgrammingError(message)
    error.hint = "give a connection string instead"
    raise error


def of_arguments(arguments: Mapping[str, Any]) -> str:
    """Give the string of what a driver is called with."""
    parameters: dict[str, object] = {}
    for given, value in arguments.items():
        name = _RENAMED.get(given, given)
        if value is None:
            continue
        if given in {"ssl", "ssl_context"}:
            parameters |= _tls(value)
        elif given == "server_settings":
            parameters |= _settings(value)
        elif name == "connect_timeout":
            parameters[name] = math.ceil(float(value))
        elif name in {"host", "port"} and isinstance(value, list | tuple):
            parameters[name] = ",".join(map(str, value))
        elif name in _PARAMETERS or name.startswith("ssl"):
            parameters[name] = value
    return _written(parameters)


def _hosts(values: Iterable[str]) -> dict[str, str]:
    """Take hosts with their ports apart: SQLAlchemy writes several as ``?host=a:1&host=b:2``."""
    hosts, ports = [], []
    for value in ",".join(values).split(","):
        host, colon, port = value.rpartition(":")
        # The colons of an IPv6 address without brackets are its own.
        apart = bool(colon) and port.isdigit() and (":" not in host or host.endswith("]"))
        hosts.append((host if apart else value).strip("[]"))
        ports.append(port if apart else "")
    found = {"host": ",".join(hosts)}
    return found | ({"port": ",".join(ports)} if any(ports) else {})


def _tls(value: object) -> dict[str, str]:
    """Say what drivers without libpq call ``ssl``: one of libpq's modes, or whether to verify the server."""
    if isinstance(value, str) and value not in {"true", "True"}:
        return {"sslmode": value}
    if value is False:
        return {"sslmode": "disable"}
    if value is True or isinstance(value, str):
        return {"sslmode": "verify-full", "sslrootcert": "system"}
    message = f"the engine's TLS is a value of type {type(value).__name__}, which howdah cannot take over"
    error = _errors.ProgrammingError(message)
    error.hint = "give a connection string instead, with sslmode=verify-full and sslrootcert=FILE"
    raise error


def _settings(settings: Mapping[str, str]) -> dict[str, str]:
    """Say asyncpg's settings of the session as libpq does."""
    found = {name: value for name, value in settings.items() if name == "application_name"}
    others = [f"{name}={value}" for name, value in settings.items() if name not in found]
    options = ["-c " + pair.replace("\\", "\\\\").replace(" ", "\\ ") for pair in others]
    return found | ({"options": " ".join(options)} if options else {})


def _written(parameters: Mapping[str, object]) -> str:
    """Write key=value pairs, every value in quotes."""
    pairs = []
    for name, value in parameters.items():
        if value is not None:
            text = str(value).replace("\\", "\\\\").replace("'", "\\'")
            pairs.append(f"{name}='{text}'")
    # Of nothing at all something must be left, that is no database's name.
    return " ".join(pairs) or "host=''"
