"""A model as a notebook shows it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from chainveil import notebook
from chainveil.model.base import DataModel

ORIGIN = {
    "given": "given by hand",
    "reference": "fitted on public data",
    "private": "fitted on private data",
}
# Larger tables of next states are left out.
MOST_STATES, MOST_CONTEXTS = 8, 16


def model_card(model: DataModel) -> str:
    """What it is, how often each state occurs, and what follows what."""
    kept = "not to be published as it is: a plan rounds it" if model.is_unrounded else ""
    return notebook.card(type(model).__name__, _lines(model), kept, _steps(model))


def _lines(model: DataModel) -> Iterator[tuple[str, str]]:
    yield "model", model.describe()
    shares = ", ".join(f"{share:.4g}" for share in model.stationary[:MOST_STATES])
    more = ", …" if model.states > MOST_STATES else ""
    yield "share of each state", shares + more + ("" if model.single else " (the likeliest of it)")
    yield "origin", ORIGIN[model.origin]


def _steps(model: DataModel) -> str:
    """Probability of each next state after each context; nothing where there are too many."""
    k, order = model.states, model.order
    if not model.single or order is None or k > MOST_STATES or k**order > MOST_CONTEXTS:
        return ""
    law = model.series_law(order + 1).reshape(-1, k)
    contexts = itertools.product(range(k), repeat=order)
    rows = [
        [" ".join(map(str, context)), *(f"{part / row.sum():.4g}" if row.sum() else "–"
                                        for part in row)]
        for context, row in zip(contexts, law, strict=True)
    ]  # fmt: skip
    return notebook.grid(["after", *(f"to {state}" for state in range(k))], rows, MOST_CONTEXTS)
