"""The first line of a text file: the names of the columns, or at least their number."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Sequence
from typing import Any

from chainveil.errors import InvalidInput
from chainveil.table.error_text import NO_HEADER, is_number
from chainveil.table.read.strict import BOM

# The longest first line.
HEADER_BYTES = 1 << 20
UTF8_ADVICE = "Convert it first, for instance with iconv -f latin1 -t utf-8."


def first_cells(file: Any, name: str, delimiter: str, quoting: bool) -> list[str]:
    """The cells of the first line of a file of bytes."""
    start = _first_lines(file, name)
    if not start.strip():
        raise InvalidInput("table", f"no rows in {name}", "at least one row")
    # A name in quotes may go on in the next line, where that is allowed.
    lines = (line.decode() for line in io.BytesIO(start))
    rule: Any = csv.QUOTE_MINIMAL if quoting else csv.QUOTE_NONE
    try:
        cells = next(csv.reader(lines, delimiter=delimiter, quoting=rule, strict=True))
    except UnicodeDecodeError:
        raise InvalidInput(
            f"table {name}", "bytes that are not UTF-8 in line 1", "text in UTF-8", UTF8_ADVICE
        ) from None
    except csv.Error:
        raise _too_long(name) from None
    if not cells:
        raise InvalidInput(f"table {name}", "a blank first line", "columns in the first line")
    return cells


def check_names(names: Sequence[str]) -> None:
    """Error where two columns have one name."""
    twice = next((name for name, times in Counter(names).items() if times > 1), None)
    if twice is not None:
        # A number is no name: the first line may be a private row.
        number = is_number(twice)
        found = "two columns named by one number" if number else f"two columns named {twice!r}"
        advice = NO_HEADER if number else ""
        raise InvalidInput("table", found, "a name for each column", advice)


def _first_lines(file: Any, name: str) -> bytes:
    """Whole lines from the start of a file."""
    start = b""
    while len(start) < HEADER_BYTES:
        block = bytes(file.read(HEADER_BYTES - len(start)))
        if not block:
            return start.removeprefix(BOM)
        start += block
    end = start.rfind(b"\n") + 1
    if end == 0:
        raise _too_long(name)
    return start[:end].removeprefix(BOM)


def _too_long(name: str) -> InvalidInput:
    return InvalidInput(
        f"table {name}",
        f"a first line of more than {HEADER_BYTES:,} bytes, or a cell of more than "
        f"{csv.field_size_limit():,} characters in it",
        "shorter names, or fewer columns",
    )
