"""Installs what the contenders need into build/contenders; writes down which can run and why others cannot.

Run by `make contenders`. Nothing fails where a toolchain is missing: its contenders are skipped and say why.
"""

from __future__ import annotations

import functools
import json
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
BUILD = HERE.parents[1] / "build" / "contenders"
VENV = BUILD / "venv"
JARS = BUILD / "jars"
CLASSES = BUILD / "classes"
PGX = BUILD / "pgx"
RUST = BUILD / "rust"
TYPESCRIPT = BUILD / "typescript"
GENERATED = BUILD / "generated"
# Makes the code of contenders that have some made.
HOWDAH = os.environ.get("HOWDAH", str(Path(sys.executable).parent / "howdah"))

# What stands in contender.toml for places that setup makes.
PLACES = {
    "python": str(VENV / "bin" / "python"),
    "jars": str(JARS),
    "classpath": f"{CLASSES}:{JARS}/*",
    "pgx": str(PGX),
    "rust": str(RUST / "release"),
    "typescript": str(TYPESCRIPT),
    "generated": str(GENERATED),
}
# Said of a contender whose file says nothing else.
DEFAULTS: dict[str, Any] = {
    "kind": "load",
    "inputs": ["csv"],
    "datasets": [],
    "connections": "one",
    "transaction": "one",
    "durability": "durable",
    "startup": "before READY",
    "batches": False,
    "note": "",
}

INSTALLATIONS = {
    "Python": [
        [sys.executable, "-m", "venv", str(VENV)],
        [PLACES["python"], "-m", "pip", "install", "--quiet", "--requirement", "requirements.txt"],
    ],
    "Java": [
        ["mvn", "--quiet", "--batch-mode", "dependency:copy-dependencies", f"-DoutputDirectory={JARS}"],
        ["bash", "-c", f"javac -d '{CLASSES}' -cp '{JARS}/*' *.java"],
    ],
    "Go": [["go", "build", "-o", str(PGX), "."]],
    "Rust": [["cargo", "build", "--quiet", "--release", "--locked", "--target-dir", str(RUST)]],
    "TypeScript": [
        ["bash", "-c", f"mkdir -p '{TYPESCRIPT}' && cp .npmrc *.json *.ts '{TYPESCRIPT}'"],
        ["npm", "ci", "--prefix", str(TYPESCRIPT), "--ignore-scripts", "--no-audit", "--no-fund"],
        ["node", f"{TYPESCRIPT}/node_modules/typescript/bin/tsc", "--project", str(TYPESCRIPT)],
    ],
    "shell": [],
}


@functools.cache
def generate() -> str | None:
    """Have howdah make code in a copy of the folder `codegen`; say why where that fails."""
    shutil.rmtree(GENERATED, ignore_errors=True)
    shutil.copytree(HERE / "codegen", GENERATED)
    said, wrong = run([HOWDAH, "--version"], GENERATED)
    (GENERATED / "version").write_text(said)
    return wrong or run([HOWDAH, "codegen", "generate", "."], GENERATED)[1]


def run(command: list[str], directory: Path) -> tuple[str, str | None]:
    """Give what the command says, and, where it failed, a line why."""
    try:
        done = subprocess.run(
            command, cwd=directory, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
        )
    except OSError as error:
        return "", f"{command[0]}: {error.strerror}"
    if done.returncode == 0:
        return done.stdout, None
    lines = (done.stderr.strip() or done.stdout.strip() or f"exit code {done.returncode}").splitlines()
    return done.stdout, f"{Path(command[0]).name}: {lines[-1]}"


def missing(entry: dict[str, Any], *, install: bool) -> str | None:
    """Say which command is not there, after an attempt to get it from Debian where that is possible."""

    def absent() -> list[str]:
        return [command for command in entry.get("commands", []) if shutil.which(command) is None]

    if absent() and install and os.geteuid() == 0 and shutil.which("apt-get"):
        packages = ["apt-get", "install", "--yes", "--no-install-recommends", *entry["packages"]]
        run(["apt-get", "update"], HERE)
        run(packages, HERE)
    return f"{absent()[0]} is not installed" if absent() else None


def prepare(directory: Path, description: dict[str, Any]) -> str | None:
    """Install a language's libraries and compile its programs; say why where that fails."""
    reason = missing(description, install=True)
    for command in INSTALLATIONS[description["language"]]:
        reason = reason or run(command, directory)[1]
    return reason


def build(entry: dict[str, Any], directory: Path) -> str | None:
    """Make what one contender alone needs; say why where that fails."""
    reason = generate() if entry.get("build") else None
    for command in entry.get("build", []):
        reason = reason or run([part.format(**PLACES) for part in command], directory)[1]
    return reason


def contenders(*, install: bool = False) -> list[dict[str, Any]]:
    """Describe every contender: what its file says, how to run it, its version or why it cannot run."""
    found = []
    for file in sorted(HERE.glob("*/contender.toml")):
        description = tomllib.loads(file.read_text())
        failure = prepare(file.parent, description) if install else None
        for entry in description["contender"]:
            reason = failure or missing(description | entry, install=install)
            if install and not reason:
                reason = build(entry, file.parent)
            said, wrong = run([argument.format(**PLACES) for argument in entry["version"]], file.parent)
            reason = reason or wrong
            found.append(
                DEFAULTS
                | {key: value for key, value in entry.items() if key not in {"commands", "packages", "build"}}
                | {
                    "language": description["language"],
                    "directory": str(file.parent),
                    "run": [argument.format(**PLACES) for argument in entry["run"]],
                    "version": ", ".join(" ".join(line.split()) for line in said.splitlines()),
                    "available": reason is None,
                    "reason": reason,
                }
            )
    return found


def main() -> None:
    """Install, describe, and tell."""
    BUILD.mkdir(parents=True, exist_ok=True)
    found = contenders(install=True)
    file = BUILD / "available.json"
    file.write_text(json.dumps({"contenders": found}, indent=2) + "\n")
    for entry in found:
        print(
            f"{entry['name']:28} {entry['version'] if entry['available'] else 'skipped: ' + entry['reason']}"
        )
    print(f"{sum(entry['available'] for entry in found)} of {len(found)} can run; written to {file}")


if __name__ == "__main__":
    main()
