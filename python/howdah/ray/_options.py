"""What a datasink is told: ``howdah.load``'s arguments where they mean the same, and those of a job."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypedDict, get_args

from howdah._cluster import _rules
from howdah._cluster._job import JobSpec, WriteMode
from howdah._cluster._rules import refuse

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_MOST_CONNECTIONS = 1000


class Options(TypedDict):
    """All that is said beside the table and the server."""

    mode: WriteMode
    key: str | Sequence[str]
    types: Mapping[str, str] | None
    allow: str | Sequence[str]
    connections: int
    ledger: str | None
    lock_timeout: float | None
    commit: str
    job_id: str | None


def spec(table: str, dsn: str, options: Options) -> JobSpec:
    """Read them, or refuse them by name."""
    mode, key = options["mode"], _names("key", options["key"])
    if mode not in get_args(WriteMode):
        refuse(f"mode is one of {', '.join(get_args(WriteMode))}, not {mode}")
    if mode in _rules.MATCHING and not key:
        refuse(f'mode {mode} needs key: the columns to match rows by, as in "id" or ["day", "sensor"]')
    return JobSpec(
        dsn=_dsn(dsn),
        table=_text("table", table),
        mode=mode,
        key=key,
        types=_types(options["types"]),
        allow=_rules.allowed(_names("allow", options["allow"])),
        connections=_connections(options["connections"]),
        ledger=None if options["ledger"] is None else _text("ledger", options["ledger"]),
        lock_timeout=_seconds(options["lock_timeout"]),
        job_id=_rules.job_id(options["commit"], options["job_id"], mode),
    )


def _dsn(dsn: object) -> str:
    # A text alone goes to all nodes; and a server of howdah's own would be another one on each of them.
    if not isinstance(dsn, str) or not dsn.strip():
        refuse(
            "dsn is a text, as psql takes it: where the driver and all tasks find the server",
            "postgresql://db.example/shop, or service=shop",
        )
    if _rules.has_password(dsn):
        refuse(
            "the dsn holds a password, which Ray would keep and send along with every task",
            "put it where the driver and the nodes find it as psql does: PGPASSWORD in the environment in"
            " which Ray is started there, a passfile (PGPASSFILE, ~/.pgpass), or a service file"
            " (PGSERVICEFILE and the dsn service=NAME)",
        )
    return dsn.strip()


def _text(name: str, value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        refuse(f"{name} is a name, not {value!r}")
    return value


def _names(name: str, value: Any) -> tuple[str, ...]:  # noqa: ANN401 - whatever somebody gives
    names = (value,) if isinstance(value, str) else tuple(value)
    return tuple(_text(name, one) for one in names)


def _types(types: Mapping[str, str] | None) -> tuple[tuple[str, str], ...]:
    return tuple((_text("types", column), _text("types", kind)) for column, kind in (types or {}).items())


def _connections(value: object) -> int:
    if type(value) is not int or not 1 <= value <= _MOST_CONNECTIONS:
        refuse(f"connections is a number from 1 to {_MOST_CONNECTIONS}, not {value!r}")
    return value


def _seconds(value: object) -> float | None:
    if value is None:
        return None
    if type(value) not in {int, float} or not value >= 0:  # type: ignore[operator]
        refuse(f"lock_timeout is a number of seconds, not {value!r}")
    return float(value)  # type: ignore[arg-type]
