"""Every output of a short series at once: the messages that reach a point from either side.

    Pr[S_i = s, z] = before(s; z up to i) * after(s; z beyond i, from the label at i)

with S the hidden state of the model. A label is what the next report looks back at
(``inference.labels``), so messages are kept apart by the label at their point.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chainveil.checks import FloatArray
from chainveil.inference import Labels, StepWeights, report_labels, step_weights
from chainveil.noise.base import Noise

# Messages at a point: for each label there, one a row, shape (outputs of that side, s).
Messages = Mapping[int, FloatArray]


@dataclass(frozen=True)
class Outputs:
    """All outputs of ``length`` points of a model under a noise, no point missing.

    Attributes
    ----------
    weights : StepWeights
    labels : Labels
    reports : boolean array of shape (length,)
        Which points make a report.
    """

    weights: StepWeights
    labels: Labels
    reports: NDArray[np.bool_]

    @classmethod
    def of(cls, model: Any, noise: Noise, length: int) -> Outputs:
        """Of a model and a noise."""
        reports = np.zeros(length, np.bool_)
        reports[noise.places(length)] = True
        return cls(step_weights(model, noise), report_labels(noise), reports)

    def before(self, last: int) -> list[Messages]:
        """``Pr[reports up to t, S_t]`` for every point t up to ``last``.

        Rows count the reports before the label in the order of time, the first one slowest.
        """
        first, step = self.weights.first, self.weights.step
        begin = self.labels.next(None, bool(self.reports[0]))
        found: list[Messages] = [{label: first[label][None, :] for label in begin}]
        for reports in self.reports[1 : last + 1]:
            parts: dict[int, list[FloatArray]] = {}
            for label, rows in found[-1].items():
                for after in self.labels.next(label, bool(reports)):
                    parts.setdefault(after, []).append(rows @ step[label, after])
            found.append({label: _interleaved(rows) for label, rows in parts.items()})
        return found

    def after(self, first: int) -> list[Messages]:
        """``Pr[reports after t | label and S_t]`` for every point t from ``first`` on.

        Rows count the reports in the order of time, the next one slowest.
        """
        size = self.weights.first.shape[1]
        possible = self._possible()
        found: list[Messages] = [{label: np.ones((1, size)) for label in possible[-1]}]
        for t in range(len(self.reports) - 2, first - 1, -1):
            reports = bool(self.reports[t + 1])
            found.append({label: self._back(found[-1], label, reports) for label in possible[t]})
        return found[::-1]

    def _back(self, messages: Messages, label: int, reports: bool) -> FloatArray:
        """The messages of the next point, one step back to a label."""
        step = self.weights.step[label]
        parts = [messages[after] @ step[after].T for after in self.labels.next(label, reports)]
        return np.concatenate(parts)

    def _possible(self) -> list[list[int]]:
        """The labels that each point can have."""
        found = [list(self.labels.next(None, bool(self.reports[0])))]
        for reports in self.reports[1:]:
            after = {b for a in found[-1] for b in self.labels.next(a, bool(reports))}
            found.append(sorted(after))
        return found


def meet(before: Messages, after: Messages, pinned: FloatArray) -> FloatArray:
    """``Pr[z, S_t]`` summed with weights ``pinned`` of shape (s,), for every z.

    Shape (outputs ** reports,): z is read as a number, its first report first.
    """
    parts = [(rows * pinned) @ after[label].T for label, rows in before.items()]
    return np.asarray(np.stack(parts, axis=1).reshape(-1))


def _interleaved(parts: list[FloatArray]) -> FloatArray:
    """Rows of several labels as one, the label counting fastest."""
    return np.asarray(np.stack(parts, axis=1).reshape(-1, parts[0].shape[1]))
