"""Cones before each end by itself: a known value, the end of the series, or whatever may follow.

Each layer follows from the one before it, and is narrowed (``narrow``) as soon as it has lost a
part of the shares that were shown last. Whatever may follow is a mixture of what known values
leave: with the same letters before them, a vector over the states of the last point is a sum of
one for each of its values. So its cones hold those of all known values.
"""

from __future__ import annotations

import numpy as np

from chainveil.checks import FloatArray
from chainveil.privacy.letters import cone_kernel
from chainveil.privacy.letters.cone_kernel import Layers, Letters
from chainveil.privacy.letters.narrow import Shares, capped

# What first shares are lowered by: far more than rounding takes.
WIDER = 1e-9
# The part of a share that is lost before it is shown again; noise that remembers has more letters,
# so that it takes longer. Where little was gained, twice as much is lost before the next time.
LOST, LOST_WITH_MEMORY, MOST_LOST = 0.1, 0.4, 0.5


class Ends:
    """Cones of more and more layers before the first k + 2 ends of ``Cones.layers``.

    Attributes
    ----------
    steps : int
        Functionals that it took to narrow them.
    """

    def __init__(self, letters: Letters, first: Layers, is_close: bool) -> None:
        self._letters, self._layers, self._is_close = letters, first, is_close
        self._kept = self._shown(0)
        self._least_lost = self._lost = LOST if first.share.shape[2] == 1 else LOST_WITH_MEMORY
        # The last layer that may have been narrowed, if there are others behind it.
        self._narrowed: int | None = None
        self.steps = 0

    def is_done(self, upto: int, most: float) -> bool:
        """Whether layers up to there are laid, as narrow as they get in so many steps."""
        cut = self._narrowed is not None and self._narrowed < upto and most > 0
        return len(self) >= upto and not cut

    def __len__(self) -> int:
        return int(self._layers.reference.shape[1]) - 1

    def upto(self, upto: int, most: float) -> Layers:
        """Cones of at least so many layers; not narrowed any more after ``most`` steps."""
        if not self.is_done(upto, most):
            first = len(self) if self._narrowed is None else self._narrowed
            longer = empty(self._letters, len(self._layers.reference), max(upto, len(self)))
            for new, old in zip(longer, self._layers, strict=True):
                new[:, : first + 1] = old[:, : first + 1]
            self._layers = longer
            self._lay(first, self.steps + most)
            self._join_values(first)
        return self._layers

    def _lay(self, first: int, most: float) -> None:
        """All layers behind the first, narrowed as far as the steps last."""
        layers, image, self._narrowed = self._layers, np.zeros((2, len(self._letters.matrix))), None
        while first < len(self):
            is_close = self._is_close and self.steps < most
            if self._is_close and not is_close:
                self._narrowed = first
            kept = self._kept if is_close else np.zeros_like(self._kept)
            first = cone_kernel.lay(self._letters, layers, first, kept, self._lost, image)
            if is_close:
                self._narrow(first)

    def _narrow(self, layer: int) -> None:
        shares = Shares(self._letters, self._layers, layer)
        gained = shares.raise_to(self._kept)
        self.steps += shares.steps
        if gained < 1 + self._lost / 2:
            self._lost = min(MOST_LOST, 2 * self._lost)
        else:
            self._lost = max(self._least_lost, self._lost / 2)
        self._kept = self._shown(layer)

    def _shown(self, layer: int) -> FloatArray:
        """Shares of a layer, but for what may follow at all, which is not narrowed by itself."""
        found = self._layers.share[:, layer].copy()
        found[-1] = 0.0
        return found

    def _join_values(self, first: int) -> None:
        """Cones of whatever may follow, behind layer ``first``."""
        layers, new = self._layers, slice(first + 1, None)
        own, known = layers.share[-1, new], layers.share[:-2, new]
        found = joined(
            np.moveaxis(layers.reference[:-2, new], 0, -1), np.moveaxis(known, 0, -1),
            layers.reference[-1, new],
        )  # fmt: skip
        layers.share[-1, new] = np.where(own[:, :, :1] < 0, own, widened(np.maximum(own, found)))


def empty(letters: Letters, ends: int, upto: int) -> Layers:
    """Room for cones of so many ends and layers: cones that hold everything."""
    k, labels = len(letters.matrix), letters.weight.shape[1]
    return Layers(np.ones((ends, upto + 1, k)), np.zeros((ends, upto + 1, labels, k)))


def joined(references: FloatArray, shares: FloatArray, reference: FloatArray) -> FloatArray:
    """Least shares of cones that hold several others each, as ``cone_kernel.join`` reads them."""
    layers, labels, k, count = shares.shape
    least = np.empty((layers, labels, k))
    cone_kernel.join(references, shares, reference, least, np.empty((count, k)))
    return np.where(least[:, :, :1] >= 0, widened(least), -1.0)


def widened(least: FloatArray) -> FloatArray:
    """Shares (…, k) of a cone that is a little wider, and leaves something free.

    What is free of a share is known up to a thousand times what rounding takes.
    """
    return capped(least * (1 - WIDER))
