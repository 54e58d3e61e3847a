"""Networks trained together are those that the package trains one by one.

And recorded steps are the plain ones; replaying itself needs a device.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from chainveil import Channel, MarkovChain  # noqa: E402
from chainveil.attack import LSTMSettings  # noqa: E402
from chainveil.attack import lstm_network as networks  # noqa: E402
from chainveil.attack.lstm_folds import Fold, contiguous_folds  # noqa: E402
from chainveil.mechanism import sanitize, seeded  # noqa: E402
from experiments.fig4 import ensemble, graph  # noqa: E402


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Networks this small only wait for a second one."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


Case = tuple[networks.Data, list[ensemble.Job], list[Fold], ensemble.Schedule]
SIZES = ensemble.Sizes(3, 4, 5)


def _case(patience: int | None) -> Case:
    """Two releases and three folds, of which some have a batch more than others."""
    x = MarkovChain.symmetric(0.05).sample(260, rng=1)
    channel = Channel.binary(0.25, 0.25)
    releases = np.stack([sanitize(x, channel, rng=seeded(seed)) for seed in (2, 3)])
    # The second release has answers of its own.
    data = networks.make_data(releases, np.stack([x, 1 - x]), 9, 2, "cpu")
    folds = contiguous_folds(260, 3, 9, 0.0 if patience is None else 0.08)
    assert len({-(-len(fold.train) // 16) for fold in folds}) > 1
    jobs = [
        ensemble.Job(release, fold.train, fold.validation, 10 * release + number)
        for release in (0, 1)
        for number, fold in enumerate(folds)
    ]
    return data, jobs, [*folds, *folds], ensemble.Schedule(2e-2, 16, 4, patience)


@pytest.mark.slow
@pytest.mark.parametrize("patience", [None, 1])
def test_together_they_learn_what_each_learns_in_the_package(patience: int | None) -> None:
    data, jobs, folds, schedule = _case(patience)
    trained = ensemble.train(jobs, data, SIZES, schedule, "cpu")
    points = np.arange(260)
    found = ensemble.predict(trained, data, jobs, [points] * len(jobs))
    settings = LSTMSettings(learning_rate=2e-2, batch=16, epochs=4, patience=patience)
    for job, fold, odds in zip(jobs, folds, found, strict=True):
        network = networks.new_network(3, 4, 5, job.seed)
        networks.train(network, data, job.release, fold, settings, job.seed)
        expected = networks.predict(network, data, job.release, points)
        np.testing.assert_allclose(odds, expected, rtol=0, atol=2e-3)


@pytest.mark.slow
@pytest.mark.parametrize("patience", [None, 1])
def test_together_they_learn_what_each_learns_alone(patience: int | None) -> None:
    data, jobs, _, schedule = _case(patience)
    together = ensemble.train(jobs, data, SIZES, schedule, "cpu")
    for model, job in enumerate(jobs):
        alone = ensemble.train([job], data, SIZES, schedule, "cpu")
        for name, tensor in alone.items():
            difference = (tensor[0] - together[name][model]).abs().max().item()
            assert difference < 1e-3, name


def _training(device: str, patience: int | None) -> ensemble.Training:
    rng = np.random.default_rng(5)
    truth = (np.cumsum(rng.random(300) < 0.1) % 2).astype(np.uint8)
    releases = np.stack([truth ^ (rng.random(300) < rho) for rho in (0.1, 0.3)])
    data = networks.make_data(releases, truth, 9, 2, device)
    held = np.arange(280, 300)
    jobs = [
        ensemble.Job(release, np.arange(270 - 20 * release), held, release) for release in (0, 1)
    ]
    schedule = ensemble.Schedule(1e-2, 16, 3, patience)
    return ensemble.Training(jobs, data, ensemble.Sizes(3, 4, 5), schedule, device)


def _finished(training: ensemble.Training) -> dict[str, Any]:
    while not training.finished:
        training.run_epoch()
    return {name: tensor.cpu().numpy() for name, tensor in training.result().items()}


# What torch imports in order to compile; nothing of ours.
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning:torch")
@pytest.mark.parametrize("patience", [None, 2])
def test_steps_from_the_table_are_the_plain_steps(
    patience: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unrecorded(recorded: graph.Recorded) -> Callable[[], None]:
        return recorded._step

    monkeypatch.setattr(graph.Recorded, "_record", unrecorded)
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    plain = _finished(_training("cpu", patience))
    training = _training("cpu", patience)
    training._learn_epoch = graph.Recorded(training)
    found = _finished(training)
    assert training.road.endswith("told step by step")
    for name, tensor in plain.items():
        np.testing.assert_allclose(found[name], tensor, atol=1e-6)


def test_a_training_goes_on_where_it_stopped() -> None:
    whole = _finished(_training("cpu", 2))
    first = _training("cpu", 2)
    first.run_epoch()
    second = _training("cpu", 2)
    second.restore(first.state())
    found = _finished(second)
    for name, tensor in whole.items():
        np.testing.assert_array_equal(found[name], tensor)


@pytest.mark.filterwarnings("ignore::DeprecationWarning:torch")
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("patience", [None, 2])
def test_a_device_learns_the_same(patience: int | None) -> None:
    plain = _finished(_training("cpu", patience))
    training = _training("cuda", patience)
    found = _finished(training)
    assert training.road == "compiled cells, recorded"
    for name, tensor in plain.items():
        np.testing.assert_allclose(found[name], tensor, atol=1e-3)


def test_batches_are_laid_out_in_order() -> None:
    table = graph.batch_table([np.arange(5), np.arange(10, 13)], 2)
    assert table.shape == (3, 2, 2)
    assert table[:, 0].tolist() == [[0, 1], [2, 3], [4, -1]]
    assert table[:, 1].tolist() == [[10, 11], [12, -1], [-1, -1]]
