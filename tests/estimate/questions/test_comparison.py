"""Groups compared with each other; chances of a false alarm are stated."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from chainveil import Channel, CorrelatedNoise, InvalidInput, MarkovChain, StickyNoise, estimate
from chainveil.mechanism import sanitize, seeded
from tests.batches import some_quick

CHAIN = MarkovChain.binary(0.1, 0.15)
STICKY = StickyNoise.binary([[0.12, 0.45], [0.55, 0.88]], [0.35, 0.65])


def asking(z: Any, noise: Any, question: Any = estimate.frequency) -> Any:
    return lambda level: question(z, noise, by="series", level=level)


@pytest.mark.parametrize("how", ["difference", "ratio"])
@pytest.mark.parametrize(
    "question",
    some_quick([estimate.frequency, estimate.durations, estimate.pairs], [estimate.frequency]),
)
def test_the_truth_is_covered(how: Any, question: Any) -> None:
    """Three groups, all intervals of 60 releases at once: 95%; below 50 of 60 has chance 1e-4."""
    x = [CHAIN.sample(3000, rng=1), MarkovChain.binary(0.2, 0.1).sample(4000, rng=2),
         CHAIN.sample(5000, rng=3)]  # fmt: skip
    clear = Channel.binary(0, 0)
    exact = question([part[1:] for part in x], clear, by="series").value
    covered = 0
    for seed in range(60):
        z = [sanitize(part, STICKY, rng=seeded(10 * seed + j)) for j, part in enumerate(x)]
        found = estimate.compare(asking(z, STICKY, question), how=how)
        pairs = np.array(found.groups)
        one, two = exact[pairs[:, 0]], exact[pairs[:, 1]]
        truth = one - two if how == "difference" else one / two
        covered += bool(np.all((found.low <= truth) & (truth <= found.high)))
    assert covered >= 50


def test_differences_cover_near_the_end_of_the_scale() -> None:
    """A share of nothing against one that is better known: 95% of 1,500, within four errors."""
    x = np.zeros((1500, 300), np.uint8)
    y = np.tile((np.arange(4000) % 10 < 3).astype(np.uint8), (1500, 1))
    z = [sanitize(part, STICKY, rng=seeded(3)) for part in (x, y)]
    found = estimate.compare(
        asking([*z[0], *z[1]], STICKY), [(i, 1500 + i) for i in range(1500)], simultaneous=False
    )
    truth = -y[0, 1:].mean()
    cover = np.mean((found.low[:, 1] <= truth) & (truth <= found.high[:, 1]))
    assert 0.927 < cover < 0.973


def test_many_groups_share_the_level() -> None:
    z = sanitize(CHAIN.sample(1000, 5, rng=1), STICKY, rng=seeded(1))
    together = estimate.compare(asking(z, STICKY), reference=0)
    alone = estimate.compare(asking(z, STICKY), reference=0, simultaneous=False)
    assert together.groups == ((1, 0), (2, 0), (3, 0), (4, 0))
    assert np.all(together.high - together.low > 1.2 * (alone.high - alone.low))
    np.testing.assert_array_equal(together.value, alone.value)
    one = estimate.compare(asking(z, STICKY), [(2, 3)])
    assert one.value.shape == (1, 2)
    frame = one.to_frame("pandas")
    assert frame[["group", "other group"]].to_numpy().tolist() == [[2, 3], [2, 3]]
    assert set(frame["unit"]) == {"difference of share"}


def test_groups_that_share_noise_are_compared_on_the_safe_side() -> None:
    noise = CorrelatedNoise(0.1, 0.3)
    z = sanitize(CHAIN.sample(2000, 2, rng=1), noise, rng=seeded(1))
    found = estimate.frequency(z, noise, by="series")
    assert found.shared
    both = estimate.compare(asking(z, noise))
    np.testing.assert_allclose(both.high[0] - both.value[0], (found.high - found.value).sum(axis=0))


@pytest.mark.parametrize("wrong", [{"pairs": [(0, 9)]}, {"reference": 9}, {"pairs": []}])
def test_groups_that_are_none(wrong: Any) -> None:
    z = sanitize(CHAIN.sample(1000, 2, rng=1), STICKY, rng=seeded(1))
    with pytest.raises(InvalidInput, match="pairs"):
        estimate.compare(asking(z, STICKY), **wrong)
    with pytest.raises(InvalidInput, match="by group"):
        estimate.compare(lambda level: estimate.frequency(z, STICKY, level=level))
