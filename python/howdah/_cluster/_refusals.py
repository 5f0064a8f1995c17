"""What a job's own statements refuse, in the words of a job: the engine would speak of SQL before a load."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from howdah import _errors

NO_SLOT = "HW001"
"""All of the job's connections are taken."""
OVER = "HW002"
"""The job has ended, or was given up."""
LOST_ROWS = "HW003"
"""The stage lacks rows of an attempt that has a receipt."""
IN_USE = "HW004"
"""Something depends on a table that is to be replaced."""
CHANGED = "HW005"
"""The table has other columns than when the job began."""
REFERENCED = "HW006"
"""A foreign key of another table keeps a table from being truncated."""
NO_KEY = "HW007"
"""A table that is there has another key than a new one would get."""
CUT = "HW008"
"""Partitions are not those of the run that is to go on."""
KNOWN = "HW009"
"""The partition is in the table."""
DEFERRED = "HW010"
"""It is not known yet whether a partition may be added."""
FORGOTTEN = "HW011"
"""A job that commits partition by partition ended long ago."""
MORE = "HW012"
"""Dead jobs left more than one transaction may drop."""
TWICE = "21000"
"""PostgreSQL's own, of rows that an upsert would change twice."""

_HINTS = {
    OVER: "a job ends once; run it again as a new one",
    LOST_ROWS: "the server lost them in a crash or a failover, as stages are not logged; run the job again",
    IN_USE: "with truncate the table stays and its rows are replaced",
    CHANGED: "what was checked when the job began holds no more; run it again",
    REFERENCED: "TRUNCATE that table with this one yourself, in one statement, and append",
    NO_KEY: "leave key out, or give the table that key: ALTER TABLE … ADD PRIMARY KEY (…)",
    CUT: "the data, or how it is cut into partitions, has changed; what is in the table stays: remove it, and"
    " write it as a new job with a job_id of its own",
    FORGOTTEN: "a new job needs a job_id of its own",
    TWICE: "make the rows one a key first, in Spark by dropDuplicates",
}


# What the engine advises that no option of a job says.
_NO_OPTION = re.compile(
    r"\b(?:on_error|columns|map|skip_columns|names|header|create_schema)=|skip_columns|the record$"
)

_AROUND = re.compile(r"^(?:before|after)(?: \(\d+ of \d+\))?: ")


def explain(error: _errors.Error) -> None:
    """Put the hint of a refusal of ours in the place of the engine's; drop advice that nobody can take."""
    advice = [part for part in (error.hint or "").split("; ") if not _NO_OPTION.search(part)]
    error.hint = "; ".join(advice) or None
    # What runs around a load is ours, too.
    error.args = (_AROUND.sub("", error.message), *error.args[1:])
    if error.sqlstate in _HINTS:
        error.hint = _HINTS[error.sqlstate]
