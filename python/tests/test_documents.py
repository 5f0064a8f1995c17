"""What can be checked of README.md, CONTRIBUTING.md and docs/*.md without running what they show."""

import re
from fnmatch import fnmatch
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
GUIDES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
LINKING = [*GUIDES, ROOT / "ARCHITECTURE.md", ROOT / "CHANGELOG.md"]
COLUMNS = 100

LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)
NAMED = re.compile(r"`([\w*./-]+)`")
FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


def anchors(text: str) -> set[str]:
    """The names that GitHub gives to a document's headings."""
    headings = HEADING.findall(FENCED.sub("", text))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


def dead(document: Path) -> list[str]:
    """Relative links that lead nowhere."""
    wrong = []
    for link in LINK.findall(FENCED.sub("", document.read_text())):
        name, _, anchor = link.partition("#")
        target = document.parent / name if name else document
        if re.match(r"[a-z]+:", link):
            continue
        if not target.exists() or (anchor and anchor not in anchors(target.read_text())):
            wrong.append(link)
    return wrong


def known() -> list[str]:
    """Give the tree's files and folders."""
    folders = ("crates", "python", "bench", "docs", "fuzz", ".ci")
    paths = [path for folder in folders for path in (ROOT / folder).rglob("*")]
    return [*folders, *(path.relative_to(ROOT).as_posix() for path in paths)]


def gone(text: str, files: list[str]) -> list[str]:
    """Paths between backticks that no file, module or folder has as its end."""
    wrong = []
    for name in NAMED.findall(text):
        if name.startswith("..") or ("/" not in name and not name.endswith((".rs", ".py"))):
            continue
        ends = [name.rstrip("/") + end for end in ("", ".rs", "/mod.rs")]
        if not any(fnmatch(file, pattern) for end in ends for file in files for pattern in (end, f"*/{end}")):
            wrong.append(name)
    return wrong


def wide(text: str) -> list[int]:
    """Numbers of lines of prose beyond the limit: not code, comments, tables, or one word without a blank."""
    long = []
    fenced = False
    for number, line in enumerate(text.splitlines(), 1):
        fenced ^= line.startswith("```")
        is_prose = not fenced and not line.startswith(("|", "<!--", "```"))
        if is_prose and len(line) > COLUMNS and " " in line.strip():
            long.append(number)
    return long


@pytest.mark.parametrize("document", LINKING, ids=lambda path: path.name)
def test_a_link_leads_to_nothing(document: Path) -> None:
    assert dead(document) == []


@pytest.mark.parametrize(("name", "most"), [("README.md", 70), ("ARCHITECTURE.md", 130)])
def test_a_page_that_everybody_reads_stays_short(name: str, most: int) -> None:
    assert len((ROOT / name).read_text().splitlines()) <= most


@pytest.mark.parametrize("name", ["ARCHITECTURE.md", "CONTRIBUTING.md", "docs/promises.md"])
def test_a_path_that_is_named_is_gone(name: str) -> None:
    assert gone((ROOT / name).read_text(), known()) == []


@pytest.mark.parametrize("document", LINKING, ids=lambda path: path.name)
def test_a_line_of_prose_is_too_wide_to_read(document: Path) -> None:
    assert wide(document.read_text()) == [], f"more than {COLUMNS} columns: {document.name}"


def test_a_guide_is_missing_from_the_table_of_guides() -> None:
    listed = {link.partition("#")[0] for link in LINK.findall((ROOT / "README.md").read_text())}
    listed |= {f"docs/{link}" for link in LINK.findall((ROOT / "docs" / "README.md").read_text())}
    guides = {f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md")}
    assert guides - listed - {"docs/README.md"} == set()


def test_the_checks_of_documents_see_nothing(tmp_path: Path) -> None:
    words = "word " * 30
    assert wide(f"{words}\n| {words}\n```\n{words}\n```\n{'w' * 200}\n- {words}\n") == [1, 7]
    files = ["crates/a/src/plan/mod.rs", "crates/a/src/plan/jobs.rs", "crates/a/src/plan"]
    names = "`plan` `plan/jobs` `a/src/plan/` `jobs*.rs` `plan/gone` `gone.rs`"
    assert gone(names, files) == ["plan/gone", "gone.rs"]
    (tmp_path / "there.md").write_text("# A `b`, c\n")
    document = tmp_path / "links.md"
    document.write_text(
        "[a](there.md) [b](there.md#a-b-c) [c](there.md#d) [d](gone.md) [e](https://x.y/z) [f](#none)\n"
    )
    assert dead(document) == ["there.md#d", "gone.md", "#none"]
