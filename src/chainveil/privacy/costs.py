"""What calibration of two-state noise minimises, as functions of its kernel."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainveil.checks import FloatArray
from chainveil.compiled import compiled
from chainveil.noise.parametrization import Parametrization
from chainveil.noise.wrong import sum_of_steps

# Reports that are simulated to estimate what smoothing gets wrong.
REPORTS = 20_000


class Cost:
    """What noise of a kind costs on the chain that it is weighed by.

    "wrong-reports" and "distance", which is the same for two states: the share of points that
    differ from the report that stands for them. "share": the logarithm of the variance of an
    unbiased estimate of the share of a state, per point. "smoothed": the share of reported points
    that the best smoothing gets wrong, by simulation.
    """

    def __init__(self, form: Parametrization, objective: str) -> None:
        self.objective, self.every, self._move = objective, form.every, form.move
        step, ahead = form.transition, (form.every - 1) // 2
        after = form.every - 1 - ahead
        states = [np.diag([1.0, 0.0]), np.diag([0.0, 1.0])]
        # Expected points of a block in each state, from its report on and before it.
        held = [sum_of_steps(step, state, after + 1).sum(axis=1) for state in states]
        gap = np.linalg.matrix_power(step, after + 1)
        before = [gap @ sum_of_steps(step, state, ahead, towards=True) for state in states]
        self._held, self._before = np.array(held), np.array(before)

    @property
    def is_smooth(self) -> bool:
        """Whether derivatives lead to the least cost."""
        return self.objective != "smoothed"

    def smooth(self, kernel: FloatArray, law: FloatArray) -> FloatArray:
        """Costs of kernels ``[n, z, x, x', z']`` with their long-run laws ``[n, z, x]``.

        In place of a cost that is not smooth the share of wrong reports.
        """
        if self.objective == "share":
            ones = kernel[:, :, 0, :, 1]
            joint = (law[:, :, :, None] * self._move).sum(axis=2)
            apart = np.maximum((ones[..., 1] - ones[..., 0]) ** 2, 1e-300)[..., None]
            spread = joint * ones * (1 - ones) / apart
            return np.asarray(np.log(self.every * np.maximum(spread.sum(axis=(1, 2)), 1e-300)))
        right = (law * self._held).sum(axis=(1, 2))
        # [n, z, x, x', a]: the weight of the report a.
        weights = law[:, :, :, None, None] * np.moveaxis(self._before, 0, -1)
        weighed = weights * kernel
        return np.asarray(1 - (right + weighed.sum(axis=(1, 2, 3, 4))) / self.every)

    def __call__(self, kernel: FloatArray, law: FloatArray) -> float:
        """The cost of one kernel ``[z, x, x', z']`` with its long-run law."""
        if self.is_smooth:
            return float(self.smooth(kernel[None], law[None])[0])
        return float(_decoded(self._move, np.ascontiguousarray(kernel), law, REPORTS))


@compiled(error_model="numpy")
def _uniform(number: int) -> float:
    """The SplitMix64 generator's output for a counter, as a number in [0, 1)."""
    state = np.uint64(number) * np.uint64(0x9E3779B97F4A7C15)
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return float((state ^ (state >> np.uint64(31))) >> np.uint64(11)) * 2.0**-53


@compiled(error_model="numpy")
def _decoded(move: Any, kernel: Any, law: Any, count: int) -> float:
    """Forward-backward along simulated reports; mean probability of the less likely state.

    The series and the noise are drawn from fixed numbers, the same for every kernel.
    """
    reports = np.empty(count, np.int64)
    ahead = np.empty((count, 2))
    state, report = 0, 0
    shares = law.sum(axis=0)
    for t in range(count):
        stay = move[state, 0] if t > 0 else shares[0]
        before = state
        state = 0 if _uniform(2 * t + 1) < stay else 1
        one = kernel[report, before, state, 1] if t > 0 else law[1, state] / shares[state]
        last = report
        report = 1 if _uniform(2 * t + 2) < one else 0
        reports[t] = report
        if t == 0:
            a, b = law[report, 0], law[report, 1]
        else:
            m = ahead[t - 1]
            a = m[0] * move[0, 0] * kernel[last, 0, 0, report]
            a += m[1] * move[1, 0] * kernel[last, 1, 0, report]
            b = m[0] * move[0, 1] * kernel[last, 0, 1, report]
            b += m[1] * move[1, 1] * kernel[last, 1, 1, report]
        ahead[t, 0], ahead[t, 1] = a / (a + b), b / (a + b)
    wrong = 0.0
    c, d = 1.0, 1.0
    for t in range(count - 1, -1, -1):
        zero, one = ahead[t, 0] * c, ahead[t, 1] * d
        wrong += min(zero, one) / (zero + one)
        if t > 0:
            k, z = kernel[reports[t - 1]], reports[t]
            e = move[0, 0] * k[0, 0, z] * c + move[0, 1] * k[0, 1, z] * d
            f = move[1, 0] * k[1, 0, z] * c + move[1, 1] * k[1, 1, z] * d
            c, d = e / (e + f), f / (e + f)
    return wrong / count
