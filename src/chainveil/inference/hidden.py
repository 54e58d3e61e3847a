"""A model and a noise together, as one hidden Markov model.

It has two forms. In the first (:class:`HiddenModel`) noise that looks at its own point alone has
the states of the model; noise that looks further back has pairs of the last report and a state,
which then tell the report for certain.

In the second, weights of steps from label to label (:class:`StepWeights`; ``inference.labels``
says what a label is), no noise needs more states than the model has. Points without a report
have a label there unless the noise runs on beneath them, out of sight: then the first form is
the only one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chainveil.checks import FloatArray
from chainveil.errors import InvalidInput, NotSupported
from chainveil.inference.labels import report_labels
from chainveil.model.base import require_model
from chainveil.noise.base import Noise, require_noise


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


@dataclass(frozen=True)
class StepWeights:
    """A hidden model as weights of steps from one label to the next.

    Where every point reports, labels are the reports, L = m; see ``inference.labels``.

    Attributes
    ----------
    first : array of shape (L, s)
        ``Pr[Z_1 = z, S_1 = s]`` at ``[z, s]``, with S the hidden state.
    step : array of shape (L, L, s, s)
        ``Pr[Z_t = z', S_t = s' | Z_{t-1} = z, S_{t-1} = s]`` at ``[z, z', s, s']``.
    """

    first: FloatArray
    step: FloatArray


@dataclass(frozen=True)
class ReportLaws:
    """How probable each label is after the one before it, given the hidden states.

    Attributes
    ----------
    first : array of shape (L, s)
        ``Pr[Z_1 = z | S_1 = s]`` at ``[z, s]``.
    step : array of shape (L, L, s, s)
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
    """The laws of labels under a noise, given hidden states that stand for ``value``.

    By default hidden states are the states themselves. Where ``gaps`` says that points may be
    missing, or the noise is silent at some, there are labels of silence.
    """
    value = np.arange(noise.states) if value is None else value
    first = np.ascontiguousarray(np.asarray(noise.first_law())[value].T)
    silent = report_labels(noise, gaps).silent
    if silent and not noise.holds:
        return _laws_with_silence(noise, first)
    # From last report, state, next state, next report.
    step = np.moveaxis(noise.step_law()[:, value[:, None], value[None, :], :], 3, 1)
    if silent:
        return _laws_with_holding(first, step, noise.after_gap_law()[:, value, :])
    return ReportLaws(first, np.ascontiguousarray(step))


def _laws_with_silence(noise: Noise, first: FloatArray) -> ReportLaws:
    if noise.ordered:
        raise NotSupported(
            f"weights of steps over gaps under {noise.kind} noise: what it did there is not known"
        )
    wider = np.vstack([first, np.ones((1, first.shape[1]))])
    m, size = wider.shape
    step = np.broadcast_to(wider[None, :, None, :], (m, m, size, size))
    return ReportLaws(wider, np.ascontiguousarray(step))


def _laws_with_holding(first: FloatArray, step: FloatArray, after_gap: FloatArray) -> ReportLaws:
    """Labels "report z", "held z" and "none yet"; a step that cannot be weighs nothing.

    ``step`` has shape (m, m, s, s), ``after_gap`` (m, s, m).
    """
    m, size = first.shape
    none = 2 * m
    start = np.zeros((none + 1, size))
    start[:m], start[none] = first, 1.0
    laws = np.zeros((none + 1, none + 1, size, size))
    laws[:m, :m] = step
    laws[m:none, :m] = np.swapaxes(after_gap, 1, 2)[:, :, None, :]
    laws[none, :m] = first[:, None, :]
    for z in range(m):
        laws[z, m + z] = laws[m + z, m + z] = 1.0
    laws[none, none] = 1.0
    return ReportLaws(start, laws)


def step_weights(model: Any, noise: Noise, gaps: bool = False) -> StepWeights:
    """The weights of steps of a data model and a noise; ``gaps`` where points may be missing."""
    check_states(model, noise)
    start, transition, value = model.hidden_chain()
    return report_laws(noise, value, gaps).weights(start, transition)


def check_states(model: Any, noise: Noise) -> None:
    """Error unless the two are what they should be, for as many states."""
    require_model(model)
    require_noise(noise)
    if model.states != noise.states:
        raise InvalidInput("noise", f"{noise.states} states", f"noise for {model.states} states")


def hidden_model(model: Any, noise: Noise, gaps: bool = False) -> HiddenModel:
    """The hidden model of a data model and a noise.

    ``gaps``, or noise that is silent at some points, adds one report, that of a missing point,
    which says nothing; noise that looks back runs on beneath it. Noise that holds its last
    report instead has weights of steps only.
    """
    check_states(model, noise)
    silent = report_labels(noise, gaps).silent
    if silent and noise.holds:
        raise NotSupported(
            f"{noise.kind} noise over points without a report: it holds the last one, which "
            "step_weights(model, noise, gaps=True) knows about"
        )
    start, transition, value = model.hidden_chain()
    if noise.ordered:
        hidden = _with_last_report(step_weights(model, noise), value, noise.states)
    else:
        emission = np.asarray(noise.first_law())[value]
        hidden = HiddenModel(np.array(start), np.array(transition), emission, value, model.states)
    if not silent:
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
