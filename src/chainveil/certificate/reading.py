"""JSON from strangers: read within limits, refused in words."""

from __future__ import annotations

import json
import math
import os
import re
import stat
from pathlib import Path
from typing import Any

from chainveil.errors import InvalidInput

# A certificate is a page of text; anything longer is not one.
LARGEST = 16 << 20
# A model inside of a family inside of a group is the deepest that chainveil writes: 13.
DEEPEST = 16
# Text in UTF-8 holds no lone surrogate; only an escape can bring one in.
SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


def parse(text: str | bytes, name: str) -> Any:
    """JSON in UTF-8 without repeated keys, numbers beyond a double, or text that is none."""
    if len(text) > LARGEST:
        raise InvalidInput(name, f"{len(text)} bytes", f"at most {LARGEST} bytes")
    try:
        plain = text.decode("utf-8-sig") if isinstance(text, bytes) else text
        document = json.loads(
            plain,
            object_pairs_hook=_no_repeats,
            parse_constant=_no_constants,
            parse_float=_finite,
        )
        if SURROGATE.search(plain):
            json.dumps(document, ensure_ascii=False).encode()
    except UnicodeDecodeError:
        raise InvalidInput(name, "text that is not UTF-8", "a JSON object in UTF-8") from None
    except UnicodeEncodeError:
        raise InvalidInput(name, "half of a surrogate pair", "text that can be written") from None
    except (ValueError, RecursionError) as error:
        raise InvalidInput(name, f"text that is not JSON ({error})", "a JSON object") from None
    _check_depth(document, name)
    return document


def read_text(path: str | Path) -> bytes:
    """The bytes of a file that was named, without reading a huge one by mistake."""
    with Path(path).open("rb") as file:
        return file.read(LARGEST + 1)


def read_regular(path: str | Path, largest: int) -> bytes | None:
    """The bytes of a file that nobody named: None unless it is a plain file, and not large.

    Links are not followed, and a pipe or device that takes the file's place is not waited for.
    """
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    found = os.lstat(path)
    if not stat.S_ISREG(found.st_mode) or found.st_size > largest:
        return None
    with os.fdopen(os.open(path, flags), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            return None
        text = file.read(largest + 1)
    return text if len(text) <= largest else None


def _check_depth(document: Any, name: str) -> None:
    level = [document]
    for _ in range(DEEPEST):
        level = [
            item
            for held in level
            if isinstance(held, dict | list)
            for item in (held.values() if isinstance(held, dict) else held)
        ]
    if level:
        raise InvalidInput(
            name, f"lists or objects more than {DEEPEST} deep", "a document of a known schema"
        )


def _no_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    document = dict(pairs)
    if len(document) < len(pairs):
        raise ValueError("a field is given twice")
    return document


def _no_constants(word: str) -> Any:
    raise ValueError(f"{word} is not a number")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError("a number is too large")
    return number
