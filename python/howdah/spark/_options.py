"""The options of the format: JDBC's names where they mean the same, else howdah's."""

from __future__ import annotations

import difflib
import re
from typing import TYPE_CHECKING, get_args

from howdah._cluster._job import JobSpec, WriteMode
from howdah._cluster._rules import MATCHING, allowed, job_id, refuse
from howdah.spark import _url
from howdah.spark._refusal import refuse_password

if TYPE_CHECKING:
    from collections.abc import Mapping

_KNOWN = (
    "url",
    "dbtable",
    "user",
    "truncate",
    "createTableColumnTypes",
    "write_mode",
    "key",
    "commit",
    "job_id",
    "allow",
    "connections",
    "ledger",
    "lock_timeout",
)

# JDBC's options that mean nothing here, and what to do.
_REFUSED = {
    "query": "dbtable names the table",
    "path": "dbtable names the table, and save() takes nothing",
    "driver": "howdah needs no driver; leave it out",
    "batchsize": "rows travel by COPY, which has no batches; leave it out",
    "numpartitions": "connections bounds the job's connections, and the DataFrame keeps its partitions",
    "isolationlevel": "the job is one transaction; leave it out",
    "querytimeout": "lock_timeout limits waits for locks",
    "fetchsize": "it is about reading; leave it out",
    "sessioninitstatement": "the url's options say settings: ?options=-ctimezone%3DUTC",
    "createtableoptions": "make the table first, then append to it",
    "cascadetruncate": "name all tables in a TRUNCATE of your own",
    "customschema": "createTableColumnTypes says the types of a new table",
    "preparequery": "it is about reading; leave it out",
}

# What Spark adds for itself.
_OF_STREAMS = ("checkpointlocation", "queryname")

_IN_OVERWRITE = ("replace", "truncate")

_COLUMN_TYPE = re.compile(
    r'\s*(?:"((?:[^"]|"")+)"|`([^`]+)`|([^\s"`,()]+))\s+([^,()]+(?:\([^()]*\)[^,()]*)?)\s*(?:,|$)'
)


def spec(options: Mapping[str, str], *, overwrite: bool, streams: bool = False) -> JobSpec:
    """Read the options, or refuse them by name."""
    given = {name.lower(): value for name, value in options.items()}
    if streams:
        given = {name: value for name, value in given.items() if name not in _OF_STREAMS}
        for name in {"commit", "job_id"} & given.keys():
            refuse(f"{name} does not go with streams: an epoch commits at once, and the checkpoint names it")
    _check_names(given)
    table = given.get("dbtable", "").strip()
    if not table:
        refuse("dbtable is missing: the table to write to")
    if table.startswith("("):
        refuse("dbtable is a query, and rows go into a table")
    if not given.get("url", "").strip():
        refuse(
            "url is missing: where driver and executors find the server",
            "postgresql://db.example/shop, service=shop, or jdbc:postgresql://db.example/shop",
        )
    mode = _epoch_mode(given, overwrite=overwrite) if streams else _mode(given, overwrite=overwrite)
    key = _words(given.get("key", ""))
    if mode in MATCHING and not key:
        refuse(f'write_mode {mode} needs key: the columns to match rows by, as in "id" or "day, sensor"')
    return JobSpec(
        dsn=_url.dsn(given["url"].strip(), given.get("user")),
        table=table,
        mode=mode,
        key=key,
        types=_column_types(given.get("createtablecolumntypes", "")),
        allow=allowed(_words(given.get("allow", ""))),
        connections=_whole_number("connections", given.get("connections", "4"), most=1000),
        ledger=given.get("ledger"),
        lock_timeout=_seconds(given.get("lock_timeout")),
        job_id=job_id(given.get("commit", "job"), given.get("job_id"), mode),
    )


def _check_names(given: Mapping[str, str]) -> None:
    known = {name.lower(): name for name in _KNOWN}
    for name in given:
        if "password" in name:
            refuse_password(f"the option {name}")
        if instead := _REFUSED.get(name):
            refuse(f"the option {name} does not apply: {instead}")
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            hint = f"did you mean {known[near[0]]}?" if near else f"options are {', '.join(_KNOWN)}"
            refuse(f"there is no option {name}", hint)


def _mode(given: Mapping[str, str], *, overwrite: bool) -> WriteMode:
    truncate = _flag("truncate", given["truncate"]) if "truncate" in given else None
    said = given.get("write_mode")
    mode: WriteMode | None = next((word for word in get_args(WriteMode) if word == said), None)
    if said is not None and mode is None:
        refuse(f"write_mode is one of {', '.join(get_args(WriteMode))}, not {said}")
    if not overwrite:
        if truncate:
            refuse('truncate goes with mode("overwrite")')
        if mode in _IN_OVERWRITE:
            refuse(f'write_mode {mode} goes with mode("overwrite")')
        return mode or "create_append"
    if mode is None:
        return "truncate" if truncate else "replace"
    if mode not in _IN_OVERWRITE or (truncate is not None and truncate != (mode == "truncate")):
        contradicting = 'mode("overwrite")' if mode not in _IN_OVERWRITE else f"truncate {given['truncate']}"
        refuse(f"write_mode {mode} contradicts {contradicting}")
    return mode


def _epoch_mode(given: Mapping[str, str], *, overwrite: bool) -> WriteMode:
    """Read what each epoch of a stream does; one with ``outputMode("complete")`` exchanges all rows."""
    if overwrite:
        if (
            given.get("truncate", "true").lower() != "true"
            or given.get("write_mode", "truncate") != "truncate"
        ):
            refuse(
                'outputMode("complete") empties the table in each epoch, as truncate does, and keeps it',
                "leave truncate and write_mode out",
            )
        return "truncate"
    if given.get("write_mode") == "replace":
        refuse("write_mode replace does not go with streams: it would drop the table in each epoch")
    if "truncate" in {*given, given.get("write_mode")}:
        refuse('truncate goes with outputMode("complete")')
    mode = _mode(given, overwrite=False)
    if mode == "create":
        refuse(
            "write_mode create would be refused by the second epoch",
            "create_append makes the table when missing",
        )
    return mode


def _flag(name: str, value: str) -> bool:
    if value.lower() not in {"true", "false"}:
        refuse(f"{name} is true or false, not {value}")
    return value.lower() == "true"


def _whole_number(name: str, value: str, most: int) -> int:
    if not (value.isascii() and value.isdigit() and 1 <= int(value) <= most):
        refuse(f"{name} is a number from 1 to {most}, not {value}")
    return int(value)


def _seconds(value: str | None) -> float | None:
    if value is None:
        return None
    if not re.fullmatch(r"\d+(\.\d+)?", value, re.ASCII):
        refuse(f"lock_timeout is a number of seconds, not {value}")
    return float(value)


def _words(value: str) -> tuple[str, ...]:
    return tuple(filter(None, map(str.strip, value.split(","))))


def _column_types(text: str) -> tuple[tuple[str, str], ...]:
    """Read ``name CHAR(64), "Price" NUMERIC(10, 2)``."""
    found = []
    position = 0
    while position < len(text.rstrip()):
        match = _COLUMN_TYPE.match(text, position)
        if match is None:
            refuse(f"createTableColumnTypes is not understood from {text[position:].strip()!r} on")
        quoted, ticked, bare, kind = match.groups()
        found.append((quoted.replace('""', '"') if quoted else ticked or bare, kind.strip()))
        position = match.end()
    return tuple(found)
