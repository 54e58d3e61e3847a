"""Which points a model learns from, which it is stopped by, and which it is tested on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from chainveil.errors import InvalidInput


@dataclass(frozen=True)
class Fold:
    """Target points of one model; the windows around the three kinds never overlap."""

    train: NDArray[np.int64]
    validation: NDArray[np.int64]
    test: NDArray[np.int64]


def contiguous_folds(n: int, folds: int, window: int, validation: float) -> list[Fold]:
    """Cut ``n`` points into ``folds`` stretches, each the test set of one model.

    A window's width of points on either side of a test or validation stretch is left out of
    training, so that no window seen in training holds a point of a window seen in testing.
    ``validation`` is the share of all points, taken from the next stretch, that decides when to
    stop; 0 takes none.
    """
    edges = np.linspace(0, n, folds + 1).astype(np.int64)
    made = []
    for fold in range(folds):
        begin, end = int(edges[fold]), int(edges[fold + 1])
        free = np.ones(n, dtype=bool)
        free[max(0, begin - window) : end + window] = False
        held = _validation_points(free, end % n, round(validation * n))
        if len(held):
            free[max(0, held[0] - window) : held[-1] + 1 + window] = False
        train = np.flatnonzero(free)
        if len(train) == 0:
            raise InvalidInput(
                "x",
                f"{n} points",
                f"enough points to train {folds} folds with windows of {window}",
                "Use a longer series, fewer folds or a shorter window.",
            )
        made.append(Fold(train, held, np.arange(begin, end)))
    return made


def all_points(n: int, window: int, validation: float) -> Fold:
    """One model that learns from everything but the end, which decides when to stop."""
    held = np.arange(n - round(validation * n), n)
    train = np.arange(0, max(0, n - len(held) - (window if len(held) else 0)))
    if len(train) == 0:
        raise InvalidInput("x", f"{n} points", f"a series much longer than the window, {window}")
    return Fold(train, held, np.empty(0, dtype=np.int64))


def _validation_points(free: NDArray[np.bool_], after: int, count: int) -> NDArray[np.int64]:
    """The first ``count`` free points from ``after`` on, in one run, starting over at the end."""
    points = np.flatnonzero(free)
    if count == 0 or len(points) == 0:
        return np.empty(0, dtype=np.int64)
    first = int(np.searchsorted(points, after)) % len(points)
    run = points[first : first + count]
    breaks = np.flatnonzero(np.diff(run) > 1)
    return run[: breaks[0] + 1] if len(breaks) else run
