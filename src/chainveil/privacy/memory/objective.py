"""What calibration minimises, as functions of the kernel alone: fast, and without a release."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from chainveil.checks import FloatArray
from chainveil.noise.wrong import sum_of_steps

# Laws that are remembered: those of a few steps of a search.
LATEST = 64


@dataclass(frozen=True)
class Rhythm:
    """A chain and how often it is reported: all that does not change in a search.

    Kernels have the shape (2, 2, 2, 2), ``K[z, x, x', z']``; the state x is that of the last
    reported point.
    """

    q: float
    r: float
    every: int

    def at_pace(self, every: int, forgets: float) -> Rhythm:
        """A chain with the same shares of states that reports one point in ``every``.

        From one report to the next it forgets as much as this one (several points to a report),
        or from point to point as much as ``forgets`` says (every point reported).
        """
        both = self.q + self.r
        if self.every > 1:
            forgets = -math.expm1(self.every / every * math.log1p(-both))
        return Rhythm(self.q / both * forgets, self.r / both * forgets, every)

    @cached_property
    def step(self) -> FloatArray:
        """The chain's own matrix."""
        return np.array([[1 - self.q, self.q], [self.r, 1 - self.r]])

    @cached_property
    def move(self) -> FloatArray:
        """From one report to the next."""
        return np.asarray(np.linalg.matrix_power(self.step, self.every))

    def long_run(self, kernel: FloatArray) -> FloatArray:
        """The stationary law of the last report and the state at it, shape (2, 2)."""
        # A step of a search asks for the same kernels twice: for its goal, then for its losses.
        key = kernel.tobytes()
        if key not in self._latest:
            if len(self._latest) >= LATEST:
                self._latest.clear()
            self._latest[key] = self._long_run(kernel)
        return self._latest[key]

    @cached_property
    def _latest(self) -> dict[bytes, FloatArray]:
        return {}

    def _long_run(self, kernel: FloatArray) -> FloatArray:
        matrix = np.einsum("xy,zxyw->zxwy", self.move, kernel).reshape(4, 4)
        system = matrix.T - np.eye(4)
        system[3] = 1.0
        law = np.linalg.solve(system, np.array([0.0, 0.0, 0.0, 1.0]))
        return np.asarray(np.maximum(law, 0.0).reshape(2, 2))

    def first(self, law: FloatArray) -> FloatArray:
        """The first report as it would be in the middle of a series, shape (state, report).

        A series that begins so is the end of a longer one whose beginning was not published,
        so its first point loses no more than others do (every point reported).
        """
        by_state = law.T
        return np.asarray(by_state / by_state.sum(axis=1, keepdims=True))

    def after_gap(self, kernel: FloatArray, law: FloatArray) -> FloatArray:
        """The kernel with the state before averaged out, shape (report, state, report)."""
        weights = law[:, :, None] * self.move[None]
        weights = weights / weights.sum(axis=1, keepdims=True)
        return np.asarray(np.einsum("zxy,zxyw->zyw", weights, kernel))

    @cached_property
    def _standing(self) -> tuple[FloatArray, FloatArray]:
        """For each state: expected points of a block in it, from its report on and before it."""
        ahead = (self.every - 1) // 2
        after = self.every - 1 - ahead
        states = [np.diag([1.0, 0.0]), np.diag([0.0, 1.0])]
        held = [sum_of_steps(self.step, state, after + 1).sum(axis=1) for state in states]
        gap = np.linalg.matrix_power(self.step, after + 1)
        before = [gap @ sum_of_steps(self.step, state, ahead, towards=True) for state in states]
        return np.array(held), np.array(before)

    def wrong(self, kernel: FloatArray) -> float:
        """Share of points that differ from the report that stands for them."""
        law = self.long_run(kernel)
        held, before = self._standing
        right = np.einsum("ax,ax->", law, held) + np.einsum("zx,axy,zxya->", law, before, kernel)
        return float(1 - right / self.every)

    def variance(self, kernel: FloatArray) -> float:
        """Mean variance of an unbiased report of one point under sticky noise, per point.

        ``k (1 - k) / (k(z, 1) - k(z, 0))^2`` with k the probability to report 1, averaged over
        the last report z and the state; times the number of points to a report.
        """
        ones = kernel[:, 0, :, 1]
        joint = self.long_run(kernel) @ self.move
        spread = ones * (1 - ones)
        apart = (ones[:, 1] - ones[:, 0])[:, None] ** 2
        return float(self.every * np.sum(joint * spread / np.maximum(apart, 1e-300)))
