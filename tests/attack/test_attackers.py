"""One interface for every attacker: shapes, known points, errors."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from chainveil import Channel, InvalidInput, MarkovChain
from chainveil.attack import Attack, Posterior, SingleBit, Viterbi
from chainveil.inference import smoothed
from chainveil.mechanism import sanitize, seeded

CHAIN = MarkovChain.binary(0.1, 0.2)
CHANNEL = Channel.binary(0.2, 0.3)
# Plain draws: to collect the tests shall compile nothing.
X = np.random.default_rng(1).integers(0, 2, (25, 40), np.uint8)
Z = X ^ (np.random.default_rng(2).random(X.shape) < 0.25)
ATTACKS = [SingleBit(CHANNEL), Posterior(CHAIN, CHANNEL), Viterbi(CHAIN, CHANNEL)]


def test_importing_loads_nothing_heavy() -> None:
    code = (
        "import sys, chainveil.attack;"
        "assert not {'numba', 'scipy', 'torch', 'rich', 'flint'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda a: type(a).__name__)
def test_one_row_is_the_row_of_a_batch(attack: Attack) -> None:
    together = attack.reconstruct(Z)
    assert together.shape == Z.shape
    np.testing.assert_array_equal(attack.reconstruct(Z[3]), together[3])
    ragged = attack.reconstruct([Z[3], Z[4][:7]])
    np.testing.assert_array_equal(ragged[0], together[3])
    assert len(ragged[1]) == 7


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda a: type(a).__name__)
def test_known_points_come_back_and_do_not_count(attack: Attack) -> None:
    known = {3: X[:, 3], 20: X[:, 20]}
    guess = attack.reconstruct(Z, known)
    np.testing.assert_array_equal(guess[:, [3, 20]], X[:, [3, 20]])
    success = attack.success(X, Z, known)
    assert success.trials == 25 * 38
    keep = np.setdiff1d(np.arange(40), [3, 20])
    assert success.successes == (guess == X)[:, keep].sum()


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda a: type(a).__name__)
def test_one_target_a_series(attack: Attack) -> None:
    success = attack.success(X, Z, target=14)
    assert success.trials == 25
    assert success.successes == (attack.reconstruct(Z) == X)[:, 14].sum()


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda a: type(a).__name__)
def test_errors(attack: Attack) -> None:
    with pytest.raises(InvalidInput, match="z: found a number above"):
        attack.reconstruct([0, 2, 1])
    with pytest.raises(InvalidInput, match=r"x: found series of lengths \[3\]"):
        attack.success([0, 1, 1], [0, 1])
    with pytest.raises(InvalidInput, match="target: found 3"):
        attack.success([0, 1, 1], [0, 1, 1], target=3)
    with pytest.raises(InvalidInput, match="known: found position 9"):
        attack.reconstruct([0, 1, 1], {9: 0})
    with pytest.raises(InvalidInput, match="known: found every point"):
        attack.success([0, 1], [0, 1], {0: 0, 1: 1})


def test_single_bit_turns_round_what_lies_more_often_than_not() -> None:
    liar = SingleBit(Channel.binary(0.9, 0.9))
    assert liar.reconstruct([0, 1, 1]).tolist() == [1, 0, 0]


def test_posterior_of_three_states() -> None:
    chain = MarkovChain([[0.8, 0.1, 0.1], [0.2, 0.7, 0.1], [0.3, 0.1, 0.6]])
    channel = Channel.randomized_response(3, 0.4)
    z = sanitize(chain.sample(50, rng=0), channel, rng=seeded(1))
    expected = smoothed(chain, channel, z).argmax(axis=1)
    np.testing.assert_array_equal(Posterior(chain, channel).reconstruct(z), expected)
    np.testing.assert_array_equal(Posterior(chain, channel).reconstruct([z, z[:5]])[0], expected)


def test_simulated_noise_has_the_law_of_the_channel() -> None:
    channel = Channel([[0.5, 0.3, 0.2], [0.1, 0.1, 0.8]])
    x = np.tile([0, 1], 200_000)
    z = sanitize(x, channel, rng=seeded(5))
    for state in (0, 1):
        law = np.bincount(z[x == state], minlength=3) / 200_000
        # Five standard deviations: false alarms below one in a million.
        np.testing.assert_allclose(law, channel.matrix[state], atol=5 * 0.5 / np.sqrt(200_000))
