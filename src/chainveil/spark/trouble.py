"""Errors that arise in a task, far away, and reach the caller as what they were."""

from __future__ import annotations

import base64
import errno
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa

from chainveil import errors
from chainveil.errors import ChainveilError, EngineFailure, InvalidInput

# Spark hands on the text of an error, wrapped in the texts of others: ours is told by marks.
_MARKED = re.compile(r"<chainveil:([A-Za-z0-9_=-]+)>")
_PLAIN = (str, int, float, bool, type(None))
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class TaskFailure(Exception):
    """Carries one of our errors through Spark, as text."""


@contextmanager
def marked() -> Iterator[None]:
    """Within a task: our errors leave it in a form that survives the way to the driver."""
    try:
        yield
    except ChainveilError as error:
        raise TaskFailure(_mark(error)) from None
    except pa.ArrowException as error:
        # Arrow quotes values.
        raise TaskFailure(_mark(EngineFailure("Arrow", type(error).__name__))) from None
    except OSError as error:
        if error.errno not in FULL:
            raise
        raise TaskFailure(_mark(no_space())) from None


@contextmanager
def surfaced() -> Iterator[None]:
    """On the driver: whatever went wrong in a job, as an error of ours."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        yield
    except (PySparkException, Py4JError) as error:
        text = str(error)
        found = _unmark(text)
        if found is not None:
            raise found from None
        # Spark's own report may quote rows.
        raise EngineFailure("Spark", _in_words(error)) from None
    except ConnectionError:
        raise EngineFailure("Spark", "its Java has ended: killed, or out of memory") from None


def no_space() -> InvalidInput:
    """Where the disk that takes the release is full."""
    return InvalidInput(
        "output", "no space left where the release is written", "room for the whole release",
        "Nothing was written.",
    )  # fmt: skip


def _mark(error: ChainveilError) -> str:
    parts = [str(error)]
    if isinstance(error, EngineFailure):
        parts = [error.engine, error.reason]
    if isinstance(error, InvalidInput):
        found = error.found if isinstance(error.found, _PLAIN) else str(error.found)
        parts = [error.argument, found, error.allowed, error.advice]  # type: ignore[list-item]
    text = json.dumps([type(error).__name__, parts])
    return f"<chainveil:{base64.urlsafe_b64encode(text.encode()).decode()}>"


def _unmark(text: str) -> ChainveilError | None:
    marks = _MARKED.search(text)
    if marks is None:
        return None
    name, parts = json.loads(base64.urlsafe_b64decode(marks[1]))
    kind = getattr(errors, name, ChainveilError)
    made: ChainveilError = kind(*parts)
    return made


def _in_words(error: Exception) -> str:
    """What Spark's report says most clearly, but for the rows that it may quote."""
    from pyspark.errors import AnalysisException

    text = str(error)
    if "No module named 'chainveil'" in text:
        return "chainveil is not installed for the Python that the workers run"
    if "No space left on device" in text:
        return "no space left on a device"
    if isinstance(error, AnalysisException):
        # About names, types and paths, before any row is read.
        return next((line.strip() for line in text.splitlines() if line.strip()), "no reason given")
    kinds = re.findall(
        r"^\s*(?:Caused by: )?([A-Za-z_.]*(?:Error|Exception))\b", text, re.MULTILINE
    )
    name = kinds[-1] if kinds else type(error).__name__
    return f"{name}; what it says is left out, as it may quote rows"
