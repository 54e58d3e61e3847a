"""The attackers of this room against one release, beside guessing and beside what is possible."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from chainveil.attack.posterior import Posterior
from chainveil.attack.single_bit import SingleBit
from chainveil.attack.success import Success, score
from chainveil.attack.viterbi import Viterbi
from chainveil.counts import wilson
from chainveil.inference.observations import UNKNOWN, known_points
from chainveil.model.fit_test import LEVEL, p_value
from chainveil.plan import NoisePlan
from chainveil.sequences import Sequences, as_sequences


@dataclass(frozen=True)
class Attacked:
    """What attackers got right who know the chain and the noise.

    Attributes
    ----------
    scores : dict of name to Success
        What they achieve is no measure of privacy: a better attacker may come.
    guessing : float
        Share that is right without a release, by the commonest state.
    bound : float
        Nobody who knows no point beforehand is right more often, if the data follow the chain.
    p_value : float or None
        Chance of true states as far from the model of the plan, if they follow that model; None
        where the model is no chain.
    """

    scores: dict[str, Success]
    guessing: float
    bound: float
    p_value: float | None

    @property
    def beaten(self) -> tuple[str, ...]:
        """Who is right more often than the bound allows, where the data contradict the model.

        The model has to be rejected at the 1% level: the effective number of guesses is too large
        in short series of slow chains, so that an interval alone raises false alarms.
        """
        if self.p_value is None or self.p_value >= LEVEL:
            return ()
        names = [name for name, score in self.scores.items() if score.low > self.bound]
        trials = min(score.effective_trials for score in self.scores.values())
        if wilson(self.guessing, trials)[0] > self.bound:
            names.append("guessing the commonest state")
        return tuple(names)


def attack_release(plan: NoisePlan, truth: Any, seen: Any, known: Any = None) -> Attacked:
    """Attack a release and compare with the truth.

    Parameters
    ----------
    plan : NoisePlan
        Chain and noise, which attackers know.
    truth, seen : arrays, or lists of arrays, one a series
        States and reports.
    known : the same, optional
        States that need no guess, such as gaps; -1 elsewhere.

    Examples
    --------
    >>> import chainveil as cv
    >>> chain = cv.MarkovChain.symmetric(0.1)
    >>> plan, series = cv.calibrate(chain, epsilon=3.0), chain.sample(2000, rng=1)
    >>> found = cv.attack.attack_release(plan, series, plan.sanitize(series))
    >>> found.scores["posterior"].rate < found.bound
    True
    """
    attackers = {
        "single bit": SingleBit(plan.noise),
        "posterior": Posterior(plan.chain, plan.noise),
        "Viterbi": Viterbi(plan.chain, plan.noise),
    }
    scores = {
        name: score(truth, attacker.reconstruct(seen), known)
        for name, attacker in attackers.items()
    }
    return Attacked(scores, _majority(truth, known), _bound(plan), _p_value(plan, truth, known))


def _p_value(plan: NoisePlan, truth: Any, known: Any) -> float | None:
    """Test of the model of the plan on the true states, gaps left out."""
    held = as_sequences("truth", truth, plan.noise.states)
    if known is not None:
        there = np.flatnonzero(known_points(known, held, plan.noise.states) == UNKNOWN)
        series = np.searchsorted(held.offsets, there, side="right")
        cuts = np.flatnonzero((np.diff(there) > 1) | (np.diff(series) > 0)) + 1
        held = Sequences(held.flat[there], np.concatenate([[0], cuts, [len(there)]]))
    return p_value(held, plan.model)


def _bound(plan: NoisePlan) -> float:
    """Largest chance of a right guess, from the loss against who knows nothing beforehand."""
    from chainveil.privacy.baselines import success_bound
    from chainveil.privacy.loss import privacy_loss

    loss = privacy_loss(
        plan.chain, plan.shown, length=plan.loss.length, adversary="ignorant", gaps=plan.gaps
    )
    return success_bound(plan.chain, loss.epsilon)


def _majority(truth: Any, known: Any) -> float:
    """Share of the commonest state among the points that had to be guessed."""
    states = np.concatenate(truth) if isinstance(truth, list) else truth
    if known is not None:
        marks = np.concatenate(known) if isinstance(known, list) else known
        states = states[marks < 0]
    return float(np.bincount(states).max() / len(states))
