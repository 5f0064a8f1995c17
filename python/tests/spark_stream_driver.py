"""A driver of Spark that streams files into a table, and stands still where it is to be killed."""

import os
import sys
import time
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession
from spark_session import SETTINGS

from howdah.spark import HowdahDataSource


def standing_still(where: str, marker: str) -> Any:  # noqa: ANN401 - of a library without types here
    """Make a format like howdah's that ends an epoch up to ``before 3`` or ``after 3``."""
    # By value: it is the program's, and no module of the processes that Spark starts.
    from howdah.spark._stream import HowdahStreamWriter  # noqa: PLC0415

    class StillWriter(HowdahStreamWriter):
        def commit(self, messages: Any, batchId: int) -> None:  # noqa: ANN401, N803
            self._stand(f"before {batchId}")
            super().commit(messages, batchId)
            self._stand(f"after {batchId}")

        def _stand(self, here: str) -> None:
            if here == where:
                Path(marker).touch()
                time.sleep(600)

    class StillDataSource(HowdahDataSource):
        @classmethod
        def name(cls) -> str:
            return "still"

        def streamWriter(self, schema: Any, overwrite: bool) -> Any:  # noqa: ANN401, FBT001, N802
            return StillWriter(super().streamWriter(schema, overwrite)._job)  # noqa: SLF001

    return StillDataSource


def main() -> None:
    """Stream what is there, epoch by epoch."""
    place, database, where = sys.argv[1:]
    builder = SparkSession.builder.master("local[2]")
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.dataSource.register(standing_still(where, f"{place}/marker"))
    stream = spark.readStream.schema("id bigint").option("maxFilesPerTrigger", 1).json(f"{place}/in")
    query = (
        stream.repartition(2)
        .writeStream.format("still")
        .options(url=f"dbname={database}", dbtable="t", checkpointLocation=f"{place}/checkpoint")
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    # What it started ends with it.
    sys.stdout.flush()
    spark.stop()
    os._exit(0)


if __name__ == "__main__":
    main()
