"""A small Spark of our own: a driver and two executors, each a process, all on this machine."""

import os
import sys
from pathlib import Path
from typing import Any

import pyspark
from pyspark.sql import SparkSession

import howdah

HERE = Path(__file__).parent

# Two executors with a core each: tasks of one job run in different processes.
MASTER = "local-cluster[2,1,1024]"

# A JVM that lives for a minute is not worth being optimized.
JVM = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"

SETTINGS = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "512m",
    "spark.driver.extraJavaOptions": JVM,
    "spark.executor.extraJavaOptions": JVM,
    "spark.executor.memory": "512m",
    "spark.log.level": "ERROR",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "2",
    # Spark 4.3 has the type TIME, but not yet for everybody.
    "spark.sql.timeType.enabled": "true",
    "spark.ui.enabled": "false",
}


def started(server: howdah.Server) -> Any:  # noqa: ANN401 - of a library without types here
    """Start it; what its processes need to know of the server is in their environment."""
    builder = SparkSession.builder.master(MASTER)
    password = server.dsn.split(":")[2].split("@")[0]
    environment = {
        "PGHOST": "127.0.0.1",
        "PGPORT": str(server.port),
        "PGUSER": "howdah",
        "PGPASSWORD": password,
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_HOME": str(Path(pyspark.__file__).parent),
    }
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    for name, value in environment.items():
        builder = builder.config(f"spark.executorEnv.{name}", value)
    before = dict(os.environ)
    os.environ.update(environment)
    try:
        return builder.getOrCreate()
    finally:
        for name in environment:
            if name in before:
                os.environ[name] = before[name]
            else:
                del os.environ[name]
