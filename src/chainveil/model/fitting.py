"""Maximum-likelihood chains of any order."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainveil import checks
from chainveil.errors import InvalidInput
from chainveil.model.base import Origin
from chainveil.model.chain import MarkovChain, count_transitions
from chainveil.model.contexts import IntArray, fitted_laws
from chainveil.model.higher_order import HigherOrderChain, read_pseudocount
from chainveil.model.orders import OrderChoice, choose_order

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
