"""Refusals of which nobody heard are told at the end; those that somebody took are not told again."""

import time

import pytest
from conftest import Database

import howdah


@pytest.mark.parametrize("asks", ["send", "forgets"])
def test_refusals_that_nobody_asked_about_are_raised_at_the_end(table: Database, asks: str) -> None:
    writer = howdah.Writer("t", table.dsn)

    def write() -> None:
        with writer:
            put = writer.send if asks == "send" else writer.write
            for n in range(1000):
                put((n, "bad" if n in {3, 500} else "good"))

    with pytest.raises(howdah.IntegrityError) as caught:
        write()
    assert (caught.value.sqlstate, caught.value.constraint) == ("23514", "t_v_check")
    assert caught.value.message.startswith("2 rows are not in the table, and nobody took their acknowledg")
    assert "Failing row contains (3, bad)" in str(caught.value.detail)
    assert "(500, bad)" in str(caught.value.detail)
    assert caught.value.visible == "998 rows of this writer are in the table"
    assert writer.close().rows_refused == 2


def test_what_was_told_is_not_told_again(table: Database) -> None:
    with howdah.Writer("t", table.dsn) as writer:
        with pytest.raises(howdah.IntegrityError):
            writer.write((1, "bad")).result()
        writer.write((2, "bad"))
        with pytest.raises(howdah.IntegrityError, match="nobody took its acknowledgement"):
            writer.flush()
        # Whoever holds an acknowledgement may still ask.
        held = writer.write((3, "bad"))
    with pytest.raises(howdah.IntegrityError):
        held.result()


def test_asking_whether_it_is_known_is_not_asking_what(table: Database) -> None:
    writer = howdah.Writer("t", table.dsn)
    ack = writer.write((1, "bad"))
    while not ack.done():
        time.sleep(0.001)
    assert "refused" in repr(ack)
    del ack
    with pytest.raises(howdah.IntegrityError, match="1 row is not in the table"):
        writer.close()


def test_an_exception_of_the_program_is_raised_and_ours_is_its_note(table: Database) -> None:
    def write(value: str) -> None:
        with howdah.Writer("t", table.dsn) as writer:
            writer.write((1, value))
            raise LookupError

    with pytest.raises(LookupError) as caught:
        write("bad")
    (note,) = caught.value.__notes__
    assert note.startswith("howdah: 1 row is not in the table")
    with pytest.raises(LookupError) as caught:
        write("good")
    assert not hasattr(caught.value, "__notes__")
