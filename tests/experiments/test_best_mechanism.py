"""The best of all mechanisms: the programme against itself written out, laws against the oracle."""

from __future__ import annotations

import math
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog

import chainveil as cv
from chainveil.noise.memory import TrackingNoise
from experiments import best_mechanism as best
from experiments.limit import wrong_reports
from experiments.run import read_result
from tests.oracle.memory import memory_loss, report_law
from tests.oracle.memory_cases import KINDS, random_chain, random_noise

DOCS = Path(__file__).resolve().parents[2] / "docs"
# Found by another programme, without symmetries.
KNOWN = {1: 0.1192, 2: 0.1192, 3: 0.1367, 4: 0.1524, 5: 0.1625, 6: 0.1668}


def _written_out(chain: cv.MarkovChain, epsilon: float, n: int) -> float:
    """The programme with a variable for every p(z | x) and all of its constraints."""
    size = 2**n
    series = list(product(range(2), repeat=n))
    prior = [
        chain.start[x[0]] * math.prod(chain.transition[a, b] for a, b in pairwise(x))
        for x in series
    ]
    rows = []
    for i, known in product(range(n), product((0, 1, None), repeat=n)):
        if known[i] is not None:
            continue
        fits = [all(k in (None, a) for k, a in zip(known, x, strict=True)) for x in series]
        for value, z in product(range(2), range(size)):
            row = np.zeros((size, size))
            for other, sign in ((value, 1.0), (1 - value, -math.exp(epsilon))):
                own = [j for j, x in enumerate(series) if fits[j] and x[i] == other]
                for j in own:
                    row[j, z] = sign * prior[j] / sum(prior[j] for j in own)
            rows.append(row.ravel())
    wrong = [
        [p * np.mean(np.not_equal(x, z)) for z in series]
        for x, p in zip(series, prior, strict=True)
    ]
    sums = np.kron(np.eye(size), np.ones(size))
    found = linprog(np.ravel(wrong), np.array(rows), np.zeros(len(rows)), sums, np.ones(size))
    return float(found.fun)


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("ends", [(0.1, 0.1), (0.2, 0.35), (0.7, 0.9)])
def test_the_programme_written_out(n: int, ends: tuple[float, float]) -> None:
    chain = cv.MarkovChain.binary(*ends)
    found = best.best_mechanism(chain, 1.5, n)
    assert found.limit == pytest.approx(_written_out(chain, 1.5, n), abs=1e-7)


def test_a_chain_that_does_not_begin_in_its_long_run() -> None:
    chain = cv.MarkovChain.binary(0.2, 0.2, [0.9, 0.1])
    found = best.best_mechanism(chain, 2.0, 3)
    assert len(best.read_setting(chain, 3).symmetries) == 1
    assert found.limit == pytest.approx(_written_out(chain, 2.0, 3), abs=1e-7)


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_known_limits(n: int) -> None:
    found = best.best_mechanism(cv.MarkovChain.symmetric(0.1), 2.0, n)
    assert found.limit == pytest.approx(KNOWN[n], abs=6e-5)
    assert found.limit - 1e-9 <= found.attained <= found.limit + 1e-6
    assert found.loss <= 2.0 + 1e-12
    np.testing.assert_allclose(found.law.sum(axis=1), 1.0, rtol=1e-9)
    assert found.law.min() >= 0


@pytest.mark.slow
@pytest.mark.parametrize(("ahead", "expected"), [(0, 0.207), (1, 0.177), (2, 0.167)])
def test_known_limits_of_reports_in_turn(ahead: int, expected: float) -> None:
    found = best.best_mechanism(cv.MarkovChain.symmetric(0.1), 2.0, 5, ahead)
    assert found.limit == pytest.approx(expected, abs=6e-4)


@pytest.mark.parametrize("ahead", [0, 1, 2])
def test_reports_in_turn_know_no_later_point(ahead: int) -> None:
    chain = cv.MarkovChain.symmetric(0.1)
    found = best.best_mechanism(chain, 2.0, 4, ahead)
    law = found.law.reshape((2,) * 8)
    for t in range(1, 4 - ahead):
        early = law.sum(axis=tuple(range(4 + t, 8)))
        for late in range(t + ahead, 4):
            zero, one = (np.take(early, value, axis=late) for value in (0, 1))
            np.testing.assert_allclose(zero, one, atol=1e-9)
    assert found.loss <= 2.0 + 1e-12
    # Whoever may look everywhere does no worse, and here better.
    assert found.limit > KNOWN[4] + 1e-3
    assert best.best_mechanism(chain, 2.0, 4, 3).limit == pytest.approx(KNOWN[4], abs=6e-5)


def test_committed_limits() -> None:
    result = read_result("limit", DOCS / "reproduction")
    assert result is not None
    rows: dict[Any, Any] = {
        (row["epsilon"], row["length"]): row for row in result.rows if row["mechanism"] == "limit"
    }
    for n, expected in KNOWN.items():
        assert rows[2.0, n]["wrong"] == pytest.approx(expected, abs=6e-5)
    assert rows[1.0, 6]["wrong"] == pytest.approx(0.279, abs=6e-4)
    assert rows[4.0, 6]["wrong"] == pytest.approx(0.045, abs=6e-4)
    ahead = {
        row["mechanism"]: row["wrong"] for row in result.rows
        if (row["epsilon"], row["length"]) == (2.0, 6) and row["mechanism"].startswith("limit")
    }  # fmt: skip
    names = [f"limit, {d} ahead" for d in range(3)]
    order = [ahead[name] for name in (*names, "limit")]
    assert order == sorted(order, reverse=True)
    for row in result.rows:
        limit = rows[row["epsilon"], row["length"]]["wrong"]
        assert row["wrong"] >= limit - 1e-9
        assert row["loss"] <= row["epsilon"] + 1e-12


@pytest.mark.parametrize("kind", KINDS)
def test_the_loss_of_a_law(kind: str) -> None:
    rng = np.random.default_rng([KINDS.index(kind), 90])
    chain, noise = random_chain(rng), random_noise(rng, kind).thinned(1)
    setting = best.read_setting(chain, 4)
    law = report_law(noise, setting.series, ())
    assert best.law_loss(setting, law) == pytest.approx(memory_loss(chain, [noise], 4), rel=1e-9)
    share = best.wrong_share(setting, law)
    assert wrong_reports(noise, chain, 4) == pytest.approx(share, rel=1e-12)


def test_a_law_that_loses_too_much_is_mixed_with_chance() -> None:
    setting = best.read_setting(cv.MarkovChain.symmetric(0.2), 3)
    truth = np.eye(8)
    assert best.law_loss(setting, truth) == math.inf
    mixed = best.within_budget(setting, truth, 1.0)
    assert best.law_loss(setting, mixed) == pytest.approx(1.0, rel=1e-9)
    np.testing.assert_allclose(best.within_budget(setting, mixed, 1.0), mixed, rtol=1e-9)


def test_reports_that_lag_are_wrong_where_the_series_changes() -> None:
    rng = np.random.default_rng(91)
    chain = random_chain(rng)
    # Repeats the point before, whatever the last report and the point itself.
    kernel = np.zeros((2, 2, 2, 2))
    kernel[:, 0, :, 0] = kernel[:, 1, :, 1] = 1.0
    noise = TrackingNoise(kernel, np.eye(2))
    setting = best.read_setting(chain, 4)
    changes = (setting.series[:, 1:] != setting.series[:, :-1]).sum(axis=1)
    wrong = float(setting.prior @ changes)
    assert wrong_reports(noise, chain, 4) == pytest.approx(wrong / 4, rel=1e-12)
