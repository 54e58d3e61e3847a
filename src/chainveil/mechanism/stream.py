"""Sanitizing point by point, in constant memory, for devices that see one point at a time."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chainveil import checks
from chainveil.errors import InvalidInput
from chainveil.mechanism import reading
from chainveil.mechanism.pieces import Piece, one_series
from chainveil.mechanism.randomness import Secure, Seeded, Source, as_source
from chainveil.mechanism.reading import Missing
from chainveil.mechanism.release import Report, release, source_word
from chainveil.mechanism.samplers import Sampler, sampler
from chainveil.noise.base import Noise, read_noise

FORMAT = "chainveil-stream-2"

_forks = 0


def _count_fork() -> None:
    global _forks
    _forks += 1


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_count_fork)


class Stream:
    """One series, sanitized as it arrives.

    Parameters
    ----------
    noise : Noise
    rng, missing
        As in ``sanitize``. A seeded stream gives what ``sanitize`` gives for the whole series.
    length : int, optional
        The most points the noise was calibrated for; more are refused.

    Notes
    -----
    A stream may be pushed to from several threads, one point or array at a time. A secure
    stream that is forked, copied, pickled or restored goes on with a fresh key, so that no
    two of them share noise.
    """

    def __init__(
        self,
        noise: Noise,
        rng: Source | None = None,
        length: int | None = None,
        missing: Missing = "error",
    ) -> None:
        reading.check_missing(missing)
        self._noise = noise
        self._source = as_source(rng)
        self._length = None if length is None else checks.whole("length", length, 1)
        self._missing: Missing = missing
        self._position = 0
        self._gaps = 0
        self._lock = threading.Lock()
        self._home = _here()
        self._work = sampler(noise, self._source)

    def push(self, values: Any) -> Any:
        """Sanitize the next point (a number in, a number out) or the next points (a 1-D array).

        An error leaves the stream where it was.
        """
        self._settle_here()
        with self._lock:
            if np.ndim(values) == 0 and not isinstance(values, np.ndarray):
                return self._push_one(values)
            return self._push_many(values)

    @property
    def position(self) -> int:
        """Number of points pushed so far."""
        return self._position

    @property
    def report(self) -> Report:
        """What was done so far."""
        return Report(self._noise.kind, source_word(self._source), 1, self._position, self._gaps)

    def save(self) -> dict[str, Any]:
        """What is needed to go on later, as plain numbers and text, ready for JSON.

        It never holds a key of a secure stream. For ordered noise it says what the noise
        remembers of the last point: keep it as secret as the data until the stream goes on.
        The seed of a seeded stream is in it.
        """
        with self._lock:
            return {
                "format": FORMAT,
                "noise": self._noise.to_json(),
                "source": _source_words(self._source),
                "length": self._length,
                "missing": self._missing,
                "position": self._position,
                "gaps": self._gaps,
                "memory": self._work.memory,
            }

    @classmethod
    def restore(cls, state: Mapping[str, Any]) -> Stream:
        """Go on from what ``save`` returned; a secure stream takes a fresh key."""
        try:
            if state["format"] != FORMAT:
                raise KeyError
            noise, source = read_noise(state["noise"]), _read_source(state["source"])
            stream = cls(noise, source, state["length"], state["missing"])
            stream._position = checks.whole("position", state["position"], 0)
            stream._gaps = checks.whole("gaps", state["gaps"], 0)
            stream._work.remember(state["memory"])
        except (KeyError, TypeError, ValueError):
            raise InvalidInput("state", state, "what Stream.save() returned, unchanged") from None
        return stream

    def __reduce__(self) -> tuple[Any, ...]:
        return Stream.restore, (self.save(),)

    def _settle_here(self) -> None:
        """In a forked process, leave the parent's key and lock behind."""
        if self._home != _here():
            self._home, self._lock = _here(), threading.Lock()
            memory = self._work.memory
            self._work = sampler(self._noise, self._source)
            self._work.remember(memory)

    def _push_one(self, value: Any) -> Any:
        """One point in plain Python: no compiled code, and no array to set up."""
        reading.check_length("values", self._position + 1, self._length)
        plain = value.item() if isinstance(value, np.generic) else value
        gap = plain is None or plain != plain or (plain == reading.GAP and self._missing == "keep")
        if gap and self._missing == "error":
            raise InvalidInput("values", value, "no gaps", reading.GAP_ADVICE)
        if isinstance(value, bool | np.generic):
            reading.check_room("values", np.asarray(value).dtype, self._work.outputs)
        state = 0 if gap else _state(plain, value, self._work.states)
        drawn = self._work.one(self._position, state)
        self._position += 1
        self._gaps += int(gap)
        return value if gap else type(value)(drawn)

    def _push_many(self, values: Any) -> Any:
        array = values if isinstance(values, np.ndarray) else np.asarray(values)
        if array.ndim != 1:
            raise InvalidInput(
                "values", f"an array of shape {array.shape}", "a number or 1-D array"
            )
        reading.check_length("values", self._position + len(array), self._length)
        work = _Shifted(self._work, self._position)
        done = release(
            array, work, None, self._source, self._missing, self._noise.kind, check_first=True
        )
        self._position += done.report.points
        self._gaps += done.report.gaps
        return done.values


@dataclass(frozen=True)
class _Shifted:
    """A mechanism that has already seen ``by`` points."""

    work: Sampler
    by: int

    @property
    def states(self) -> int:
        return self.work.states

    @property
    def outputs(self) -> int:
        return self.work.outputs

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.work.dtype

    @property
    def stretch(self) -> int:
        return self.work.stretch

    @property
    def notices(self) -> bool:
        return self.work.notices

    @property
    def memory(self) -> Any:
        return self.work.memory

    def remember(self, memory: Any) -> None:
        self.work.remember(memory)

    def one(self, point: int, state: int) -> int:
        return self.work.one(point + self.by, state)

    def apply(self, piece: Piece, states: NDArray[Any], out: NDArray[Any]) -> bool:
        shifted = one_series(piece.series, piece.begin + self.by, piece.size)
        return self.work.apply(shifted, states, out)


def _here() -> tuple[int, int]:
    """The process: its number alone could come back after a few generations."""
    return os.getpid(), _forks


def _state(plain: Any, value: Any, states: int) -> int:
    whole = isinstance(plain, int) or (isinstance(plain, float) and plain.is_integer())
    if not whole or not 0 <= plain < states:
        raise InvalidInput("values", value, f"states 0 … {states - 1}, whole numbers")
    return int(plain)


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


def _read_source(words: Mapping[str, Any]) -> Source:
    if words["kind"] == "secure":
        return Secure()
    source = Seeded(checks.whole("seed", words["seed"], 0), tuple(words["path"]))
    return replace(source, first_series=words["first_series"], first_point=words["first_point"])
