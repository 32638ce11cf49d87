"""One Spark for all tests of a process: a classic session whose JVM also serves Spark Connect."""

from __future__ import annotations

import os
import shutil
import socket
from functools import cache
from importlib.util import find_spec

import pytest

SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "OFF",
    "spark.sql.shuffle.partitions": "2",
    "spark.default.parallelism": "2",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "1g",
    "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
    "spark.connect.grpc.binding.address": "127.0.0.1",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",  # short runs: compile little
}


@cache
def connect_port() -> int:
    """Find a port for Connect, that of this process."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@cache
def sessions():
    """Start the sessions, by name; skip on a machine without Java or pyspark, unless it is CI's."""
    lacking = [name for name in ("java", "pyspark") if not (shutil.which(name) or find_spec(name))]
    if lacking:
        message = f"{' and '.join(lacking)} must be installed to run rows in Spark"
        (pytest.fail if os.environ.get("CI") else pytest.skip)(message)
    from pyspark.sql import SparkSession
    from pyspark.sql.connect.session import SparkSession as ConnectSession

    port = connect_port()
    builder = SparkSession.builder.master("local[2]").config("spark.connect.grpc.binding.port", str(port))
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    classic = builder.getOrCreate()
    return {"classic": classic, "connect": ConnectSession.builder.remote(f"sc://127.0.0.1:{port}").create()}
