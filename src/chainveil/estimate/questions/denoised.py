"""What a release says about each point, as an answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from chainveil import notebook
from chainveil.estimate.answer_table import Kind, framed
from chainveil.estimate.questions.accuracy import Accuracy
from chainveil.sequences import is_column


@dataclass(frozen=True, repr=False)
class Denoised:
    """What a release says about each point.

    Attributes
    ----------
    probability : array, or list of arrays, of shape (…, k)
        ``Pr[state | release]`` for each point, under ``chain``; NaN where one is missing.
    path : array, or list of arrays, in the shape of the release
        The single likeliest series; masked where the release is.
    chain : MarkovChain or another model
        The one that was used.
    accuracy : Accuracy or None
        How often the likelier state is right, from the release itself, whatever the series
        follows; None where reports do not tell (noise that mixes points, or rare reports).
    """

    probability: Any
    path: Any
    chain: Any
    accuracy: Accuracy | None = None

    @property
    def standard_error(self) -> Any:
        """Standard deviation of the indicator of each state, given the release."""
        if isinstance(self.probability, list):
            return [np.sqrt(part * (1 - part)) for part in self.probability]
        return np.sqrt(self.probability * (1 - self.probability))

    @property
    def expected_accuracy(self) -> float:
        """Share of points at which the likelier state is right, on average under ``chain``.

        The chain is taken for the true one. ``accuracy`` leans on no chain.
        """
        best = np.concatenate([chance.max(axis=-1) for chance, _ in self.series])
        return float(np.nanmean(best))

    @property
    def series(self) -> list[tuple[Any, Any]]:
        """Probabilities (n, k) and likeliest path (n,) of each series."""
        if isinstance(self.path, list):
            return list(zip(self.probability, map(np.ma.asarray, self.path), strict=True))
        rows = 1 if self.path.ndim == 1 or is_column(self.path) else len(self.path)
        chances = self.probability.reshape(rows, -1, self.probability.shape[-1])
        return list(zip(chances, np.ma.asarray(self.path).reshape(rows, -1), strict=True))

    def to_frame(self, kind: Kind | None = None, labels: Sequence[Any] | None = None) -> Any:
        """A row a point: ``series``, ``point``, ``likeliest``, and a probability of each state.

        ``kind`` and ``labels`` as in :meth:`chainveil.estimate.Estimate.to_frame`. Points that are
        missing have no row.
        """
        columns: dict[str, list[Any]] = {"series": [], "point": [], "likeliest": []}
        chances = []
        for number, (chance, path) in enumerate(self.series):
            points = np.flatnonzero(~np.ma.getmaskarray(path))
            columns["series"] += [number] * len(points)
            columns["point"] += points.tolist()
            columns["likeliest"] += np.asarray(path)[points].tolist()
            chances.append(chance[points])
        table = np.concatenate(chances)
        names = list(range(table.shape[1])) if labels is None else list(labels)
        columns["likeliest"] = [names[state] for state in columns["likeliest"]]
        told = {f"probability of {name}": table[:, i].tolist() for i, name in enumerate(names)}
        return framed(columns | told, kind)

    def plot(self, labels: Sequence[Any] | None = None, **words: Any) -> Any:
        """A figure of the probabilities along each series, as ``plot.probabilities`` draws it."""
        from chainveil.plot import probabilities

        return probabilities([chance for chance, _ in self.series], labels, **words)

    def __repr__(self) -> str:
        lines = (f"  {name}: {text}" for name, text in self._lines())
        return "\n".join([f"Denoised, {self._size()}", *lines])

    def _repr_html_(self) -> str:
        return notebook.card(f"denoised: {self._size()}", self._lines())

    def _size(self) -> str:
        points = sum(path.count() for _, path in self.series)
        return f"{points:,} points in {len(self.series):,} series"

    def _lines(self) -> list[tuple[str, str]]:
        """How often guesses are right, and what that leans on."""
        told = [] if self.accuracy is None else [("accuracy", str(self.accuracy))]
        share = f"{self.expected_accuracy:.2%} of the points, if the chain is right"
        return [*told, ("chain", self.chain.describe()), ("expected accuracy", share)]
