"""The one door to the compiler: loops are compiled once and kept, where that is possible."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, TypeVar

import numba

Loop = TypeVar("Loop", bound=Callable[..., Any])

_NOWHERE = "no locator available"
_told = False


def compiled(**options: Any) -> Callable[[Loop], Loop]:
    """``numba.njit`` with its cache; without it where nothing may be written.

    The cache lies in the folder of the package, or in that of the user. Where neither can be
    written to, every process compiles for itself. No other folder is taken instead: a cache is
    code, and one that others can write to would let them run theirs.
    """

    def wrap(function: Loop) -> Loop:
        try:
            kept: Loop = numba.njit(cache=True, **options)(function)
            return kept
        except RuntimeError as error:
            if _NOWHERE not in str(error):
                raise
        _tell()
        made: Loop = numba.njit(**options)(function)
        return made

    return wrap


def _tell() -> None:
    """Once a process."""
    global _told
    if not _told:
        _told = True
        warnings.warn(
            "compiled code cannot be kept: neither chainveil's folder nor the home folder can be "
            "written to. Each run compiles it again, which takes some seconds; to keep it, set "
            "NUMBA_CACHE_DIR to a folder that nobody else can write to",
            RuntimeWarning,
            stacklevel=4,
        )
