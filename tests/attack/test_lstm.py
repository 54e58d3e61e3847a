"""The attacker who learns: folds that do not leak, an ensemble equal to its members."""

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
    monkeypatch.delitem(sys.modules, "chainveil.attack.lstm_ensemble", raising=False)
    monkeypatch.delattr("chainveil.attack.lstm_ensemble", raising=False)
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


class Reference:
    """One network out of torch's own parts, trained by torch's own Adam."""

    def __init__(self, torch: Any, sizes: Any, weights: Any) -> None:
        self.embedding = torch.nn.Embedding(sizes.tokens, sizes.embedding)
        self.lstm = torch.nn.LSTM(sizes.embedding, sizes.hidden, batch_first=True)
        self.linear = torch.nn.Linear(sizes.hidden, 1)
        with torch.no_grad():
            self.embedding.weight.copy_(weights["embedding"])
            self.lstm.weight_ih_l0.copy_(weights["weight_ih"])
            self.lstm.weight_hh_l0.copy_(weights["weight_hh"])
            self.lstm.bias_ih_l0.copy_(weights["bias_ih"])
            self.lstm.bias_hh_l0.copy_(weights["bias_hh"])
            self.linear.weight.copy_(weights["linear"][None, :])
            self.linear.bias.copy_(weights["bias"])

    def parameters(self) -> Any:
        for part in (self.embedding, self.lstm, self.linear):
            yield from part.parameters()

    def __call__(self, windows: Any) -> Any:
        states, _ = self.lstm(self.embedding(windows))
        return self.linear(states[:, -1])[:, 0]


def small_case(ensemble: Any, patience: int | None) -> Any:
    x = CHAIN.sample(260, rng=1)
    releases = np.stack([sanitize(x, CHANNEL, rng=seeded(seed)) for seed in (2, 3)])
    # The second release has answers of its own.
    data = ensemble.make_data(releases, np.stack([x, 1 - x]), 9, 2, "cpu")
    folds = contiguous_folds(260, 3, 9, 0.0 if patience is None else 0.08)
    jobs = [
        ensemble.Job(release, fold.train, fold.validation, 10 * release + j)
        for release in (0, 1)
        for j, fold in enumerate(folds)
    ]
    sizes = ensemble.Sizes(3, 4, 5)
    return data, jobs, sizes, ensemble.Schedule(2e-2, 16, 4, patience)


def test_ensemble_equals_networks_made_and_trained_by_torch(torch: Any) -> None:
    from chainveil.attack import lstm_ensemble as ensemble

    data, jobs, sizes, schedule = small_case(ensemble, None)
    trained = ensemble.train(jobs, data, sizes, schedule, "cpu")
    points = [np.arange(260)] * len(jobs)
    found = ensemble.predict(trained, data, jobs, points)
    for job, odds in zip(jobs, found, strict=True):
        network = Reference(torch, sizes, ensemble.initial_weights(sizes, job.seed))
        adam = torch.optim.Adam(network.parameters(), lr=schedule.learning_rate)
        windows = data.tokens[job.release].unfold(0, data.window, 1)
        for epoch in range(schedule.epochs):
            order = ensemble.shuffled(job, epoch)
            for begin in range(0, len(order), schedule.batch):
                batch = torch.from_numpy(order[begin : begin + schedule.batch])
                loss = torch.nn.functional.binary_cross_entropy_with_logits(
                    network(windows[batch]), data.labels[job.release, batch]
                )
                adam.zero_grad()
                loss.backward()
                adam.step()
        with torch.no_grad():
            expected = network(windows).numpy()
        np.testing.assert_allclose(odds, expected, rtol=0, atol=2e-3)
        assert np.mean((odds > 0) == (expected > 0)) > 0.99


@pytest.mark.parametrize("patience", [None, 1])
def test_ensemble_equals_training_each_alone(torch: Any, patience: int | None) -> None:
    from chainveil.attack import lstm_ensemble as ensemble

    data, jobs, sizes, schedule = small_case(ensemble, patience)
    together = ensemble.train(jobs, data, sizes, schedule, "cpu")
    for model, job in enumerate(jobs):
        alone = ensemble.train([job], data, sizes, schedule, "cpu")
        for name, tensor in alone.items():
            difference = (tensor[0] - together[name][model]).abs().max().item()
            assert difference < 1e-3, name


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


def test_progress_bar(torch: Any, capsys: pytest.CaptureFixture[str]) -> None:
    x = CHAIN.sample(200, rng=4)
    settings = LSTMSettings(window=5, hidden=2, epochs=1, folds=2, patience=None, progress=True)
    results = LSTM(settings=settings).cross_validate(x, [x, x])
    assert len(results) == 2
    assert "Training 4 LSTMs together" in capsys.readouterr().out
