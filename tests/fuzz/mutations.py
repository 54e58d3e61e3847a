"""Documents that someone has tampered with: changed fields, changed bytes."""

from __future__ import annotations

import copy
import json
import random
import re
from collections.abc import Callable, Iterator
from typing import Any

Document = Any
Place = tuple[Any, Any]

JUNK: list[Any] = [
    None, True, False, 0, 1, -1, 2, 3, 255, 256, 1 << 53, (1 << 63) - 1, 1 << 64, 10**400,
    10**1300, 0.0, -0.0, 0.5, 1.0, 1.5, 5e-324, 2.0**-53, 1e-16, 1 - 2.0**-53, 1e308, -1e308,
    float("nan"), float("inf"), "", "0", "1", "any", "null", "\ud800", "\x1b[2J", "x" * 5000,
    [], [[]], [0], [1, 0], [[1, 0], [0, 1]], [[0.5, 0.5]] * 2, [[0.5, 0.5]] * 3,
    [[True, False]] * 2, [[0.5] * 3] * 3, [[1], [2, 3]], [[0, 1]], ["a", "b"], [["a"]],
    {}, {"a": 1}, {"a.b": {}},
]  # fmt: skip


def places(document: Document) -> Iterator[Place]:
    """Every container with every key or index in it."""
    if isinstance(document, dict | list):
        for key in document if isinstance(document, dict) else range(len(document)):
            yield document, key
            yield from places(document[key])


def mutated(rng: random.Random, document: Document, others: list[Document]) -> Document:
    """A copy with one to three fields changed."""
    changed = copy.deepcopy(document)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        found = list(places(changed))
        if found:
            rng.choice(CHANGES)(rng, rng.choice(found), found, others)
    return changed


def forged(rng: random.Random, document: Document, others: list[Document]) -> Document:
    """A copy that is changed in several places at once, so that they fit each other.

    Whole sections come from other documents, or the figures of the loss are made smaller, or the
    promise is made larger: what somebody does who wants to be believed.
    """
    changed, other = copy.deepcopy(document), copy.deepcopy(rng.choice(others))
    way = rng.randrange(4)
    if way == 0:
        shared = [key for key in changed if key in other]
        for key in rng.sample(shared, min(len(shared), rng.randrange(1, 5))):
            changed[key] = other[key]
    elif way == 1:
        for key in ("promise", "noise", "loss"):
            changed[key] = other.get(key)
    elif way == 2:
        factor = rng.choice((1 - 1e-12, 1 - 1e-4, 0.995, 0.9, 0.5, 1.001, 2.0))
        for section, key in (("promise", "epsilon"), ("loss", "epsilon"), ("loss", "lower")):
            if isinstance(changed.get(section), dict) and rng.random() < 0.9:
                changed[section][key] = changed[section].get(key, 1.0) * factor
    elif isinstance(changed.get("promise"), dict):
        changed["promise"]["length"] = rng.choice((None, 1, 2, 3, 8, 9, 12, 1000))
        if rng.random() < 0.5 and isinstance(changed.get("loss"), dict):
            changed["loss"] |= {"witness": None, "lower": 0.0}
    return changed


def as_text(rng: random.Random, document: Document) -> bytes:
    """JSON as a careless program writes it: with NaN, with escapes, in some layout."""
    text = json.dumps(document, indent=rng.choice((None, 2)), ensure_ascii=rng.random() < 0.8)
    return text.encode("utf-8", "surrogatepass")


def bitten(rng: random.Random, text: bytes) -> bytes:
    """The bytes with some of them flipped, lost, doubled, put in, or replaced."""
    for _ in range(rng.choice((1, 1, 2, 5))):
        text = rng.choice(BITES)(rng, text)
    return text


def _remove(rng: random.Random, place: Place, found: list[Place], others: list[Any]) -> None:
    container, key = place
    del container[key]


def _junk(rng: random.Random, place: Place, found: list[Place], others: list[Any]) -> None:
    container, key = place
    container[key] = copy.deepcopy(rng.choice(JUNK))


def _nudge(rng: random.Random, place: Place, found: list[Place], others: list[Any]) -> None:
    """A number a little or much larger or smaller; text with a letter more."""
    container, key = place
    value = container[key]
    if isinstance(value, bool) or value is None:
        container[key] = not value
    elif isinstance(value, int):
        container[key] = rng.choice((value + 1, value - 1, -value, 2 * value, value * 10**9))
    elif isinstance(value, float):
        factors = (1 + 2.0**-52, 1 - 2.0**-53, 1 - 1e-9, 1 + 1e-6, 0.999, 1.001, 0.5, 2.0, -1.0, 0)
        container[key] = value * rng.choice(factors)
    elif isinstance(value, str):
        container[key] = rng.choice((value + ".", value[:-1], value.upper(), f" {value}"))


def _swap(rng: random.Random, place: Place, found: list[Place], others: list[Any]) -> None:
    container, key = place
    other, name = rng.choice(found)
    # A container that is put into itself has no end.
    if not isinstance(container[key], dict | list) and not isinstance(other[name], dict | list):
        container[key], other[name] = other[name], container[key]


def _wrap(rng: random.Random, place: Place, found: list[Place], others: list[Any]) -> None:
    container, key = place
    depth = rng.choice((1, 1, 2, 20, 200))
    for _ in range(depth):
        container[key] = [container[key]]


def _repeat(rng: random.Random, place: Place, found: list[Place], others: list[Any]) -> None:
    container, key = place
    if isinstance(container[key], list):
        container[key] = container[key] * rng.choice((2, 3, 40))
    elif isinstance(container, dict):
        container[f"{key}.{key}"] = container[key]


def _graft(rng: random.Random, place: Place, found: list[Place], others: list[Any]) -> None:
    """The value of the same name from another document, or of any name."""
    container, key = place
    donors = list(places(rng.choice(others)))
    named = [donor for donor in donors if donor[1] == key] or donors
    other, name = rng.choice(named)
    container[key] = copy.deepcopy(other[name])


CHANGES: list[Callable[[random.Random, Place, list[Place], list[Any]], None]] = [
    _remove, _junk, _junk, _nudge, _nudge, _nudge, _swap, _wrap, _repeat, _graft, _graft,
]  # fmt: skip


def _flip(rng: random.Random, text: bytes) -> bytes:
    at = rng.randrange(len(text)) if text else 0
    return text[:at] + bytes([text[at] ^ (1 << rng.randrange(8))]) + text[at + 1 :] if text else b""


def _lose(rng: random.Random, text: bytes) -> bytes:
    at = rng.randrange(len(text) + 1)
    return text[:at] + text[at + rng.choice((1, 1, 7, 500)) :]


def _double(rng: random.Random, text: bytes) -> bytes:
    """Some bytes twice: a line that comes again gives a field twice."""
    lines = text.splitlines(keepends=True)
    if len(lines) > 1 and rng.random() < 0.5:
        line = rng.randrange(len(lines))
        return b"".join([*lines[: line + 1], *lines[line:]])
    at = rng.randrange(len(text) + 1)
    return text[: at + 20] + text[at:]


def _insert(rng: random.Random, text: bytes) -> bytes:
    pieces = (
        b"0", b"9" * 5000, b"-", b"e999", b".", b'"', b"[" * 2000, b"{", b"}", b"\\ud800", b"\xff",
        b"\xef\xbb\xbf", b"\x00", b"NaN", b"Infinity", b",", b"true", b"1e400", b"\xed\xa0\x80",
    )  # fmt: skip
    at = rng.choice((0, rng.randrange(len(text) + 1)))
    return text[:at] + rng.choice(pieces) + text[at:]


def _digit(rng: random.Random, text: bytes) -> bytes:
    digits = [found.start() for found in re.finditer(rb"[0-9]", text)]
    if not digits:
        return text
    at = rng.choice(digits)
    return text[:at] + str(rng.randrange(10)).encode() + text[at + 1 :]


BITES: list[Callable[[random.Random, bytes], bytes]] = [
    _flip, _lose, _double, _insert, _digit, _digit,
]  # fmt: skip
