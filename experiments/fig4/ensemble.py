"""Hundreds of small LSTMs trained at once: independent weights, one set of tensor operations.

Each is the network of ``chainveil.attack.LSTM``, which torch's own modules train one after
another. Figure 4 has hundreds of them, and that way would take more than five times as long on a
processor, and hundreds of times on a CUDA device (``docs/attacks.md``). ``torch.func.vmap`` has
no rule for torch's LSTM or its cell, and is slower still on cells made of ``torch.nn.Linear``.

Every tensor has the model as its first axis. The losses are added up, so a model's gradient
is its own; Adam works entry by entry, so a model's step is its own; and each model shuffles and
starts from its own seed. Training one model alone therefore gives the same weights, up to the
order in which floating-point sums are taken. Adam is written out here because torch's counts the
steps of a whole tensor, and a model without points in a batch must not take one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from chainveil.attack.lstm_network import Data, new_network, shuffled

Weights = dict[str, Any]

BETA1, BETA2, EPSILON = 0.9, 0.999, 1e-8
# Windows evaluated at once for each model when nothing is learned.
EVALUATED = 512


@dataclass(frozen=True)
class Sizes:
    """Shape of one network: tokens (outputs and one for padding), embedding, hidden."""

    tokens: int
    embedding: int
    hidden: int


@dataclass(frozen=True)
class Job:
    """One model: which release it reads, which points it learns from, and its seed."""

    release: int
    train: NDArray[np.int64]
    validation: NDArray[np.int64]
    seed: int


@dataclass(frozen=True)
class Schedule:
    """How long and how fast to learn; ``patience`` None never stops early."""

    learning_rate: float
    batch: int
    epochs: int
    patience: int | None


def initial_weights(sizes: Sizes, seed: int) -> Weights:
    """One model's weights, those of the network with its seed."""
    network = new_network(sizes.tokens, sizes.embedding, sizes.hidden, seed)
    return from_state(network.state_dict())


def from_state(state: dict[str, Any]) -> Weights:
    """A network's state under the names used here."""
    return {
        "embedding": state["embedding.weight"],
        "weight_ih": state["lstm.weight_ih_l0"],
        "weight_hh": state["lstm.weight_hh_l0"],
        "bias_ih": state["lstm.bias_ih_l0"],
        "bias_hh": state["lstm.bias_hh_l0"],
        "linear": state["linear.weight"][0],
        "bias": state["linear.bias"],
    }


def stack_weights(models: list[Weights], device: str) -> Weights:
    """Weights of many models, the model as the first axis."""
    return {name: torch.stack([model[name] for model in models]).to(device) for name in models[0]}


def token_gates(weights: Weights) -> Any:
    """What each token adds to the gates, shape (models, tokens, 4 * hidden).

    Both bias vectors stay, because Adam moves two that receive the same gradient twice as far
    as one.
    """
    return torch.baddbmm(
        (weights["bias_ih"] + weights["bias_hh"])[:, None, :],
        weights["embedding"],
        weights["weight_ih"].transpose(1, 2),
    )


def cell(gates: Any, memory: Any) -> tuple[Any, Any]:
    """State and memory of an LSTM after a step, from its gates (models, batch, 4 * hidden)."""
    enter, forget, fresh, leave = gates.chunk(4, dim=2)
    memory = torch.sigmoid(forget) * memory + torch.sigmoid(enter) * torch.tanh(fresh)
    return torch.sigmoid(leave) * torch.tanh(memory), memory


def logits(weights: Weights, windows: Any, cell: Callable[[Any, Any], Any] = cell) -> Any:
    """Log-odds of state 1 for windows of tokens, shape (models, batch, window)."""
    models, batch, length = windows.shape
    tokens, hidden = weights["embedding"].shape[1], weights["weight_hh"].shape[2]
    table = token_gates(weights)
    step = torch.cat([table, weights["weight_hh"].transpose(1, 2)], dim=1)
    seen = torch.nn.functional.one_hot(windows, tokens).to(table.dtype)
    state = memory = torch.zeros((models, batch, hidden), device=table.device)
    for t in range(length):
        gates = torch.bmm(torch.cat([seen[:, :, t], state], dim=2), step)
        state, memory = cell(gates, memory)
    return torch.bmm(state, weights["linear"][:, :, None])[:, :, 0] + weights["bias"]


class Training:
    """Models on their way: weights, moments, the best so far, and the epochs done."""

    def __init__(
        self, jobs: list[Job], data: Data, sizes: Sizes, schedule: Schedule, device: str
    ) -> None:
        self.jobs, self.data, self.schedule, self.device = jobs, data, schedule, device
        self.weights = stack_weights([initial_weights(sizes, job.seed) for job in jobs], device)
        for tensor in self.weights.values():
            tensor.requires_grad_()
        self.releases = release_numbers(jobs, device)
        self.adam = Adam(self.weights, schedule.learning_rate, len(jobs), device)
        self.best = _Best(self.weights, len(jobs), schedule.patience)
        self.epochs = 0
        self._learn_epoch: Any = None  # chosen when the first epoch begins

    @property
    def finished(self) -> bool:
        """Whether every model has had all its epochs, or was stopped before."""
        return self.epochs >= self.schedule.epochs or not self.best.running.any()

    @property
    def road(self) -> str:
        """How the device is used, in words; known once an epoch was run."""
        return str(getattr(self._learn_epoch, "road", "batch by batch"))

    def run_epoch(self, tick: Callable[[], None] = lambda: None) -> None:
        """One pass over the data for every model; ``tick`` is called after each batch."""
        if self._learn_epoch is None:
            self._learn_epoch = self._choose_learner()
        orders = [shuffled(job.train, job.seed, self.epochs) for job in self.jobs]
        self._learn_epoch(self, orders, tick)
        self.epochs += 1
        if self.schedule.patience is not None:
            found = _validation_loss(self.weights, self.data, self.jobs)
            self.best.update(self.weights, found)

    def result(self) -> Weights:
        """The weights to guess with."""
        stopped = self.schedule.patience is not None
        return self.best.weights if stopped else _detached(self.weights)

    def state(self) -> dict[str, Any]:
        """All that changes from epoch to epoch, on the CPU, for :meth:`restore`."""
        return {
            "weights": {name: _copy(tensor) for name, tensor in self.weights.items()},
            "best": {name: _copy(tensor) for name, tensor in self.best.weights.items()},
            "moments": [[_copy(tensor) for tensor in part] for part in self.adam.moments],
            "steps": _copy(self.adam.steps),
            "counts": {name: torch.from_numpy(getattr(self.best, name)) for name in _Best.COUNTS},
            "epochs": self.epochs,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a state saved earlier with the same jobs, data and schedule."""
        with torch.no_grad():
            for name, tensor in self.weights.items():
                tensor.copy_(state["weights"][name])
            for mine, saved in zip(self.adam.moments, state["moments"], strict=True):
                for tensor, value in zip(mine, saved, strict=True):
                    tensor.copy_(value)
            self.adam.steps.copy_(state["steps"])
        self.best.weights = {name: value.to(self.device) for name, value in state["best"].items()}
        for name in _Best.COUNTS:
            setattr(self.best, name, state["counts"][name].numpy().copy())
        self.epochs = state["epochs"]

    def _choose_learner(self) -> Any:
        if not str(self.device).startswith("cuda"):
            return _learn_epoch
        from experiments.fig4.graph import Recorded

        return Recorded(self)


def train(
    jobs: list[Job],
    data: Data,
    sizes: Sizes,
    schedule: Schedule,
    device: str,
    tick: Callable[[], None] = lambda: None,
) -> Weights:
    """Train every job; ``tick`` is called after each batch."""
    training = Training(jobs, data, sizes, schedule, device)
    while not training.finished:
        training.run_epoch(tick)
    return training.result()


def predict(
    weights: Weights, data: Data, jobs: list[Job], points: list[NDArray[np.int64]]
) -> list[NDArray[np.float32]]:
    """Log-odds of state 1 at each model's own points."""
    parts: list[list[NDArray[np.float32]]] = [[] for _ in jobs]
    releases = release_numbers(jobs, data.tokens.device)
    with torch.no_grad():
        for begin in range(0, max(map(len, points)), EVALUATED):
            chunk = [own[begin : begin + EVALUATED] for own in points]
            padded, _ = _pad(chunk, max(map(len, chunk)))
            seen = windows_of(data, releases, torch.from_numpy(padded).to(releases.device))
            found = logits(weights, seen).cpu().numpy()
            for model, own in enumerate(chunk):
                parts[model].append(found[model, : len(own)])
    return [np.concatenate(part) for part in parts]


def _copy(tensor: Any) -> Any:
    return tensor.detach().to("cpu", copy=True)


def _detached(weights: Weights) -> Weights:
    return {name: tensor.detach().clone() for name, tensor in weights.items()}


def _pad(rows: list[NDArray[np.int64]], width: int) -> tuple[Any, Any]:
    """Rows of different lengths as one array, and which entries are real."""
    points = np.zeros((len(rows), width), dtype=np.int64)
    present = np.zeros((len(rows), width), dtype=bool)
    for row, own in enumerate(rows):
        points[row, : len(own)] = own
        present[row, : len(own)] = True
    return points, present


def _batches(orders: list[NDArray[np.int64]], batch: int, running: NDArray[np.bool_]) -> Any:
    for begin in range(0, max(map(len, orders)), batch):
        points, present = _pad([order[begin : begin + batch] for order in orders], batch)
        yield points, present & running[:, None]


def release_numbers(jobs: list[Job], device: Any) -> Any:
    """Which release each model reads, as a tensor of shape (models,)."""
    return torch.tensor([job.release for job in jobs], device=device)


def windows_of(data: Data, releases: Any, points: Any) -> Any:
    """Windows around points (models, batch), shape (models, batch, window)."""
    return data.tokens[releases[:, None, None], points[:, :, None] + data.places]


def losses(
    weights: Weights, data: Data, releases: Any, points: Any, present: Any, network: Any = logits
) -> Any:
    """Mean cross-entropy of each model over the points present, shape (models,).

    ``points`` and ``present`` are tensors of shape (models, batch).
    """
    found = network(weights, windows_of(data, releases, points))
    each = torch.nn.functional.binary_cross_entropy_with_logits(
        found, data.labels[releases[:, None], points], reduction="none"
    )
    real = present.to(each.dtype)
    return (each * real).sum(dim=1) / real.sum(dim=1).clamp(min=1)


def _learn_epoch(
    training: Training, orders: list[NDArray[np.int64]], tick: Callable[[], None]
) -> None:
    """Batch after batch, each built on the way."""
    weights, device = training.weights, training.device
    for batch, real in _batches(orders, training.schedule.batch, training.best.running):
        points, present = (torch.from_numpy(array).to(device) for array in (batch, real))
        loss = losses(weights, training.data, training.releases, points, present).sum()
        gradients = torch.autograd.grad(loss, list(weights.values()))
        training.adam.step(weights, gradients, present.any(dim=1))
        tick()


def _validation_loss(weights: Weights, data: Data, jobs: list[Job]) -> NDArray[np.float64]:
    total = np.zeros(len(jobs))
    device = data.tokens.device
    releases = release_numbers(jobs, device)
    with torch.no_grad():
        for begin in range(0, max(len(job.validation) for job in jobs), EVALUATED):
            rows = [job.validation[begin : begin + EVALUATED] for job in jobs]
            points, present = _pad(rows, max(map(len, rows)))
            tensors = (torch.from_numpy(array).to(device) for array in (points, present))
            means = losses(weights, data, releases, *tensors).cpu().numpy()
            total += means * present.sum(axis=1)
    return np.asarray(total / np.array([max(1, len(job.validation)) for job in jobs]))


class Adam:
    """Adam for every model on its own: a model without data in a batch does not move."""

    def __init__(self, weights: Weights, rate: float, models: int, device: str) -> None:
        self.rate = rate
        self.first = [torch.zeros_like(tensor) for tensor in weights.values()]
        self.second = [torch.zeros_like(tensor) for tensor in weights.values()]
        self.moments = (self.first, self.second)
        self.steps = torch.zeros(models, device=device, dtype=torch.float64)

    def step(self, weights: Weights, gradients: Any, mask: Any) -> None:
        """Move the models in ``mask``, a tensor of shape (models,)."""
        self.steps += mask
        counted = self.steps.clamp(min=1)
        scale1 = self.rate / (1 - BETA1**counted)
        scale2 = (1 - BETA2**counted).sqrt()
        with torch.no_grad():
            for tensor, gradient, first, second in zip(
                weights.values(), gradients, self.first, self.second, strict=True
            ):
                shape = (-1,) + (1,) * (tensor.dim() - 1)
                move = mask.view(shape)
                new1 = first * BETA1 + gradient * (1 - BETA1)
                new2 = second * BETA2 + gradient * gradient * (1 - BETA2)
                first.copy_(torch.where(move, new1, first))
                second.copy_(torch.where(move, new2, second))
                below = second.sqrt() / scale2.view(shape).to(tensor.dtype) + EPSILON
                change = scale1.view(shape).to(tensor.dtype) * first / below
                tensor -= torch.where(move, change, torch.zeros_like(change))


class _Best:
    """The weights with the least validation loss so far, model by model."""

    COUNTS = ("loss", "waited", "running")

    def __init__(self, weights: Weights, models: int, patience: int | None) -> None:
        self.patience = patience
        self.loss = np.full(models, np.inf)
        self.waited = np.zeros(models, dtype=np.int64)
        self.running = np.ones(models, dtype=bool)
        self.weights = _detached(weights) if patience is not None else {}

    def update(self, weights: Weights, loss: NDArray[np.float64]) -> None:
        better = self.running & (loss < self.loss)
        self.loss = np.where(better, loss, self.loss)
        self.waited = np.where(better, 0, self.waited + 1)
        for name, tensor in weights.items():
            keep = torch.from_numpy(better).to(tensor.device)
            keep = keep.view((-1,) + (1,) * (tensor.dim() - 1))
            self.weights[name] = torch.where(keep, tensor.detach(), self.weights[name])
        if self.patience is not None:
            self.running &= self.waited < self.patience
