"""The console script and the package, as a user meets them after ``pip install``."""

import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

from require import library

import howdah
from howdah import _native

# The script that pip put beside the interpreter.
COMMAND = Path(sys.executable).parent / "howdah"


def run(*args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([COMMAND, *args], capture_output=True, text=True, timeout=60, check=False)


def test_console_script_is_installed_and_knows_its_version() -> None:
    done = run("--version")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"howdah {howdah.__version__}\n", "")


def test_exit_code_of_a_wrong_option_reaches_the_shell() -> None:
    done = run("load", "--no-such-option", "x.csv")
    assert done.returncode == 2
    assert done.stdout == ""
    assert "--no-such-option" in done.stderr


def test_module_runs_like_the_script() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "howdah", "--version"], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout) == (0, f"howdah {howdah.__version__}\n")


def test_cli_main_returns_instead_of_ending_the_interpreter() -> None:
    assert _native.cli_main(["howdah", "--version"]) == 0


def test_a_server_comes_from_the_interpreter_s_environment_however_that_was_called(
    server: howdah.Server, tmp_path: Path
) -> None:
    code = """
import os, sys
os.chdir(sys.argv[1])
import howdah
with howdah.server() as server:
    print(server.bin_dir)
"""
    inactive = {name: value for name, value in os.environ.items() if name not in {"VIRTUAL_ENV", "PATH"}}
    done = subprocess.run(
        ["./bin/python", "-c", code, tmp_path],
        cwd=sys.prefix,
        env={**inactive, "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.stdout.strip(), done.stderr) == (str(server.bin_dir), "")


def test_import_stays_cheap() -> None:
    """At most 50 ms above a bare interpreter, measured where nothing else runs: commands are used often."""

    def milliseconds(code: str) -> float:
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True)
        return (time.perf_counter() - start) * 1000

    milliseconds("import howdah")  # warm the file cache
    pairs = [milliseconds("import howdah") - milliseconds("pass") for _ in range(9)]
    most = 50 if os.environ.get("HOWDAH_TIMED") else 5_000
    assert statistics.median(pairs) <= most


def test_import_brings_no_heavy_module() -> None:
    code = "import sys; before = set(sys.modules); import howdah; print(*(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) == {"howdah", "howdah._native"}


def test_stubs_say_what_the_native_module_has() -> None:
    library("mypy")
    command = [sys.executable, "-m", "mypy.stubtest", "howdah._native", "--ignore-disjoint-bases"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout


def test_bench_finds_its_worker_in_the_package(tmp_path: Path) -> None:
    what = ["five-paths", "--quick", "--rows", "200", "--method", "COPY text"]
    done = run("bench", "run", *what, "-o", str(tmp_path / "out"))
    assert done.returncode == 0, done.stderr
    assert '"outcome":"verified"' in (tmp_path / "out" / "raw.jsonl").read_text(), done.stderr
