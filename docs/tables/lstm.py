"""Print the LSTM table of docs/attacks.md: ``python docs/tables/lstm.py``; minutes on a CPU.

Needs torch (the extra ``lstm``) and the heart-rate records (see ``heart_rate.py``).
"""

from __future__ import annotations

import sys
import time

import torch
from heart_rate import heart_rate

from chainveil import MarkovChain, calibrate
from chainveil.attack import LSTM, LSTMSettings, Posterior, Viterbi
from chainveil.mechanism import sanitize, seeded

BUDGETS = (2.0, 3.0, 4.0)
SETTINGS = LSTMSettings(
    window=21, hidden=16, batch=128, epochs=15, folds=5, learning_rate=1e-2, patience=3
)


def main() -> None:
    """All budgets and folds of a record train together."""
    torch.set_num_threads(1)
    for name in sys.argv[1:] or ("N10", "N5"):
        x = heart_rate(name)
        chain = MarkovChain.fit(x, public=True)
        channels = [calibrate(chain, e, adversary="ignorant").channel for e in BUDGETS]
        releases = [sanitize(x, channel, rng=seeded(0)) for channel in channels]
        begin = time.perf_counter()
        learned = LSTM(settings=SETTINGS).cross_validate(x, releases)
        taken = time.perf_counter() - begin
        print(f"\n{name}: {len(BUDGETS) * SETTINGS.folds} models in {taken:.0f} s")
        print("| ε | LSTM (interval) | posterior | Viterbi |")
        print("|---|---|---|---|")
        for epsilon, channel, z, found in zip(BUDGETS, channels, releases, learned, strict=True):
            success = found.success
            posterior = Posterior(chain, channel).success(x, z).rate
            viterbi = Viterbi(chain, channel).success(x, z).rate
            print(f"| {epsilon:g} | {success.rate:.4f} ({success.low:.3f} to ", end="")
            print(f"{success.high:.3f}) | {posterior:.4f} | {viterbi:.4f} |")


if __name__ == "__main__":
    main()
