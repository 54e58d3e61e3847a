"""Coordinates in which every point is a chain: ``log P(a, b) - log P(a, a)``."""

from __future__ import annotations

import numpy as np

from chainveil.checks import FloatArray
from chainveil.estimate.likelihood.quasi_newton import clipped

# Transitions are kept this far from 0 and 1 where their logit is taken.
NEAREST = 1e-12


def coordinates(matrix: FloatArray) -> FloatArray:
    """``log matrix(a, b) - log matrix(a, a)``, shape (k, k), zero on the diagonal."""
    logarithms = np.log(np.maximum(matrix, 1e-300))
    return clipped(logarithms - np.diag(logarithms)[:, None])


def transition_at(point: FloatArray) -> FloatArray:
    """The transitions at some coordinates, shape (k, k)."""
    weights = np.exp(point - point.max(axis=1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def slopes(transition: FloatArray) -> FloatArray:
    """Derivatives of the transitions by the coordinates, shape (k * k, k * (k - 1))."""
    k = len(transition)
    free = np.argwhere(~np.eye(k, dtype=bool))
    found = np.zeros((k, k, len(free)))
    for number, (a, b) in enumerate(free):
        found[a, :, number] = -transition[a] * transition[a, b]
        found[a, b, number] += transition[a, b]
    return found.reshape(k * k, -1)


def inner(transition: FloatArray) -> FloatArray:
    """The transitions, those nearly certain or impossible a little less so."""
    return np.asarray(np.clip(transition, NEAREST, 1 - NEAREST))


def logits(transition: FloatArray) -> FloatArray:
    """``log p / (1 - p)`` of each transition."""
    safe = inner(transition)
    return np.asarray(np.log(safe) - np.log1p(-safe))
