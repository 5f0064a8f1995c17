"""Waiting in an event loop for what howdah's own threads do."""

from __future__ import annotations

import asyncio
import itertools
import weakref
from typing import TYPE_CHECKING, Any, Protocol

from howdah import _native

if TYPE_CHECKING:
    from howdah._native import Ack, Pending, Wakeups


class _Pollable(Protocol):
    def poll(self, wakeups: Wakeups, number: int) -> bool: ...


class _Bell:
    """Wakes the tasks of one event loop: it rings once for however many have become ready meanwhile."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._wakeups = _native.Wakeups()
        self._numbers = itertools.count()
        self._waiting: dict[int, asyncio.Future[None]] = {}
        loop.add_reader(self._wakeups.fileno(), self._ring)

    def _ring(self) -> None:
        for number in self._wakeups.take():
            waiting = self._waiting.pop(number, None)
            if waiting is not None and not waiting.done():
                waiting.set_result(None)

    async def ready(self, pollable: _Pollable) -> None:
        """Wait until it is."""
        number = next(self._numbers)
        loop = asyncio.get_running_loop()
        while not pollable.poll(self._wakeups, number):
            waiting = self._waiting[number] = loop.create_future()
            try:
                await waiting
            finally:
                self._waiting.pop(number, None)


# No bell knows its loop, so it goes with it.
_bells: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, _Bell] = weakref.WeakKeyDictionary()


def _bell() -> _Bell:
    loop = asyncio.get_running_loop()
    bell = _bells.get(loop)
    if bell is None:
        bell = _bells[loop] = _Bell(loop)
    return bell


async def settled(ack: Ack) -> tuple[Any, ...] | None:
    """Wait until it is known what became of a row: what ``await ack`` does."""
    if not ack.done():
        await _bell().ready(ack)
    return ack.result(0)


async def answer(pending: Pending) -> object:
    """Wait until it is over, and give what came of it."""
    await _bell().ready(pending)
    return pending.result()
