"""Wrong reports and mean distances in the long run, against series followed point by point."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import chainveil as cv
from chainveil.errors import InvalidInput, NotSupported
from chainveil.model.higher_order import HigherOrderChain
from chainveil.noise import Channel, StickyNoise, TrackingNoise
from chainveil.noise.wrong import long_run_law, mean_distance, wrong_share
from tests.oracle.letters_cases import NOISES, STRUCTURES, random_model, random_noise

FloatArray = NDArray[np.float64]
BLOCKS = 400


def followed(noise: Any, model: Any, cost: FloatArray) -> float:
    """Mean cost of late points, from the law of (state, last report) at each point in turn.

    A point before its report waits: what it was is carried along until the report is made.
    """
    start, move, value = model.hidden_chain()
    law = start[:, None] * np.eye(1, noise.outputs + 1, noise.outputs)  # column m: none yet
    waiting: list[FloatArray] = []  # of a waiting point: (its value, state now, last report)
    costs = []
    for t in range(BLOCKS * noise.every):
        law = law if t == 0 else move.T @ law
        waiting = [np.einsum("vsz,sr->vrz", one, move) for one in waiting]
        reports = t % noise.every == noise.first_place
        kernel = _kernel(noise, value) if reports else None
        if kernel is not None:
            costs += [_cost(np.einsum("vsz,zsr->vr", one, kernel), cost) for one in waiting]
            waiting, law = [], np.einsum("sz,zsr->sr", law, kernel)
            law = np.hstack([law, np.zeros((len(law), 1))])
        own = np.eye(noise.states)[value][:, :, None] * law[:, None, :]
        own = np.swapaxes(own, 0, 1)
        if t % noise.every < noise.first_place:
            waiting.append(own)
        elif t > noise.every:
            costs.append(_cost(own.sum(axis=1)[:, : noise.outputs], cost))
    late = len(costs) // 2 // noise.every * noise.every
    return float(np.mean(costs[-late:]))


def _kernel(noise: Any, value: Any) -> FloatArray:
    """``[last report or none, hidden state, report]``."""
    later = noise.kernel if noise.kind == "sticky" else np.stack([noise.matrix] * noise.outputs)
    return np.concatenate([later, noise.first_law()[None]])[:, value, :]


def _cost(law: FloatArray, cost: FloatArray) -> float:
    return float((law * cost).sum())


def _costs(k: int) -> tuple[FloatArray, FloatArray]:
    away = np.abs(np.arange(k)[:, None] - np.arange(k)).astype(float)
    return (away > 0).astype(float), away


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in NOISES if name != "tracking"])
@pytest.mark.parametrize("every", [1, 2, 5])
def test_against_series_followed_point_by_point(name: str, every: int) -> None:
    rng = np.random.default_rng([NOISES.index(name), every])
    for kind in ("dense", "birth-death", "sparse"):
        model = random_model(rng, 4, 1, kind)
        noise = random_noise(rng, 4, name).thinned(every)
        wrong, distance = _costs(4)
        assert noise.expected_flips(model) == pytest.approx(followed(noise, model, wrong), rel=1e-6)
        far = followed(noise, model, distance)
        assert noise.expected_distance(model) == pytest.approx(far, rel=1e-6)


def test_chains_of_higher_order() -> None:
    rng = np.random.default_rng(3)
    model = random_model(rng, 3, 2, "dense")
    assert isinstance(model, HigherOrderChain)
    noise = random_noise(rng, 3, "sticky random").thinned(3)
    assert wrong_share(noise, model) == pytest.approx(
        followed(noise, model, _costs(3)[0]), rel=1e-7
    )


@pytest.mark.parametrize("kind", STRUCTURES)
def test_noise_without_a_memory_is_counted_by_the_stationary_law(kind: str) -> None:
    rng = np.random.default_rng(4)
    model = random_model(rng, 5, 1, kind)
    channel = Channel.ordinal(5, 0.4)
    sticky = StickyNoise.response(0.0, channel, channel)
    tracking = TrackingNoise(np.broadcast_to(channel.matrix, (5, 5, 5, 5)), channel.matrix)
    for noise in (sticky, tracking):
        assert wrong_share(noise, model) == pytest.approx(channel.expected_flips(model), rel=1e-9)
        distance = channel.expected_distance(model)
        assert mean_distance(noise, model) == pytest.approx(distance, rel=1e-9)


def test_a_report_that_is_never_changed_stays_what_it_was_first() -> None:
    chain = cv.MarkovChain([[0.9, 0.1, 0.0], [0.1, 0.8, 0.1], [0.0, 0.3, 0.7]])
    first = Channel.per_state_response([0.1, 0.2, 0.3])
    noise = StickyNoise.response(1.0, first, first)
    said = chain.stationary @ first.matrix
    assert wrong_share(noise, chain) == pytest.approx(1 - float(said @ chain.stationary), rel=1e-12)


def test_slow_chains_keep_their_digits() -> None:
    """A report that follows at once is wrong only in its own noise, however rare changes are."""
    step = 1e-9
    chain = cv.MarkovChain([[1 - step, step, 0], [step, 1 - 2 * step, step], [0, step, 1 - step]])
    channel = Channel.randomized_response(3, 1e-6)
    noise = StickyNoise.response(0.25, channel, channel)
    # A change is missed with .25 until it is answered: 4/3 changes' worth of points, and noise.
    changes = 4 / 3 * step
    expected = 1e-6 + changes * 0.25 / 0.75
    assert wrong_share(noise, chain) == pytest.approx(expected, rel=2e-6)


def test_where_a_chain_ends_may_depend_on_its_start() -> None:
    steps = np.array([[0, 0.25, 0.75, 0], [0, 1, 0, 0], [0, 0, 0, 1], [0, 0, 1, 0]], float)
    start = np.array([0.8, 0.2, 0.0, 0.0])
    np.testing.assert_allclose(long_run_law(steps, start), [0, 0.4, 0.3, 0.3], rtol=1e-12)


def test_large_equations_are_solved_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5)
    model, noise = random_model(rng, 4, 1, "dense"), random_noise(rng, 4, "sticky random")
    accurate = wrong_share(noise, model)
    monkeypatch.setattr("chainveil.noise.wrong.FEW_PAIRS", 0)
    assert wrong_share(noise, model) == pytest.approx(accurate, rel=1e-9)
    monkeypatch.setattr("chainveil.noise.wrong.MOST_PAIRS", 15)
    with pytest.raises(NotSupported, match="15 pairs"):
        wrong_share(noise, model)


def test_as_many_states_as_reports() -> None:
    noise = StickyNoise.response(0.5, Channel(np.full((3, 2), 0.5)), Channel(np.full((3, 2), 0.5)))
    with pytest.raises(InvalidInput, match="as many of each"):
        noise.expected_distance(cv.MarkovChain(np.full((3, 3), 1 / 3)))


def test_laws_that_are_kept_belong_to_their_chain() -> None:
    noise = cv.Channel.per_state_response([0.1, 0.5, 0.9])
    chains = [
        cv.MarkovChain([[1 - a, a, 0.0], [0.1, 0.8, 0.1], [0.0, a, 1 - a]])
        for a in np.linspace(0.1, 0.9, 12)
    ]
    for _ in range(2):
        for chain in chains:
            expected = float(chain.stationary @ [0.1, 0.5, 0.9])
            assert wrong_share(noise, chain) == pytest.approx(expected, abs=1e-12)
