"""A writer in asyncio: it waits without blocking the loop, and cancelling leaves everything in order."""

import asyncio
import gc
import os
import time
from dataclasses import dataclass

import pytest
from conftest import Database
from require import library, missing
from test_writer import slow_down
from test_writer_stopping import HELD

import howdah


def test_rows_are_acknowledged_one_by_one(table: Database) -> None:
    async def one(writer: howdah.AsyncWriter, n: int) -> str:
        try:
            ack = await writer.write({"id": n, "v": "bad" if n % 100 == 7 else "good"})
            assert await ack is None
        except howdah.IntegrityError as error:
            return str(error.constraint)
        return "in"

    async def main() -> list[str]:
        async with howdah.AsyncWriter("t", table.dsn) as writer:
            assert writer.columns == ["id", "v"]
            return await asyncio.gather(*(one(writer, n) for n in range(1000)))

    told = asyncio.run(main())
    assert [n for n, word in enumerate(told) if word == "t_v_check"] == list(range(7, 1000, 100))
    assert told.count("in") == 990
    assert table.value("SELECT count(*) FROM t") == "990"


def test_returned_values_can_be_awaited_more_than_once(database: Database) -> None:
    database.sql("CREATE TABLE t (id int GENERATED ALWAYS AS IDENTITY, v text)")

    async def main() -> None:
        async with howdah.AsyncWriter("t", database.dsn, returning="id") as writer:
            ack = await writer.write(["x"])
            assert list(await asyncio.gather(wait(ack), wait(ack))) == [(1,), (1,)]
            assert await ack == (1,)
            assert ack.result() == (1,)

    async def wait(ack: howdah.Ack) -> object:
        return await ack

    asyncio.run(main())


def test_the_loop_goes_on_while_rows_wait_for_room_and_for_the_server(table: Database) -> None:
    slow_down(table, 0.2)

    async def main() -> int:
        ticks = 0

        async def tick() -> None:
            nonlocal ticks
            while True:
                await asyncio.sleep(0.01)
                ticks += 1

        clock = asyncio.create_task(tick())
        async with howdah.AsyncWriter("t", table.dsn, queue_rows=1) as writer:
            for n in range(4):
                await writer.send((n, "x"))
            await writer.flush()
        clock.cancel()
        return ticks

    assert asyncio.run(main()) > 20
    assert table.value("SELECT count(*) FROM t") == "4"


def test_rows_of_a_close_that_was_cancelled_are_lost_in_silence(database: Database) -> None:
    database.sql(HELD)
    psycopg = library("psycopg")

    async def main(key: int, deadline: float) -> str:
        writer = howdah.AsyncWriter("t", database.dsn)
        await writer.connect()
        with psycopg.connect(database.dsn, autocommit=True) as holder:
            holder.execute("SELECT pg_advisory_lock(7)")
            held = await writer.write((key, "x"))
            await writer.send((key, "y"))
            close = asyncio.create_task(writer.close(deadline))
            await asyncio.sleep(0)
            close.cancel()
            with pytest.raises(asyncio.CancelledError):
                await close
            if deadline < 30:
                # Nobody hears of the deadline but whoever closes it next.
                await asyncio.wait([asyncio.ensure_future(told(held))])
        with pytest.raises(howdah.Error) as caught:
            await writer.close()
        await writer.close()
        return caught.value.message

    async def told(ack: howdah.Ack) -> object:
        return await ack

    message = asyncio.run(main(1, 30))
    assert message.startswith("1 row is not in the table"), message
    # Long enough that it is cancelled first, on a busy machine too.
    message = asyncio.run(main(2, 2))
    assert message.startswith("the writer was closed with 2 rows"), message


def test_a_full_queue_refuses_when_it_is_to(table: Database) -> None:
    slow_down(table, 0.5)

    async def main(on_full: float) -> None:
        async with howdah.AsyncWriter("t", table.dsn, queue_rows=1, on_full=on_full) as writer:
            ack = await writer.write((on_full * 100, "x"))
            with pytest.raises(howdah.QueueFull):
                await writer.write((2, "x"))
            await ack

    asyncio.run(main(0.05))
    asyncio.run(main(0))


def test_a_task_that_is_cancelled_while_it_waits_leaves_its_row_to_the_writer(table: Database) -> None:
    slow_down(table, 0.3)

    async def main() -> None:
        async with howdah.AsyncWriter("t", table.dsn, queue_rows=1) as writer:
            ack = await writer.write((1, "x"))

            async def wait() -> object:
                return await ack

            waiting = asyncio.create_task(wait())
            squeezing = asyncio.create_task(writer.write((2, "never")))
            # Both come as far as they can.
            await asyncio.sleep(0)
            waiting.cancel()
            squeezing.cancel()
            results = await asyncio.gather(waiting, squeezing, return_exceptions=True)
            assert all(isinstance(result, asyncio.CancelledError) for result in results)
            # What waited for room was not written, what was written is not called back.
            assert await ack is None
            await (await writer.write((3, "x")))

    asyncio.run(main())
    assert table.sql("SELECT id FROM t ORDER BY id") == ["1", "3"]


def test_an_acknowledgement_of_a_thread_s_writer_can_be_awaited_in_any_loop(table: Database) -> None:
    with howdah.Writer("t", table.dsn) as writer:

        async def main(n: int) -> None:
            assert await writer.write((n, "x")) is None
            with pytest.raises(howdah.IntegrityError):
                await writer.write((n + 1, "bad"))

        asyncio.run(main(1))
        asyncio.run(main(10))


def test_flush_and_close_say_what_failed(table: Database) -> None:
    async def main() -> None:
        writer = await howdah.AsyncWriter("t", table.dsn).connect()
        await writer.send((1, "bad"))
        with pytest.raises(howdah.IntegrityError):
            await writer.flush()
        await writer.send((2, "good"))
        statistics = await writer.close()
        assert (statistics.rows_written, statistics.rows_refused) == (1, 1)
        assert (await writer.close()).rows_written == 1
        with pytest.raises(howdah.InterfaceError, match="closed"):
            await writer.write((3, "x"))

    asyncio.run(main())


def test_refusals_that_nobody_asked_about_are_raised_at_the_end(table: Database) -> None:
    async def main(failure: type[Exception] | None) -> None:
        async with howdah.AsyncWriter("t", table.dsn) as writer:
            with pytest.raises(howdah.IntegrityError):
                await (await writer.write((1, "bad")))
            await writer.write((2, "bad"))
            await writer.send((3, "bad"))
            if failure is not None:
                raise failure

    with pytest.raises(howdah.IntegrityError, match="2 rows are not in the table"):
        asyncio.run(main(None))
    with pytest.raises(LookupError) as caught:
        asyncio.run(main(LookupError))
    assert "2 rows are not in the table" in caught.value.__notes__[0]


def test_a_writer_that_is_not_connected_says_so(table: Database) -> None:
    async def main() -> None:
        writer = howdah.AsyncWriter("t", table.dsn)
        with pytest.raises(howdah.InterfaceError, match="not connected"):
            await writer.write((1, "x"))
        with pytest.raises(howdah.ProgrammingError, match="does not exist"):
            await howdah.AsyncWriter("nowhere", table.dsn).connect()

    asyncio.run(main())


def test_a_service_s_requests_share_transactions(table: Database) -> None:
    @dataclass
    class Row:
        id: int
        v: str

    async def main() -> howdah.WriterStatistics:
        async with howdah.AsyncWriter("t", table.dsn) as writer:

            async def request(n: int) -> None:
                await (await writer.write(Row(n, "x")))

            for batch in range(10):
                await asyncio.gather(*(request(batch * 200 + n) for n in range(200)))
            return writer.statistics

    statistics = asyncio.run(main())
    assert statistics.rows_written == 2000
    assert sum(statistics.flushes.values()) < 1000


def test_an_idle_writer_costs_no_cpu(table: Database) -> None:
    async def main() -> float:
        async with howdah.AsyncWriter("t", table.dsn) as writer:
            await (await writer.write((1, "x")))
            await asyncio.sleep(0.2)
            before = time.process_time()
            await asyncio.sleep(1)
            return time.process_time() - before

    assert asyncio.run(main()) < 0.05


def test_loops_leave_no_files_behind(table: Database) -> None:
    if not os.path.exists("/proc/self/fd"):  # noqa: PTH110
        missing("proc", "there is no /proc")
    with howdah.Writer("t", table.dsn) as writer:

        async def main(n: int) -> None:
            await writer.write((n, "x"))

        for n in range(5):
            asyncio.run(main(n))
        gc.collect()
        before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208
        for n in range(5, 25):
            asyncio.run(main(n))
        gc.collect()
        assert len(os.listdir("/proc/self/fd")) <= before + 2  # noqa: PTH208
