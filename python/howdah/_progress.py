"""How far a load is: for a callback, or as one line on standard error."""

from __future__ import annotations

import os
import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from howdah._figures import counted, rate, size, visible

if TYPE_CHECKING:
    from collections.abc import Callable

# A load shorter than this needs no line; one that flashes up would only disturb.
_LINE_AFTER = 0.4

# The end of a long name of a file is what differs.
_NAME_CHARS = 30


class Progress(NamedTuple):
    """How far a load is."""

    phase: str
    """``planning``, ``finding types``, ``loading``, ``committing`` …, at the end ``done`` or ``failed``."""
    rows: int
    """Rows sent to the server, or, in phases before that, read."""
    bytes: int
    """Bytes of the input that were read."""
    total: int | None
    """Bytes of the input in all, where that is known."""
    rate: float
    """Rows a second in this phase."""
    elapsed: float
    """Seconds since the load began."""
    input: str | None
    """The input in hand."""

    @property
    def fraction(self) -> float | None:
        """How much of the input is read, from 0 to 1."""
        return min(self.bytes / self.total, 1.0) if self.total else None


Progress.__module__ = "howdah"


class Meter:
    """Makes rates out of the native module's counters: each phase has its own clock."""

    def __init__(self, show: Callable[[Progress], object]) -> None:
        """Tell ``show``."""
        self._show = show
        self._start = self._since = time.monotonic()
        self._phase = ""

    def __call__(  # noqa: PLR0913, PLR0917 - the native module's counters
        self, read: int, sent: int, size_read: int, total: int | None, phase: str, source: str | None
    ) -> None:
        """Take the counters."""
        now = time.monotonic()
        if phase != self._phase and phase not in {"done", "failed"}:
            self._phase, self._since = phase, now
        rows = sent or read
        elapsed = now - self._since
        speed = rows / elapsed if elapsed > 0 else 0.0
        self._show(Progress(phase, rows, size_read, total, speed, now - self._start, source))


class Line:
    """One line on standard error, written over and over and taken away at the end."""

    def __init__(self) -> None:
        """Nothing is written yet."""
        self._written = 0

    def __call__(self, now: Progress) -> None:
        """Show how far it is."""
        if now.phase in {"done", "failed"}:
            self._write("")
        elif now.elapsed >= _LINE_AFTER:
            self._write(_line(now))

    def _write(self, text: str) -> None:
        if not text and not self._written:
            return
        # The last column: a terminal may wrap the line when it is written.
        text = text[: _columns() - 1]
        blank = " " * (self._written - len(text))
        end = "" if text else "\r"
        sys.stderr.write(f"\r{text}{blank}{end}")
        sys.stderr.flush()
        self._written = len(text)


def _line(now: Progress) -> str:
    parts = [counted(now.rows, "row", "rows")]
    if now.total is not None and now.fraction is not None:
        parts.append(f"{size(now.bytes)} of {size(now.total)} ({now.fraction:.0%})")
    # Of tables in memory nobody counts bytes.
    elif now.bytes:
        parts.append(size(now.bytes))
    parts.append(f"{rate(now.rate)} rows/s")
    if now.input is not None:
        parts.append(visible(now.input)[-_NAME_CHARS:])
    return f"{now.phase}: {', '.join(parts)}"


def _columns() -> int:
    with suppress(OSError, ValueError, AttributeError):
        return os.get_terminal_size(sys.stderr.fileno()).columns or 80
    return 80


def _wants_line() -> bool:
    """Whether standard error is a terminal that can write over a line, or a notebook."""
    ipython = sys.modules.get("IPython")
    if ipython is not None and type(ipython.get_ipython()).__name__ == "ZMQInteractiveShell":
        return True
    if sys.stderr is None or os.environ.get("TERM", "") in {"", "dumb"}:
        return False
    return sys.stderr.isatty()


def chosen(progress: bool | Callable[[Progress], object] | None) -> Meter | None:  # noqa: FBT001
    """Give what is told of the progress, if anything is."""
    if progress is None:
        progress = _wants_line()
    if progress is False:
        return None
    return Meter(Line() if progress is True else progress)
