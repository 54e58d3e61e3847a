"""The LSTM attacker's network, out of torch's own parts and trained by torch's own Adam.

The only module of the package that imports torch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray

if TYPE_CHECKING:
    from chainveil.attack.lstm import LSTMSettings
    from chainveil.attack.lstm_folds import Fold

Points = NDArray[np.int64]

# Windows evaluated at once when nothing is learned.
EVALUATED = 4096


class Network(torch.nn.Module):  # type: ignore[misc]
    """An embedding, an LSTM, and the log-odds of state 1 from its last state.

    ``tokens`` are the outputs and one more for padding.
    """

    def __init__(self, tokens: int, embedding: int, hidden: int) -> None:
        super().__init__()
        self.embedding = torch.nn.Embedding(tokens, embedding)
        self.lstm = torch.nn.LSTM(embedding, hidden, batch_first=True)
        self.linear = torch.nn.Linear(hidden, 1)

    def forward(self, windows: Any) -> Any:
        """Log-odds of state 1, shape (batch,), for windows of tokens (batch, window)."""
        states, _ = self.lstm(self.embedding(windows))
        return self.linear(states[:, -1])[:, 0]


@dataclass(frozen=True)
class Data:
    """Padded releases (R, n + window - 1), what to answer (R, n), and how a window is read.

    ``places`` (window,) lists the places of a window in the order in which the LSTM sees them.
    """

    tokens: Any
    labels: Any
    places: Any

    def windows(self, release: int, points: Points) -> Any:
        """Windows around points (batch,) of one release, shape (batch, window)."""
        middle = torch.from_numpy(points).to(self.places.device)
        return self.tokens[release][middle[:, None] + self.places]


def make_data(
    releases: NDArray[Any],
    labels: NDArray[Any],
    window: int,
    outputs: int,
    device: str,
    inwards: bool = False,
) -> Data:
    """Pad each release (R, n) so that every point has a window with itself in the middle.

    ``labels`` are the right answers: the states (n,) behind all releases, or others for each of
    them, (R, n). ``inwards`` reads a window from both ends towards the middle, so that the
    target comes last and need not be remembered.
    """
    before = window // 2
    padding = ((0, 0), (before, window - 1 - before))
    padded = np.pad(releases.astype(np.int64), padding, constant_values=outputs)
    tokens = torch.from_numpy(padded).to(device)
    places = np.arange(window)
    if inwards:
        places = places[np.argsort(-np.abs(places - before), kind="stable")]
    answers = np.broadcast_to(labels, releases.shape).astype(np.float32)
    return Data(tokens, torch.from_numpy(answers).to(device), torch.from_numpy(places).to(device))


def new_network(tokens: int, embedding: int, hidden: int, seed: int) -> Network:
    """A network drawn from a seed; torch's global source of random numbers stays as it was."""
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        return Network(tokens, embedding, hidden)


def shuffled(points: Points, seed: int, epoch: int) -> Points:
    """The order in which a network sees its points in one epoch."""
    return np.random.default_rng([seed, epoch]).permutation(points)


def train(
    network: Network,
    data: Data,
    release: int,
    fold: Fold,
    settings: LSTMSettings,
    seed: int,
    tick: Callable[[], None] = lambda: None,
) -> None:
    """Teach a network a fold's points of one release; ``tick`` is called after each batch.

    With ``settings.patience`` it ends with the weights of its least validation loss.
    """
    adam = torch.optim.Adam(network.parameters(), lr=settings.learning_rate)
    least, waited, best = np.inf, 0, _copied(network)
    for epoch in range(settings.epochs):
        for points in _batches(shuffled(fold.train, seed, epoch), settings.batch):
            adam.zero_grad()
            _loss(network, data, release, points).backward()
            adam.step()
            tick()
        if settings.patience is None:
            continue
        found = _validation_loss(network, data, release, fold.validation)
        if found < least:
            least, waited, best = found, 0, _copied(network)
        else:
            waited += 1
        if waited >= settings.patience:
            break
    if settings.patience is not None:
        network.load_state_dict(best)


def predict(network: Network, data: Data, release: int, points: Points) -> NDArray[np.float32]:
    """Log-odds of state 1 at points of one release."""
    with torch.no_grad():
        found = [
            network(data.windows(release, some)).cpu().numpy()
            for some in _batches(points, EVALUATED)
        ]
    return np.concatenate(found)


def _batches(points: Points, size: int) -> Iterator[Points]:
    for begin in range(0, len(points), size):
        yield points[begin : begin + size]


def _loss(network: Network, data: Data, release: int, points: Points) -> Any:
    """Mean cross-entropy over some points."""
    answers = data.labels[release][torch.from_numpy(points).to(data.labels.device)]
    return torch.nn.functional.binary_cross_entropy_with_logits(
        network(data.windows(release, points)), answers
    )


def _validation_loss(network: Network, data: Data, release: int, points: Points) -> float:
    with torch.no_grad():
        sums = [
            len(some) * float(_loss(network, data, release, some))
            for some in _batches(points, EVALUATED)
        ]
    return sum(sums) / max(1, len(points))


def _copied(network: Network) -> dict[str, Any]:
    return {name: tensor.clone() for name, tensor in network.state_dict().items()}
