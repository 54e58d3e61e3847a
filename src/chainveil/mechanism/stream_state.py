"""What a stream needs to go on later, as plain numbers and text, and back again.

A state may have been in anybody's hands: everything in it is checked before it is used.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from chainveil import checks
from chainveil.errors import InvalidInput, NotSupported
from chainveil.mechanism.randomness import Secure, Seeded, Source
from chainveil.mechanism.reading import Missing, check_missing
from chainveil.noise.base import Noise, read_noise

FORMAT = "chainveil-stream-2"
FIELDS = frozenset(("format", "noise", "source", "length", "missing", "position", "gaps", "memory"))
# Points and series are counted in 63 bits; a seed can be written out; noise is a table in memory.
MOST_POINTS, LONGEST_SEED, MOST_ENTRIES = (1 << 62) - 1, 4096, 1 << 20
MOST_REMEMBERED = 16


@dataclass(frozen=True)
class State:
    """A stream at rest; ``memory`` is what its noise remembers of the last point."""

    noise: Noise
    source: Source
    length: int | None
    missing: Missing
    position: int
    gaps: int
    memory: Any

    def __post_init__(self) -> None:
        check_missing(self.missing)
        if self.gaps > self.position:
            raise InvalidInput("state gaps", self.gaps, f"at most the {self.position} points")
        if self.length is not None and self.position > self.length:
            raise InvalidInput(
                "state position", self.position, f"at most the length, {self.length}"
            )


def to_words(state: State) -> dict[str, Any]:
    """A state, ready for JSON."""
    return {
        "format": FORMAT,
        "noise": state.noise.to_json(),
        "source": _source_words(state.source),
        "length": state.length,
        "missing": state.missing,
        "position": state.position,
        "gaps": state.gaps,
        "memory": state.memory,
    }


def from_words(words: Any) -> State:
    """A state from what :func:`to_words` returned; an error names what was changed in it."""
    _check_fields("state", words, FIELDS)
    if words["format"] != FORMAT:
        raise InvalidInput("state format", words["format"], f"{FORMAT!r}")
    length = words["length"]
    return State(
        _read_noise(words["noise"]),
        _read_source(words["source"]),
        None if length is None else _whole("length", length, 1),
        words["missing"],
        _whole("position", words["position"]),
        _whole("gaps", words["gaps"]),
        _memory(words["memory"]),
    )


def _memory(value: Any) -> Any:
    """Nothing, a whole number or a few of them; whether they make sense is for the noise to say."""
    if value is None or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    if _is_list(value) and len(value) <= MOST_REMEMBERED:
        return [_whole("memory", number) for number in value]
    raise InvalidInput("state memory", "something else", "None, a whole number or a few of them")


def _read_noise(words: Any) -> Noise:
    rare = isinstance(words, Mapping) and "every" in words
    _check_fields("state noise", words, {"kind", "matrix", *(("every",) if rare else ())})
    rows = _numbers(words["matrix"])
    often = {"every": _whole("noise every", words["every"])} if rare else {}
    try:
        noise = read_noise({"kind": words["kind"], "matrix": rows, **often})
    except NotSupported as error:
        raise InvalidInput("state noise", str(error), "noise that Stream.save() wrote") from None
    if noise.to_json() != {"kind": noise.kind, "matrix": rows, **often}:
        allowed = f"what {noise.kind} noise writes down"
        raise InvalidInput("state noise", "other numbers", allowed)
    return noise


def _numbers(matrix: Any) -> list[list[float]]:
    """Rows of numbers; what NumPy would take for numbers (text, truth values) is none."""
    rows = list(matrix) if _is_list(matrix) else []
    if not rows or not all(_is_list(row) and 0 < len(row) == len(rows[0]) for row in rows):
        raise InvalidInput("state noise", matrix, "rows of probabilities, all of one length")
    if len(rows) * len(rows[0]) > MOST_ENTRIES:
        found = f"{len(rows)} rows of {len(rows[0])}"
        raise InvalidInput("state noise", found, f"at most {MOST_ENTRIES} probabilities")
    return [[checks.probability("state noise", entry) for entry in row] for row in rows]


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str | bytes)


def _source_words(source: Source) -> dict[str, Any]:
    if isinstance(source, Secure):
        return {"kind": "secure"}
    return {
        "kind": "seeded",
        "seed": source.seed,
        "path": list(source.path),
        "first_series": source.first_series,
        "first_point": source.first_point,
    }


def _read_source(words: Any) -> Source:
    if isinstance(words, Mapping) and words.get("kind") == "secure":
        _check_fields("state source", words, {"kind"})
        return Secure()
    _check_fields("state source", words, {"kind", "seed", "path", "first_series", "first_point"})
    if words["kind"] != "seeded":
        raise InvalidInput("state source kind", words["kind"], '"secure" or "seeded"')
    if not _is_list(words["path"]):
        raise InvalidInput("state source path", words["path"], "a list of whole numbers")
    path = tuple(_seed("path", number) for number in words["path"])
    first_series, first_point = (
        _whole(name, words[name]) for name in ("first_series", "first_point")
    )
    return Seeded(_seed("seed", words["seed"]), path, first_series, first_point)


def _whole(name: str, value: Any, least: int = 0) -> int:
    allowed = f"a whole number from {least} to {MOST_POINTS}"
    number = checks.whole(f"state {name}", value, least, allowed)
    if number > MOST_POINTS:
        raise InvalidInput(f"state {name}", value, allowed)
    return number


def _seed(name: str, value: Any) -> int:
    number = checks.whole(f"state {name}", value, 0)
    if number.bit_length() > LONGEST_SEED:
        raise InvalidInput(f"state {name}", "a longer number", f"at most {LONGEST_SEED} bits")
    return number


def _check_fields(name: str, words: Any, fields: frozenset[str] | set[str]) -> None:
    if not isinstance(words, Mapping) or set(words) != fields:
        found = sorted(map(str, words)) if isinstance(words, Mapping) else type(words).__name__
        allowed = f"what Stream.save() returned, unchanged, with the fields {sorted(fields)}"
        raise InvalidInput(name, found, allowed)
