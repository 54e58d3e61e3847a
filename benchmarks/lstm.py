"""One step of training many LSTMs: together, and one after another with torch's own parts.

    python -m benchmarks.lstm [--models 10] [--threads 1]

Printed: milliseconds for one step of all models, median (fastest-slowest) of the repeats, and the
ratio. Without torch it says so and ends.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np

from benchmarks.timing import timed
from chainveil import Channel, MarkovChain
from chainveil.mechanism import sanitize, seeded


def together(models: int, window: int, hidden: int, batch: int) -> Callable[[], object]:
    """One epoch of one batch for every model, as one ensemble."""
    from chainveil.attack import lstm_ensemble as ensemble

    x = MarkovChain.symmetric(0.1).sample(batch, rng=0)
    z = sanitize(x, Channel.binary(0.2, 0.2), rng=seeded(1))
    data = ensemble.make_data(z[None, :], x, window, 2, "cpu")
    nothing = np.empty(0, dtype=np.int64)
    jobs = [ensemble.Job(0, np.arange(batch), nothing, seed) for seed in range(models)]
    schedule = ensemble.Schedule(1e-3, batch, 1, None)
    return lambda: ensemble.train(jobs, data, ensemble.Sizes(3, 4, hidden), schedule, "cpu")


def one_by_one(models: int, window: int, hidden: int, batch: int) -> Callable[[], object]:
    """One step of every model with ``torch.nn.LSTM`` and ``torch.optim.Adam``."""
    import torch

    nets = []
    for _ in range(models):
        parts = (
            torch.nn.Embedding(3, 4),
            torch.nn.LSTM(4, hidden, batch_first=True),
            torch.nn.Linear(hidden, 1),
        )
        weights = [weight for part in parts for weight in part.parameters()]
        nets.append((parts, torch.optim.Adam(weights, lr=1e-3)))
    windows = torch.randint(0, 2, (batch, window))
    labels = torch.randint(0, 2, (batch,)).float()

    def step() -> None:
        for (embedding, lstm, linear), adam in nets:
            odds = linear(lstm(embedding(windows))[0][:, -1])[:, 0]
            loss = torch.nn.functional.binary_cross_entropy_with_logits(odds, labels)
            adam.zero_grad()
            loss.backward()
            adam.step()

    return step


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--models", type=int, default=10)
    parser.add_argument("--window", type=int, default=100)
    parser.add_argument("--hidden", type=int, default=16)
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=5)
    chosen = parser.parse_args()
    try:
        import torch
    except ImportError:
        print("torch is not installed: pip install 'chainveil[lstm]'")
        return
    torch.set_num_threads(chosen.threads)
    sizes = (chosen.models, chosen.window, chosen.hidden, chosen.batch)
    ours = timed(together(*sizes), chosen.repeats)
    theirs = timed(one_by_one(*sizes), chosen.repeats)
    print(
        f"{chosen.models} models, window {chosen.window}, hidden {chosen.hidden}, "
        f"batch {chosen.batch}, {chosen.threads} thread(s)"
    )
    print(f"  together        {ours.shown(1e3):>22} ms a step")
    ratio = theirs.median / ours.median
    print(f"  one after other {theirs.shown(1e3):>22} ms a step  {ratio:6.2f} x")


if __name__ == "__main__":
    main()
