"""What holds loads back at a server, and what can be done about it."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from howdah import _errors, _native, _target
from howdah._figures import counted, visible

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from howdah._target import Target

# As the command shows them.
_MARKS = {"fails": "!", "costs": "-", "notice": "."}

_SECONDS = 60.0
_WATCHED = 10.0
_BYTES = 512 * 1024 * 1024


class Measured(NamedTuple):
    """A measured figure with its interval: a share of a load's time from 0 to 1, or rows a second."""

    median: float
    low: float
    high: float
    rounds: int

    def __str__(self) -> str:
        """``38 % (34 to 41)``."""
        median, low, high = (f"{round(100 * share)}" for share in self[:3])
        return f"{median} % ({low} to {high})"


@dataclass(frozen=True, kw_only=True)
class Remedy:
    """What can be done about a finding. The doctor itself does nothing."""

    kind: str
    """``sql``, ``load`` (an option of the load), ``session`` (a setting of its sessions), ``elsewhere``."""
    text: list[str] | str
    """Statements, the option, setting and value, or what is done elsewhere."""
    label: str
    """What a crash costs with it: ``durable``, …"""
    undo: str
    price: str
    needs: str
    """Who may do it."""
    effect: str
    """``at_once``, ``new_sessions`` or ``restart``."""


@dataclass(frozen=True, kw_only=True)
class Finding:
    """Something about server or table that matters to a load."""

    id: str
    """Its rule, which ``howdah doctor --explain`` explains."""
    severity: str
    """``fails`` (a load will fail, or do harm), ``costs`` (it takes longer) or ``notice`` (good to know)."""
    basis: str
    """``measured``, ``seen``, ``counted``, ``computed`` or ``known``."""
    title: str
    why: str
    cost: Measured | None = None
    """The share of a load's time that goes with it, if that was measured. Shares overlap."""
    evidence: tuple[str, ...] = ()
    remedies: tuple[Remedy, ...] = ()
    """Any one of them is enough."""

    def __str__(self) -> str:
        """Tell it in a line, as ``howdah doctor --quiet`` does."""
        cost = f", {self.cost} of the time" if self.cost else ""
        return visible(f"{_MARKS.get(self.severity, ' ')} {self.id}: {self.title}{cost}")


@dataclass(frozen=True, kw_only=True, repr=False)
class Diagnosis:
    """What the doctor found."""

    findings: tuple[Finding, ...]
    """What fails a load first, then what costs time, the dearest first as far as that was measured."""
    not_seen: tuple[dict[str, Any], ...]
    """What the role could not see (``what``, ``why``, ``shown_by``): nobody knows whether it is fine."""
    fine: tuple[str, ...]
    """The rules whose things are fine."""
    no_difference: dict[str, Measured] = field(default_factory=dict)
    """What was measured and makes no difference."""
    prescription: dict[str, Any] | None = None
    """What all remedies of what costs time come to together, if that was measured."""
    tried: dict[str, Any] | None = None
    """What the findings of ``tries`` come to together: ``ids``, ``without``, ``now``, ``then``, ``saved``."""
    applied: tuple[dict[str, Any], ...] = ()
    """What became of the settings of ``apply``: ``id``, ``settings``, ``is_kept``, ``why``, ``figures``, …"""
    prediction: dict[str, Any] | None = None
    """How many seconds the load that is to come takes, if its rows are known and the table was measured."""
    comparison: dict[str, Any] | None = None
    """What became of it since the baseline: ``gone``, ``new``, and ``rate`` if both measured."""
    report: dict[str, Any] = field(default_factory=dict)
    """The keys of the command's JSON report; as a file of JSON ``howdah doctor --facts`` judges it again."""
    script: str = ""
    """The remedies that are SQL as a script to review and then run: what ``howdah doctor --sql`` writes."""
    server: str = ""
    """The server in words, without the password."""
    notices: tuple[str, ...] = ()

    def __repr__(self) -> str:
        """Tell it in a line a finding, and a sum."""
        measured = "" if self.report.get("measured") or self.applied else ". Nothing was measured."
        found = counted(len(self.findings), "finding", "findings")
        unseen = counted(len(self.not_seen), "thing", "things")
        lines = [str(finding) for finding in self.findings]
        return "\n".join([*lines, f"{found}, {unseen} not seen, {len(self.fine)} fine{measured}"])


def doctor(  # noqa: PLR0913 - what, where, and at what cost
    table: str | None = None,
    dsn: Target | None = None,
    *,
    server: str | None = None,
    data: str | os.PathLike[str] | None = None,
    rows: int | None = None,
    size: int | None = None,
    watch: float | None = None,
    app: bool = False,
    measure: bool = False,
    tries: Sequence[str] = (),
    apply: Sequence[str] = (),
    seconds: float | None = None,
    bytes: int | None = None,  # noqa: A002 - as the command calls it
    allow_busy: bool = False,
    allow_event_triggers: bool = False,
    baseline: Diagnosis | str | os.PathLike[str] | None = None,
) -> Diagnosis:
    """Look at a server, and at a table, and say what will fail, hurt or slow down loads.

    It only looks, unless ``measure`` is true: then it leads rows of ``table`` into scratch copies of it for
    about ``seconds`` (60), with at most ``bytes`` (512 MiB) of the server's log, and says which share of a
    load's time each part of the table costs. No transaction with a row in it is ever committed.
    ``allow_busy`` measures although others are at work, whom that slows down; ``allow_event_triggers``
    although triggers on events fire when copies are made. ``tries`` names findings, and measures also what it
    comes to when copies lack all that they are about.

    ``apply`` names findings too, on a server of howdah's own (``server``): what they say is set there,
    measured with and without in turns, and kept if it is worth it. What became of it is ``applied``.

    ``watch`` says for how many seconds it watches first what sessions that write wait for, and how much
    they do: ``report["facts"]["watched"]``. ``app=True`` watches also which statements programs send to the
    database, for 10 seconds if ``watch`` does not say it; of their texts it keeps none with a literal in it.

    ``dsn`` and ``server`` are those of ``howdah.load``. ``data`` is a file that is to be loaded into
    ``table``: its rows are counted, or told from its size. ``rows`` or ``size`` (bytes) say what is to come.
    ``baseline`` is an earlier diagnosis, or the file of one's ``report``: ``comparison`` says what is gone
    since, what is new, and how much faster the table takes rows if both measured.

    Ctrl-C ends it with nothing left, and is raised again. Whatever else goes wrong is a ``howdah.Error``.
    """
    limits = {name: value for name, value in (("seconds", seconds), ("bytes", bytes)) if value is not None}
    names = [tries] if isinstance(tries, str) else list(tries)
    applies = [apply] if isinstance(apply, str) else list(apply)
    measures = measure or bool(names) or bool(applies)
    if applies and (measure or names):
        _refuse("apply measures by itself", "leave out measure and tries")
    _check(table=table, data=data, both=None not in {rows, size}, measure=measures, limits=limits)
    if watch is not None and not watch > 0:
        _refuse("watch is a number of seconds, more than 0")
    if watch is None and app:
        watch = _WATCHED
    cost = None
    if measures:
        wanted = {"seconds": _SECONDS, "bytes": _BYTES, **limits}
        cost = (
            float(wanted["seconds"]),
            float(wanted["bytes"]),
            allow_busy,
            allow_event_triggers,
            names,
            applies,
        )
    place = _target.place(dsn, server, stacklevel=3)
    watched = None if watch is None else float(watch)
    coming = (None if data is None else Path(data), rows, size, watched, app)
    told, script, described, notices = _native.doctor(table, place, coming, cost, _saved(baseline))
    return _diagnosis(json.loads(told), script, described, notices)


def _diagnosis(told: dict[str, Any], script: str, described: str, notices: list[str]) -> Diagnosis:
    return Diagnosis(
        findings=tuple(_finding(found) for found in told["findings"]),
        not_seen=tuple(told["not_seen"]),
        fine=tuple(told["fine"]),
        no_difference={each["what"]: Measured(**each["cost"]) for each in told["no_difference"]},
        prescription=told.get("prescription"),
        tried=told.get("tried"),
        applied=tuple(told.get("applied", ())),
        prediction=told.get("prediction"),
        comparison=told.get("comparison"),
        report=told,
        script=script,
        server=described,
        notices=tuple(notices),
    )


def _saved(baseline: Diagnosis | str | os.PathLike[str] | None) -> tuple[Path | None, str] | None:
    """Give the file of an earlier report, or its JSON."""
    if baseline is None:
        return None
    if isinstance(baseline, Diagnosis):
        return None, json.dumps(baseline.report)
    return Path(baseline), ""


def _finding(told: Mapping[str, Any]) -> Finding:
    known = {**told, "evidence": tuple(told["evidence"]), "remedies": tuple(map(_remedy, told["remedies"]))}
    if cost := told.get("cost"):
        known["cost"] = Measured(**cost)
    return Finding(**known)


def _remedy(told: Mapping[str, Any]) -> Remedy:
    others = {name: value for name, value in told.items() if name != "action"}
    return Remedy(**told["action"], **others)


def _check(
    *, table: str | None, data: object, both: bool, measure: bool, limits: Mapping[str, float]
) -> None:
    """Refuse what does not go together."""
    wrong: tuple[str, str | None] | None = None
    if limits and not measure:
        wrong = (f"{min(limits)} is for measuring", "measure=True measures")
    elif both:
        wrong = ("rows and size both say how much is to come", "leave one of them out")
    elif data is not None and table is None:
        wrong = ("data is to be loaded into a table, and none is named", 'table="…" names it')
    elif any(limit <= 0 for limit in limits.values()):
        wrong = ("seconds and bytes are more than 0", None)
    if wrong is not None:
        _refuse(*wrong)


def _refuse(what: str, hint: str | None = None) -> NoReturn:
    error = _errors.ProgrammingError(what)
    error.hint = hint
    error.visible = "nothing was changed"
    raise error
