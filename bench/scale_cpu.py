"""CPU seconds of clients, of a server and of the machine, as Linux counts them."""

import contextlib
import os
import resource
from pathlib import Path


def of_clients() -> float:
    """Give the CPU seconds of this process and of its children that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def of_machine() -> float:
    """Give the CPU seconds of everybody, and those that the machine's host gave to others."""
    ticks = [int(each) for each in Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
    idle = sum(ticks[3:5])
    return (sum(ticks) - idle) / os.sysconf("SC_CLK_TCK")


def _stat(process: int) -> list[str]:
    return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()


def parent(process: int) -> int:
    """Give the process that started it."""
    return int(_stat(process)[1])


def of_server(postmaster: int) -> float:
    """Give the CPU seconds of the server's processes, those that have ended included."""
    ticks = 0
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        # It may end while it is looked at; its parent has its seconds then.
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            stat = _stat(int(entry.name))
            if int(entry.name) == postmaster:
                ticks += sum(map(int, stat[11:15]))
            elif int(stat[1]) == postmaster:
                ticks += sum(map(int, stat[11:13]))
    return ticks / os.sysconf("SC_CLK_TCK")
