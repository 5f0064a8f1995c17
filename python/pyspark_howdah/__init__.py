"""Where Spark looks for the format ``howdah``: it imports modules whose names begin with ``pyspark_``."""

from howdah.spark._source import HowdahDataSource as DefaultSource

__all__ = ["DefaultSource"]
