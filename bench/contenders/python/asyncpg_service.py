"""Write all the time with asyncpg: batches gathered by hand, copy_records_to_table for each."""

from __future__ import annotations

import asyncio
from itertools import islice
from typing import TYPE_CHECKING, Any

import asyncpg

from contract import Task, run
from service import Offer, serve

if TYPE_CHECKING:
    from collections.abc import Sequence


async def offer(task: Task) -> int:
    """Open the connections, and write Python values over them."""
    told = Offer.from_environment()
    rows = list(islice(task.values(), told.rows))
    connections = [await asyncpg.connect(task.url) for _ in range(told.connections)]

    async def write(connection: asyncpg.Connection[asyncpg.Record], batch: Sequence[Sequence[Any]]) -> int:
        status = await connection.copy_records_to_table(task.table, records=batch, columns=list(task.columns))
        return int(status.removeprefix("COPY "))

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
