"""One step of training many LSTMs: as the attack does, one after another, and as Figure 4 does.

    python -m benchmarks.lstm [--models 10] [--threads 1]

``chainveil.attack.LSTM`` trains torch's own modules with torch's own Adam; the experiment of
Figure 4 trains all its networks in one set of tensor operations. Printed: milliseconds for one
step of all networks, median (fastest-slowest) of the repeats, and the ratio. Without torch it
says so and ends.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.timing import timed
from chainveil import Channel, MarkovChain
from chainveil.attack import LSTMSettings
from chainveil.attack.lstm_folds import Fold
from chainveil.mechanism import sanitize, seeded

NOTHING = np.empty(0, dtype=np.int64)
# Making the networks is a part of what is timed, and has to be a small one.
STEPS = 10


def data(window: int, batch: int) -> Any:
    """A release with as many points as the batches of all steps have."""
    from chainveil.attack.lstm_network import make_data

    x = MarkovChain.symmetric(0.1).sample(STEPS * batch, rng=0)
    z = sanitize(x, Channel.binary(0.2, 0.2), rng=seeded(1))
    return make_data(z[None, :], x, window, 2, "cpu")


def together(models: int, window: int, hidden: int, batch: int) -> Callable[[], object]:
    """One epoch of every network, all of them at once."""
    from experiments.fig4 import ensemble

    given = data(window, batch)
    jobs = [ensemble.Job(0, np.arange(STEPS * batch), NOTHING, seed) for seed in range(models)]
    schedule = ensemble.Schedule(1e-3, batch, 1, None)
    return lambda: ensemble.train(jobs, given, ensemble.Sizes(3, 4, hidden), schedule, "cpu")


def one_by_one(models: int, window: int, hidden: int, batch: int) -> Callable[[], object]:
    """The same, as the attack does it."""
    from chainveil.attack import lstm_network as networks

    given = data(window, batch)
    fold = Fold(np.arange(STEPS * batch), NOTHING, NOTHING)
    settings = LSTMSettings(
        window=window, hidden=hidden, batch=batch, learning_rate=1e-3, epochs=1, patience=None
    )

    def train() -> None:
        for seed in range(models):
            network = networks.new_network(3, 4, hidden, seed)
            networks.train(network, given, 0, fold, settings, seed)

    return train


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
    attack = timed(one_by_one(*sizes), chosen.repeats)
    figure = timed(together(*sizes), chosen.repeats)
    print(
        f"{chosen.models} networks, window {chosen.window}, hidden {chosen.hidden}, "
        f"batch {chosen.batch}, {chosen.threads} thread(s)"
    )
    print(f"  together        {figure.shown(1e3 / STEPS):>22} ms a step")
    ratio = attack.median / figure.median
    print(f"  one after other {attack.shown(1e3 / STEPS):>22} ms a step  {ratio:6.2f} x")


if __name__ == "__main__":
    main()
