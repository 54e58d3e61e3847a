"""Text that comes from others, such as names of columns, labels and files, made harmless."""

from __future__ import annotations

import re

# Characters that steer a terminal or the direction of writing, or that cannot be written at all.
STEERING = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)


def printable(text: object) -> str:
    """Text to be shown; what would steer a terminal or a page becomes visible."""
    return STEERING.sub(lambda found: _escape(found[0]), str(text))


def _escape(character: str) -> str:
    code = ord(character)
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"
