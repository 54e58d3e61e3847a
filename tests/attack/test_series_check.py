"""Every series on its own: fits, orders, drift and losses against the ways of one series."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import chainveil as cv
from chainveil import HigherOrderChain, InvalidInput, MarkovChain, calibrate, privacy_loss
from chainveil.attack import own_losses, series_check
from chainveil.model.per_series import GAP, chain_correlation, count_series, far_apart
from chainveil.sequences import as_sequences

LONGER = HigherOrderChain([[0.95, 0.05], [0.2, 0.8], [0.9, 0.1], [0.6, 0.4]], order=2)


def _people(count: int, points: int, seed: int = 1) -> list[Any]:
    rng = np.random.default_rng(seed)
    chains = [MarkovChain.binary(*np.exp(rng.uniform(-3.5, -1, 2))) for _ in range(count)]
    return [chain.sample(points, rng=rng) for chain in chains]


@pytest.mark.parametrize("states", [2, 3])
def test_counts_of_all_series_are_those_of_each(states: int) -> None:
    rng = np.random.default_rng(states)
    x = [rng.integers(0, states, n) for n in (1, 2, 700, 0, 2500, 90)]
    found = count_series(as_sequences("x", x, states), states)
    for number, series in enumerate(x):
        if len(series) < 2:
            continue
        fitted = MarkovChain.fit(series, states, public=True, pseudocount=0.5)
        np.testing.assert_allclose(found.transitions()[number], fitted.transition, rtol=1e-14)
    assert found.points.tolist() == [1, 2, 700, 0, 2500, 90]
    assert found.pairs.sum(axis=(1, 2)).tolist() == [0, 1, 699, 0, 2499, 89]


def test_orders_are_those_that_each_series_asks_for() -> None:
    x = [*_people(6, 1500), *(LONGER.sample(1500, rng=seed) for seed in range(6)), [0, 1] * 20]
    found = count_series(as_sequences("x", x), 2).orders(0.01 / 13)
    alone = [min(cv.choose_order(series).order, 4) for series in x[:-1]]
    assert found.tolist() == [*alone, 0]
    assert set(alone[6:]) == {2}


def test_gaps_are_not_reached_across() -> None:
    x = np.array([0, 0, GAP, 1, 1, GAP, GAP, 0, 1], np.uint8)
    found = count_series(as_sequences("x", x), 2)
    assert found.pairs[0].tolist() == [[1, 1], [0, 1]]
    assert found.points.tolist() == [6]


def test_correlations_far_apart() -> None:
    chain = MarkovChain.binary(0.03, 0.05)
    law = chain.transition[None]
    assert chain_correlation(law, 7)[0] == pytest.approx(0.92**7)
    lag = far_apart(chain.transition, 100_000)
    assert 0.92**lag < 0.05 < 0.92 ** (0.8 * lag)
    x = chain.sample(20_000, 20, rng=1)
    seen = count_series(as_sequences("x", x), 2).correlation(5)
    # Twenty long series; their mean is off by 0.01 at most, ten standard errors.
    assert seen.mean() == pytest.approx(0.92**5, abs=0.01)
    by_hand = np.corrcoef(x[0, :-5], x[0, 5:])[0, 1]
    assert seen[0] == pytest.approx(by_hand, abs=0.002)


def test_drift_is_found_where_it_is_and_rarely_elsewhere() -> None:
    """Of 300 series of one chain one is named in 1% of runs."""
    steady = series_check(MarkovChain.binary(0.1, 0.2).sample(800, 300, rng=2), _plan())
    assert steady.drifting == 0
    slow, quick = MarkovChain.binary(0.05, 0.1), MarkovChain.binary(0.3, 0.3)
    halves = [slow.sample(400, 20, rng=3), quick.sample(400, 20, rng=4)]
    assert series_check(np.concatenate(halves, axis=1), _plan()).drifting == 20


def _plan(**how: Any) -> cv.NoisePlan:
    return calibrate(MarkovChain.binary(0.1, 0.2), 2.0, **({"mechanism": "independent"} | how))


@pytest.mark.slow
@pytest.mark.parametrize(
    "how",
    [
        {"mechanism": "independent"},
        {"mechanism": "independent", "adversary": "ignorant"},
        {"mechanism": "sticky"},
        {"mechanism": "tracking"},
        {"mechanism": "correlated"},
        {"mechanism": "sticky", "every": 3},
    ],
    ids=str,
)
def test_losses_are_upper_bounds_of_own_chains(how: dict[str, Any]) -> None:
    x, plan = _people(12, 600), _plan(**how)
    found = series_check(x, plan)
    for number, series in enumerate(x):
        chain = MarkovChain.fit(series, public=True, pseudocount=0.5)
        exact = privacy_loss(chain, plan.noise, adversary=plan.loss.adversary)
        assert exact.lower <= found.loss[number] <= exact.epsilon + 0.011
    assert found.worst == found.loss.max()
    assert found.median == np.sort(found.loss)[6]
    assert found.share_above == ((found.loss > 2.0) & (found.p_value < 0.01 / 12)).mean()
    assert found.share_above > 0


@pytest.mark.parametrize("mechanism", ["sticky", pytest.param("tracking", marks=pytest.mark.slow)])
def test_groups_bound_every_chain_in_them(mechanism: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own_losses, "MOST_ALONE", 10)
    monkeypatch.setattr(own_losses, "MOST_GROUPS", 12)
    x, plan = _people(30, 400), _plan(mechanism=mechanism)
    found = series_check(x, plan)
    assert "groups of series" in found.how
    laws = count_series(as_sequences("x", x), 2).transitions()
    attained = np.array([privacy_loss(MarkovChain(law), plan.noise).lower for law in laws])
    assert np.all(found.loss >= attained)
    # Wide groups cost something.
    assert np.all(np.isfinite(found.loss))
    alone = series_check(x[:10], plan)
    # Both are upper bounds, rounded in different ways.
    assert np.all(found.loss[:10] >= alone.loss - 1e-12)


def test_more_than_two_states() -> None:
    quick = MarkovChain([[0.7, 0.2, 0.1], [0.2, 0.6, 0.2], [0.1, 0.2, 0.7]])
    slow = MarkovChain([[0.95, 0.04, 0.01], [0.03, 0.94, 0.03], [0.01, 0.04, 0.95]])
    x = [quick.sample(600, rng=1), slow.sample(600, rng=2)]
    plan = calibrate(quick, 2.0)
    found = series_check(x, plan, names=["quick", "slow"])
    assert found.loss[1] > 2.0
    assert found.table()[0][0] == "slow"
    assert "0 -> 1" in found.columns()


def test_what_is_told() -> None:
    x = [*_people(20, 400), [0, 1, 1]]
    found = series_check(x, _plan(), names=[f"person {i}" for i in range(21)])
    assert found.read.tolist() == [True] * 20 + [False]
    assert np.isnan(found.loss[20])
    said = dict(found.lines)
    assert said["left out"] == "1 series have too few points for a chain of their own"
    assert said["own chains"].startswith("at most ")
    assert [name for name, _ in found.two_lines] == ["own chains", "fit"]
    assert len(found.table(5)) == 6
    assert found.table(5)[-1] == ("…", "15 more series")
    assert found.facts["read"] == 20
    frame = found.to_frame()
    assert frame.num_rows == 21
    assert frame.column("series")[0].as_py() == "person 0"
    short = series_check([[0, 1], [1, 1]], _plan())
    assert short.two_lines[0][1] == "no series has enough points for a chain of its own"


def test_errors() -> None:
    with pytest.raises(InvalidInput, match="plan"):
        series_check([[0, 1]], cv.Channel.binary(0.1, 0.1))  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="a number above the last state"):
        series_check([[0, 2, 1]], _plan())
