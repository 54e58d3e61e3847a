"""Randomized response of two states in other packages, as their documentation calls it."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

PeerEntry = tuple[str, int, Callable[[], object]]


def peer_entries() -> list[PeerEntry]:
    """Name, number of points and call, for each peer; only opendp takes many points at once."""
    return [_opendp(1 << 18), _diffprivlib(1 << 13), _pure_ldp(1 << 16), _multi_freq(1 << 16)]


def _states(points: int) -> Any:
    return np.random.default_rng(0).integers(0, 2, points, dtype=np.uint8)


def _opendp(points: int) -> PeerEntry:
    dp: Any = import_module("opendp.prelude")
    dp.enable_features("contrib")
    domain = dp.bitvector_domain(max_weight=points)
    respond = dp.m.make_randomized_response_bitvec(domain, dp.discrete_distance(), f=0.6)
    bits = np.packbits(_states(points)).tobytes()
    return "opendp, bit vector", points, lambda: respond(bits)


def _diffprivlib(points: int) -> PeerEntry:
    mechanisms: Any = import_module("diffprivlib.mechanisms")
    binary = mechanisms.Binary(epsilon=1.0, value0="0", value1="1")
    values = [str(state) for state in _states(points)]
    return "diffprivlib, Binary", points, lambda: [binary.randomise(value) for value in values]


def _pure_ldp(points: int) -> PeerEntry:
    oracles: Any = import_module("pure_ldp.frequency_oracles")
    client = oracles.DEClient(epsilon=1.0, d=2)
    values = (_states(points) + 1).tolist()
    return "pure-ldp, direct encoding", points, lambda: [client.privatise(v) for v in values]


def _multi_freq(points: int) -> PeerEntry:
    oracle: Any = import_module("multi_freq_ldpy.pure_frequency_oracles.GRR")
    values = _states(points).tolist()
    return "multi-freq-ldpy, GRR", points, lambda: [oracle.GRR_Client(v, 2, 1.0) for v in values]
