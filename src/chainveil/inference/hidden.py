"""A model and a noise together, as one hidden Markov model.

Forward-backward, Viterbi and the simulated attackers know only this. Noise that looks at its
own point alone has the states of the model; noise that looks further back has pairs of the
last report and a state, which then tell the report for certain.

The same model has a second form, weights of steps from report to report (:class:`StepWeights`):
there no noise needs more states than the model has, but under noise that looks back no report
may be missing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chainveil.checks import FloatArray
from chainveil.errors import InvalidInput, NotSupported
from chainveil.model.base import check_model
from chainveil.noise.base import Noise, check_noise


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


@dataclass(frozen=True)
class StepWeights:
    """A hidden model as weights of steps from one report to the next.

    Attributes
    ----------
    first : array of shape (m, s)
        ``Pr[Z_1 = z, S_1 = s]`` at ``[z, s]``, with S the hidden state.
    step : array of shape (m, m, s, s)
        ``Pr[Z_t = z', S_t = s' | Z_{t-1} = z, S_{t-1} = s]`` at ``[z, z', s, s']``.
    """

    first: FloatArray
    step: FloatArray


@dataclass(frozen=True)
class ReportLaws:
    """How probable each report is after the one before it, given the hidden states.

    Attributes
    ----------
    first : array of shape (m, s)
        ``Pr[Z_1 = z | S_1 = s]`` at ``[z, s]``.
    step : array of shape (m, m, s, s)
        ``Pr[Z_t = z' | Z_{t-1} = z, S_{t-1} = s, S_t = s']`` at ``[z, z', s, s']``.
    """

    first: FloatArray
    step: FloatArray

    def weights(self, start: FloatArray, transition: FloatArray) -> StepWeights:
        """The weights of steps where hidden states follow this chain."""
        return StepWeights(self.first * start, self.step * transition)


def report_laws(
    noise: Noise, value: NDArray[np.int64] | None = None, gaps: bool = False
) -> ReportLaws:
    """The laws of reports under a noise, given hidden states that stand for ``value``.

    By default hidden states are the states themselves. ``gaps`` adds one report, that of a
    missing point, which says nothing.
    """
    value = np.arange(noise.states) if value is None else value
    first = np.ascontiguousarray(np.asarray(noise.first_law())[value].T)
    if gaps:
        return _laws_with_gaps(noise, first)
    # From last report, state, next state, next report.
    step = np.moveaxis(noise.step_law()[:, value[:, None], value[None, :], :], 3, 1)
    return ReportLaws(first, np.ascontiguousarray(step))


def _laws_with_gaps(noise: Noise, first: FloatArray) -> ReportLaws:
    if noise.ordered:
        raise NotSupported(
            f"weights of steps over gaps under {noise.kind} noise: what it did there is not known"
        )
    wider = np.vstack([first, np.ones((1, first.shape[1]))])
    m, size = wider.shape
    step = np.broadcast_to(wider[None, :, None, :], (m, m, size, size))
    return ReportLaws(wider, np.ascontiguousarray(step))


def step_weights(model: Any, noise: Noise) -> StepWeights:
    """The weights of steps of a data model and a noise."""
    _check_states(model, noise)
    start, transition, value = model.hidden_chain()
    return report_laws(noise, value).weights(start, transition)


def _check_states(model: Any, noise: Noise) -> None:
    """Error unless the two are what they should be, for as many states."""
    check_model(model)
    check_noise(noise)
    if model.states != noise.states:
        raise InvalidInput("noise", f"{noise.states} states", f"noise for {model.states} states")


def hidden_model(model: Any, noise: Noise, gaps: bool = False) -> HiddenModel:
    """The hidden model of a data model and a noise.

    ``gaps`` adds one report, that of a missing point, which says nothing; noise that looks
    back runs on beneath it.
    """
    _check_states(model, noise)
    start, transition, value = model.hidden_chain()
    if noise.ordered:
        hidden = _with_last_report(step_weights(model, noise), value, noise.states)
    else:
        emission = np.asarray(noise.first_law())[value]
        hidden = HiddenModel(np.array(start), np.array(transition), emission, value, model.states)
    if not gaps:
        return hidden
    wider = np.hstack([hidden.emission, np.ones((len(hidden.value), 1))])
    return HiddenModel(hidden.start, hidden.transition, wider, hidden.value, hidden.states)


def _with_last_report(weights: StepWeights, value: NDArray[np.int64], states: int) -> HiddenModel:
    """Hidden states (z, b) with the report z and the model's own hidden state b, z slowest."""
    outputs, size = weights.first.shape
    pairs = outputs * size
    return HiddenModel(
        weights.first.reshape(pairs),
        # To last report, hidden state, next report, next hidden state.
        np.ascontiguousarray(np.moveaxis(weights.step, 1, 2)).reshape(pairs, pairs),
        np.repeat(np.eye(outputs), size, axis=0),
        np.tile(value, outputs),
        states,
    )
