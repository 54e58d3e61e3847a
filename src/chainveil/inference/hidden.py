"""A model and a noise together, as one hidden Markov model.

Forward-backward, Viterbi and the simulated attackers know only this. Noise that looks at its
own point alone has the states of the model; noise that looks further back has pairs of the
last report and a state, which then tell the report for certain.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from chainveil.checks import FloatArray
from chainveil.errors import InvalidInput

if TYPE_CHECKING:
    from chainveil.noise.base import Noise


@dataclass(frozen=True)
class HiddenModel:
    """Hidden states, what they report, and the value of the series that each stands for.

    Attributes
    ----------
    start : array of shape (s,)
    transition : array of shape (s, s)
    emission : array of shape (s, m)
        ``Pr[report | hidden state]``; one column more, all ones, where points may be missing.
    value : integer array of shape (s,)
        The state of the series, 0 … k-1, that a hidden state stands for.
    states : int
        Number of states k of the series.
    """

    start: FloatArray
    transition: FloatArray
    emission: FloatArray
    value: NDArray[np.int64]
    states: int

    @property
    def outputs(self) -> int:
        """Number of reports, a missing one included."""
        return int(self.emission.shape[1])

    @property
    def plain(self) -> bool:
        """Whether the hidden states are the states themselves."""
        return len(self.value) == self.states

    def by_value(self, found: FloatArray) -> FloatArray:
        """Probabilities of hidden states, shape (n, s), as those of the series' states, (n, k)."""
        if self.plain:
            return found
        summed = np.zeros((len(found), self.states))
        for hidden, value in enumerate(self.value):
            summed[:, value] += found[:, hidden]
        return summed


def hidden_model(model: Any, noise: Noise, gaps: bool = False) -> HiddenModel:
    """The hidden model of a data model and a noise.

    ``gaps`` adds one report, that of a missing point, which says nothing; noise that looks
    back runs on beneath it.
    """
    if model.states != noise.states:
        raise InvalidInput("noise", f"{noise.states} states", f"noise for {model.states} states")
    start, transition, value = model.hidden_chain()
    if noise.ordered:
        hidden = _with_last_report(start, transition, value, noise)
    else:
        emission = np.asarray(noise.first_law())[value]
        hidden = HiddenModel(np.array(start), np.array(transition), emission, value, model.states)
    if not gaps:
        return hidden
    wider = np.hstack([hidden.emission, np.ones((len(hidden.value), 1))])
    return HiddenModel(hidden.start, hidden.transition, wider, hidden.value, hidden.states)


def _with_last_report(
    start: FloatArray, transition: FloatArray, value: NDArray[np.int64], noise: Noise
) -> HiddenModel:
    """Hidden states (z, b) with the report z and the model's own hidden state b, z slowest."""
    outputs, size = noise.outputs, len(start)
    first = noise.first_law()[value].T * start
    # Axes: last report, hidden state, next hidden state, next report.
    kernel = noise.step_law()[:, value[:, None], value[None, :], :]
    steps = np.moveaxis(kernel * transition[None, :, :, None], 3, 2)
    pairs = outputs * size
    return HiddenModel(
        first.reshape(pairs),
        np.ascontiguousarray(steps).reshape(pairs, pairs),
        np.repeat(np.eye(outputs), size, axis=0),
        np.tile(value, outputs),
        noise.states,
    )
