"""What came of a load."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

from howdah import _native
from howdah._figures import counted, rate, seconds, size, visible

# What becomes of rows whose key is there, or is not.
_MATCHING = {
    "upsert": (("inserted", "rows_inserted"), ("updated", "rows_updated")),
    "ignore": (("inserted", "rows_inserted"), ("skipped", "rows_skipped")),
    "update": (("updated", "rows_updated"), ("not there", "rows_skipped")),
    "delete": (("deleted", "rows_deleted"), ("not there", "rows_skipped")),
}


@dataclass(frozen=True, kw_only=True, repr=False)
class LoadReport:
    """The figures of one load: the keys of the command's JSON report, the server, and notices."""

    outcome: str
    """``loaded``, ``planned`` (a dry run), ``failed``, ``cancelled``, ``partly_committed`` or ``unknown``."""
    table: str
    """Schema-qualified, quoted where needed."""
    mode: str
    rows: int
    """Rows of the input that were carried and committed."""
    rows_read: int
    rows_rejected: int
    rows_dropped: int = 0
    """Rows that triggers of the table dropped."""
    rows_inserted: int
    rows_updated: int
    rows_deleted: int
    rows_skipped: int
    """Rows that changed nothing: their key was there, or was not, as the mode has it."""
    rows_duplicate: int
    """Rows that gave way to a later one with their key."""
    rejects_path: str | None = None
    """The file of the rejects, where there are any."""
    rejects_table: str | None = None
    bytes_read: int
    elapsed_s: float
    """Seconds of the whole load, connecting included."""
    rows_per_s: float
    jobs: int
    """Connections that wrote."""
    jobs_reason: str | None = None
    apply_jobs: int | None = None
    """Connections that applied staged rows, in the modes that match rows."""
    write_path: str
    copy_format: str
    commit: str
    """``all`` together, each ``row`` by itself, or each ``part`` of a shared load."""
    parts: int
    sorted_parts: dict[str, int] = field(default_factory=dict)
    """How many parts were sent in the order of which index."""
    durability: str
    phases: dict[str, float]
    """Seconds per phase."""
    client_cpu_s: float
    peak_rss_bytes: int
    server_version: str
    load_id: str
    shared: dict[str, Any] | None = None
    """Of a shared load: all parts, those loaded here and elsewhere, and the rows of other processes."""
    plan: dict[str, Any] | None = None
    """Header, columns, types and statements."""
    error: dict[str, Any] | None = None
    """Why it failed."""
    server: str = ""
    """The server in words, without the password."""
    notices: tuple[str, ...] = ()
    """What there was to notice: a format that was guessed, rows that were there before."""

    def rejects(self) -> _native.Rejects:
        """Give the records that were rejected, as an Arrow stream.

        Its columns are file, line, byte_offset, row_group, row, column, sqlstate, reason and raw:
        ``pyarrow.table(report.rejects())``, ``polars.DataFrame(report.rejects())``.
        """
        return _native.Rejects(self.rejects_path)

    def __repr__(self) -> str:
        """Tell it in a paragraph, as the command does."""
        parts = [self._told(), *self._told_rejects()]
        return "; ".join(visible(part) for part in parts)

    def _told(self) -> str:
        if self.error is not None:
            now = self.error.get("visible") or "nothing was changed"
            return f"{self.outcome} ({now}): {self.error['message']}"
        if self.outcome == "planned":
            good = counted(self.rows_read - self.rows_rejected, "record", "records")
            return f"dry run: {good} would be sent into {self.table}; nothing was changed"
        told = counted(self.rows, "row", "rows")
        # Of tables in memory nobody counts bytes.
        if self.bytes_read:
            told += f" ({size(self.bytes_read)})"
        if self.mode in _MATCHING:
            counts = [f"{getattr(self, key):,} {what}" for what, key in _MATCHING[self.mode]]
            if self.rows_duplicate:
                counts.append(f"{self.rows_duplicate:,} duplicate")
            told += f" applied to {self.table} ({', '.join(counts)})"
        else:
            told += f" into {self.table}"
        how = [
            f"{rate(self.rows_per_s)} rows/s",
            counted(self.jobs, "connection", "connections"),
            self.write_path,
            self.durability,
        ]
        if self.rows_dropped:
            how.append(f"triggers dropped {counted(self.rows_dropped, 'row', 'rows')}")
        return f"{told} in {seconds(self.elapsed_s)}: {', '.join(how)}"

    def _told_rejects(self) -> list[str]:
        if not self.rows_rejected:
            return []
        places = [place for place in (self.rejects_path, self.rejects_table) if place]
        where = f", with the reasons in {' and '.join(places)}" if places else ""
        were = "record was" if self.rows_rejected == 1 else "records were"
        return [f"{self.rows_rejected:,} {were} rejected{where}"]

    def _repr_html_(self) -> str:
        """Tell it as a small table, in a notebook's own colours."""
        import html  # noqa: PLC0415

        lines = {
            "outcome": self.outcome,
            "table": self.table,
            "rows": f"{self.rows:,}",
            "rejected": f"{self.rows_rejected:,}" if self.rows_rejected else "",
            "rejects": self.rejects_path or "",
            "read": size(self.bytes_read) if self.bytes_read else "",
            "time": seconds(self.elapsed_s),
            "speed": f"{rate(self.rows_per_s)} rows/s",
            "way": f"{self.write_path}, {counted(self.jobs, 'connection', 'connections')}, {self.durability}",
            "server": self.server,
            "error": str(self.error["message"]) if self.error else "",
            "notices": "; ".join(self.notices),
        }
        # The half-transparent grey is seen on light and on dark ground.
        cell = "text-align:left;padding:2px 12px 2px 0;border-bottom:1px solid rgba(128,128,128,.35)"
        rows = "".join(
            f'<tr><th style="{cell}">{label}</th><td style="{cell}">{html.escape(visible(text))}</td></tr>'
            for label, text in lines.items()
            if text
        )
        return f'<table style="border-collapse:collapse;color:inherit;background:none">{rows}</table>'


LoadReport.__module__ = "howdah"

_KEYS = {field.name for field in fields(LoadReport)}


def from_native(told: dict[str, Any]) -> LoadReport:
    """Make the report of what the native module tells."""
    known = {key: value for key, value in told.items() if key in _KEYS}
    return LoadReport(**{**known, "notices": tuple(told["notices"])})
