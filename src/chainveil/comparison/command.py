"""What was said of a table, as words of ``chainveil sanitize``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from chainveil.privacy.rounding import exact

# Arguments that an option of the same name says, and those whose option has another name.
PLAIN = (
    "column", "series", "time", "step", "max_gap", "threshold", "states", "labels",
    "missing", "order", "parts", "max_length", "adversary", "unit", "shape", "reference",
)  # fmt: skip
OPTIONS = {"max_length": "length", "unit": "event", "shape": "family"}


def shell_words(table: str, said: Mapping[str, Any]) -> tuple[str, ...]:
    """The table and its options; nothing where options cannot say all of it."""
    known = {*PLAIN, "chain", "pooled"}
    if any(name not in known for name in said):
        return ()
    words = [table]
    for name in PLAIN:
        if name in said:
            words += [f"--{OPTIONS.get(name, name).replace('_', '-')}", _word(said[name])]
    words += ["--pooled"] if said.get("pooled") else []
    chain = said.get("chain")
    if chain is not None:
        numbers = _numbers(chain)
        if not numbers:
            return ()
        words += numbers
    return tuple(words)


def _numbers(chain: Any) -> list[str]:
    """A chain of two states that was given by hand, in its two numbers."""
    plain = chain.single and (chain.states, chain.order, chain.origin) == (2, 1, "given")
    if not plain or chain.initial is not None:
        return []
    q, r = (float(chain.transition[x, 1 - x]) for x in range(2))
    return ["--q", repr(q), "--r", repr(r)]


def _word(value: Any) -> str:
    if isinstance(value, list | tuple):
        return ",".join(_word(part) for part in value)
    return exact(value) if isinstance(value, float) else str(value)
