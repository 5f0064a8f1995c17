"""Make the Parquet file that contenders can take instead of CSV; the same rows, before any load is timed."""

import sys
from pathlib import Path

import pyarrow.parquet as pq

import arrow_file
from contract import Task

reader = arrow_file.reader(Task.from_environment())
with pq.ParquetWriter(Path(sys.argv[1]), reader.schema, compression="zstd") as writer:
    for batch in reader:
        writer.write_batch(batch)
