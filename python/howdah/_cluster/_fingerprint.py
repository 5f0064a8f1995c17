"""What tells the rows of a partition from others: a digest of their values, in their order.

How they were cut into batches plays no part. No row becomes an object of Python.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

# Enough that a piece costs little, few enough that it is held easily.
_ROWS = 4096


class Fingerprint:
    """The digest of batches that somebody takes."""

    def __init__(self) -> None:
        """Begin without rows."""
        self.rows = 0
        """How many were taken."""
        self._digest = hashlib.blake2b(digest_size=16)
        self._held: list[pa.RecordBatch] = []
        self._held_rows = 0

    def watched(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Give the batches, and remember them."""
        for batch in batches:
            self.rows += batch.num_rows
            self._held.append(batch)
            self._held_rows += batch.num_rows
            if self._held_rows >= _ROWS:
                self._take(self._held_rows // _ROWS * _ROWS)
            yield batch

    def hex(self) -> str:
        """Give it, when all batches were taken."""
        if self._held_rows:
            self._take(self._held_rows)
        return self._digest.hexdigest()

    def _take(self, rows: int) -> None:
        import pyarrow as pa  # noqa: PLC0415

        together = pa.Table.from_batches(self._held).combine_chunks()
        for start in range(0, rows, _ROWS):
            piece = together.slice(start, min(_ROWS, rows - start))
            # Together with no rows it is a copy, without the bits of rows that lie around it.
            (copied,) = pa.concat_tables([piece, piece.slice(0, 0)]).combine_chunks().to_batches()
            self._digest.update(copied.serialize())
        self._held_rows -= rows
        self._held = together.slice(rows).to_batches() if self._held_rows else []
