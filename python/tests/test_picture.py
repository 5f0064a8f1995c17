import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree as ET

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def picture() -> ModuleType:
    spec = importlib.util.spec_from_file_location("picture", ROOT / "bench" / "picture.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules["picture"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def results(folder: Path, *changed: dict[str, object]) -> Path:
    """Three runs of two cells of one method, changed by the caller, beside an environment."""
    environment = (ROOT / "docs" / "benchmarks" / "nine-ways" / "environment.md").read_text()
    (folder / "environment.md").write_text(environment)
    conditions = {
        "dataset": "sensor-readings",
        "connections": 1,
        "settings": {},
        "table": "logged, keys kept",
    }
    runs: list[dict[str, object]] = [
        {
            "section": "rows",
            "series": "unnest",
            "x": rows,
            "repetition": repetition,
            "outcome": "verified",
            "rows": rows,
            "seconds": 1.0,
            "conditions": conditions,
        }
        for rows in (100, 1000)
        for repetition in range(4)
    ]
    for at, change in enumerate(changed):
        runs[at].update(change)
    (folder / "raw.jsonl").write_text("".join(json.dumps(run) + "\n" for run in runs))
    return folder / "raw.jsonl"


def test_the_committed_picture_shows_other_figures_than_the_published_runs(picture: ModuleType) -> None:
    drawn = picture.picture()
    ET.fromstring(drawn)  # noqa: S314  our own text
    assert picture.PICTURE.read_text() == drawn, "make picture"


def test_a_cell_that_loaded_only_a_part_of_its_rows_is_drawn(picture: ModuleType, tmp_path: Path) -> None:
    raw = results(tmp_path, {}, {}, {"outcome": "prefix", "rows": 50})
    assert [point.rows for point in picture.points(raw)["unnest"]] == [1000]


def test_a_warm_up_counts_as_a_run(picture: ModuleType, tmp_path: Path) -> None:
    raw = results(tmp_path, {"seconds": 100.0})
    assert [point.rates for point in picture.points(raw)["unnest"]] == [(100.0,) * 3, (1000.0,) * 3]


def test_runs_under_other_conditions_are_drawn_in_one_line(picture: ModuleType, tmp_path: Path) -> None:
    other = {"dataset": "sensor-readings", "connections": 2, "settings": {}, "table": "logged, keys kept"}
    raw = results(tmp_path, {}, {"conditions": other})
    with pytest.raises(ValueError, match="other conditions"):
        picture.points(raw)
