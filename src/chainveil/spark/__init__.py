"""The same release on Apache Spark: fit, sanitize, and sanitize a stream.

Needs the extra ``spark`` and Java 17; imported only where it is used.
"""

from __future__ import annotations

from chainveil.spark.fitting import fit
from chainveil.spark.release import SparkRelease, sanitize
from chainveil.spark.stream import sanitize_stream

__all__ = ["SparkRelease", "fit", "sanitize", "sanitize_stream"]
