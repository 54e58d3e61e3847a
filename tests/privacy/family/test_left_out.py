"""A family of a reference population keeps its promise to persons who were left out of it.

``python -m benchmarks.left_out`` leaves out every person of a population of 100, and of the
records: measured 100 of 100 (51 by the pooled way), 7 of 7 by own means (5) and 7 of 7 by one
threshold (2). Here it is some of them.
"""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.left_out import kept, population
from tests.attack.heart_rate import rates


@pytest.mark.slow
def test_some_of_a_simulated_population() -> None:
    assert kept(population(30), range(0, 30, 10)) == (3, 2)


@pytest.mark.slow
def test_a_person_by_the_own_mean() -> None:
    series = [np.asarray(rate >= rate.mean(), dtype=np.uint8) for rate in rates()]
    assert kept(series, [6])[0] == 1
