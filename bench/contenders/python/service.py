"""What the Python services share: a buffer that makes batches, producers that time acknowledgements."""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections import Counter
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from contract import go

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence

    from contract import Task

    Write = Callable[[Any, Sequence[Sequence[Any]]], Awaitable[int]]


@dataclass(frozen=True)
class Offer:
    """When rows are offered, and how they are gathered: the environment that README.md lists for services."""

    rows: int
    producers: int
    steps: list[tuple[float, float]]
    connections: int
    interval: float
    discard: bool

    @classmethod
    def from_environment(cls) -> Offer:
        """Take what the harness set."""
        pace = os.environ["CONTENDER_PACE"]
        steps = [part.split(":") for part in pace.split(",") if part]
        return cls(
            rows=int(os.environ["CONTENDER_ROWS"]),
            producers=int(os.environ["CONTENDER_PRODUCERS"]),
            steps=[(float(rate), float(seconds)) for rate, seconds in steps],
            connections=int(os.environ["CONTENDER_CONNECTIONS"]),
            interval=float(os.environ["CONTENDER_INTERVAL_MS"]) / 1e3,
            discard=os.environ["CONTENDER_DISCARD"] == "1",
        )

    def moments(self) -> Iterator[float]:
        """Give the second at which each row is due; rows beyond the last step keep its rate."""
        before, row = 0.0, 0
        for at, (rate, seconds) in enumerate(self.steps):
            end = None if at + 1 == len(self.steps) else rate * seconds
            first = row
            while end is None or row - first < end:
                yield before + (row - first) / rate
                row += 1
            before += seconds


@dataclass(slots=True)
class Item:
    """A row on its way."""

    row: Sequence[Any]
    begin: float
    result: asyncio.Future[None]


@dataclass
class Ledger:
    """How long rows took, to less than a hundredth."""

    counts: Counter[int] = field(default_factory=Counter)
    last: float = 0.0

    def enter(self, item: Item) -> None:
        """Count a row that is settled now; one that was refused ends the run."""
        item.result.result()
        self.last = time.perf_counter()
        nanoseconds = max(0, int((self.last - item.begin) * 1e9))
        shift = max(0, nanoseconds.bit_length() - 7)
        self.counts[(((nanoseconds >> shift) + 1) << shift) - 1] += 1

    def tell(self, start: float) -> None:
        """Write what the harness reads before DONE."""
        told = {"seconds": self.last - start, "counts": sorted(self.counts.items())}
        print("TOLD", json.dumps(told, separators=(",", ":")), flush=True)


class Buffer:
    """One bounded queue; each connection takes a row, gathers others for a while, writes them together."""

    def __init__(self, write: Write, connections: list[Any], size: int, interval: float) -> None:
        """Start to gather."""
        self.write, self.size, self.interval = write, size, interval
        self.queue: asyncio.Queue[Item] = asyncio.Queue(size * len(connections))
        self.tasks = [asyncio.create_task(self._serve(connection)) for connection in connections]

    async def put(self, row: Sequence[Any], begin: float) -> Item:
        """Wait while the queue is full."""
        item = Item(row, begin, asyncio.get_running_loop().create_future())
        await self.queue.put(item)
        return item

    async def close(self) -> None:
        """Stop gathering; whoever closes it has heard of all rows."""
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)

    async def _gather(self) -> list[Item]:
        batch = [await self.queue.get()]
        end = time.perf_counter() + self.interval
        while len(batch) < self.size:
            if not self.queue.empty():
                batch.append(self.queue.get_nowait())
                continue
            try:
                left = end - time.perf_counter()
                batch.append(await asyncio.wait_for(self.queue.get(), max(0.0, left)))
            except TimeoutError:
                break
        return batch

    async def _serve(self, connection: object) -> None:
        while True:
            batch = await self._gather()
            try:
                stored = await self.write(connection, [item.row for item in batch])
                if stored != len(batch):
                    message = f"a batch of {len(batch)} rows came to {stored} at the server"
                    raise ValueError(message)  # noqa: TRY301  every failure is that of all its rows
            except Exception as error:  # noqa: BLE001  all rows of a batch share what becomes of it
                for item in batch:
                    item.result.set_exception(error)
            else:
                for item in batch:
                    item.result.set_result(None)


async def discard(_connection: object, rows: Sequence[Sequence[Any]]) -> int:
    """Forget a batch."""
    return len(rows)


async def _waiting(buffer: Buffer, rows: Sequence[Sequence[Any]], producers: int, ledger: Ledger) -> None:
    left = iter(rows)

    async def produce() -> None:
        for row in left:
            item = await buffer.put(row, time.perf_counter())
            await asyncio.wait([item.result])
            ledger.enter(item)

    await asyncio.gather(*(produce() for _ in range(producers)))


async def _flooding(
    buffer: Buffer, rows: Sequence[Sequence[Any]], begins: AsyncIterator[float], ledger: Ledger
) -> None:
    left = len(rows)
    all_settled: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def settled(item: Item, _: asyncio.Future[None]) -> None:
        nonlocal left
        left -= 1
        try:
            ledger.enter(item)
        except Exception as error:  # noqa: BLE001  the first refused row is the result
            if not all_settled.done():
                all_settled.set_exception(error)
        if left == 0 and not all_settled.done():
            all_settled.set_result(None)

    for row in rows:
        item = await buffer.put(row, await anext(begins))
        item.result.add_done_callback(partial(settled, item))
        if all_settled.done():
            break
    await all_settled


async def _begins(start: float, offer: Offer) -> AsyncIterator[float]:
    """Give the moments that latencies count from: now, or when a row is due, which is waited for."""
    while not offer.steps:
        yield time.perf_counter()
    for moment in offer.moments():
        left = start + moment - time.perf_counter()
        if left > 0:
            await asyncio.sleep(left)
        yield start + moment


async def serve(task: Task, rows: Sequence[Sequence[Any]], connections: list[Any], write: Write) -> int:
    """Offer all rows, tell how long they took, and return how many were acknowledged."""
    offer = Offer.from_environment()
    buffer = Buffer(discard if offer.discard else write, connections, task.batch, offer.interval)
    try:
        go()
        ledger, start = Ledger(), time.perf_counter()
        if offer.producers:
            await _waiting(buffer, rows, offer.producers, ledger)
        else:
            await _flooding(buffer, rows, _begins(start, offer), ledger)
    finally:
        await buffer.close()
    ledger.tell(start)
    return len(rows)
