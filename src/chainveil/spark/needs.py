"""What Spark needs before it can start: PySpark, and Java beside it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from typing import Any

from chainveil.errors import ChainveilError, MissingExtra

LEAST_JAVA = 17
PURPOSE = "Working on Apache Spark"


def pyspark() -> Any:
    """PySpark, or an error that names the extra."""
    try:
        import pyspark as found
    except ModuleNotFoundError as error:
        if error.name != "pyspark":
            raise
        raise MissingExtra("pyspark", "spark", PURPOSE) from None
    return found


def check_java() -> None:
    """Error unless a Java is found that Spark can run on."""
    reason = java_is_missing()
    if reason is not None:
        raise ChainveilError(
            f"{PURPOSE} needs Java {LEAST_JAVA} or later: {reason}. Install a Java runtime, for "
            "instance openjdk-17-jre-headless, or name its folder in JAVA_HOME."
        )


def java_is_missing() -> str | None:
    """Why Spark cannot start a Java here; None if it can."""
    home = os.environ.get("JAVA_HOME")
    program = f"{home}/bin/java" if home else shutil.which("java")
    if program is None:
        return "no java on the PATH, and JAVA_HOME is not set"
    try:
        told = subprocess.run([program, "-version"], capture_output=True, text=True, check=False)
    except OSError:
        return f"{program} cannot be run"
    version = re.search(r'version "(?:1\.)?(\d+)', told.stderr)
    if version is None:
        return f"{program} does not tell its version"
    return None if int(version[1]) >= LEAST_JAVA else f"{program} is version {version[1]}"
