"""Text held to the rules of its format while it is read: what is doubtful is an error.

A quote that opens by mistake would make one cell of all rows up to the next quote, and one
cell of another column is no secret to anybody. So nothing is guessed: RFC 4180, and
nothing beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chainveil.compiled import compiled
from chainveil.errors import InvalidInput
from chainveil.table.read.filtered import FilteredBytes

BOM = b"\xef\xbb\xbf"
QUOTE, RETURN, LINE_END = 0x22, 0x0D, 0x0A
# Where in a cell the reader stands.
BEGIN, BARE, QUOTED, CLOSED, RETURNED = range(5)
# What can be wrong, and what to do about it.
FINE, IN_BARE, AFTER_CLOSED, LINE_IN_QUOTES, LONE_RETURN, BLANK, UNCLOSED = range(7)
FAULTS = {
    IN_BARE: (
        "a quote inside a cell that does not begin with one",
        'cells such as "say ""hi""": in quotes, and the quotes inside doubled',
        "A file whose quotes are ordinary characters is TSV.",
    ),
    AFTER_CLOSED: (
        "text after the closing quote of a cell",
        'cells such as "say ""hi""": in quotes, and the quotes inside doubled',
        "",
    ),
    LINE_IN_QUOTES: (
        "a quote that is not closed on its line",
        "cells of one line",
        "If cells hold several lines on purpose, say --multiline (multiline=True in Python).",
    ),
    LONE_RETURN: (
        "a carriage return that ends no line",
        "lines that end in LF or CR LF",
        "Convert it first: tr '\\r' '\\n' does it for files in which CR alone ends a line.",
    ),
    BLANK: (
        "a blank line",
        "a line of cells for each row",
        "Remove the line.",
    ),
    UNCLOSED: ("a quote that is never closed", "a closing quote for each that opens", ""),
}


class StrictText(FilteredBytes):
    """A readable file that raises an error at the first byte that breaks the rules.

    Parameters
    ----------
    file : readable
        Bytes, decompressed.
    name : str
        For messages.
    delimiter : str
        Between cells.
    quoting, multiline, blank_lines : bool
        Whether quotes mean anything; whether cells in quotes may hold line ends; whether a
        line without anything in it is a row, of one empty cell.
    header : bool
        Whether the first line is no row.
    columns : sequence of str, optional
        Names. Without them only the first line is checked, to read them from.
    """

    def __init__(
        self,
        file: Any,
        name: str,
        delimiter: str,
        *,
        quoting: bool,
        multiline: bool = False,
        blank_lines: bool = True,
        header: bool = True,
        columns: Sequence[str] | None = None,
    ) -> None:
        super().__init__(file)
        self._name, self._columns = name, columns or ()
        self._first_only = columns is None
        self._delimiter = ord(delimiter)
        self._quoting, self._multiline, self._blank_lines = quoting, multiline, blank_lines
        self._header = header
        # State, lines that have ended, cells that have ended on this line.
        self._at = (BEGIN, 0, 0)
        self._started = False

    def read(self, size: int = -1) -> bytes:
        """Up to ``size`` bytes, all of them checked."""
        block: bytes = self._file.read(size)
        if self._first_only and self._at[1]:
            return block
        if block:
            self._check(block)
        elif size != 0:
            self._end()
        return block

    def _check(self, block: bytes) -> None:
        text = np.frombuffer(block, np.uint8)
        if not self._started:
            self._started = True
            text = text[len(BOM) :] if block.startswith(BOM) else text
        plain = self._at[0] in (BEGIN, BARE) and b"\r" not in block
        if plain and not (self._quoting and b'"' in block):
            self._skim(block, text)
        else:
            self._follow(text)

    def _skim(self, block: bytes, text: NDArray[np.uint8]) -> None:
        """A block in which nothing but line ends can matter."""
        ends = text == LINE_END
        state, lines, cells = self._at
        if not self._blank_lines and len(text):
            first = ends[0] and state == BEGIN and cells == 0
            if first or (ends[1:] & ends[:-1]).any():
                self._follow(text)
                return
        found = int(np.count_nonzero(ends))
        last = block[block.rfind(b"\n") + 1 :]
        cells = (0 if found else cells) + last.count(self._delimiter)
        begin = not last if found else False
        begin = begin or block[-1] == self._delimiter
        self._at = (BEGIN if begin else BARE, lines + found, cells)

    def _follow(self, text: NDArray[np.uint8]) -> None:
        """A block byte by byte."""
        rules = (self._delimiter, self._quoting, self._multiline, self._blank_lines)
        *at, fault = _follow(text, rules, self._at)
        self._at = (at[0], at[1], at[2])
        if fault != FINE and not (self._first_only and self._at[1]):
            raise self._error(fault)

    def _end(self) -> None:
        fault = {QUOTED: UNCLOSED, RETURNED: LONE_RETURN}.get(self._at[0], FINE)
        if fault != FINE:
            raise self._error(fault)

    def _error(self, fault: int) -> InvalidInput:
        _, lines, cells = self._at
        row = lines if self._header else lines + 1
        where = f"row {row}" if row else "the header"
        if fault not in (BLANK, LONE_RETURN):
            known = cells < len(self._columns)
            where += f", column {repr(self._columns[cells]) if known else cells + 1}"
        found, allowed, advice = FAULTS[fault]
        counted = "Rows are counted from 1, without a header."
        text = f"{advice} {counted}" if row else advice
        return InvalidInput(f"table {self._name}", f"{found}, in {where}", allowed, text.strip())


@compiled(nogil=True)
def _follow(
    text: NDArray[np.uint8],
    rules: tuple[int, bool, bool, bool],
    at: tuple[int, int, int],
) -> tuple[int, int, int, int]:
    """State, lines, cells after a block, or at its first fault; and that fault."""
    delimiter, quoting, multiline, blank_lines = rules
    state, lines, cells = at
    for byte in text:
        if state == QUOTED:
            if byte == QUOTE:
                state = CLOSED
            elif byte in (LINE_END, RETURN) and not multiline:
                return state, lines, cells, LINE_IN_QUOTES
            continue
        if state == RETURNED and byte != LINE_END:
            return state, lines, cells, LONE_RETURN
        if byte == QUOTE and quoting:
            if state == BARE:
                return state, lines, cells, IN_BARE
            # After a closing quote it was none: the second of a doubled quote.
            state = QUOTED
        elif byte == LINE_END:
            if state == BEGIN and cells == 0 and not blank_lines:
                return state, lines, cells, BLANK
            state, lines, cells = BEGIN, lines + 1, 0
        elif byte == RETURN:
            if state == BEGIN and cells == 0 and not blank_lines:
                return state, lines, cells, BLANK
            state = RETURNED
        elif byte == delimiter:
            state, cells = BEGIN, cells + 1
        elif state == CLOSED:
            return state, lines, cells, AFTER_CLOSED
        else:
            state = BARE
    return state, lines, cells, FINE
