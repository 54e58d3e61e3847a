"""Posterior, filter, likelihood and Viterbi agree with the definition, zeros and all."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from chainveil import Channel, InvalidInput, MarkovChain
from chainveil.inference import filtered, log_likelihood, smoothed, viterbi
from tests.inference.enumeration import joint, posterior

CASES = 150


def draw(rng: np.random.Generator, rows: int, columns: int, sparse: bool) -> Any:
    matrix = rng.dirichlet(np.ones(columns), rows)
    if sparse:
        matrix[rng.random(matrix.shape) < 0.3] = 0
        matrix[matrix.sum(axis=1) == 0] = 1
    return matrix / matrix.sum(axis=1, keepdims=True)


def cases() -> Any:
    rng = np.random.default_rng(2)
    made = 0
    while made < CASES:
        k, m = int(rng.integers(2, 4)), int(rng.integers(2, 4))
        n = int(rng.integers(1, 9 if k == 2 else 7))
        start = rng.dirichlet(np.ones(k)) if made % 3 else None
        try:
            chain = MarkovChain(draw(rng, k, k, made % 2 == 1), start)
        except InvalidInput:
            continue
        channel = Channel(draw(rng, k, m, made % 2 == 1))
        where = rng.choice(n, int(rng.integers(0, n + 1)) if made % 4 else 0, replace=False)
        known = {int(t): int(rng.integers(0, k)) for t in where}
        made += 1
        yield chain, channel, rng.integers(0, m, n), known


def test_definition() -> None:
    impossible = 0
    for chain, channel, z, known in cases():
        table = joint(chain, channel, z, known)
        if sum(table.values()) == 0:
            impossible += 1
            for function in (smoothed, log_likelihood, viterbi):
                with pytest.raises(InvalidInput, match="probability zero"):
                    function(chain, channel, z, known)
            continue
        expected = posterior(table, len(z), chain.states)
        found = smoothed(chain, channel, z, known)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)
        likelihood = log_likelihood(chain, channel, z, known)
        assert likelihood == pytest.approx(np.log(sum(table.values())), abs=1e-10)
        path = tuple(viterbi(chain, channel, z, known).tolist())
        assert table[path] == pytest.approx(max(table.values()), rel=1e-10)
    assert 0 < impossible < CASES / 2


def test_filter_is_the_posterior_of_the_past() -> None:
    for chain, channel, z, known in cases():
        if sum(joint(chain, channel, z, known).values()) == 0:
            continue
        found = filtered(chain, channel, z, known)
        for t in range(len(z)):
            past = {where: value for where, value in known.items() if where <= t}
            table = joint(chain, channel, z[: t + 1], past)
            expected = posterior(table, t + 1, chain.states)[-1]
            np.testing.assert_allclose(found[t], expected, rtol=0, atol=1e-12)


def test_rows_abreast_are_rows_one_by_one() -> None:
    rng = np.random.default_rng(3)
    for chain, channel, _, _ in cases():
        if chain.states != 2 or np.any(chain.transition == 0) or np.any(channel.matrix == 0):
            continue
        z = rng.integers(0, channel.outputs, (37, 6))
        known = np.where(rng.random(z.shape) < 0.2, rng.integers(0, 2, z.shape), -1)
        together = smoothed(chain, channel, z, known)
        paths = viterbi(chain, channel, z, known)
        for row in range(len(z)):
            alone = smoothed(chain, channel, z[row], known[row])
            np.testing.assert_allclose(together[row], alone, rtol=0, atol=1e-13)
            np.testing.assert_array_equal(paths[row], viterbi(chain, channel, z[row], known[row]))
