"""Train the LSTM attackers of Figure 4 on prepared bits: ``python -m`` this module.

Needs only NumPy and torch, so it runs wherever there is a device. All budgets, kinds of noise,
series and folds of one network train together. Every finished network leaves a JSON record and
its guesses as packed bits; an unfinished one leaves a checkpoint that the next run goes on from.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from chainveil.attack.lstm_folds import Fold, contiguous_folds
from chainveil.attack.lstm_network import make_data
from experiments.fig4 import ensemble
from experiments.fig4.bits import Bits, load_bits
from experiments.parts import read_json, write_json

PADDING = 2  # the token between and around series; states are 0 and 1
VALIDATION = 0.05  # share of the points that decides about stopping
SERIES_FILE = "series.npz"
KEEP_EVERY = 60.0  # seconds of training that an interrupt may cost, and one epoch

Tell = Callable[[str], None]


@dataclass(frozen=True)
class Model:
    """One network to train: a series, one of its releases, and the fold left out."""

    series: str
    row: int
    fold: int


class OutOfTime(Exception):
    """The time given is used up; what was done so far is kept."""


def line_up(
    bits: Bits, answers: dict[str, NDArray[np.uint8]], window: int
) -> tuple[NDArray[np.uint8], NDArray[np.uint8], dict[str, int]]:
    """All series in one line with gaps as wide as a window: releases, answers, their places.

    So networks for series of different lengths can learn side by side. ``answers`` are what
    they learn, (n,) or (rows, n) a series.
    """
    places, begin = {}, 0
    for name, n in bits.about["lengths"].items():
        places[name] = begin
        begin += n + window
    releases = np.full((len(bits.rows), begin), PADDING, dtype=np.uint8)
    labels = np.zeros_like(releases)
    for name, place in places.items():
        end = place + len(bits.truth[name])
        releases[:, place:end] = bits.releases[name]
        if name in answers:
            labels[:, place:end] = answers[name]
    return releases, labels, places


def all_models(names: list[str], rows: list[int], folds: list[int]) -> list[Model]:
    """Every series, row and fold."""
    return [Model(name, row, fold) for name in names for row in rows for fold in folds]


class Run:
    """One network setting on many models, which learn the states, or what Viterbi says."""

    def __init__(
        self,
        bits: Bits,
        network: dict[str, Any],
        models: list[Model],
        device: str,
        taught: bool = False,
    ) -> None:
        self.bits, self.network, self.models = bits, network, models
        window = network["window"]
        answers = bits.viterbi if taught else bits.truth
        releases, labels, self.places = line_up(bits, answers, window)
        inwards = network.get("inwards", False)
        data = make_data(releases, labels, window, PADDING, device, inwards)
        self.folds = {name: self._folds(len(series)) for name, series in bits.truth.items()}
        sizes = ensemble.Sizes(PADDING + 1, network["embedding"], network["hidden"])
        schedule = ensemble.Schedule(
            network["learning_rate"], network["batch"], network["epochs"], network.get("patience")
        )
        jobs = [self._job(model) for model in models]
        self.training = ensemble.Training(jobs, data, sizes, schedule, device)

    def _folds(self, n: int) -> list[Fold]:
        share = VALIDATION if self.network.get("patience") is not None else 0.0
        return contiguous_folds(n, self.bits.about["folds"], self.network["window"], share)

    def _job(self, model: Model) -> ensemble.Job:
        fold, place = self.folds[model.series][model.fold], self.places[model.series]
        number = list(self.bits.truth).index(model.series) * len(self.bits.rows) + model.row
        seed = self.bits.about["seed"] + 1000 * number + model.fold
        return ensemble.Job(model.row, fold.train + place, fold.validation + place, seed)

    def learn(self, checkpoint: Path, deadline: float, tell: Tell) -> None:
        """Train to the end, or keep a checkpoint and raise :class:`OutOfTime`.

        A checkpoint is also kept every so often, for a run that is stopped from outside.
        """
        if checkpoint.is_file():
            self.training.restore(torch.load(checkpoint, weights_only=True))
        kept = time.monotonic()
        while not self.training.finished:
            begin = time.monotonic()
            self.training.run_epoch()
            taken = time.monotonic() - begin
            running = int(self.training.best.running.sum())
            tell(
                f"epoch {self.training.epochs}: {taken:.1f} s, {running} models running "
                f"({self.training.road})"
            )
            late = time.monotonic() + taken > deadline
            if self.training.finished or not (late or time.monotonic() - kept > KEEP_EVERY):
                continue
            self._keep(checkpoint)
            kept = time.monotonic()
            if late:
                raise OutOfTime(checkpoint.name)

    def _keep(self, checkpoint: Path) -> None:
        partial = checkpoint.with_suffix(".partial")
        torch.save(self.training.state(), partial)
        partial.replace(checkpoint)

    def guesses(self) -> dict[str, NDArray[np.uint8]]:
        """Guesses for every point by the network that never saw it, (rows, n) a series."""
        tests = [
            self.folds[model.series][model.fold].test + self.places[model.series]
            for model in self.models
        ]
        training = self.training
        found = ensemble.predict(training.result(), training.data, training.jobs, tests)
        guesses = {
            name: np.zeros(releases.shape, dtype=np.uint8)
            for name, releases in self.bits.releases.items()
        }
        for model, test, odds in zip(self.models, tests, found, strict=True):
            guesses[model.series][model.row, test - self.places[model.series]] = odds > 0
        return guesses


@dataclass(frozen=True)
class Job:
    """Where and how long to train."""

    bits: Bits
    folder: Path
    device: str
    deadline: float
    tell: Tell


def train_network(
    job: Job,
    name: str,
    network: dict[str, Any],
    only: list[str] | None = None,
    taught: bool = False,
) -> None:
    """Train a network on every row and fold; writes ``lstm-NAME.npz`` and ``lstm-NAME.json``.

    ``only`` names the series to train on, by default all of them; ``taught`` makes it learn
    what Viterbi says instead of the states.
    """
    bits, record = job.bits, job.folder / f"lstm-{name}.json"
    names = list(bits.truth) if only is None else only
    mark = fingerprint(
        bits, {"network": network, "series": names} | ({"taught": True} if taught else {})
    )
    if _done(record, mark):
        return
    rows, folds = list(range(len(bits.rows))), list(range(bits.about["folds"]))
    models = all_models(names, rows, folds)
    job.tell(f"{name}: {len(models)} networks on {job.device}, {network}")
    begin = time.monotonic()
    run = Run(bits, network, models, job.device, taught)
    checkpoint = job.folder / f"lstm-{name}-{mark}.pt"
    run.learn(checkpoint, job.deadline, job.tell)
    guesses = run.guesses()
    packed: dict[str, Any] = {series: np.packbits(guesses[series], axis=1) for series in names}
    np.savez_compressed(job.folder / f"lstm-{name}.npz", **packed)
    accuracies = [
        {**bits.rows[row], "series": series,
         "accuracy": float(np.mean(guesses[series][row] == bits.truth[series]))}
        for series in names for row in rows
    ]  # fmt: skip
    write_json(record, {
        "fingerprint": mark, "network": network, "models": len(models),
        "epochs": run.training.epochs, "accuracies": accuracies,
        **_circumstances(begin, job.device),
    })  # fmt: skip
    checkpoint.unlink(missing_ok=True)


def choose(job: Job, candidates: dict[str, Any], choice: dict[str, Any]) -> dict[str, str]:
    """The candidate with the least mean validation loss, series by series.

    Writes ``lstm-choice.json``.
    """
    bits, record = job.bits, job.folder / "lstm-choice.json"
    mark = fingerprint(bits, {"candidates": candidates, "choice": choice})
    if _done(record, mark):
        return dict(json.loads(record.read_text())["chosen"])
    losses = {
        name: _candidate_losses(job, name, network, choice) for name, network in candidates.items()
    }
    chosen = {
        series: min(losses, key=lambda name: losses[name]["validation_loss"][series])
        for series in bits.truth
    }
    write_json(record, {
        "fingerprint": mark, "chosen": chosen,
        "validation_loss": {name: kept["validation_loss"] for name, kept in losses.items()},
        "models": len(_choice_models(bits, choice)),
        "seconds": round(sum(kept["seconds"] for kept in losses.values()), 1),
        "device": next(iter(losses.values()))["device"],
    })  # fmt: skip
    return chosen


def _choice_models(bits: Bits, choice: dict[str, Any]) -> list[Model]:
    rows = [
        number for number, row in enumerate(bits.rows)
        if row["noise"] == choice["noise"] and row["epsilon"] in choice["budgets"]
    ]  # fmt: skip
    return all_models(list(bits.truth), rows, list(range(bits.about["folds"])))


def _candidate_losses(
    job: Job, name: str, network: dict[str, Any], choice: dict[str, Any]
) -> dict[str, Any]:
    """Train one candidate on the models of the choice; its record with a loss for each series."""
    record = job.folder / f"lstm-candidate-{name}.json"
    mark = fingerprint(job.bits, {"network": network, "choice": choice})
    if not _done(record, mark):
        models = _choice_models(job.bits, choice)
        job.tell(f"candidate {name}: {len(models)} networks")
        begin = time.monotonic()
        run = Run(job.bits, network, models, job.device)
        checkpoint = job.folder / f"lstm-candidate-{name}-{mark}.pt"
        run.learn(checkpoint, job.deadline, job.tell)
        found = run.training.best.loss
        loss = {
            series: float(np.mean([found[i] for i, m in enumerate(models) if m.series == series]))
            for series in job.bits.truth
        }
        write_json(record, {
            "fingerprint": mark, "network": network, "validation_loss": loss,
            "epochs": run.training.epochs, **_circumstances(begin, job.device),
        })  # fmt: skip
        checkpoint.unlink(missing_ok=True)
        if time.monotonic() > job.deadline:
            raise OutOfTime(name)
    return dict(json.loads(record.read_text()))


def train_all(folder: Path, device: str, seconds: float | None, tell: Tell) -> bool:
    """Train everything that the bits in a folder ask for; False where time ran out before."""
    if device == "cpu":
        # With tensors this small, more threads wait for each other more than they help.
        torch.set_num_threads(1)
    deadline = time.monotonic() + (float("inf") if seconds is None else seconds)
    job = Job(load_bits(folder / SERIES_FILE), folder, device, deadline, tell)
    training = job.bits.about["training"]
    try:
        for name, network in training["networks"].items():
            train_network(job, name, network)
        if training["candidates"]:
            for series, best in choose(job, training["candidates"], training["choice"]).items():
                train_network(job, f"chosen-{series}", training["candidates"][best], [series])
        if taught := training.get("taught"):
            train_network(job, "taught", taught["network"], taught["series"], taught=True)
    except OutOfTime as stopped:
        tell(f"out of time at {stopped}; run again to go on")
        return False
    return True


def fingerprint(bits: Bits, setting: dict[str, Any]) -> str:
    """A short digest of the series, of what was released and of a network's setting."""
    releases = {name: value for name, value in bits.about.items() if name != "training"}
    told = hashlib.sha256(json.dumps([releases, setting], sort_keys=True).encode())
    for name, truth in sorted(bits.truth.items()):
        told.update(np.packbits(truth).tobytes() + np.packbits(bits.releases[name]).tobytes())
    return told.hexdigest()[:16]


def _done(record: Path, mark: str) -> bool:
    kept = read_json(record)
    return kept is not None and kept.get("fingerprint") == mark


def _circumstances(begin: float, device: str) -> dict[str, Any]:
    kind = "one CUDA device" if device.startswith("cuda") else device
    return {
        "seconds": round(time.monotonic() - begin, 1), "device": kind, "torch": torch.__version__,
        "numpy": np.__version__,
    }  # fmt: skip


def main(arguments: list[str] | None = None) -> int:
    """Train on ``FOLDER/series.npz`` and write the results beside it; 3 where time ran out."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--seconds", type=float, help="stop cleanly after about this long")
    given = parser.parse_args(arguments)
    start = time.monotonic()

    def tell(text: str) -> None:
        print(f"[{time.monotonic() - start:7.1f} s] {text}", file=sys.stderr, flush=True)

    return 0 if train_all(given.folder, given.device, given.seconds, tell) else 3


if __name__ == "__main__":
    sys.exit(main())
