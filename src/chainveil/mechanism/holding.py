"""Noise that looks at its last report and holds it over missing points: sticky, tracking.

How a report is drawn from its context and the last report is for a :class:`Drawer` to say:
:class:`TwoReports` for two states and two reports, :class:`FewReports` for up to eight,
:class:`ManyReports` for any number. Each draws the same for arrays, streams and rows.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from chainveil.checks import FloatArray
from chainveil.errors import InvalidInput
from chainveil.mechanism.draws import Draws, RowRuns
from chainveil.mechanism.kernel_walk import SPARE_BITS, WIDTH, bounds, check_start, numbers_of
from chainveil.mechanism.maps import MOST_CONTEXTS, MOST_REPORTS, Maps, map_kernels
from chainveil.mechanism.pieces import PIECE, Piece
from chainveil.mechanism.randomness import Plane, Source
from chainveil.mechanism.turns import WORD, Turns, memory_kernels
from chainveil.noise.base import GRID, Noise


def context_layout(noise: Noise) -> NDArray[np.int64]:
    """How contexts are numbered, as ``memory_kernels`` says: w, g, f and the missing point's."""
    k = noise.states
    step = k if noise.sees == "series" else 0
    first = k * step + k
    return np.array([step, k * step, first, first + k], np.int64)


def context_rows(noise: Noise) -> tuple[FloatArray, NDArray[np.int64]]:
    """The laws of reports as realised, shape (rows, m), and where they are: (contexts, 2).

    After the last report z a context has the row ``where[context, 0] + where[context, 1] z``.
    """
    realised = noise.on_grid()
    m, k = noise.outputs, noise.states
    parts = [realised.after_gap_law()]
    if noise.sees == "series":
        parts.insert(0, realised.step_law().reshape(m, k * k, m))
    looking = [part.transpose(1, 0, 2).reshape(-1, m) for part in parts]
    rows = np.vstack([*looking, realised.first_law(), np.eye(m)])
    first = len(rows) - k - m
    begin = [*range(0, first, m), *range(first, first + k), first + k]
    stride = [1] * (first // m) + [0] * k + [1]
    return rows, np.stack([begin, stride], axis=1).astype(np.int64)


def context_laws(noise: Noise) -> FloatArray:
    """``Pr[report z' | context, last report z]`` at ``[context, z, z']``, exactly as realised."""
    rows, where = context_rows(noise)
    return np.asarray(rows[where[:, :1] + where[:, 1:] * np.arange(noise.outputs)])


class Drawer(Protocol):
    """Draws reports of points whose contexts are known."""

    dtype: np.dtype[Any]
    contexts: np.dtype[Any]
    notices: bool

    def along(self, piece: Any, around: NDArray[Any], last: int, out: NDArray[Any]) -> int:
        """The reports of points in a row, on from the last one; returns the last of them."""

    def rows(
        self, piece: Any, around: NDArray[Any], owner: Any, last: Any, out: NDArray[Any]
    ) -> None:
        """The reports of rows, on from the ``last`` one of each series, which it overwrites."""

    def one(self, point: int, context: int, last: int) -> int:
        """The report of one point."""


class TwoReports:
    """Two states, two reports: a byte for each point, 64 points at once."""

    dtype = contexts = np.dtype(np.uint8)
    notices = True

    def __init__(self, noise: Noise, draws: Draws) -> None:
        units = context_laws(noise)[:, :, 1] * GRID
        chances = [(int(after0), int(after1)) for after0, after1 in units.tolist()]
        self.turns = Turns(chances, draws, (Plane.TURN, Plane.TURN_REFINED))

    def along(self, piece: Any, around: NDArray[Any], last: int, out: NDArray[Any]) -> int:
        words = self.turns.words(piece, around)
        return int(memory_kernels().join_turns(words, last, out))

    def rows(
        self, piece: Any, around: NDArray[Any], owner: Any, last: Any, out: NDArray[Any]
    ) -> None:
        words = self.turns.words(piece, around)
        memory_kernels().join_row_turns(words, owner, last, out)

    def one(self, point: int, context: int, last: int) -> int:
        return self.turns.one(point, context, last)


class FewReports:
    """Up to eight states and reports: a byte for each point, 64 points at once."""

    dtype = contexts = np.dtype(np.uint8)

    def __init__(self, noise: Noise, draws: Draws) -> None:
        # States joined by OR show one that is too large where k is a power of two.
        self.notices = noise.states & (noise.states - 1) == 0
        self.maps = Maps(context_laws(noise), draws, (Plane.TURN, Plane.TURN_REFINED))

    def along(self, piece: Any, around: NDArray[Any], last: int, out: NDArray[Any]) -> int:
        words = self.maps.words(piece, around)
        return int(map_kernels().join_maps(words, last, out))

    def rows(
        self, piece: Any, around: NDArray[Any], owner: Any, last: Any, out: NDArray[Any]
    ) -> None:
        words = self.maps.words(piece, around)
        map_kernels().join_row_maps(words, owner, last, out)

    def one(self, point: int, context: int, last: int) -> int:
        return self.maps.one(point, context, last)


class ManyReports:
    """Any number of states and reports: a number of 53 random bits for each point."""

    contexts = np.dtype(np.uint32)
    notices = False

    def __init__(self, noise: Noise, draws: Draws) -> None:
        self.dtype = np.dtype(np.uint8 if max(noise.states, noise.outputs) <= 256 else np.uint16)
        laws, self._where = context_rows(noise)
        self._bounds = bounds(laws, noise.kind)
        self._draws = draws

    def along(self, piece: Any, around: NDArray[Any], last: int, out: NDArray[Any]) -> int:
        drawn = numbers_of(self._draws, piece)
        return int(
            memory_kernels().walk_contexts(around, drawn, self._where, self._bounds, last, out)
        )

    def rows(
        self, piece: Any, around: NDArray[Any], owner: Any, last: Any, out: NDArray[Any]
    ) -> None:
        drawn = numbers_of(self._draws, piece)
        memory_kernels().walk_row_contexts(
            around, drawn, owner, self._where, self._bounds, last, out
        )

    def one(self, point: int, context: int, last: int) -> int:
        number = self._draws.symbol(Plane.KERNEL, point, WIDTH) >> int(SPARE_BITS)
        begin, stride = self._where[context]
        return int((self._bounds[begin + stride * last] <= np.uint64(number)).sum())


def drawer(noise: Noise, draws: Draws) -> Drawer:
    """The short ways for two states and two reports and for a few of them, the general one else."""
    if (noise.states, noise.outputs) == (2, 2):
        return TwoReports(noise, draws)
    contexts = int(context_layout(noise)[-1]) + 1
    few = 1 < noise.outputs <= MOST_REPORTS and contexts <= MOST_CONTEXTS
    return FewReports(noise, draws) if few else ManyReports(noise, draws)


class HoldingWalk:
    """Noise that holds its last report, at work on arrays and streams; pieces come in order.

    It remembers the last report, and the last state only where a report looks at it: a report
    that looks at the last report and its own point leaves nothing behind but itself.
    """

    holds = True
    stretch = PIECE

    def __init__(self, noise: Noise, source: Source, draws: Draws) -> None:
        check_start(noise, source)
        self.states, self.outputs = noise.states, noise.outputs
        self._keeps_state = noise.sees == "series"
        self._drawer, self._layout = drawer(noise, draws), context_layout(noise)
        self.dtype, self.notices = self._drawer.dtype, self._drawer.notices
        self._around = np.empty(0, self._drawer.contexts)
        self._report: int | None = None
        # As secret as the data.
        self._state: int | None = None

    @property
    def memory(self) -> Any:
        """The last report or None; where a report looks at the last state, that too, in a list.

        The list ends with the report where the last point is missing.
        """
        if self._report is None or not self._keeps_state:
            return self._report
        return [self._report] if self._state is None else [self._report, self._state]

    def remember(self, memory: Any) -> None:
        """Go on from a ``memory``."""
        if memory is None:
            self._report = self._state = None
            return
        report, *states = memory if self._keeps_state else [memory]
        if report not in range(self.outputs) or len(states) > 1:
            raise ValueError
        if any(state not in range(self.states) for state in states):
            raise ValueError
        self._report, self._state = int(report), int(states[0]) if states else None

    def apply(
        self,
        piece: Piece,
        states: NDArray[Any],
        out: NDArray[Any],
        gaps: NDArray[np.bool_] | None = None,
    ) -> bool:
        """Draw the reports of a piece, on from where the last one ended.

        ``out`` means nothing where ``gaps`` says that a point is missing.
        """
        around, memory, last = self._room(piece.size), self._memory(piece), self._report or 0
        layout, fresh, kernels = self._layout, piece.begin == 0, memory_kernels()
        if gaps is None:
            joined = kernels.contexts(states, piece.offsets, layout, fresh, memory, around)
        else:
            joined = kernels.contexts_over(
                states, gaps, piece.offsets, layout, fresh, memory, around
            )
        if self.notices and joined >= self.states:
            return False
        last = self._drawer.along(piece, around, last, out)
        self._keep(last if memory[0] else None, int(memory[1]))
        return True

    def one(self, point: int, state: int) -> int:
        """The report of one point; points must come in order."""
        context = self._context(state)
        report = self._drawer.one(point, context, self._report or 0)
        self._keep(report, state)
        return report

    def skip(self) -> None:
        """Pass over a missing point."""
        self._state = None

    def _context(self, state: int) -> int:
        step, after_gap, first, _ = self._layout.tolist()
        if self._report is None:
            return int(first + state)
        return int(after_gap + state if self._state is None else step * self._state + state)

    def _keep(self, report: int | None, state: int) -> None:
        self._report = report
        self._state = state if self._keeps_state and state >= 0 else None

    def _memory(self, piece: Piece) -> NDArray[np.int64]:
        """As ``memory_kernels.contexts`` takes it."""
        reported = self._report is not None and piece.begin > 0
        return np.array([reported, -1 if self._state is None else self._state], np.int64)

    def _room(self, size: int) -> NDArray[Any]:
        """Room for the contexts of so many points, in whole words."""
        whole = -(-size // WORD) * WORD
        if len(self._around) < whole:
            self._around = np.zeros(whole, self._drawer.contexts)
        return self._around[:whole]


class HoldingRows:
    """Noise that holds its last report, at work on the rows of a table, series by series.

    A jump of the point number leaves out missing points.
    """

    def __init__(self, noise: Noise, source: Source) -> None:
        check_start(noise, source)
        self._layout = context_layout(noise)
        self._runs = RowRuns(source)
        self._drawer = drawer(noise, self._runs.draws)
        # Of each series: the last report; whether there is one, and the last state; its point.
        self._last = np.zeros(0, np.int64)
        self._memory = np.zeros((0, 2), np.int64)
        self._points = np.full(0, -1, np.int64)

    def apply(self, states: NDArray[Any], rows: Any) -> NDArray[Any]:
        """The reports of the next rows, of the dtype of ``states``."""
        self._grow(len(rows.numbers))
        steps = np.empty(len(states), np.int64)
        if self._runs.draws.kernels.advances(rows.owner, rows.points, self._points, steps) < 0:
            raise InvalidInput(
                "rows", "points out of order", "points that increase in each series"
            )  # fmt: skip
        out = np.empty_like(states)
        for begin in range(0, len(states), PIECE):
            part = slice(begin, min(begin + PIECE, len(states)))
            out[part] = self._part(states[part], rows, part, steps[part])
        return out

    def _part(
        self, states: NDArray[Any], rows: Any, part: slice, steps: NDArray[np.int64]
    ) -> NDArray[Any]:
        owner, points = rows.owner[part], rows.points[part]
        around = np.zeros(-(-len(owner) // WORD) * WORD, self._drawer.contexts)
        held = states.astype(self._drawer.dtype, copy=False)
        memory_kernels().row_contexts(held, owner, steps, self._layout, self._memory, around)
        reports = np.empty(len(owner), self._drawer.dtype)
        piece = self._runs.next(rows, owner, points)
        self._drawer.rows(piece, around, owner, self._last, reports)
        return reports

    def _grow(self, count: int) -> None:
        missing = count - len(self._points)
        if missing > 0:
            extra = max(missing, len(self._points))
            self._last = np.concatenate([self._last, np.zeros(extra, np.int64)])
            self._memory = np.concatenate([self._memory, np.zeros((extra, 2), np.int64)])
            self._points = np.concatenate([self._points, np.full(extra, -1, np.int64)])
