"""The attacker who learns: a small LSTM over windows of the release (Section 4.3).

It embeds a window of outputs with the target in the middle, runs an LSTM over it, and turns the
last state into the probability of state 1. It needs the truth of some points to learn from, so
it is scored on others: cross-validation over contiguous stretches, a window's width apart.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chainveil import checks
from chainveil.attack.base import Attack, put_known
from chainveil.attack.lstm_folds import Fold, all_points, contiguous_folds
from chainveil.attack.success import Success, score
from chainveil.errors import InvalidInput, MissingExtra, NotSupported
from chainveil.inference.observations import is_masked, read
from chainveil.progress import showing
from chainveil.sequences import as_sequences


@dataclass(frozen=True)
class LSTMSettings:
    """Shape and training of the network.

    Attributes
    ----------
    window : int
        Outputs seen for one guess; the target is at place ``window // 2``.
    inwards : bool
        Read the window from both ends towards the target instead of from left to right. The
        target then comes last and need not be remembered; the authors read left to right.
    embedding, hidden : int
        Sizes of the embedding and of the LSTM state.
    learning_rate, batch, epochs : float, int, int
        Adam's rate, windows in a step, and the most passes over the data.
    folds : int
        Stretches of the cross-validation.
    patience : int or None
        Stop a model after this many epochs without a better validation loss; None never stops.
    validation : float
        Share of the points that decides about stopping; not used without ``patience``.
    seed : int
    device : str
        ``"cpu"``, ``"cuda"``, or any other device name of torch.
    progress : bool
        Show a progress bar.
    """

    window: int = 100
    embedding: int = 4
    hidden: int = 16
    learning_rate: float = 5e-3
    batch: int = 128
    epochs: int = 10
    folds: int = 10
    patience: int | None = 2
    validation: float = 0.05
    seed: int = 0
    device: str = "cpu"
    progress: bool = False
    inwards: bool = False

    def __post_init__(self) -> None:
        for name in ("window", "embedding", "hidden", "batch", "epochs"):
            checks.whole(name, getattr(self, name), 1)
        checks.whole("folds", self.folds, 2)
        if self.patience is not None:
            checks.whole("patience", self.patience, 1)
        checks.probability("validation", self.validation, one=False)
        if not checks.real("learning_rate", self.learning_rate) > 0:
            raise InvalidInput("learning_rate", self.learning_rate, "a number above 0")

    @classmethod
    def paper(cls, **changes: Any) -> LSTMSettings:
        """What the authors used: hidden 4, rate 2e-4, batches of 6, 10 epochs, no stopping."""
        theirs = cls(hidden=4, learning_rate=2e-4, batch=6, epochs=10, patience=None)
        return replace(theirs, **changes)

    @property
    def held_out(self) -> float:
        """Share of the points that decides about stopping; 0 where nothing does."""
        return 0.0 if self.patience is None else self.validation


@dataclass(frozen=True)
class CrossValidation:
    """Guesses for every point by models that never saw it, and how often they were right."""

    guess: NDArray[np.uint8]
    success: Success


@dataclass(frozen=True)
class LSTM(Attack):
    """A network that learns to undo the noise from examples; two states.

    Parameters
    ----------
    outputs : int
        Number of outputs of the channel.
    settings : LSTMSettings
    weights : dict, optional
        The network's state, set by :meth:`fit`.
    """

    outputs: int = 2
    settings: LSTMSettings = field(default_factory=LSTMSettings)
    weights: Any = field(default=None, compare=False, repr=False)

    def fit(self, x: Any, z: Any) -> LSTM:
        """An attacker that has learned from the series ``x`` and its release ``z``."""
        truth, releases = self._read(x, [z])
        fold = all_points(len(truth), self.settings.window, self.settings.held_out)
        (network,), _ = _train(self, truth, releases, [fold])
        return replace(self, weights=network.cpu().state_dict())

    def reconstruct(self, z: Any, known: Any = None) -> Any:
        """Guess the series behind ``z`` with a fitted network; known points are put in."""
        if self.weights is None:
            raise InvalidInput(
                "weights", None, "a fitted network", "Call fit(x, z), or success(x, z)."
            )
        _check_whole(z)
        seen = read(z, 2, self.outputs)
        flat = np.empty(len(seen.symbols), dtype=np.uint8)
        for begin, end in zip(seen.offsets[:-1], seen.offsets[1:], strict=True):
            if end > begin:
                flat[begin:end] = self._guess(seen.symbols[begin:end])
        series = as_sequences("z", z, self.outputs)
        return seen.restore(put_known(flat, known, series, 2))

    def success(
        self,
        x: Any,
        z: Any,
        known: Any = None,
        target: int | None = None,
        confidence: float = 0.95,
    ) -> Success:
        """Cross-validated success on one series and its release, as in the paper."""
        guess = self.cross_validate(x, [z])[0].guess
        return score(x, guess, known, target, confidence)

    def cross_validate(self, x: Any, releases: Sequence[Any]) -> list[CrossValidation]:
        """Cross-validate on several releases of one series."""
        truth, arrays = self._read(x, releases)
        settings = self.settings
        folds = contiguous_folds(len(truth), settings.folds, settings.window, settings.held_out)
        _, found = _train(self, truth, arrays, folds)
        return [CrossValidation(guess, score(truth, guess)) for guess in found]

    def _guess(self, z: NDArray[Any]) -> NDArray[np.uint8]:
        networks, settings = _torch_part(), self.settings
        data = self._data(z[None, :], np.zeros(len(z)))
        network = self._new_network(settings.seed)
        network.load_state_dict(self.weights)
        odds = networks.predict(network, data, 0, np.arange(len(z)))
        return np.asarray(odds > 0, dtype=np.uint8)

    def _data(self, releases: NDArray[Any], truth: NDArray[Any]) -> Any:
        settings = self.settings
        return _torch_part().make_data(
            releases, truth, settings.window, self.outputs, settings.device, settings.inwards
        )

    def _new_network(self, seed: int) -> Any:
        settings = self.settings
        network = _torch_part().new_network(
            self.outputs + 1, settings.embedding, settings.hidden, seed
        )
        return network.to(settings.device)

    def _read(self, x: Any, releases: Sequence[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        truth = as_sequences("x", x, 2)
        for z in releases:
            _check_whole(z)
        series = [as_sequences("z", z, self.outputs) for z in releases]
        if truth.count != 1 or not series or any(one.count != 1 for one in series):
            raise InvalidInput(
                "x", f"{truth.count} series", "one series, and one release of it or more"
            )
        for one in series:
            if one.flat.size != truth.flat.size:
                raise InvalidInput(
                    "z", f"{one.flat.size} points", f"{truth.flat.size} points, as many as x"
                )
        return truth.flat, np.stack([one.flat for one in series])


def _check_whole(z: Any) -> None:
    """Error where points are missing: windows of the network have no mark for them."""
    if is_masked(z):
        raise NotSupported("the LSTM attacker on a release with missing points")


def _train(
    attack: LSTM, truth: NDArray[Any], releases: NDArray[Any], folds: list[Fold]
) -> tuple[list[Any], list[NDArray[np.uint8]]]:
    """Train a network for every release and fold; guess each fold's test points."""
    networks, settings = _torch_part(), attack.settings
    data = attack._data(releases, truth)
    steps = settings.epochs * sum(-(-len(fold.train) // settings.batch) for fold in folds)
    trained: list[Any] = []
    guesses = [np.zeros(len(truth), dtype=np.uint8) for _ in releases]
    count = len(releases) * len(folds)
    with _progress(settings.progress, count, len(releases) * steps) as tick:
        for release, guess in enumerate(guesses):
            for number, fold in enumerate(folds):
                seed = settings.seed + 1000 * release + number
                network = attack._new_network(seed)
                networks.train(network, data, release, fold, settings, seed, tick)
                if len(fold.test):
                    guess[fold.test] = networks.predict(network, data, release, fold.test) > 0
                trained.append(network)
    return trained, guesses


@contextmanager
def _progress(shown: bool, models: int, steps: int) -> Iterator[Any]:
    """A function to call after each step; it moves a bar where one is wanted."""
    with showing(steps, shown, "steps") as tell:
        yield (lambda: tell(f"training {models} LSTMs", 1)) if tell else (lambda: None)


def _torch_part() -> Any:
    try:
        from chainveil.attack import lstm_network
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise MissingExtra("torch", "lstm", "The LSTM attacker") from None
    return lstm_network
