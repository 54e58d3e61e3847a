"""Print the tables of docs/attacks.md.

Run ``python docs/tables/attacks.py``; fixed seeds. The second table needs the heart-rate records
(see ``heart_rate.py`` beside this file).
"""

from __future__ import annotations

import math

import numpy as np
from heart_rate import heart_rate

from chainveil import Channel, MarkovChain, calibrate, success_bound
from chainveil.attack import Posterior, SingleBit, Viterbi
from chainveil.mechanism import sanitize, seeded

THETAS = {0.02: 0.8552, 0.068: 0.7179, 0.116: 0.6804, 0.164: 0.6455, 0.212: 0.6302, 0.26: 0.6217}
DATABASES = 10**6
REPORTED = {1.0: 0.5498, 2.0: 0.7123, 3.0: 0.7896, 4.0: 0.8441, 5.0: 0.8818}
RUNS = 20


def figure_2() -> None:
    """One point of 30, DP noise at epsilon = 0.5."""
    rho = 1 / (math.exp(0.5) + 1)
    channel = Channel.binary(rho, rho)
    print("| θ | single bit | correlation aware | exact best | the authors' run |")
    print("|---|---|---|---|---|")
    for theta, reported in THETAS.items():
        chain = MarkovChain.symmetric(theta)
        x = chain.sample(30, DATABASES, rng=11)
        z = sanitize(x, channel, rng=seeded(12))
        single = SingleBit(channel).success(x, z, target=14)
        aware = Posterior(chain, channel).success(x, z, target=14)
        best = Posterior(chain, channel).expected_success(30, 14).value
        print(f"| {theta} | {single.rate:.4f} | {aware.rate:.4f} | {best:.4f} | {reported:.4f} |")


def heart_rate_attacks(name: str) -> None:
    """Mean accuracy over fresh noise, at the noise of Theorem 1 and at that of any adversary."""
    x = heart_rate(name)
    chain = MarkovChain.fit(x, public=True)
    print(f"\n{name}: n = {len(x)}, q = {chain.transition[0, 1]:.4f}, ", end="")
    print(f"r = {chain.transition[1, 0]:.4f}; {RUNS} runs")
    print("| ε | noise for | (ρ0, ρ1) | single bit | posterior | Viterbi | reported | bound |")
    print("|---|---|---|---|---|---|---|---|")
    for epsilon, reported in REPORTED.items():
        for adversary in ("ignorant", "any"):
            channel = calibrate(chain, epsilon, adversary=adversary).channel
            attacks = (SingleBit(channel), Posterior(chain, channel), Viterbi(chain, channel))
            releases = [sanitize(x, channel, rng=seeded(seed)) for seed in range(RUNS)]
            rates = [[attack.success(x, z).rate for z in releases] for attack in attacks]
            cells = [f"{np.mean(r):.4f} ± {np.std(r):.4f}" for r in rates]
            theirs = f"{reported}" if name == "N10" and adversary == "ignorant" else ""
            noise = f"({channel.matrix[0, 1]:.4f}, {channel.matrix[1, 0]:.4f})"
            bound = success_bound(chain, epsilon)
            print(f"| {epsilon:g} | {adversary} | {noise} | {' | '.join(cells)} ", end="")
            print(f"| {theirs} | {bound:.3f} |")


if __name__ == "__main__":
    figure_2()
    for record in ("N10", "N5"):
        heart_rate_attacks(record)
