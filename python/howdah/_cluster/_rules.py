"""What may be asked of a job, whichever engine asks: anything else is refused before a row moves."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NoReturn
from urllib.parse import unquote

from howdah import _errors

if TYPE_CHECKING:
    from collections.abc import Sequence

    from howdah._cluster._job import WriteMode

MATCHING = ("upsert", "update", "delete")
"""The modes that match rows by a key that is said."""

_LOSSES = ("nanoseconds", "decimals", "floats")

# Wherever it stands: a password may hold a slash that should be escaped, and be taken for a database.
_PASSWORD_IN_URI = re.compile(r"^(?:jdbc:)?postgres(?:ql)?:(?://)?[^?@]*:[^?@]*@", re.IGNORECASE)
_PASSWORD_WORD = re.compile(r"(?<![a-z_])(?:ssl)?password\s*=", re.IGNORECASE)


def refuse(message: str, hint: str | None = None) -> NoReturn:
    """Refuse it, and say what would do."""
    error = _errors.ProgrammingError(message)
    error.hint = hint
    error.visible = "nothing was changed"
    raise error


def has_password(dsn: str) -> bool:
    """Whether a connection says a password, which goes where the job goes: into plans, pages and logs."""
    # Names of parameters may be percent-encoded, too.
    return bool(_PASSWORD_IN_URI.match(dsn) or _PASSWORD_WORD.search(unquote(dsn)))


def job_id(commit: str, name: str | None, mode: WriteMode) -> str | None:
    """Give the name under which tasks commit one by one, if they do."""
    if commit not in {"job", "tasks"}:
        refuse(f"commit is job or tasks, not {commit}")
    if commit == "job":
        if name is not None:
            refuse("job_id goes with commit tasks: a job that commits at once has no other runs")
        return None
    name = (name or "").strip()
    if not name:
        refuse("commit tasks needs job_id: the name under which a later run goes on")
    if mode not in {"append", "create_append"}:
        refuse(f"commit tasks only adds rows: it does not go with {mode}")
    return name


def allowed(words: Sequence[str]) -> tuple[str, ...]:
    """Give the losses that are allowed."""
    for word in words:
        if word not in _LOSSES:
            refuse(f"allow takes {', '.join(_LOSSES)}, not {word}")
    return tuple(words)
