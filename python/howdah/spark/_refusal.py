"""The refusal of a password, in Spark's words."""

from __future__ import annotations

from typing import NoReturn

from howdah._cluster._rules import refuse


def refuse_password(where: str) -> NoReturn:
    """Say what to use instead of a password that plans, pages and logs would show."""
    refuse(
        f"{where} holds a password, which plans, web pages and event logs would show",
        "put it where the driver and the executors find it as psql does: PGPASSWORD in their environment"
        " (spark.executorEnv.PGPASSWORD), a passfile (PGPASSFILE, ~/.pgpass), or a service file"
        " (PGSERVICEFILE and the url service=NAME)",
    )
