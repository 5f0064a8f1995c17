"""Draw the picture in README.md: rows per second of the ways of writing, against the size of the load.

Run by ``make picture``. Every figure comes from the published raw runs of ``howdah bench run nine-ways``;
``python/tests/test_picture.py`` compares the committed picture with what this program draws.

Only whole, verified loads are drawn. A method that loaded a first part of its rows within the time limit has
no point there: its figure says nothing about the rest.
"""

import json
import math
import statistics
import sys
import textwrap
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "docs" / "benchmarks" / "nine-ways"
PICTURE = ROOT / "docs" / "benchmarks" / "ways-of-writing.svg"

WIDTH, HEIGHT = 880, 520
LEFT, RIGHT, TOP, BOTTOM = 74, 205, 84, 134
"""Margins around the plot: axis labels, names of lines, title, caption."""

CAPTION_COLUMNS = 132

LEAST, MOST = 100, 1_000_000
"""Rows of the smallest and the largest load."""

TOP_RATE, RATE_STEP = 500_000, 100_000
"""The vertical axis, in rows per second, is linear and starts at zero."""

DODGE = 5
"""Pixels between the dots of neighbouring lines, whose bars would cover each other."""

SHARED_CONDITIONS = {
    "dataset": "sensor-readings",
    "connections": 1,
    "settings": {},
    "table": "logged, keys kept",
}
"""What every drawn run must have in common; the caption says it."""


@dataclass(frozen=True)
class Line:
    """A way of writing, and how it is drawn."""

    series: str
    """Its name in the raw runs."""

    label: str
    light: str
    dark: str


LINES = [
    Line("COPY binary", "COPY, binary", "#1d5fd1", "#7db0ff"),
    Line("COPY CSV", "COPY, CSV", "#0b8a70", "#41d6b5"),
    Line("unnest", "INSERT … unnest", "#c2570c", "#ffab66"),
    Line("multi-row VALUES", "multi-row INSERT", "#8b3fc7", "#cfa2ff"),
    Line("single INSERTs", "single-row INSERTs", "#5b6470", "#a9b3c0"),
]
"""Left out: imitations of other drivers' batches, and tools that spend their time on starting."""


@dataclass(frozen=True)
class Point:
    """One cell: all runs of a method with one number of rows, in rows per second."""

    rows: int
    rates: tuple[float, ...]

    @property
    def median(self) -> float:
        """The figure that is drawn as a dot."""
        return statistics.median(self.rates)


def points(raw: Path) -> dict[str, list[Point]]:
    """Read the points of each line; the first repetition is a warm-up."""
    rates: dict[tuple[str, int], list[float]] = defaultdict(list)
    parts: set[tuple[str, int]] = set()
    drawn = {line.series for line in LINES}
    for text in raw.read_text().splitlines():
        run: dict[str, Any] = json.loads(text)
        if run["section"] != "rows" or run["series"] not in drawn or run["repetition"] == 0:
            continue
        conditions = {key: run["conditions"][key] for key in SHARED_CONDITIONS}
        if conditions != SHARED_CONDITIONS:
            message = f"{run['series']} ran under other conditions: {conditions}"
            raise ValueError(message)
        cell = (run["series"], int(run["x"]))
        if run["outcome"] == "verified" and run["rows"] == run["x"]:
            rates[cell].append(run["rows"] / run["seconds"])
        else:
            parts.add(cell)
    found: dict[str, list[Point]] = {line.series: [] for line in LINES}
    for (series, rows), cell_rates in sorted(rates.items()):
        if (series, rows) not in parts:
            found[series].append(Point(rows, tuple(cell_rates)))
    return found


def facts(environment: Path) -> dict[str, str]:
    """Read the tables of ``environment.md``."""
    rows = (
        line.strip("|").split("|") for line in environment.read_text().splitlines() if line.startswith("|")
    )
    return {row[0].strip(): row[1].strip() for row in rows}


def across(rows: float) -> float:
    """Give the horizontal place of a number of rows, on a logarithmic axis."""
    share = math.log(rows / LEAST) / math.log(MOST / LEAST)
    return LEFT + 14 + share * (WIDTH - LEFT - RIGHT - 28)


def up(rate: float) -> float:
    """Give the vertical place of a rate."""
    return HEIGHT - BOTTOM - rate / TOP_RATE * (HEIGHT - TOP - BOTTOM)


def rounded(rate: float) -> str:
    """Say a rate with two significant digits, as many as the spread bears."""
    digits = 10 ** (math.floor(math.log10(rate)) - 1)
    return f"{round(rate / digits) * digits:,}"


def style() -> str:
    """Give the colours, for light and dark pages."""
    light = "".join(f" .s{at} {{ --c: {line.light} }}" for at, line in enumerate(LINES))
    dark = "".join(f" .s{at} {{ --c: {line.dark} }}" for at, line in enumerate(LINES))
    return f"""<style>
  svg {{ --paper: #ffffff; --ink: #1f2328; --quiet: #59636e; --grid: #e3e7ec; --edge: #d1d9e0 }}
 {light}
  @media (prefers-color-scheme: dark) {{
    svg {{ --paper: #12161c; --ink: #e8edf3; --quiet: #9da7b3; --grid: #29303a; --edge: #3a424d }}
   {dark}
  }}
  text {{ font: 13px system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; fill: var(--ink) }}
  .title {{ font-size: 18px; font-weight: 600 }}
  .quiet {{ fill: var(--quiet) }}
  .small {{ font-size: 12px; fill: var(--quiet) }}
  .paper {{ fill: var(--paper); stroke: var(--edge) }}
  .grid {{ stroke: var(--grid) }}
  .line {{ fill: none; stroke: var(--c); stroke-width: 2.5; stroke-linejoin: round }}
  .spread {{ fill: none; stroke: var(--c); stroke-width: 1.2; opacity: 0.75 }}
  .dot {{ fill: var(--c); stroke: var(--paper); stroke-width: 1.5 }}
  .name {{ font-weight: 600; fill: var(--c) }}
</style>"""


def axes() -> list[str]:
    """Draw the grid with its labels."""
    drawn = []
    for rate in range(0, TOP_RATE + 1, RATE_STEP):
        y = up(rate)
        drawn.append(f'<line class="grid" x1="{LEFT}" y1="{y:.1f}" x2="{WIDTH - RIGHT}" y2="{y:.1f}"/>')
        drawn.append(
            f'<text class="quiet" x="{LEFT - 8}" y="{y + 4.5:.1f}" text-anchor="end">{rate:,}</text>'
        )
    rows = LEAST
    while rows <= MOST:
        x = across(rows)
        drawn.append(
            f'<text class="quiet" x="{x:.1f}" y="{HEIGHT - BOTTOM + 21}" text-anchor="middle">{rows:,}</text>'
        )
        rows *= 10
    middle = (LEFT + WIDTH - RIGHT) / 2
    drawn.append(
        f'<text class="quiet" x="{middle:.1f}" y="{HEIGHT - BOTTOM + 41}" text-anchor="middle">'
        "rows loaded (logarithmic)</text>"
    )
    return drawn


def drawn_line(at: int, line: Line, cells: list[Point]) -> list[str]:
    """Draw a line with its dots, whiskers and name."""
    shift = (at - (len(LINES) - 1) / 2) * DODGE
    places = [(across(cell.rows) + shift, up(cell.median)) for cell in cells]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    drawn = [f'<g class="s{at}">', f'  <polyline class="line" points="{path}"/>']
    for cell, (x, _) in zip(cells, places, strict=True):
        low, high = up(min(cell.rates)), up(max(cell.rates))
        bar = f"M{x - 4:.1f} {high:.1f}h8M{x:.1f} {high:.1f}V{low:.1f}M{x - 4:.1f} {low:.1f}h8"
        drawn.append(f'  <path class="spread" d="{bar}"/>')
    for cell, (x, y) in zip(cells, places, strict=True):
        told = f"{line.label}, {cell.rows:,} rows: {cell.median:,.0f} rows/s"
        spread = f"{min(cell.rates):,.0f} to {max(cell.rates):,.0f} in {len(cell.rates)} runs"
        drawn.append(f'  <circle class="dot" cx="{x:.1f}" cy="{y:.1f}" r="4.5">')
        drawn.append(f"    <title>{told} ({spread})</title></circle>")
    (x, y), last = places[-1], cells[-1]
    beside = (WIDTH - RIGHT + 8, y + 4.5) if last.rows == MOST else (x + 8, y - 10)
    drawn.append(f'  <text class="name" x="{beside[0]:.1f}" y="{beside[1]:.1f}">{line.label}')
    drawn.append(f'    <tspan font-weight="400">{rounded(last.median)}</tspan></text>')
    return [*drawn, "</g>"]


def caption(found: dict[str, list[Point]], told: dict[str, str]) -> list[str]:
    """Say what was measured, where, and how often."""
    runs = {len(cell.rates) for cells in found.values() for cell in cells}
    server = " ".join(told["server"].split()[:2])
    sentences = [
        f"Dots: median of {min(runs)} runs. Bars: slowest to fastest run.",
        "Client: howdah, one connection over TCP. Table: 10 columns, primary key, 140 bytes a row.",
        "Single-row INSERTs are prepared and share one transaction;",
        "beyond 10,000 rows they ran into the time limit.",
        f"{server} with default settings, a new cluster for each run, which also has to create its WAL",
        "files;",
        f"{told['cores']} cores ({told['processor']}) for client and server together.",
        "Every load was verified by checksum. Raw runs: docs/benchmarks/nine-ways.",
    ]
    lines = textwrap.wrap(" ".join(sentences), CAPTION_COLUMNS)
    if len(runs) > 1:
        message = f"the caption gives one number of runs, and there are {sorted(runs)}"
        raise ValueError(message)
    first = HEIGHT - 15 - 17 * (len(lines) - 1)
    return [
        f'<text class="small" x="24" y="{first + 17 * at}">{text}</text>' for at, text in enumerate(lines)
    ]


def picture(results: Path = RESULTS) -> str:
    """Draw the picture as SVG."""
    found = points(results / "raw.jsonl")
    best = max(cell.median for cells in found.values() for cell in cells)
    title = (
        f"Rows per second by way of writing and size of the load: {LINES[0].label} reaches {rounded(best)}"
    )
    body = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img"',
        '  aria-labelledby="title">',
        "<!-- Drawn by bench/picture.py (make picture) from docs/benchmarks/nine-ways/raw.jsonl. -->",
        f'<title id="title">{title}</title>',
        style(),
        f'<rect class="paper" x="0.5" y="0.5" width="{WIDTH - 1}" height="{HEIGHT - 1}" rx="8"/>',
        '<text class="title" x="24" y="36">Rows per second, by way of writing</text>',
        '<text class="quiet" x="24" y="58">The same rows into the same table. More is better.</text>',
        *axes(),
    ]
    # The line that leads is drawn last, on top.
    for at, line in reversed(list(enumerate(LINES))):
        body += drawn_line(at, line, found[line.series])
    body += caption(found, facts(results / "environment.md"))
    return "\n".join([*body, "</svg>", ""])


if __name__ == "__main__":
    PICTURE.write_text(picture())
    sys.stdout.write(f"{PICTURE.relative_to(ROOT)}\n")
