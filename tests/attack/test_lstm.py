"""The attacker who learns: folds that do not leak, and networks that learn what there is."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

from chainveil import Channel, InvalidInput, MarkovChain, MissingExtra
from chainveil.attack import LSTM, LSTMSettings, Posterior, SingleBit
from chainveil.attack.lstm_folds import all_points, contiguous_folds
from chainveil.mechanism import sanitize, seeded

CHAIN = MarkovChain.symmetric(0.05)
CHANNEL = Channel.binary(0.25, 0.25)


@pytest.fixture
def torch() -> Any:
    module = pytest.importorskip("torch", reason="the extra lstm (torch) is not installed")
    threads = module.get_num_threads()
    # Tensors this small are slower on many threads, above all on shared processors.
    module.set_num_threads(1)
    yield module
    module.set_num_threads(threads)


@pytest.mark.parametrize("validation", [0.0, 0.05])
def test_windows_of_train_and_test_never_overlap(validation: float) -> None:
    n, window = 1003, 30
    folds = contiguous_folds(n, 7, window, validation)
    tested = np.concatenate([fold.test for fold in folds])
    np.testing.assert_array_equal(tested, np.arange(n))
    for fold in folds:
        assert len(fold.train) > 400
        for held in (fold.test, fold.validation):
            if len(held):
                apart = np.abs(fold.train[:, None] - held[None, :]).min()
                assert apart > window - 1
        if len(fold.validation):
            assert len(fold.validation) == pytest.approx(50, abs=1)
            assert np.abs(fold.validation[:, None] - fold.test[None, :]).min() > window - 1


def test_folds_need_room() -> None:
    with pytest.raises(InvalidInput, match="x: found 50 points"):
        contiguous_folds(50, 2, 40, 0.0)
    with pytest.raises(InvalidInput, match="x: found 10 points"):
        all_points(10, 40, 0.2)


def test_torch_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.delitem(sys.modules, "chainveil.attack.lstm_network", raising=False)
    monkeypatch.delattr("chainveil.attack.lstm_network", raising=False)
    x = CHAIN.sample(400, rng=0)
    settings = LSTMSettings(window=5, folds=2)
    with pytest.raises(MissingExtra, match=r"pip install 'chainveil\[lstm\]'"):
        LSTM(settings=settings).success(x, x)


def test_settings() -> None:
    paper = LSTMSettings.paper(folds=5)
    assert (paper.hidden, paper.batch, paper.folds, paper.patience) == (4, 6, 5, None)
    with pytest.raises(InvalidInput, match="hidden: found 0"):
        LSTMSettings(hidden=0)
    with pytest.raises(InvalidInput, match="learning_rate: found 0"):
        LSTMSettings(learning_rate=0)


def test_errors() -> None:
    with pytest.raises(InvalidInput, match="weights: found None; allowed: a fitted network"):
        LSTM().reconstruct([0, 1])
    with pytest.raises(InvalidInput, match="z: found 2 points; allowed: 3 points"):
        LSTM().cross_validate([0, 1, 1], [[0, 1]])
    with pytest.raises(InvalidInput, match="x: found 2 series"):
        LSTM().fit([[0, 1], [1, 1]], [0, 1])


def test_a_network_depends_on_its_seed_alone(torch: Any) -> None:
    """And drawing one leaves torch's own random numbers as they would have been."""
    from chainveil.attack import lstm_network as networks

    torch.manual_seed(3)
    undisturbed = torch.rand(5)
    torch.manual_seed(3)
    first, second = (networks.new_network(3, 4, 5, seed).state_dict() for seed in (8, 8))
    assert torch.equal(torch.rand(5), undisturbed)
    other = networks.new_network(3, 4, 5, 9).state_dict()
    for name, tensor in first.items():
        assert torch.equal(tensor, second[name])
        assert not torch.equal(tensor, other[name])


def test_the_weights_with_the_least_validation_loss_are_kept(torch: Any) -> None:
    """A rate that is far too high: what comes after the best epoch is worse, and is dropped."""
    from chainveil.attack import lstm_network as networks

    x = CHAIN.sample(400, rng=8)
    z = sanitize(x, CHANNEL, rng=seeded(9))
    data = networks.make_data(z[None, :], x, 9, 2, "cpu")
    (fold, *_) = contiguous_folds(400, 2, 9, 0.1)
    found = []
    for patience, epochs in ((None, 1), (None, 2), (None, 3), (1, 40)):
        settings = LSTMSettings(
            window=9, hidden=5, batch=8, epochs=epochs, learning_rate=0.5, patience=patience
        )
        network = networks.new_network(3, 4, 5, 1)
        networks.train(network, data, 0, fold, settings, 1)
        found.append(networks._validation_loss(network, data, 0, fold.validation))
    *each, kept = found
    first_worse = next(i for i in range(1, 3) if each[i] >= each[i - 1])
    assert kept == pytest.approx(each[first_worse - 1], rel=1e-6)


def test_windows_have_their_point_in_the_middle_or_last(torch: Any) -> None:
    from chainveil.attack import lstm_network as networks

    releases = np.array([[0, 1, 1, 0, 0]])
    plain, inwards = (
        networks.make_data(releases, releases[0], 4, 2, "cpu", way) for way in (False, True)
    )
    points = np.array([0, 3])
    assert plain.windows(0, points).tolist() == [[2, 2, 0, 1], [1, 1, 0, 0]]
    assert inwards.windows(0, points).tolist() == [[2, 2, 1, 0], [1, 1, 0, 0]]


@pytest.mark.slow
def test_learns_what_the_chain_offers(torch: Any) -> None:
    """Better than one bit at a time, and no better than the best (with room for chance)."""
    x = CHAIN.sample(3000, rng=4)
    z = sanitize(x, CHANNEL, rng=seeded(5))
    settings = LSTMSettings(
        window=15, hidden=8, batch=64, epochs=6, folds=3, learning_rate=1e-2, patience=2
    )
    attack = LSTM(settings=settings)
    found = attack.success(x, z)
    assert found.trials == 3000
    assert found.rate > SingleBit(CHANNEL).success(x, z).rate + 0.05
    assert found.rate < Posterior(CHAIN, CHANNEL).success(x, z).rate + 0.02
    assert attack.success(x, z) == found

    fitted = attack.fit(x, z)
    fresh = CHAIN.sample(500, 2, rng=6)
    guess = fitted.reconstruct(sanitize(fresh, CHANNEL, rng=seeded(7)), {3: fresh[:, 3]})
    assert guess.shape == fresh.shape
    np.testing.assert_array_equal(guess[:, 3], fresh[:, 3])
    assert np.mean(guess == fresh) > 0.8


def test_progress_bar(
    torch: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    x = CHAIN.sample(200, rng=4)
    settings = LSTMSettings(window=5, hidden=2, epochs=1, folds=2, patience=None, progress=True)
    results = LSTM(settings=settings).cross_validate(x, [x, x])
    assert len(results) == 2
    assert "training 4 LSTMs" in capsys.readouterr().err
