"""Sanitizing point by point, in constant memory, for devices that see one point at a time."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from weakref import WeakSet

import numpy as np
from numpy.typing import NDArray

from chainveil import checks
from chainveil.errors import InvalidInput
from chainveil.mechanism import reading
from chainveil.mechanism.pieces import Piece, one_series
from chainveil.mechanism.randomness import Source, as_source
from chainveil.mechanism.reading import Missing
from chainveil.mechanism.release import Report, check_points, release, source_word
from chainveil.mechanism.samplers import Sampler, draw, holds, sampler
from chainveil.mechanism.stream_state import State, from_words, to_words
from chainveil.mechanism.thinned import check_first_point
from chainveil.noise.base import Noise
from chainveil.sequences import as_column, is_column, read_shape

_streams: WeakSet[Stream] = WeakSet()


def _free_streams() -> None:
    """In a forked process: a lock that another thread held at the fork is held for ever."""
    for stream in _streams:
        stream._lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_free_streams)


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
    two of them share noise. A fork while another thread pushes gives the child the stream as
    it was before that push.
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
        self._lock = threading.Lock()
        self._work = sampler(noise, self._source)
        check_first_point(noise, self._source)
        self._places = noise.every, noise.first_place
        # Position, gaps, and what the noise remembers: always those of one moment.
        self._reached = (0, 0, self._work.memory)
        _streams.add(self)

    def push(self, values: Any) -> Any:
        """Sanitize the next point (a number in, a number out) or points (a 1-D array, a column).

        A silent point gives None, and an array the reports that were made in it, one for each
        point that reports; a missing point that would have reported stands among them as it
        came. An error leaves the stream where it was.
        """
        with self._lock:
            # A push that was broken off, here or at a fork, may have gone on half way.
            self._work.remember(self._reached[2])
            if np.ndim(values) == 0 and not isinstance(values, np.ndarray):
                return self._push_one(values)
            return self._push_many(values)

    @property
    def position(self) -> int:
        """Number of points pushed so far."""
        return self._reached[0]

    @property
    def every(self) -> int:
        """One point in so many reports; ``push`` returns None at the others."""
        return self._noise.every

    @property
    def next_report(self) -> int:
        """The index of the point at which the next report is made, counted from 0."""
        return self._next_report(self._reached[0])

    @property
    def report(self) -> Report:
        """What was done so far."""
        position, gaps, _ = self._reached
        return Report(self._noise.kind, source_word(self._source), 1, position, gaps)

    def save(self) -> dict[str, Any]:
        """What is needed to go on later, as plain numbers and text, ready for JSON.

        It never holds a key of a secure stream. For sticky noise it holds the last report and
        nothing else of the data, so that the owner of the next point can go on from it. For
        other ordered noise it says what the noise remembers of the last point: keep it as
        secret as the data until the stream goes on. The seed of a seeded stream is in it.
        """
        with self._lock:
            position, gaps, memory = self._reached
        return to_words(
            State(
                self._noise, self._source, self._length, self._missing, position, gaps, memory
            )
        )  # fmt: skip

    @classmethod
    def restore(cls, state: Mapping[str, Any]) -> Stream:
        """Go on from what ``save`` returned; a secure stream takes a fresh key.

        Restore a state once. Two streams from one state draw two independent noises: points
        that are pushed to both are published twice, and the two reports together lose what
        ``privacy_loss(chain, [channel, channel])`` says, not the loss of one (for correlated
        noise no figure is offered). A seeded stream draws the same noise again, and two
        *different* values under the same noise show where they differ.
        """
        saved = from_words(state)
        stream = cls(saved.noise, saved.source, saved.length, saved.missing)
        try:
            stream._work.remember(saved.memory)
        except (KeyError, TypeError, ValueError):
            found = "something that this noise does not remember"
            raise InvalidInput("state memory", found, "what Stream.save() returned") from None
        stream._reached = (saved.position, saved.gaps, stream._work.memory)
        stream._check_memory()
        return stream

    def __reduce__(self) -> tuple[Any, ...]:
        return Stream.restore, (self.save(),)

    def _check_memory(self) -> None:
        """Error if the noise remembers a report that was not made, or forgot one that was."""
        position, gaps, memory = self._reached
        made = self._reports_before(position)
        if holds(self._work) and (made == 0 if memory is not None else made > gaps):
            found = "no report" if memory is None else "a report before the first"
            raise InvalidInput("state memory", found, "what Stream.save() returned")

    def _reports_before(self, position: int) -> int:
        """How many points before ``position`` report; also the number of the next report."""
        every, first = self._places
        return max(position - first + every - 1, 0) // every

    def _next_report(self, position: int) -> int:
        every, first = self._places
        return first + self._reports_before(position) * every

    def _push_one(self, value: Any) -> Any:
        """One point in plain Python: no compiled code, and no array to set up."""
        position, gaps, _ = self._reached
        reading.check_length("values", position + 1, self._length)
        plain = value.item() if isinstance(value, np.generic) else value
        gap = plain is None or plain != plain or (plain == reading.GAP and self._missing == "keep")
        if gap and self._missing == "error":
            raise InvalidInput("values", "a missing value", "no gaps", reading.GAP_ADVICE)
        if isinstance(value, bool | np.generic):
            reading.check_room("values", np.asarray(value).dtype, self._work.outputs)
        state = 0 if gap else _state(plain, self._work.states)
        speaks = position == self._next_report(position)
        drawn = self._draw_one(self._reports_before(position), state, gap) if speaks else None
        self._reached = (position + 1, gaps + int(gap), self._work.memory)
        if drawn is None:
            return value if speaks else None
        return value if gap else type(value)(drawn)

    def _draw_one(self, number: int, state: int, gap: bool) -> int | None:
        """Report ``number``, drawn; none at a missing point if the last one is held over it."""
        if gap and holds(self._work):
            work: Any = self._work
            work.skip()
            return None
        return self._work.one(number, state)

    def _push_many(self, values: Any) -> Any:
        array = read_shape("values", values)
        if not isinstance(array, np.ndarray) or array.ndim != 1:
            raise InvalidInput(
                "values", "several series", "a number, or one series as a 1-D array or a column"
            )
        position, gaps, _ = self._reached
        reading.check_length("values", position + len(array), self._length)
        table, masks = reading.as_table("values", array)
        more = check_points(table, masks, self._work, self._missing)
        asked = array[self._next_report(position) - position :: self._noise.every]
        number = self._reports_before(position)
        made = self._draw_many(asked, number) if len(asked) else np.array(asked)
        self._reached = (position + len(array), gaps + more, self._work.memory)
        return as_column(made) if is_column(values) else made

    def _draw_many(self, asked: NDArray[Any], number: int) -> NDArray[Any]:
        """The reports of points that report, from report ``number`` on."""
        work, kind = _Shifted(self._work, number), self._noise.kind
        made: NDArray[Any] = release(asked, work, None, self._source, self._missing, kind).values
        return made


@dataclass(frozen=True)
class _Shifted:
    """A mechanism that has already made ``by`` reports."""

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
    def holds(self) -> bool:
        return holds(self.work)

    def apply(
        self,
        piece: Piece,
        states: NDArray[Any],
        out: NDArray[Any],
        gaps: NDArray[np.bool_] | None = None,
    ) -> bool:
        shifted = one_series(piece.series, piece.begin + self.by, piece.size)
        return draw(self.work, shifted, states, out, gaps)


def _state(plain: Any, states: int) -> int:
    whole = isinstance(plain, int) or (isinstance(plain, float) and plain.is_integer())
    if not whole or not 0 <= plain < states:
        raise reading.no_state("values", plain, states)
    return int(plain)
