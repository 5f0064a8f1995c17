"""Checksums of Parquet pages: what changed since they were taken is refused."""

from pathlib import Path

import pytest
from conftest import Database
from require import library

import howdah

pa = library("pyarrow")
pq = library("pyarrow.parquet")

ROWS = [(n, f"text {n % 7}") for n in range(2_000)]


def written(path: Path, **options: object) -> Path:
    """Write two row groups of checked pages."""
    table = pa.table({"id": [row[0] for row in ROWS], "word": [row[1] for row in ROWS]})
    pq.write_table(table, path, row_group_size=1_000, write_page_checksum=True, **options)
    return path


@pytest.mark.parametrize("codec", ["none", "snappy", "gzip", "brotli", "zstd", "lz4"])
@pytest.mark.parametrize("version", ["1.0", "2.0"])
def test_a_page_that_changed_is_refused_by_its_place_and_an_unchanged_one_is_read(
    database: Database, tmp_path: Path, codec: str, version: str
) -> None:
    path = written(tmp_path / "t.parquet", compression=codec, data_page_version=version)
    assert howdah.load(path, "t", database.dsn).rows == len(ROWS)
    assert database.sql("SELECT id, word FROM t ORDER BY id") == [f"{n}|{word}" for n, word in ROWS]
    whole = path.read_bytes()
    word = pq.read_metadata(path).row_group(1).column(1)
    end = word.dictionary_page_offset + word.total_compressed_size
    # The last byte of the dictionary, and that of the last page.
    for at in (word.data_page_offset - 1, end - 1):
        changed = bytearray(whole)
        changed[at] ^= 1
        path.write_bytes(changed)
        with pytest.raises(howdah.Error) as caught:
            howdah.load(path, "t", database.dsn)
        assert str(caught.value).startswith(
            f"cannot read {path}, row group 1: column word: Page CRC checksum mismatch"
        )
        assert database.value("SELECT count(*) FROM t") == str(len(ROWS))
        # A column that is not loaded is not read.
        assert howdah.load(path, "ids", database.dsn, skip_columns="word", mode="replace").rows == len(ROWS)


def test_a_change_that_nothing_else_shows_is_noticed(database: Database, tmp_path: Path) -> None:
    path = written(tmp_path / "t.parquet", compression="none", use_dictionary=False)
    changed = bytearray(path.read_bytes())
    numbers = pq.read_metadata(path).row_group(0).column(0)
    changed[numbers.data_page_offset + numbers.total_compressed_size - 8] ^= 1
    path.write_bytes(changed)
    assert pq.read_table(path)["id"][999].as_py() == 998
    with pytest.raises(howdah.Error, match="row group 0: column id: Page CRC checksum mismatch"):
        howdah.load(path, "t", database.dsn)
