"""Carries data into PostgreSQL as fast as the server can take it, and proves that it arrived.

``howdah.load(data, "table")`` loads files, Arrow tables and rows; ``await howdah.aload(...)`` does so in
asyncio. ``howdah.Writer("table")`` and ``howdah.AsyncWriter`` write rows of a running program,
``howdah.bulk("table")`` writes many in one transaction. ``howdah.doctor("table")`` says what holds loads
back. ``with howdah.server() as server`` is a throwaway PostgreSQL for tests and notebooks.
"""

from howdah._native import __version__

# As type checkers know it; importing typing would take longer than the rest of this module.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from howdah._bulk import BulkWriter, bulk
    from howdah._doctor import Diagnosis, doctor
    from howdah._errors import (
        DatabaseError,
        DataError,
        Error,
        IntegrityError,
        InterfaceError,
        InternalError,
        Location,
        NotSupportedError,
        OperationalError,
        ProgrammingError,
        QueueFull,
        TransactionWarning,
        WriterWarning,
    )
    from howdah._load import aload, load
    from howdah._native import Ack, Rejects, Server
    from howdah._options import WriterOptions
    from howdah._progress import Progress
    from howdah._report import LoadReport
    from howdah._server import server
    from howdah._statistics import WriterStatistics
    from howdah._writer import AsyncWriter, Writer

__all__ = [
    "Ack",
    "AsyncWriter",
    "BulkWriter",
    "DataError",
    "DatabaseError",
    "Diagnosis",
    "Error",
    "IntegrityError",
    "InterfaceError",
    "InternalError",
    "LoadReport",
    "Location",
    "NotSupportedError",
    "OperationalError",
    "ProgrammingError",
    "Progress",
    "QueueFull",
    "Rejects",
    "Server",
    "TransactionWarning",
    "Writer",
    "WriterOptions",
    "WriterStatistics",
    "WriterWarning",
    "__version__",
    "aload",
    "bulk",
    "doctor",
    "load",
    "server",
]

# The command needs none of them, and is to start at once.
_HOMES = {
    "Ack": "_native",
    "AsyncWriter": "_writer",
    "BulkWriter": "_bulk",
    "Diagnosis": "_doctor",
    "LoadReport": "_report",
    "Progress": "_progress",
    "Rejects": "_native",
    "Server": "_native",
    "Writer": "_writer",
    "WriterOptions": "_options",
    "WriterStatistics": "_statistics",
    "aload": "_load",
    "bulk": "_bulk",
    "doctor": "_doctor",
    "load": "_load",
    "server": "_server",
}


def __getattr__(name: str) -> object:
    """Import what is asked for when it is asked for."""
    if name not in __all__:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    import importlib  # noqa: PLC0415

    home = importlib.import_module(f"howdah.{_HOMES.get(name, '_errors')}")
    value: object = getattr(home, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Name everything, imported or not."""
    return sorted(__all__)
