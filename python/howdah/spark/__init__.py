"""Spark writes through howdah: ``df.write.format("howdah").option("dbtable", "readings")…``.

``import howdah.spark`` registers the format with the active session. Spark 4 finds it without that, too,
where howdah is installed beside it. docs/spark.md is the guide.
"""

from pyspark.sql import SparkSession

from howdah.spark._source import HowdahDataSource

__all__ = ["HowdahDataSource", "register"]


def register(session: SparkSession) -> None:
    """Make the format ``howdah`` known to a session."""
    session.dataSource.register(HowdahDataSource)


_active = SparkSession.getActiveSession()
if _active is not None:
    register(_active)
