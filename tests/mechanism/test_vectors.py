"""Reports are picked alike whichever instruction picks bytes within registers."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import pytest
from llvmlite import binding  # type: ignore[import-untyped, unused-ignore]
from numba.extending import intrinsic

from chainveil.mechanism import vectors

WAYS = {
    "": (None, 0),
    "ssse3": ("llvm.x86.ssse3.pshuf.b.128", 16),
    "avx2": ("llvm.x86.avx2.pshuf.b", 32),
    "avx512bw": ("llvm.x86.avx512.pshuf.b.512", 64),
}


@pytest.mark.parametrize("feature", WAYS, ids=lambda feature: feature or "any processor")
def test_every_way_to_pick_bytes_gives_the_same_reports(
    feature: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if feature and not binding.get_host_cpu_features().get(feature):
        pytest.skip(f"this processor has no {feature}")
    monkeypatch.setattr(vectors, "_picking", lambda: WAYS[feature])
    block: Any = intrinsic(vectors._report_block_type)

    @numba.njit
    def report(states: Any, symbols: Any, reserved: Any, last: Any, out: Any) -> Any:
        return block(states, symbols, 0, reserved, last, out)

    random = np.random.default_rng(5)
    for _ in range(20):
        states = random.integers(0, 8, 64).astype(np.uint8)
        symbols = random.integers(0, 256, 64).astype(np.uint8)
        last = np.sort(random.integers(0, 256, (7, 16)), axis=0).astype(np.uint8)
        out = np.empty_like(states)
        mask = int(report(states, symbols, np.uint8(40), last, out))
        expected = (symbols > last[:, states]).sum(axis=0)
        tied = symbols < 40
        assert np.array_equal(out, np.where(tied, states, expected))
        assert mask == sum(1 << int(i) for i in np.flatnonzero(tied))


@pytest.mark.parametrize("feature", WAYS, ids=lambda feature: feature or "any processor")
def test_every_way_to_pick_bytes_gives_the_same_turns(
    feature: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if feature and not binding.get_host_cpu_features().get(feature):
        pytest.skip(f"this processor has no {feature}")
    monkeypatch.setattr(vectors, "_picking", lambda: WAYS[feature])
    block: Any = intrinsic(vectors._turn_block_type)

    @numba.njit
    def turn(contexts: Any, symbols: Any, highs: Any) -> Any:
        return block(contexts, symbols, 0, highs)

    random = np.random.default_rng(5)
    for _ in range(20):
        contexts = random.integers(0, vectors.CONTEXTS, 64).astype(np.uint8)
        symbols = random.integers(0, 8, 64).astype(np.uint8) * np.uint8(36)
        highs = random.integers(0, 256, (2, vectors.CONTEXTS)).astype(np.uint8)
        found = [int(word) for word in turn(contexts, symbols, highs)]
        clear = symbols > 0
        expected = [clear & (symbols <= highs[last, contexts]) for last in range(2)]
        masks = [*expected, ~clear]
        assert found == [sum(1 << int(i) for i in np.flatnonzero(mask)) for mask in masks]
