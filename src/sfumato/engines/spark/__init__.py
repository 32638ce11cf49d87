"""The engine for rows in Spark, classic or Connect: a frame, a table or files of the user's own session."""

from sfumato.engines.spark.engine import SparkEngine as SparkEngine
