"""The recorded road takes the same steps as the plain one. Replaying itself needs a device."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from chainveil.attack import lstm_ensemble as ensemble  # noqa: E402
from chainveil.attack import lstm_graph  # noqa: E402


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Networks this small only wait for a second one."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def _training(device: str, patience: int | None) -> ensemble.Training:
    rng = np.random.default_rng(5)
    truth = (np.cumsum(rng.random(300) < 0.1) % 2).astype(np.uint8)
    releases = np.stack([truth ^ (rng.random(300) < rho) for rho in (0.1, 0.3)])
    data = ensemble.make_data(releases, truth, 9, 2, device)
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


@pytest.mark.parametrize("patience", [None, 2])
def test_steps_from_the_table_are_the_plain_steps(
    patience: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unrecorded(recorded: lstm_graph.Recorded) -> Callable[[], None]:
        return recorded._step

    monkeypatch.setattr(lstm_graph.Recorded, "_record", unrecorded)
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    plain = _finished(_training("cpu", patience))
    training = _training("cpu", patience)
    training._learn_epoch = lstm_graph.Recorded(training)
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


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("patience", [None, 2])
def test_a_device_learns_the_same(patience: int | None) -> None:
    plain = _finished(_training("cpu", patience))
    training = _training("cuda", patience)
    found = _finished(training)
    assert training.road == "one kernel a cell, recorded"
    for name, tensor in plain.items():
        np.testing.assert_allclose(found[name], tensor, atol=1e-3)


def test_batches_are_laid_out_in_order() -> None:
    table = lstm_graph.batch_table([np.arange(5), np.arange(10, 13)], 2)
    assert table.shape == (3, 2, 2)
    assert table[:, 0].tolist() == [[0, 1], [2, 3], [4, -1]]
    assert table[:, 1].tolist() == [[10, 11], [12, -1], [-1, -1]]
