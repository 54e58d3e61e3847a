"""How often the best smoothing is wrong, for somebody who knows the chain: by simulation.

The series and the noise are drawn from fixed numbers, the same for every kernel, so that a
search sees a smooth function. The result is an estimate, off by a few parts in a thousand.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from chainveil.checks import FloatArray
from chainveil.compiled import compiled
from chainveil.privacy.memory.objective import Rhythm

# Reports that are simulated.
REPORTS = 20_000


def decoded_error(rhythm: Rhythm, kernel: FloatArray) -> float:
    """Expected share of wrong points after smoothing, of reported points."""
    law = rhythm.long_run(kernel)
    return float(_decode(rhythm.move, np.ascontiguousarray(kernel), law, REPORTS))


@compiled(error_model="numpy")
def _uniform(number: int) -> float:
    """The SplitMix64 generator's output for a counter, as a number in [0, 1)."""
    state = np.uint64(number) * np.uint64(0x9E3779B97F4A7C15)
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return float((state ^ (state >> np.uint64(31))) >> np.uint64(11)) * 2.0**-53


@compiled(error_model="numpy")
def _decode(move: Any, kernel: Any, law: Any, count: int) -> float:
    """Forward-backward along simulated reports; mean probability of the less likely state."""
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
