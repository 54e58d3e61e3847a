"""A lower bound on the loss of any sanitizer, by experiment.

The exact loss names a worst case: a point, what the adversary knows, and two values to be told
apart. The audit plays it. It draws series with either value, sanitizes them, and counts how
often the output speaks for the first; ``log(p / p')`` is a loss that really occurs, so a
confidence bound on it is a bound on epsilon from below. It can show that a sanitizer gives
away more than it should. It cannot show that one does not.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from chainveil import checks, inference, notebook
from chainveil.attack.simulation import sample_given
from chainveil.attack.success import clopper_pearson
from chainveil.checks import FloatArray
from chainveil.errors import InvalidInput, NotSupported
from chainveil.model.base import DataModel
from chainveil.noise.base import Noise, require_noise
from chainveil.noise.channel import Channel
from chainveil.privacy.adversary import AdversaryName
from chainveil.privacy.rounding import lower
from chainveil.sequences import as_sequences, is_column

if TYPE_CHECKING:
    from chainveil.privacy.bounds import Attack

Sanitizer = Callable[[Any], Any]

# Windows tried when no length is given: the worst output of a longer one is too rare to count.
LENGTHS = (1, 3, 5, 7, 9, 11, 15)
# Series that are drawn at once.
CHUNK = 100_000
# Thresholds tried on the first half of the trials.
THRESHOLDS = 64


@dataclass(frozen=True)
class AuditResult:
    """At least this much is given away, with this confidence.

    Attributes
    ----------
    lower_bound : float
        ``epsilon >= lower_bound`` with probability ``confidence``; 0 where nothing was shown.
    witness : chainveil.privacy.bounds.Attack
        The adversary that was played.
    threshold : float
        The output counts as speaking for ``witness.value`` where its log-likelihood ratio is
        at least this.
    value_hits, value_trials, other_hits, other_trials : int
        How often it did, with either value as the truth.
    nominal : float or None
        The epsilon that was promised.
    """

    lower_bound: float
    confidence: float
    witness: Attack
    threshold: float
    value_hits: int
    value_trials: int
    other_hits: int
    other_trials: int
    nominal: float | None = None

    @property
    def exceeds_nominal(self) -> bool | None:
        """Whether more than the promise was shown. False says nothing in favour of it."""
        return None if self.nominal is None else self.lower_bound > self.nominal

    def __str__(self) -> str:
        text = f"at least epsilon >= {self.lower_bound:.3f} with {self.confidence:.0%} confidence"
        if self.nominal is None:
            return text
        if self.exceeds_nominal:
            return f"{text}: more than the nominal {self.nominal:g}"
        return f"{text}; the nominal {self.nominal:g} was not refuted, which does not confirm it"

    def _repr_html_(self) -> str:
        counted = (
            f"{self.value_hits:,} of {self.value_trials:,} outputs spoke for it where it was true, "
            f"{self.other_hits:,} of {self.other_trials:,} where it was not"
        )
        title = f"audit: epsilon at least {lower(self.lower_bound, 4)}"
        lines = [("confidence", f"{self.confidence:.12g}"), ("result", self),
                 ("adversary", self.witness), ("counted", counted)]  # fmt: skip
        return notebook.card(title, lines, "An audit can refute a promise; it confirms none.")


def audit_sanitizer(
    sanitizer: Sanitizer,
    chain: DataModel,
    noise: Noise,
    *,
    length: int | None = None,
    adversary: AdversaryName = "any",
    trials: int = 400_000,
    confidence: float = 0.99,
    nominal: float | None = None,
    rng: np.random.Generator | int | None = None,
    progress: Callable[[str, int], None] | None = None,
) -> AuditResult:
    """Play the worst-case adversary against a sanitizer and bound its loss from below.

    Parameters
    ----------
    sanitizer : callable
        Takes states of shape (rows, n) and returns outputs of that shape, fresh noise each.
    chain, noise : MarkovChain or another model, and a Channel or another noise
        The data, and the noise that the sanitizer claims to add. The bound holds whatever
        the sanitizer really does; the claim only chooses whom to play.
    length : int, optional
        Points of the series; by default the length that promises the best bound.
    adversary : "any", "ignorant" or "informed"
        Whom to choose the worst case among; see :func:`chainveil.privacy_loss`.
    trials : int
        Series drawn with each of the two values. Half of them choose what to count.
    confidence : float
        Probability with which the bound holds.
    nominal : float, optional
        The epsilon that was promised, to be held against the bound.
    rng : numpy Generator or int, optional
        Draws the series. The noise is the sanitizer's own.
    progress : callable, optional
        Told ``("playing", series)`` as they are drawn.
    """
    if not callable(sanitizer):
        found = f"an object of type {type(sanitizer).__name__}"
        raise InvalidInput("sanitizer", found, "a function from states to outputs")
    require_noise(noise)
    trials = checks.whole("trials", trials, 100)
    confidence = checks.probability("confidence", confidence, zero=False, one=False)
    witness = choose_witness(chain, noise, length, adversary, trials, confidence)
    generator = np.random.default_rng(rng)
    ratios = []
    for value in (*witness.value, *witness.other):
        parts = []
        for begin in range(0, trials, CHUNK):
            count = min(CHUNK, trials - begin)
            parts.append(_played(sanitizer, chain, noise, witness, value, count, generator))
            if progress is not None:
                progress("playing", count)
        ratios.append(np.concatenate(parts))
    return _bound(ratios[0], ratios[1], witness, confidence, nominal)


def _played(
    sanitizer: Sanitizer,
    chain: DataModel,
    noise: Noise,
    witness: Attack,
    value: int,
    count: int,
    generator: np.random.Generator,
) -> FloatArray:
    """What the outputs of so many series say, which have ``value`` at the target."""
    fixed = dict(witness.known) | {witness.target: value}
    x = sample_given(chain, fixed, witness.length, count, generator)
    # Series of one point go as a list: a column would be taken for one series.
    z = sanitizer(x) if witness.length > 1 else np.stack(sanitizer(list(x)))
    return log_ratios(chain, noise, witness, _checked_output(z, x))


def audit_release(
    x: Any,
    z: Any,
    chain: DataModel,
    noise: Noise,
    *,
    length: int = 5,
    adversary: AdversaryName = "ignorant",
    gap: int | None = None,
    confidence: float = 0.99,
    nominal: float | None = None,
) -> AuditResult:
    """The same bound from one release and its original.

    Windows of ``length`` points, ``gap`` points apart, in which the adversary's known points
    have their values, are the trials. They count as independent, which is right once the
    gap outlasts the memory of the data and of the noise; by default it is taken from both.
    Under noise on one point in several all windows begin where a block does.
    """
    confidence = checks.probability("confidence", confidence, zero=False, one=False)
    require_noise(noise)
    length = checks.whole("length", length, 1)
    truth = as_sequences("x", x, chain.states)
    release = as_sequences("z", z, noise.outputs)
    if not np.array_equal(truth.lengths, release.lengths):
        raise InvalidInput("z", f"lengths {release.lengths.tolist()[:5]}", "the lengths of x")
    gap = mixing_gap(chain, noise) if gap is None else checks.whole("gap", gap, 0)
    witness = _witness(chain, noise, length, adversary)
    where = _windows(truth.offsets, length, -(-(length + gap) // noise.every) * noise.every)
    points = where[:, None] + np.arange(length)
    states, outputs = truth.flat[points], release.flat[points]
    fits = np.ones(len(where), dtype=bool)
    for position, value in witness.known.items():
        fits &= states[:, position] == value
    ratios = log_ratios(chain, noise, witness, outputs)
    groups = [
        ratios[fits & (states[:, witness.target] == value)]
        for value in (*witness.value, *witness.other)
    ]
    return _bound(groups[0], groups[1], witness, confidence, nominal)


def choose_witness(
    chain: DataModel,
    noise: Noise,
    length: int | None,
    adversary: AdversaryName,
    trials: int,
    confidence: float,
) -> Attack:
    """The adversary to play: of the lengths tried, the one that promises the best bound."""
    if length is not None:
        return _witness(chain, noise, checks.whole("length", length, 1), adversary)
    candidates = [
        witness
        for reports in LENGTHS
        if (witness := _witness_if_any(chain, noise, reports * noise.every, adversary))
    ]
    if not candidates:
        # Says what is not offered.
        return _witness(chain, noise, noise.every, adversary)
    return max(candidates, key=lambda w: _promise(chain, noise, w, trials // 2, confidence))


def _witness(chain: DataModel, noise: Noise, length: int, adversary: AdversaryName) -> Attack:
    from chainveil.privacy.loss import privacy_loss

    witness = privacy_loss(chain, noise, length=length, adversary=adversary).witness
    if witness is None:
        raise InvalidInput("chain", chain, "a chain in which some point has two possible values")
    return witness


def _witness_if_any(
    chain: DataModel, noise: Noise, length: int, adversary: AdversaryName
) -> Attack | None:
    """None where no engine computes the loss of so long a series."""
    try:
        return _witness(chain, noise, length, adversary)
    except NotSupported:
        return None


def _promise(
    chain: DataModel, noise: Noise, witness: Attack, trials: int, confidence: float
) -> float:
    """The bound to expect from counting the worst output, if the noise is as claimed."""
    chances = [_chance(chain, noise, witness, value) for value in (*witness.value, *witness.other)]
    hits = [int(trials * chance) for chance in chances]
    return _log_bound(hits[0], trials, hits[1], trials, confidence)


def _chance(chain: DataModel, noise: Noise, witness: Attack, value: int) -> float:
    """``Pr`` of the worst output, given that value of the target.

    Where reports look at their own point alone those at known points tell nothing, and in a
    chain of order 1 only those strictly between the known points matter; else all of them are
    asked for, which promises less than can be had.
    """
    begin, end, known, surplus = 0, witness.length - 1, dict(witness.known), 0.0
    # What stands at points that do not report does not count.
    output = np.array([seen or 0 for seen in witness.output()])
    if not noise.ordered and noise.every == 1:
        if chain.order == 1:
            begin = max((t for t in known if t < witness.target), default=begin)
            end = min((t for t in known if t > witness.target), default=end)
        law = noise.first_law()
        for t in (t for t in known if begin <= t <= end):
            # What is published at a known point tells nothing: take the likeliest, and take it out.
            output[t] = np.argmax(law[known[t]])
            surplus += math.log(law[known[t], output[t]])
    fixed = {t - begin: state for t, state in known.items() if begin <= t <= end}
    fixed[witness.target - begin] = value
    likelihood = inference.log_likelihood(chain, noise, output[begin : end + 1], fixed)
    return math.exp(likelihood - _log_prior(chain, fixed, end + 1 - begin) - surplus)


def _log_prior(chain: DataModel, fixed: Mapping[int, int], length: int) -> float:
    """``log Pr`` of the fixed points alone: their likelihood under a channel that says nothing."""
    mute = Channel(np.ones((chain.states, 1)))
    silence = np.zeros(length, dtype=np.uint8)
    return float(inference.log_likelihood(chain, mute, silence, fixed))


def log_ratios(chain: DataModel, noise: Noise, witness: Attack, z: NDArray[Any]) -> FloatArray:
    """``log Pr[z | value, known] / Pr[z | other, known]`` of each row, under the claims."""
    # An array of one column would be one series; a list of rows is as many series.
    rows = list(z) if is_column(z) else z
    likelihoods = [
        inference.log_likelihood(chain, noise, rows, dict(witness.known) | {witness.target: value})
        for value in (*witness.value, *witness.other)
    ]
    priors = [
        _log_prior(chain, dict(witness.known) | {witness.target: value}, witness.length)
        for value in (*witness.value, *witness.other)
    ]
    return np.asarray(likelihoods[0] - likelihoods[1] - (priors[0] - priors[1]))


def _bound(
    value_ratios: FloatArray,
    other_ratios: FloatArray,
    witness: Attack,
    confidence: float,
    nominal: float | None,
) -> AuditResult:
    """Choose a threshold on every other trial, and count on the rest."""
    threshold = _best_threshold(value_ratios[::2], other_ratios[::2], confidence)
    value, other = value_ratios[1::2], other_ratios[1::2]
    hits = int((value >= threshold).sum()), int((other >= threshold).sum())
    bound = _log_bound(hits[0], len(value), hits[1], len(other), confidence)
    return AuditResult(
        max(0.0, bound), confidence, witness, threshold,
        hits[0], len(value), hits[1], len(other), nominal,
    )  # fmt: skip


def _best_threshold(value: FloatArray, other: FloatArray, confidence: float) -> float:
    if len(value) == 0 or len(other) == 0:
        return math.inf
    # A little below each ratio, so that rounding does not split equal outputs.
    levels = np.unique(np.round(value, 9))
    if len(levels) > THRESHOLDS:
        levels = np.unique(np.quantile(levels, np.linspace(0, 1, THRESHOLDS)))
    levels = levels - 1e-8
    bounds = [
        _log_bound(
            int((value >= level).sum()), len(value), int((other >= level).sum()), len(other),
            confidence,
        )
        for level in levels
    ]  # fmt: skip
    return float(levels[int(np.argmax(bounds))])


def _log_bound(
    value_hits: int, value_trials: int, other_hits: int, other_trials: int, confidence: float
) -> float:
    """Lower end for ``log(p / p')``: both Clopper-Pearson ends hold at once."""
    if value_hits == 0 or other_trials == 0:
        return -math.inf
    low, _ = clopper_pearson(value_hits, value_trials, confidence)
    _, high = clopper_pearson(other_hits, other_trials, confidence)
    return math.log(low / high)


def mixing_gap(chain: DataModel, noise: Noise) -> int:
    """Points after which chain and noise remember less than one percent of where they were."""
    start, transition, value = chain.hidden_chain()
    move = np.linalg.matrix_power(transition, noise.every)
    if noise.ordered:
        step = inference.report_laws(noise.thinned(1), value).weights(start, move).step
        size = step.shape[0] * step.shape[2]
        # The last report and the state together are a chain.
        move = np.moveaxis(step, 1, 2).reshape(size, size)
    second = float(np.sort(np.abs(np.linalg.eigvals(move)))[-2])
    if second >= 1:
        raise InvalidInput(
            "gap", None, "a whole number", "This chain never forgets; give the gap by hand."
        )
    return 0 if second < 0.01 else math.ceil(math.log(0.01) / math.log(second)) * noise.every


def _windows(offsets: NDArray[np.int64], length: int, stride: int) -> NDArray[np.int64]:
    """First points of windows that lie inside a series, ``stride`` apart."""
    parts = [np.arange(begin, end - length + 1, stride) for begin, end in pairwise(offsets)]
    return np.concatenate(parts) if parts else np.empty(0, dtype=np.int64)


def _checked_output(z: Any, x: NDArray[Any]) -> NDArray[Any]:
    array = np.asarray(z)
    if array.shape != x.shape:
        raise InvalidInput(
            "sanitizer",
            f"an output of shape {array.shape}",
            f"the shape of its input, {x.shape}",
        )
    return array
