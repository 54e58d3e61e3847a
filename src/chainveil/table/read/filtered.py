"""A stream of bytes that passes through our hands while Arrow reads it."""

from __future__ import annotations

import atexit
import os
import time
import weakref
from typing import Any

import pyarrow as pa

# Seconds that the end of the process waits for Arrow; a thread is done in milliseconds, unless
# someone still holds a table half read.
LONGEST_WAIT = 2.0


class FilteredBytes:
    """What Arrow asks of a file that is only read, beside ``read`` itself."""

    def __init__(self, file: Any) -> None:
        self._file = file
        self.closed = False

    def close(self) -> None:
        """Close the file behind."""
        self.closed = True
        self._file.close()

    def readable(self) -> bool:
        """Always."""
        return True

    def seekable(self) -> bool:
        """Never."""
        return False

    def writable(self) -> bool:
        """Never."""
        return False


def lent_to_arrow(file: FilteredBytes) -> pa.PythonFile:
    """The file as Arrow reads it.

    A thread of Arrow reads ahead, and lets go of the file a little after the last batch or an
    error was handed over, closed or not. If Python shut down meanwhile, that thread would abort
    the process; so its end waits until Arrow holds no file.
    """
    loan = _Loan(file)
    _loans.add(loan)
    return pa.PythonFile(loan, mode="r")


class _Loan:
    """Held by Arrow alone: the frames of a traceback hold the file, never this."""

    def __init__(self, file: FilteredBytes) -> None:
        self._file = file

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


_loans: weakref.WeakSet[_Loan] = weakref.WeakSet()
if hasattr(os, "register_at_fork"):
    # A forked process has none of Arrow's threads, and nothing to wait for.
    os.register_at_fork(after_in_child=_loans.clear)


@atexit.register
def _wait_for_arrow() -> None:
    deadline = time.monotonic() + LONGEST_WAIT
    while _loans and time.monotonic() < deadline:
        time.sleep(0.001)
