"""Load with asyncpg's copy_records_to_table: binary COPY from an iterator of records."""

import asyncio

import asyncpg

from contract import Task, go, run


async def copy(task: Task) -> int:
    """Hand asyncpg the iterator; it encodes and sends."""
    connection = await asyncpg.connect(task.url)
    try:
        go()
        status = await connection.copy_records_to_table(
            task.table, records=task.values(), columns=list(task.columns)
        )
    finally:
        await connection.close()
    return int(status.removeprefix("COPY "))


def load(task: Task) -> int:
    """Run the one coroutine."""
    return asyncio.run(copy(task))


if __name__ == "__main__":
    run(load)
