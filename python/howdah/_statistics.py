"""What a writer has done so far."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from howdah import _native


@dataclass(frozen=True, kw_only=True)
class WriterStatistics:
    """Counts since the writer was made. Times are in seconds, from writing a row to its acknowledgement."""

    rows_written: int
    """Rows that are committed."""
    rows_refused: int
    """Rows refused, each by itself: a value that is wrong, or the table would not have it."""
    rows_lost: int
    """Rows given up for other reasons: the server was away for too long, or the writer was closed before."""
    bytes_written: int
    """Bytes of rows that are committed, as they travelled."""
    flushes: dict[str, int]
    """Transactions by what made their rows due: idle, rows, bytes, age, flush or close."""
    batch_rows_mean: float
    """Rows of a transaction."""
    batch_rows_max: int
    latency_mean: float
    latency_p50: float
    latency_p90: float
    latency_p95: float
    latency_p99: float
    latency_p999: float
    latency_max: float
    queued_rows: int
    """Rows that are not settled yet, those under way included."""
    queued_bytes: int
    peak_queued_rows: int
    peak_queued_bytes: int
    retries: int
    """Transactions that were tried again."""
    reconnections: int
    ambiguous_commits: int
    """Commits whose answer was lost, and of which it was found out whether they happened."""
    batch_rows_now: int
    """The most rows of a transaction, as chosen by measuring, or by ``max_rows``."""
    connections_now: int
    queue_rows_now: int
    _native: _native.Statistics = field(repr=False, compare=False)

    def prometheus(self, **labels: str) -> str:
        """Give it in Prometheus' text exposition format, every sample with ``labels``."""
        return self._native.prometheus(list(labels.items()))

    def __str__(self) -> str:
        """Tell it in a few lines."""
        return str(self._native)


WriterStatistics.__module__ = "howdah"


def from_native(statistics: _native.Statistics) -> WriterStatistics:
    """Make it of what the native module counts."""
    return WriterStatistics(**json.loads(statistics.figures()), _native=statistics)
