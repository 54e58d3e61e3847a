"""What a chain or a channel of two states says, as exact rational numbers.

Floats are rationals. Reading them as such, and the diagonal as what is missing to one,
makes "the loss of this chain and this noise" a number without a rounding question.
"""

from __future__ import annotations

from fractions import Fraction

from chainveil.model.chain import MarkovChain
from chainveil.noise.base import Noise

Pair = tuple[Fraction, Fraction]


def transition_entries(chain: MarkovChain) -> tuple[Pair, Pair]:
    """The transition matrix of a two-state chain: the diagonal is one minus the rest."""
    q, r = Fraction(float(chain.transition[0, 1])), Fraction(float(chain.transition[1, 0]))
    return (1 - q, q), (r, 1 - r)


def start_law(chain: MarkovChain) -> Pair:
    """Law of the first point of a two-state chain."""
    if chain.initial is None:
        (_, q), (r, _) = transition_entries(chain)
        return r / (q + r), q / (q + r)
    zero, one = (Fraction(float(weight)) for weight in chain.initial)
    return zero / (zero + one), one / (zero + one)


def channel_entries(channel: Noise) -> tuple[list[Fraction], list[Fraction]]:
    """The rows of a two-state channel; with two outputs the larger entry is one minus the other.

    A float next to one is rounded by more than its small neighbour is worth to a likelihood ratio.

    The rows of a joint channel are the exact products of those of its parts.
    """
    if channel.parts:
        rows = [channel_entries(part) for part in channel.parts]
        return joint_row([row[0] for row in rows]), joint_row([row[1] for row in rows])
    zero, one = ([Fraction(float(entry)) for entry in row] for row in channel.first_law())
    if channel.outputs == 2:
        for row in (zero, one):
            larger = int(row[1] > row[0])
            row[larger] = 1 - row[1 - larger]
    return zero, one


def joint_row(rows: list[list[Fraction]]) -> list[Fraction]:
    """All products of one entry from each row, the last row running fastest."""
    products = [Fraction(1)]
    for row in rows:
        products = [one * entry for one in products for entry in row]
    return products
