"""How often a report is wrong in the long run, against a walk through the definition."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import chainveil as cv
from chainveil.noise.base import Noise
from tests.inference.remembering import random_noise, random_order

SLOW = cv.HigherOrderChain([[0.95, 0.05], [0.4, 0.6], [0.7, 0.3], [0.1, 0.9]], order=2)
# Of period 3: 0 0 1 0 0 1 …; contexts 11 never come.
TURNING = cv.HigherOrderChain([[0.0, 1.0], [1.0, 0.0], [1.0, 0.0], [1.0, 0.0]], order=2)


def walked(noise: Noise, model: Any, blocks: int) -> float:
    """Share of wrong points in the last block of so many, from the law of all that came before."""
    start, move, value = model.hidden_chain()
    k, every, first = noise.states, noise.every, noise.first_place
    # Law of (last report, hidden state); none yet: k.
    law = np.zeros((k + 1, len(start)))
    law[k] = start
    wrong = 0.0
    for t in range(blocks * every):
        before = law if t == 0 else np.einsum("zs,st->zt", law, move)
        if t % every != first:
            law = before
        elif (law[:k] > 0).any():
            # What the point before was matters to tracking noise only, which reports each point.
            step = noise.step_law()[:, value[:, None], value[None, :], :]
            if every == 1:
                pairs = np.einsum("zs,st,zstw->wt", law[:k], move, step)
            else:
                pairs = np.einsum("zt,ztw->wt", before[:k], noise.step_law()[:, 0][:, value])
            law = np.vstack([pairs, np.zeros((1, len(start)))])
        else:
            law = np.zeros_like(law)
            law[:k] = (noise.first_law()[value] * before[k][:, None]).T
        if t // every == blocks - 1 and t % every == first:
            wrong = _block(noise, law[:k], move, value)
    return wrong


def _block(noise: Noise, law: Any, move: Any, value: Any) -> float:
    """Wrong points of the block after its report, by drawing nothing: the points from it on."""
    shown = value[None, :] != np.arange(noise.states)[:, None]
    after = noise.every - noise.first_place
    return float(sum((law @ np.linalg.matrix_power(move, j) * shown).sum() for j in range(after)))


@pytest.mark.parametrize("model", [SLOW, TURNING], ids=["slow", "turning"])
@pytest.mark.parametrize("kind", ["sticky", "tracking", "independent"])
def test_reports_on_every_point(model: Any, kind: str) -> None:
    rng = np.random.default_rng(1)
    noise = random_noise(rng, kind, 2, 2, False)
    assert noise.expected_flips(model) == pytest.approx(_mean(noise, model, 400), abs=1e-9)


def _mean(noise: Noise, model: Any, blocks: int) -> float:
    """The mean over six blocks in a row, as many as any period here."""
    return float(np.mean([walked(noise, model, blocks + j) for j in range(6)]))


@pytest.mark.parametrize(("k", "order"), [(2, 3), (3, 2)])
def test_random_chains(k: int, order: int) -> None:
    rng = np.random.default_rng([k, order])
    for kind in ("sticky", "tracking"):
        model, noise = random_order(rng, k, order), random_noise(rng, kind, k, k, False)
        assert noise.expected_flips(model) == pytest.approx(walked(noise, model, 300), abs=1e-9)


@pytest.mark.parametrize("model", [SLOW, TURNING], ids=["slow", "turning"])
def test_reports_on_one_point_in_two(model: Any) -> None:
    """The report is that of the first point of a block of two, and stands for both."""
    rng = np.random.default_rng(2)
    for kind in ("sticky", "independent"):
        noise = random_noise(rng, kind, 2, 2, False).thinned(2)
        assert noise.first_place == 0
        assert noise.expected_flips(model) == pytest.approx(_mean(noise, model, 300) / 2, abs=1e-9)


@pytest.mark.parametrize("every", [3, 4])
def test_points_before_their_report_count_too(every: int) -> None:
    """Drawn: 200,000 points, within five standard errors of about .004; fixed seeds."""
    noise = cv.StickyNoise.binary([[0.12, 0.45], [0.55, 0.88]], [0.35, 0.65], every)
    x = SLOW.sample(200_000, rng=3)
    z = cv.mechanism.sanitize(x, noise, rng=cv.mechanism.seeded(4))
    assert np.mean(x != z) == pytest.approx(noise.expected_flips(SLOW), abs=0.02)


def test_a_period_that_fits_the_reports_leaves_each_its_share() -> None:
    """One point in three of a chain of period 3: the reports are always of the same phase."""
    noise = cv.Channel.binary(0.1, 0.2).thinned(3)
    # Phases 0 0 1, 0 1 0, 1 0 0, all alike, reported by their middle point.
    wrong = np.mean([0.9 * 1 + 0.1 * 2, 0.8 * 2 + 0.2 * 1, 0.9 * 1 + 0.1 * 2]) / 3
    assert noise.expected_flips(TURNING) == pytest.approx(wrong, abs=1e-12)
