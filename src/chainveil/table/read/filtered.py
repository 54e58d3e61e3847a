"""A stream of bytes that passes through our hands while it is read."""

from __future__ import annotations

from typing import Any


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
