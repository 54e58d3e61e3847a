"""Random families of two states, for tests."""

from __future__ import annotations

import numpy as np

from chainveil import ChainRegion, HigherOrderChain, MarkovChain, ModelFamily
from chainveil.model.base import DataModel


def chain(rng: np.random.Generator) -> MarkovChain:
    """A chain with q and r spread over some orders of magnitude."""
    q, r = np.exp(rng.normal([-2.7, -2.3], 0.8)).clip(2e-3, 0.48)
    return MarkovChain.binary(float(q), float(r))


def box(rng: np.random.Generator) -> ChainRegion:
    """A box that is up to half as wide again as its least ends."""
    q, r = np.exp(rng.normal([-2.7, -2.3], 0.6)).clip(5e-3, 0.3)
    wide = 1 + rng.uniform(0, 0.5, 2)
    return ChainRegion((float(q), float(q * wide[0])), (float(r), float(r * wide[1])))


def second_order(rng: np.random.Generator) -> HigherOrderChain:
    """A chain of order 2 that is not far from one of order 1."""
    ones = np.array([0.1, 0.75, 0.2, 0.85]) + rng.uniform(-0.08, 0.08, 4)
    return HigherOrderChain(np.stack([1 - ones, ones], axis=1), order=2)


def family(rng: np.random.Generator, boxes: bool = False, most: int = 30) -> ModelFamily:
    """Chains, with a box among four where asked for."""
    count = int(rng.integers(2, most))
    members: list[DataModel] = [
        box(rng) if boxes and rng.random() < 0.25 else chain(rng) for _ in range(count)
    ]
    return ModelFamily(members)


def inside(member: DataModel, rng: np.random.Generator) -> MarkovChain:
    """A chain of a box, sampled with its corners; a chain itself."""
    assert member.box is not None
    q_low, q_high, r_low, r_high = member.box
    q, r = (float(rng.choice([low, high, rng.uniform(low, high)]))
            for low, high in ((q_low, q_high), (r_low, r_high)))  # fmt: skip
    return MarkovChain.binary(min(max(q, q_low), q_high), min(max(r, r_low), r_high))
