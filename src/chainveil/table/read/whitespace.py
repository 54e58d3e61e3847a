"""White-space separated text, turned into tab-separated text while it is read."""

from __future__ import annotations

import re
from typing import Any

from chainveil.table.read.filtered import FilteredBytes

_BLANKS = re.compile(rb"[ \t]+")
_AROUND = re.compile(rb"\t?\r?\n\t?")
CHUNK = 1 << 22
# A longer line cannot be read by anybody; it is passed on for that to be said.
LONGEST_LINE = 4 * CHUNK


class TabbedLines(FilteredBytes):
    """A readable file in which every run of blanks is one tab; lines lose blanks at the ends.

    A line that is empty stays one: it is for the reader of the lines to say what it means.
    """

    def __init__(self, file: Any) -> None:
        super().__init__(file)
        self._ready = b""
        self._rest = b""
        self._done = False

    def read(self, size: int = -1) -> bytes:
        """Up to ``size`` bytes."""
        while not self._done and (size < 0 or len(self._ready) < size):
            self._more()
        size = len(self._ready) if size < 0 else size
        taken, self._ready = self._ready[:size], self._ready[size:]
        return taken

    def _more(self) -> None:
        chunk = self._file.read(CHUNK)
        self._done = not chunk
        text = self._rest + chunk
        # Whole lines only, or a run of blanks could be cut in two.
        end = text.rfind(b"\n") + 1
        if self._done or len(text) - end > LONGEST_LINE:
            end = len(text)
        text, self._rest = text[:end], text[end:]
        text = _AROUND.sub(b"\n", _BLANKS.sub(b"\t", text))
        # A piece begins with a line: blanks there are no cells.
        text = text.removeprefix(b"\t")
        self._ready += text.rstrip(b"\t") if self._done else text
