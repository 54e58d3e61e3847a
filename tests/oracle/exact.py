"""Chains and channels in exact fractions, and one attack weighed without any rounding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from flint import arb, ctx, fmpq
from numpy.typing import NDArray

import chainveil as cv
from chainveil.noise import Noise

Exact = NDArray[np.object_]


def exact_rows(rows: Sequence[Sequence[float]]) -> Exact:
    """Every float as the fraction it is, each row divided by its sum."""
    fractions = [[fmpq(*entry.as_integer_ratio()) for entry in row] for row in rows]
    return np.array([[entry / sum(row, fmpq(0)) for entry in row] for row in fractions])


def exact_channel(channel: Noise) -> Exact:
    """The channel (k, m); several releases are multiplied out."""
    if not channel.parts:
        return exact_rows(channel.first_law().tolist())
    parts = [exact_channel(part) for part in channel.parts]
    rows = []
    for x in range(channel.states):
        row = np.array([fmpq(1)])
        for part in parts:
            row = np.multiply.outer(row, part[x]).ravel()
        rows.append(row)
    return np.array(rows)


def exact_start(chain: cv.MarkovChain) -> Exact:
    """Law of the first point; the stationary one by plain elimination of pi (P - 1) = 0."""
    if chain.initial is not None:
        return np.asarray(exact_rows([chain.initial.tolist()])[0])
    k = chain.states
    transition = exact_rows(chain.transition.tolist())
    # The last equation is that the entries sum to one.
    system = [[transition[y, x] - (x == y) for y in range(k)] + [fmpq(0)] for x in range(k - 1)]
    system.append([fmpq(1)] * (k + 1))
    for column in range(k):
        pivot = next(row for row in range(column, k) if system[row][column] != 0)
        system[column], system[pivot] = system[pivot], system[column]
        scale = system[column][column]
        system[column] = [entry / scale for entry in system[column]]
        for row in range(k):
            factor = system[row][column]
            if row != column and factor != 0:
                system[row] = [
                    a - factor * b for a, b in zip(system[row], system[column], strict=True)
                ]
    return np.array([row[k] for row in system])


def exact_attack(chain: cv.MarkovChain, channel: cv.Channel, witness: Any) -> Any:
    """Pr[output | value, known] / Pr[output | other, known] of a witness, as a fraction."""
    transition = exact_rows(chain.transition.tolist())
    emission = exact_channel(channel)
    weights = []
    for value in (*witness.value, *witness.other):
        seen = prior = exact_start(chain)
        for index, symbol in enumerate(witness.output()):
            if index:
                seen, prior = seen @ transition, prior @ transition
            fixed = value if index == witness.target else witness.known.get(index)
            if fixed is not None:
                kept = np.array([fmpq(int(x == fixed)) for x in range(chain.states)])
                seen, prior = seen * kept, prior * kept
            seen = seen * emission[:, symbol]
        weights.append(seen.sum() / prior.sum())
    return weights[0] / weights[1]


def log_is_between(ratio: Any, lower: float, upper: float) -> bool:
    """Whether ``lower <= log(ratio) <= upper``, decided in balls of 300 bits."""
    before = ctx.prec
    try:
        ctx.prec = 300
        value = arb(fmpq(ratio)).log() if ratio != 1 else arb(0)
        return bool(arb(lower) <= value and value <= arb(upper))
    finally:
        ctx.prec = before
