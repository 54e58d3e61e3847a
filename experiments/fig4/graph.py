"""Learning on a CUDA device: one step is recorded, then replayed for every batch.

The models are so small that a device spends its time on being told what to do. A recorded step
(a CUDA graph) is told once, takes its batch from a table on the device, and torch compiles the
arithmetic of an LSTM cell to one kernel. Either way computes what ``ensemble`` does; the compiled
cell is checked against it before it is used.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray

from experiments.fig4.ensemble import Weights, cell, logits, losses

if TYPE_CHECKING:
    from experiments.fig4.ensemble import Training

# How far losses and slopes may be off before the compiled cell is not trusted.
RELATIVE, ABSOLUTE = 1e-3, 1e-5
# Steps before recording, so that every buffer and library handle exists.
WARM_UP = 3


class Recorded:
    """Runs the epochs of a training by replaying one recorded step."""

    def __init__(self, training: Training) -> None:
        self.training = training
        self.orders: Any = None
        self.cursor = torch.zeros(1, dtype=torch.int64, device=training.device)
        self.running = torch.ones(len(training.jobs), dtype=torch.bool, device=training.device)
        self.network: Callable[[Weights, Any], Any] = logits
        self.replay: Any = None

    def __call__(
        self, training: Training, orders: list[NDArray[np.int64]], tick: Callable[[], None]
    ) -> None:
        """One epoch; ``orders`` are the points of each model in the order of learning."""
        batch = training.schedule.batch
        table = batch_table(orders, batch)
        if self.orders is None or self.orders.shape != table.shape:
            self.orders, self.replay = torch.from_numpy(table).to(training.device), None
        else:
            self.orders.copy_(torch.from_numpy(table))
        self.running.copy_(torch.from_numpy(training.best.running))
        if self.replay is None:
            self.network = self._choose_network()
            self.replay = self._record()
        self.cursor.zero_()
        for _ in range(len(table)):
            self.replay()
            tick()
        torch.cuda.synchronize()

    def _step(self) -> None:
        training = self.training
        listed = self.orders.index_select(0, self.cursor)[0].to(torch.int64)
        present = (listed >= 0) & self.running[:, None]
        found = losses(
            training.weights, training.data, training.releases, listed.clamp(min=0), present,
            self.network,
        )  # fmt: skip
        gradients = torch.autograd.grad(found.sum(), list(training.weights.values()))
        training.adam.step(training.weights, gradients, present.any(dim=1))
        self.cursor += 1

    @property
    def road(self) -> str:
        """How the steps are taken, in words."""
        kind = "plain cells" if self.network is logits else "compiled cells"
        return f"{kind}, {'told step by step' if self.replay == self._step else 'recorded'}"

    def _record(self) -> Callable[[], None]:
        """A function that replays a step; the steps taken to warm up are undone."""
        before = self.training.state()
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(WARM_UP):
                self.cursor.zero_()
                self._step()
        torch.cuda.current_stream().wait_stream(stream)
        graph = torch.cuda.CUDAGraph()
        self.cursor.zero_()
        replay: Callable[[], None] = graph.replay
        try:
            with torch.cuda.graph(graph):
                self._step()
        except RuntimeError:
            # Something in this torch cannot be recorded; the step itself is right all the same.
            replay = self._step
        self.training.restore(before)
        return replay

    def _choose_network(self) -> Callable[[Weights, Any], Any]:
        """The compiled cell where torch can compile and it agrees, in values and gradients."""
        training = self.training
        points = self.orders[0].to(torch.int64)
        present = points >= 0
        # Networks of every size share one kernel; torch gives up on compiling one for each.
        compiled = partial(logits, cell=torch.compile(cell, dynamic=True))
        found = []
        try:
            for network in (logits, compiled):
                loss = losses(
                    training.weights, training.data, training.releases, points.clamp(min=0),
                    present, network,
                )  # fmt: skip
                slopes = torch.autograd.grad(loss.sum(), list(training.weights.values()))
                found.append(torch.cat([loss.detach(), *(slope.flatten() for slope in slopes)]))
        except RuntimeError:
            # Compiling needs more than torch: a compiler for the device, and one for C.
            return logits
        agrees = torch.allclose(found[0], found[1], RELATIVE, ABSOLUTE)
        return compiled if agrees else logits


def batch_table(orders: list[NDArray[np.int64]], batch: int) -> NDArray[np.int32]:
    """Points of every batch and model, shape (batches, models, batch), -1 where one has none."""
    steps = -(-max(map(len, orders)) // batch)
    table = np.full((len(orders), steps * batch), -1, dtype=np.int32)
    for row, order in zip(table, orders, strict=True):
        row[: len(order)] = order
    return np.ascontiguousarray(table.reshape(len(orders), steps, batch).transpose(1, 0, 2))
