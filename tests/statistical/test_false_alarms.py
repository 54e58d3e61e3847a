"""On data that follow the model, checks name a series in fewer than 5% of runs.

``python -m benchmarks.false_alarms`` measures all of them, with the losses that go with them, and
how often they find data that do not follow the model. Here it is the tests behind them: 1,000 runs
of ten series from each model. A run is an alarm where any of its series is named at the 1% level,
divided by ten. The worst case, drift of slow chains, has been measured at 3.1% of runs: 50 alarms
are then 3.5 standard deviations off, a false alarm of this test in 4,000; elsewhere far fewer.
"""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.false_alarms import MODELS, drawn
from chainveil.model.fit_test import LEVEL, p_values
from chainveil.model.per_series import count_series
from chainveil.sequences import as_sequences

RUNS, SERIES, POINTS = 1_000, 10, 300


@pytest.mark.parametrize("name", MODELS)
def test_few_runs_raise_an_alarm(name: str) -> None:
    model, rng = MODELS[name], np.random.default_rng(1)
    if model.single:
        x = model.sample(POINTS, RUNS * SERIES, rng=rng)
    else:
        # Many series of each of few chains: drawing one by one takes long.
        parts = [drawn(model, 1, POINTS * 100, rng)[0].reshape(100, POINTS) for _ in range(100)]
        x = rng.permutation(np.concatenate(parts))
    counts = count_series(as_sequences("x", x), model.states)
    level = LEVEL / SERIES
    named = {"longer memory": counts.orders(level) > model.order}
    if counts.longest >= model.order:
        named["model"] = p_values(counts.contexts(model.order), model) < level
        named["drift"] = counts.drift(np.full(len(x), model.order)) < level
    for check, found in named.items():
        assert found.reshape(RUNS, SERIES).any(axis=1).sum() < 0.05 * RUNS, check
