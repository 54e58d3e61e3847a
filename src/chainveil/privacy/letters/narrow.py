"""Narrower cones: what a state has of the sum of all that follows, shown through several layers.

The least shares of a layer follow from those of the layer before it: each letter maps the rays of
one cone to vectors that must lie in the next. But no word leads to a ray of a cone, which has the
least share in all states but one, and on a chain with few transitions most states do not mix with
each other in one step. So these cones become wider from layer to layer, until they hold everything.

That x has at least the share 1/f of the sum is the same as that a functional, the sum less f times
the value in x, is nowhere positive: the question that ``lane_kernel.abreast`` answers of
words. It follows the functional through several layers, and what it shows of a layer holds of all
that may follow there.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from chainveil.checks import FloatArray
from chainveil.privacy.letters import cone_kernel, lane_kernel
from chainveil.privacy.letters.cone_kernel import Layers, Letters
from chainveil.privacy.letters.lane_kernel import ANY, CHUNK
from chainveil.privacy.letters.sides import IntArray
from chainveil.privacy.letters.words import UNIT

# Layers that are looked through.
LAYERS = 32
# Shares that differ by this part are the same; smaller ones are left as they are.
SAME, LEAST = 2e-3, 1e-6
# How many shares are tried at once between one that is shown and one that is hoped for, and how
# often.
TRIED, ROUNDS = 4, 2
# What is hoped for at least, as a part of the share before the end of a series.
FAR = 0.8


class Shares:
    """The least shares of the cones of one layer, before each single end.

    Where noise remembers, one share is shown whatever the last report is: most of what may follow
    one report may follow the others as well.

    Attributes
    ----------
    steps : int
        Functionals so far.
    """

    def __init__(self, letters: Letters, layers: Layers, layer: int) -> None:
        self._letters, self._layers, self._layer = letters, layers, layer
        self._on = layers.reference[:, layer] > 0
        self.steps = 0

    def raise_to(self, hoped: FloatArray) -> float:
        """Raise what is less than hoped for, as far as that is shown; by what factor on average.

        ``hoped`` (ends, labels, k): shares of a layer before this one, 0: none.
        """
        share, k = self._layers.share[:, self._layer], self._on.shape[1]
        there = share[:, :, :1] >= 0
        least = np.where(there, share, np.inf).min(axis=1)
        wanted = np.where(there, hoped, np.inf).min(axis=1)
        # Whatever the end is, shares are much the same far away from it.
        wanted = np.where(wanted < FAR * least[k], least[k], wanted)
        low = self._on & np.isfinite(wanted) & (wanted > np.maximum(least * (1 + SAME), LEAST))
        if not low.any():
            return 1.0
        found = self._shown(np.argwhere(low), least[low], wanted[low])
        gained = float(np.mean(found / np.maximum(least[low], LEAST)))
        least[low] = found * (1 - 4096 * k * UNIT)
        least[~low] = 0.0
        share[:] = np.where(there, capped(np.maximum(share, least[:, None])), share)
        return gained

    def _shown(self, order: IntArray, best: FloatArray, most: FloatArray) -> FloatArray:
        """The largest shares that are shown, between the best ones so far and the most."""
        holds = self._hold(order, most)
        best = np.where(holds, most, best)
        parts = np.arange(TRIED + 2) / (TRIED + 1)
        for _ in range(ROUNDS):
            left = np.flatnonzero(most > best * (1 + SAME))
            if not len(left):
                break
            steps = best[left, None] + (most - best)[left, None] * parts
            tried = np.repeat(order[left], TRIED, axis=0)
            holds = self._hold(tried, steps[:, 1:-1].ravel()).reshape(-1, TRIED)
            last = np.where(holds.any(axis=1), TRIED - np.argmax(holds[:, ::-1], axis=1), 0)
            rows = np.arange(len(left))
            best[left], most[left] = steps[rows, last], steps[rows, last + 1]
            if not holds.any():
                break
        return best

    def _hold(self, order: IntArray, share: FloatArray) -> NDArray[np.bool_]:
        """Whether states have such a share before an end; ``order`` (n, 2): ends and states."""
        failed = np.zeros(len(order), np.bool_)
        labels = self._letters.weight.shape[1]
        for begin in range(0, len(order), CHUNK):
            some = slice(begin, begin + CHUNK)
            end, state = order[some].T
            number = np.arange(len(end))
            first = np.zeros((2, self._on.shape[1], len(end)))
            first[0], first[1, state, number] = self._on[end].T, 1.0
            walks = np.column_stack([np.full(len(end), self._layer), end, number])
            room = lane_kernel.room(labels, first, 1 / share[some])
            self.steps += lane_kernel.abreast(
                self._letters, self._layers, ANY, LAYERS, walks, room, failed[some]
            )
        return ~failed


def capped(share: FloatArray) -> FloatArray:
    """Shares (…, k) that leave at least ``cone_kernel.FREE`` of their sum free."""
    most = 1 - cone_kernel.FREE
    return np.asarray(share * (most / np.maximum(most, share.sum(axis=-1, keepdims=True))))
