"""Many small LSTMs trained at once: independent weights, one set of tensor operations.

Every tensor has the model as its first axis. The losses are added up, so a model's gradient
is its own; Adam works entry by entry, so a model's step is its own; and each model shuffles and
starts from its own seed. Training one model alone therefore gives the same weights, up to the
order in which floating-point sums are taken.

This is the only module that imports torch.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

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
class Data:
    """Padded releases (R, n + window - 1), and the true states (n,)."""

    tokens: Any
    labels: Any
    window: int


@dataclass(frozen=True)
class Schedule:
    """How long and how fast to learn; ``patience`` None never stops early."""

    learning_rate: float
    batch: int
    epochs: int
    patience: int | None


def make_data(
    releases: NDArray[Any], labels: NDArray[Any], window: int, outputs: int, device: str
) -> Data:
    """Pad each release (R, n) so that every point has a window with itself in the middle."""
    before = window // 2
    padding = ((0, 0), (before, window - 1 - before))
    padded = np.pad(releases.astype(np.int64), padding, constant_values=outputs)
    tokens = torch.from_numpy(padded).to(device)
    return Data(tokens, torch.from_numpy(labels.astype(np.float32)).to(device), window)


def initial_weights(sizes: Sizes, seed: int) -> Weights:
    """One model's weights, drawn as ``torch.nn`` draws them."""
    generator = torch.Generator().manual_seed(seed)
    bound = sizes.hidden**-0.5

    def uniform(*shape: int) -> Any:
        return (torch.rand(shape, generator=generator) * 2 - 1) * bound

    gates = 4 * sizes.hidden
    return {
        "embedding": torch.randn((sizes.tokens, sizes.embedding), generator=generator),
        "weight_ih": uniform(gates, sizes.embedding),
        "weight_hh": uniform(gates, sizes.hidden),
        "bias_ih": uniform(gates),
        "bias_hh": uniform(gates),
        "linear": uniform(sizes.hidden),
        "bias": uniform(1),
    }


def stack_weights(models: list[Weights], device: str) -> Weights:
    """Weights of many models, the model as the first axis."""
    return {name: torch.stack([model[name] for model in models]).to(device) for name in models[0]}


def logits(weights: Weights, windows: Any) -> Any:
    """Log-odds of state 1 for windows of tokens, shape (models, batch, window)."""
    models, batch, length = windows.shape
    tokens, hidden = weights["embedding"].shape[1], weights["weight_hh"].shape[2]
    # What a token adds to the gates depends on the token alone. Both bias vectors stay, because
    # Adam moves two that receive the same gradient twice as far as one.
    table = torch.baddbmm(
        (weights["bias_ih"] + weights["bias_hh"])[:, None, :],
        weights["embedding"],
        weights["weight_ih"].transpose(1, 2),
    )
    step = torch.cat([table, weights["weight_hh"].transpose(1, 2)], dim=1)
    seen = torch.nn.functional.one_hot(windows, tokens).to(table.dtype)
    state = memory = torch.zeros((models, batch, hidden), device=table.device)
    for t in range(length):
        gates = torch.bmm(torch.cat([seen[:, :, t], state], dim=2), step)
        enter, forget, fresh, leave = gates.chunk(4, dim=2)
        memory = torch.sigmoid(forget) * memory + torch.sigmoid(enter) * torch.tanh(fresh)
        state = torch.sigmoid(leave) * torch.tanh(memory)
    return torch.bmm(state, weights["linear"][:, :, None])[:, :, 0] + weights["bias"]


def shuffled(job: Job, epoch: int) -> NDArray[np.int64]:
    """The order in which a model sees its points in one epoch."""
    return np.random.default_rng([job.seed, epoch]).permutation(job.train)


def train(
    jobs: list[Job],
    data: Data,
    sizes: Sizes,
    schedule: Schedule,
    device: str,
    tick: Callable[[], None] = lambda: None,
) -> Weights:
    """Train every job; ``tick`` is called after each batch."""
    weights = stack_weights([initial_weights(sizes, job.seed) for job in jobs], device)
    for tensor in weights.values():
        tensor.requires_grad_()
    adam = _Adam(weights, schedule.learning_rate, len(jobs), device)
    best = _Best(weights, len(jobs), schedule.patience)
    for epoch in range(schedule.epochs):
        orders = [shuffled(job, epoch) for job in jobs]
        for points, present in _batches(orders, schedule.batch, best.running):
            _learn(weights, adam, data, jobs, points, present)
            tick()
        if schedule.patience is not None:
            best.update(weights, _validation_loss(weights, data, jobs))
            if not best.running.any():
                break
    return best.weights if schedule.patience is not None else _detached(weights)


def predict(
    weights: Weights, data: Data, jobs: list[Job], points: list[NDArray[np.int64]]
) -> list[NDArray[np.float32]]:
    """Log-odds of state 1 at each model's own points."""
    parts: list[list[NDArray[np.float32]]] = [[] for _ in jobs]
    with torch.no_grad():
        for begin in range(0, max(map(len, points)), EVALUATED):
            chunk = [own[begin : begin + EVALUATED] for own in points]
            padded, _ = _pad(chunk, max(map(len, chunk)))
            found = logits(weights, _windows(data, jobs, padded)).cpu().numpy()
            for model, own in enumerate(chunk):
                parts[model].append(found[model, : len(own)])
    return [np.concatenate(part) for part in parts]


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


def _windows(data: Data, jobs: list[Job], points: NDArray[np.int64]) -> Any:
    device = data.tokens.device
    releases = torch.tensor([job.release for job in jobs], device=device)
    begins = torch.from_numpy(points).to(device)
    places = begins[:, :, None] + torch.arange(data.window, device=device)
    return data.tokens[releases[:, None, None], places]


def _losses(weights: Weights, data: Data, jobs: list[Job], points: Any, present: Any) -> Any:
    """Mean cross-entropy of each model over the points present, shape (models,)."""
    device = data.tokens.device
    found = logits(weights, _windows(data, jobs, points))
    truth = data.labels[torch.from_numpy(points).to(device)]
    each = torch.nn.functional.binary_cross_entropy_with_logits(found, truth, reduction="none")
    real = torch.from_numpy(present).to(device, each.dtype)
    return (each * real).sum(dim=1) / real.sum(dim=1).clamp(min=1)


def _learn(
    weights: Weights, adam: _Adam, data: Data, jobs: list[Job], points: Any, present: Any
) -> None:
    loss = _losses(weights, data, jobs, points, present).sum()
    gradients = torch.autograd.grad(loss, list(weights.values()))
    adam.step(weights, gradients, present.any(axis=1))


def _validation_loss(weights: Weights, data: Data, jobs: list[Job]) -> NDArray[np.float64]:
    total = np.zeros(len(jobs))
    with torch.no_grad():
        for begin in range(0, max(len(job.validation) for job in jobs), EVALUATED):
            rows = [job.validation[begin : begin + EVALUATED] for job in jobs]
            points, present = _pad(rows, max(map(len, rows)))
            means = _losses(weights, data, jobs, points, present).cpu().numpy()
            total += means * present.sum(axis=1)
    return np.asarray(total / np.array([max(1, len(job.validation)) for job in jobs]))


class _Adam:
    """Adam for every model on its own: a model without data in a batch does not move."""

    def __init__(self, weights: Weights, rate: float, models: int, device: str) -> None:
        self.rate = rate
        self.first = [torch.zeros_like(tensor) for tensor in weights.values()]
        self.second = [torch.zeros_like(tensor) for tensor in weights.values()]
        self.steps = torch.zeros(models, device=device, dtype=torch.float64)

    def step(self, weights: Weights, gradients: Any, moving: NDArray[np.bool_]) -> None:
        mask = torch.from_numpy(moving).to(self.steps.device)
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
