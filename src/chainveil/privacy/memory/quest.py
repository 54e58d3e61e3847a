"""One search for a kernel: its numbers, what it minimises, how far it lies above the budget."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np

from chainveil.checks import FloatArray
from chainveil.model.chain import MarkovChain
from chainveil.noise.base import Noise
from chainveil.noise.channel import Channel
from chainveil.noise.correlated import CorrelatedNoise
from chainveil.noise.memory import StickyNoise, TrackingNoise
from chainveil.privacy.memory import block_loss, block_places
from chainveil.privacy.memory.block_search import BlockLosses
from chainveil.privacy.memory.decoding import decoded_error
from chainveil.privacy.memory.loss import KINDS, Setting
from chainveil.privacy.memory.objective import Rhythm
from chainveil.privacy.memory.search import Laws, Losses
from chainveil.privacy.memory.sides import Corner
from chainveil.privacy.problem import Aim, Problem

Form = Literal["independent", "sticky", "tracking", "correlated"]
# Axes of the probabilities to report 1: last report, state before, state.
SHAPES: dict[str, tuple[int, int, int]] = {
    "independent": (1, 1, 2), "sticky": (2, 1, 2), "tracking": (2, 2, 2),
}  # fmt: skip
# Of correlated noise the two numbers are the chances to begin flipping and to stop; where they
# stand in a kernel: after a 0 at a 0, and after a flipped 0 at a 1.
BEGIN, STOP = (0, 0, 0), (1, 0, 1)
# Logits stay between these: probabilities of 1e-13 and more.
MOST = 30.0
# Points to a report of which each is looked at for every kernel.
FEW_SILENT = 12
# Parts of the loss that lie further below the budget than this do not matter to a step.
FAR_BELOW = -8.0


def kernel_of(ones: FloatArray) -> FloatArray:
    """Probabilities of both reports, (2, 2, 2, 2), from those to report 1."""
    kernel = np.empty((2, 2, 2, 2))
    kernel[..., 0], kernel[..., 1] = 1 - ones, ones
    return kernel


@dataclass(frozen=True)
class Quest:
    """What is looked for, and how a kernel is judged.

    Kernels are given as probabilities to report 1, of shape (2, 2, 2): last report, state
    before, state. ``corners`` are the chains of a search over a box, else the chain itself.
    Over a family ``rhythm`` is that of its typical chain, by which kernels are weighed, and
    ``members`` judge them, one for each member; ``voice`` is then the rhythm that the first law and
    the kernel after gaps go with, which is the same for all.
    """

    problem: Problem
    aim: Aim
    form: Form
    rhythm: Rhythm
    corners: tuple[Corner, ...]
    members: tuple[Quest, ...] = ()
    voice: Rhythm | None = None

    @property
    def slowest(self) -> float:
        """q + r of the slowest chain that a kernel is for; of a box, its likeliest one."""
        rhythms = [member.rhythm for member in self.members] or [self.rhythm]
        return min(rhythm.q + rhythm.r for rhythm in rhythms)

    def spread(self, logits: FloatArray) -> FloatArray:
        """Probabilities to report 1, shape (2, 2, 2), from the logits of the form."""
        ones = 1 / (1 + np.exp(-np.minimum(np.maximum(logits, -MOST), MOST)))
        if self.form == "correlated":
            return CorrelatedNoise(float(ones[0]), float(ones[1])).step_law()[..., 1]
        spread = np.empty((2, 2, 2))
        spread[...] = ones.reshape(SHAPES[self.form])
        return spread

    def gather(self, ones: FloatArray) -> FloatArray:
        """Logits of a kernel, those that the form has."""
        if self.form == "correlated":
            kept = np.array([ones[BEGIN], ones[STOP]])
        else:
            kept = ones[tuple(slice(0, size) for size in SHAPES[self.form])].ravel()
        safe = np.clip(kept, 1e-13, 1 - 1e-13)
        return np.asarray(np.log(safe) - np.log1p(-safe))

    def laws(self, ones: FloatArray) -> Laws:
        """The kernel with a first law and a kernel after gaps that go with it."""
        kernel = kernel_of(ones)
        if self.form == "independent":
            return Laws(kernel, kernel[0, 0], kernel[:, 0])
        if self.form == "correlated":
            first = CorrelatedNoise(ones[BEGIN], ones[STOP]).first_law()
            return Laws(kernel, first, kernel[:, 0])
        voice = self.voice or self.rhythm
        law = voice.long_run(kernel)
        return Laws(kernel, voice.first(law), voice.after_gap(kernel, law))

    def noise(self, ones: FloatArray) -> Noise:
        """The noise itself, on the grid of 2^-53."""
        laws, every = self.laws(ones), self.rhythm.every
        if self.form == "independent":
            return Channel(laws.first, every).on_grid()
        if self.form == "sticky":
            return StickyNoise(laws.kernel[:, 0], laws.first, every).on_grid()
        if self.form == "correlated":
            return CorrelatedNoise(float(ones[BEGIN]), float(ones[STOP])).on_grid()
        return TrackingNoise(laws.kernel, laws.first, laws.after_gap).on_grid()

    def mixed(self, ones: FloatArray, share: float) -> FloatArray:
        """Correlated noise a share of the way to tossing a coin for every flip."""
        chances = [min(max((1 - share) * ones[at] + share / 2, 1e-13), 1.0) for at in (BEGIN, STOP)]
        return CorrelatedNoise(chances[0], chances[1]).step_law()[..., 1]

    def goal(self, ones: FloatArray) -> float:
        """What is minimised."""
        kernel = kernel_of(ones)
        if self.aim.objective == "estimate":
            return math.log(self.rhythm.variance(kernel))
        if self.aim.objective == "decoded":
            return decoded_error(self.rhythm, kernel)
        return self.rhythm.wrong(kernel)

    def excess(self, ones: FloatArray) -> FloatArray:
        """How far each part of the loss lies above the budget, as a vector."""
        if self.members:
            return np.concatenate([member.excess(ones) for member in self.members])
        return np.asarray(np.maximum(self._parts(ones) - self.aim.epsilon, FAR_BELOW))

    @cached_property
    def _parts(self) -> Callable[[FloatArray], FloatArray]:
        problem = self.problem
        plain = problem.length is None and problem.event == 1 and problem.adversary in KINDS
        # Of many silent points only those are looked at that could be told most.
        plain = plain and self.rhythm.every <= FEW_SILENT
        return self._quick if plain else self._slow

    def _quick(self, ones: FloatArray) -> FloatArray:
        if self._blocks is not None:
            return self._blocks.parts(self.laws(ones))
        parts = self._losses.parts(self.laws(ones))
        return np.asarray(parts.reshape(len(parts), -1).max(axis=0))

    def _slow(self, ones: FloatArray) -> FloatArray:
        laws = self.laws(ones).on_grid()
        if not self._by_report(self._with_example) and laws.vector().min() > 0:
            # Labels and steps are those of any noise of the form that rules nothing out.
            return Setting.of(self._with_example, self._losses.with_laws(laws)).parts()
        problem = self._one_chain.with_release(self.noise(ones))
        if self._by_report(problem):
            return block_loss.Blocks.of(problem).parts()
        return Setting.of(problem).parts()

    @staticmethod
    def _by_report(problem: Problem) -> bool:
        """Whether losses are found from report to report, where events and gaps are not quick."""
        return problem.event == 1 and not problem.gaps and block_places.solves(problem)

    @cached_property
    def _with_example(self) -> Problem:
        return self._one_chain.with_release(self._example)

    @cached_property
    def _one_chain(self) -> Problem:
        """The problem on the chain that the search is made for: of a box, its corner."""
        if self.problem.model.single:
            return self.problem
        ((q, r),) = self.corners
        return self.problem.on(MarkovChain.binary(q, r))

    @cached_property
    def _blocks(self) -> BlockLosses | None:
        """Losses from report to report, where all releases report the same points."""
        if not block_places.solves(self.problem.with_release(self._example)):
            return None
        losses = self._losses
        earlier = tuple(noise.thinned(1) for noise in losses.earlier)
        example = losses.example
        alone = replace(losses, earlier=earlier, example=example.thinned(1))
        return BlockLosses(alone, example.every, example.first_place)

    @cached_property
    def _example(self) -> Noise:
        """Some noise of the form."""
        ones = np.array([[[0.1, 0.3], [0.2, 0.4]], [[0.6, 0.8], [0.7, 0.9]]])
        return self.noise(ones)

    @cached_property
    def _losses(self) -> Losses:
        example = self._example
        q, r = self.rhythm.q, self.rhythm.r
        initial = self.problem.model.likeliest.initial
        start = (r / (q + r), q / (q + r)) if initial is None else tuple(initial)
        kinds = KINDS.get(str(self.problem.adversary), ())
        return Losses(self.corners, start, self.problem.releases, self.problem.gaps, kinds, example)
