"""Write all the time with psycopg: batches gathered by hand, a COPY in text format for each."""

from __future__ import annotations

import asyncio
from itertools import islice
from typing import TYPE_CHECKING, Any

import psycopg

from contract import Task, run
from service import Offer, serve

if TYPE_CHECKING:
    from collections.abc import Sequence


async def offer(task: Task) -> int:
    """Open the connections, and write fields as they are over them; the server reads them."""
    told = Offer.from_environment()
    rows = list(islice(task.texts(), told.rows))
    connections = [
        await psycopg.AsyncConnection.connect(task.url, autocommit=True) for _ in range(told.connections)
    ]

    async def write(connection: psycopg.AsyncConnection[Any], batch: Sequence[Sequence[Any]]) -> int:
        async with connection.cursor() as cursor:
            async with cursor.copy(f"COPY {task.table} ({task.names}) FROM STDIN") as copy:
                for row in batch:
                    await copy.write_row(row)
            return int(cursor.rowcount)

    try:
        return await serve(task, rows, connections, write)
    finally:
        for connection in connections:
            await connection.close()


def load(task: Task) -> int:
    """Run the one coroutine."""
    return asyncio.run(offer(task))


if __name__ == "__main__":
    run(load)
