"""White-space separated text, turned into tab-separated text while it is read."""

from __future__ import annotations

import re
from typing import Any

_BLANKS = re.compile(rb"[ \t]+")
_AROUND = re.compile(rb"\t?\r?\n\t?")
_EMPTY_LINES = re.compile(rb"\n{2,}")
CHUNK = 1 << 22


class TabbedLines:
    """A readable file in which every run of blanks is one tab; lines lose blanks at the ends."""

    def __init__(self, file: Any) -> None:
        self._file = file
        self._ready = b""
        self._rest = b""
        self._done = False
        self.closed = False

    def read(self, size: int = -1) -> bytes:
        """Up to ``size`` bytes."""
        while not self._done and (size < 0 or len(self._ready) < size):
            self._more()
        size = len(self._ready) if size < 0 else size
        taken, self._ready = self._ready[:size], self._ready[size:]
        return taken

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

    def _more(self) -> None:
        chunk = self._file.read(CHUNK)
        self._done = not chunk
        text = self._rest + chunk
        # Whole lines only, or a run of blanks could be cut in two.
        end = len(text) if self._done else text.rfind(b"\n") + 1
        text, self._rest = text[:end], text[end:]
        text = _EMPTY_LINES.sub(b"\n", _AROUND.sub(b"\n", _BLANKS.sub(b"\t", text)))
        # A piece begins with a line: blanks and empty lines there are no cells.
        text = text.lstrip(b"\t\n")
        self._ready += text.rstrip(b"\t") if self._done else text
