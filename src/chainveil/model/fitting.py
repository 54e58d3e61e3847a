"""Maximum-likelihood chains of any order."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainveil import checks
from chainveil.errors import InvalidInput
from chainveil.model.base import Origin
from chainveil.model.chain import MarkovChain
from chainveil.model.contexts import IntArray, fitted_laws
from chainveil.model.higher_order import HigherOrderChain, read_pseudocount
from chainveil.model.orders import OrderChoice, choose_order
from chainveil.sequences import as_sequences

ADVICE = "Use more data, fewer states, a pseudocount, or give the chain by hand."


def fit(
    sequences: Any, states: int | None, origin: Origin, order: Any, pseudocount: Any
) -> MarkovChain | HigherOrderChain:
    """See :meth:`chainveil.MarkovChain.fit`."""
    if states is not None:
        states = checks.whole("states", states, 2)
    added, wanted = read_pseudocount(pseudocount), read_order(order)
    if wanted == "auto":
        choice = choose_order(sequences, states)
        return chosen(fit(sequences, states, origin, choice.order, added), choice)
    if wanted > 1:
        public = origin == "reference"
        return HigherOrderChain.fit(
            sequences, wanted, states, public=public, pseudocount=pseudocount
        )
    return first_order(count_transitions(sequences, states), origin, added)


def read_order(order: Any) -> Any:
    """A whole number from 1 on, or "auto"."""
    allowed = 'a whole number from 1 on, or "auto"'
    if isinstance(order, str):
        if order != "auto":
            raise InvalidInput("order", order, allowed)
        return order
    return checks.whole("order", order, 1, allowed)


def chosen(
    chain: MarkovChain | HigherOrderChain, choice: OrderChoice
) -> MarkovChain | HigherOrderChain:
    """The chain, with how its order was chosen; it has just been made, and nobody has it yet."""
    object.__setattr__(chain, "order_choice", choice)
    return chain


def count_transitions(sequences: Any, states: int | None = None) -> IntArray:
    """How often each state is followed by each, shape (k, k), never across two series."""
    series = as_sequences("sequences", sequences, states)
    if series.flat.size == 0 or int(series.lengths.max()) < 2:
        raise InvalidInput(
            "sequences",
            f"{series.count} series with {series.flat.size} points",
            "at least one series of two points or more",
        )
    k = states if states is not None else int(series.flat.max()) + 1
    if k < 2:
        raise InvalidInput(
            "sequences", "only state 0", "at least two states", "A constant series needs no chain."
        )
    pairs = series.flat[:-1].astype(np.int64)
    pairs *= k
    pairs += series.flat[1:]
    counts = np.bincount(pairs, minlength=k * k)
    # A border lies before every series but the first; empty series share borders with others.
    borders = np.unique(series.offsets[1:-1])
    borders = borders[(borders > 0) & (borders < series.flat.size)] - 1
    counts -= np.bincount(pairs[borders], minlength=k * k)
    return counts.reshape(k, k)


def first_order(counts: IntArray, origin: Origin, pseudocount: float = 0.0) -> MarkovChain:
    """The chain of order 1 from its counts, shape (k, k)."""
    leaving = counts.sum(axis=1)
    if pseudocount > 0:
        return MarkovChain(fitted_laws(counts, pseudocount), counts=counts, origin=origin)
    if np.any(leaving == 0):
        raise InvalidInput(
            "sequences",
            f"no transition out of state {int(np.argmin(leaving))}",
            "at least one transition out of every state",
            ADVICE,
        )
    return MarkovChain(counts / leaving[:, None], counts=counts, origin=origin)
