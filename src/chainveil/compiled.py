"""How loops are compiled: once, and kept where that is possible.

The compiler inlines what a loop calls, and reads constants once. It finds a kept loop by the
time and size of the one file that the loop is in, so a change in another file that the loop
draws on would leave old code in use. Here the name under which a loop is kept holds a digest of
all files of its folder that are compiled. A loop may therefore use what those define, and
nothing from other folders of the package; ``tests/test_architecture.py`` holds that.
"""

from __future__ import annotations

import hashlib
import inspect
import re
import warnings
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

import numba

Loop = TypeVar("Loop", bound=Callable[..., Any])

_NOWHERE = "no locator available"
_COMPILED = re.compile(rb"^(?:from|import) (?:numba|chainveil\.compiled)\b", re.MULTILINE)
_told = False


def compiled(**options: Any) -> Callable[[Loop], Loop]:
    """``numba.njit`` with its cache; without it where nothing may be written.

    No way in from C is made: none is used, and it takes time to compile.

    The cache lies in the folder of the package, or in that of the user. Where neither can be
    written to, every process compiles for itself. No other folder is taken instead: a cache is
    code, and one that others can write to would let them run theirs.
    """

    def wrap(function: Loop) -> Loop:
        source = Path(inspect.getfile(function))
        function.__qualname__ += "_" + _digest(source.parent)
        settings: dict[str, Any] = {"no_cfunc_wrapper": True} | options
        try:
            kept: Loop = numba.njit(cache=True, **settings)(function)
            return kept
        except RuntimeError as error:
            if _NOWHERE not in str(error):
                raise
        _tell()
        made: Loop = numba.njit(**settings)(function)
        return made

    return wrap


@lru_cache
def _digest(folder: Path) -> str:
    """Of the sources in a folder that are compiled, names and contents."""
    digest = hashlib.sha256()
    for path in sorted(folder.glob("[!.]*.py")):
        text = path.read_bytes()
        if _COMPILED.search(text):
            digest.update(b"%s %d\n%s" % (path.name.encode(), len(text), text))
    return digest.hexdigest()[:16]


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
