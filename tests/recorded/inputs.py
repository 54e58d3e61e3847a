"""The questions of the record, in the format that ``tests.recorded.laws`` describes.

Random numbers come from fixed seeds and are rounded to few digits, so that the files of the record
contain them exactly. Nothing here knows the package.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

Question = dict[str, Any]
Rng = np.random.Generator
FloatArray = NDArray[np.float64]

MECHANISMS = ("independent", "sticky", "tracking", "correlated")


# ---------------------------------------------------------------------- laws with few digits
def rows(rng: Rng, *shape: int, zeros: float = 0.0, even: float = 0.0, near: float = 0.0) -> Any:
    """Laws over the last axis: with weight ``even`` uniform, with weight ``near`` common to rows.

    Rows that differ in the last index but one, the state, are mixed with their mean: noise with
    little information. Each entry is 0 with probability ``zeros``, but never a whole row.
    """
    drawn = rng.dirichlet(np.ones(shape[-1]), shape[:-1])
    if near:
        drawn = (1 - near) * drawn + near * drawn.mean(axis=-2, keepdims=True)
    drawn = (1 - even) * drawn + even / shape[-1]
    drawn = drawn * (rng.random(shape) >= zeros)
    drawn[drawn.sum(axis=-1) == 0, rng.integers(shape[-1])] = 1.0
    return tidy(drawn / drawn.sum(axis=-1, keepdims=True))


def tidy(laws: FloatArray, digits: int = 4) -> Any:
    """The laws rounded to few digits; the largest entry of a row makes it sum to one."""
    flat: FloatArray = np.round(laws.reshape(-1, laws.shape[-1]), digits)
    for place, largest in enumerate(flat.argmax(axis=1).tolist()):
        flat[place, largest] = 0.0
        flat[place, largest] = round(1 - float(flat[place].sum()), digits)
    return _short(flat.reshape(laws.shape).tolist())


def _short(part: Any) -> Any:
    return [_short(one) for one in part] if isinstance(part, list) else round(part, 9)


def _rest(number: float) -> float:
    """One minus a number, in few digits if the number has few."""
    rest = 1 - number
    return round(rest, 9) if abs(round(rest, 9) - rest) < 1e-15 else rest


def few(number: float) -> float:
    """The number rounded to three digits."""
    return float(f"{number:.3g}")


def binary(q: float, r: float, initial: Any = None) -> Question:
    """A two-state chain."""
    laws: Question = {"transition": [[_rest(q), q], [r, _rest(r)]]}
    return laws if initial is None else laws | {"initial": list(initial)}


def box(q: tuple[float, float], r: tuple[float, float]) -> Question:
    return {"q": list(q), "r": list(r)}


def family(*members: Question) -> Question:
    return {"members": list(members)}


def of_order(order: int, transition: Any) -> Question:
    return {"transition": transition, "order": order}


def independent(rho0: float, rho1: float, every: int = 1) -> Question:
    return _thinned(
        {"mechanism": "independent", "matrix": [[_rest(rho0), rho0], [rho1, _rest(rho1)]]}, every
    )


def sticky(kernel: Any, first: Any, every: int = 1) -> Question:
    """For two states, from probabilities to report 1: ``kernel[z][x']`` and ``first[x]``."""
    laws = {"mechanism": "sticky", "kernel": _ones(kernel), "first": _ones(first)}
    return _thinned(laws, every)


def tracking(kernel: Any, first: Any) -> Question:
    """The same with ``kernel[z][x][x']``."""
    return {"mechanism": "tracking", "kernel": _ones(kernel), "first": _ones(first)}


def correlated(rho0: float, rho1: float) -> Question:
    return {"mechanism": "correlated", "rho0": rho0, "rho1": rho1}


def _ones(part: Any) -> Any:
    return [_ones(one) for one in part] if isinstance(part, list) else [_rest(part), part]


def _thinned(noise: Question, every: int) -> Question:
    return noise if every == 1 else noise | {"every": every}


def response(k: int, wrong: float) -> Any:
    """Randomized response: a share ``wrong`` of the reports names one of the other states."""
    law = np.full((k, k), wrong / (k - 1))
    np.fill_diagonal(law, 1 - wrong)
    return tidy(law, 6)


def ordinal(k: int, decay: float) -> Any:
    """A report at the distance d has a probability proportional to ``decay^d``."""
    law = decay ** np.abs(np.subtract.outer(np.arange(k), np.arange(k))).astype(float)
    return tidy(law / law.sum(axis=1, keepdims=True), 6)


def per_state(levels: Iterable[float]) -> Any:
    """Randomized response with its own share of wrong reports in each state."""
    wrong = list(levels)
    return [response(len(wrong), one)[x] for x, one in enumerate(wrong)]


def sticky_response(repeat: float, afresh: Any, first: Any, every: int = 1) -> Question:
    """Either the last report again, with probability ``repeat``, or a new one."""
    law = np.array(afresh)
    kernel = repeat * np.eye(len(law))[:, None, :] + (1 - repeat) * law
    return _thinned({"mechanism": "sticky", "kernel": tidy(kernel, 6), "first": first}, every)


def noise(
    rng: Rng, mechanism: str, states: int = 2, reports: int = 2, every: int = 1, zeros: float = 0.0
) -> Question:
    """Random noise, from nearly uninformative to informative."""
    near, even = float(rng.uniform(0.2, 0.95)), float(rng.choice([0.0, 0.1, 0.3]))
    k, m = states, reports

    def drawn(*shape: int) -> Any:
        return rows(rng, *shape, zeros=zeros, even=even, near=near)

    if mechanism == "independent":
        return _thinned({"mechanism": mechanism, "matrix": drawn(k, m)}, every)
    if mechanism == "sticky":
        laws = {"mechanism": mechanism, "kernel": drawn(m, k, m), "first": drawn(k, m)}
        return _thinned(laws, every)
    if mechanism == "tracking":
        laws = {"kernel": drawn(m, k, k, m), "first": drawn(k, m), "after_gap": drawn(m, k, m)}
        return {"mechanism": mechanism} | laws
    return correlated(few(rng.uniform(0.05, 0.6)), few(rng.uniform(0.2, 0.95)))


# --------------------------------------------------------------------------- chains of the docs
N10, N5 = binary(0.0893, 0.1092), binary(0.2384, 0.3831)
LEVELS: Question = {
    "transition": [
        [0.95, 0.04, 0.01, 0.0], [0.06, 0.88, 0.05, 0.01],
        [0.01, 0.1, 0.84, 0.05], [0.0, 0.02, 0.1, 0.88],
    ]
}  # fmt: skip
STAGES: Question = {
    "transition": [
        [0.89, 0.0, 0.1, 0.01, 0.0], [0.02, 0.92, 0.03, 0.03, 0.0], [0.12, 0.06, 0.56, 0.26, 0.0],
        [0.015, 0.02, 0.025, 0.9, 0.04], [0.01, 0.0, 0.01, 0.06, 0.92],
    ]
}  # fmt: skip
CYCLE: Question = {
    "transition": [
        [0.6, 0.4, 0.0, 0.0, 0.0], [0.0, 0.5, 0.5, 0.0, 0.0], [0.0, 0.0, 0.7, 0.3, 0.0],
        [0.0, 0.0, 0.0, 0.4, 0.6], [0.5, 0.0, 0.0, 0.0, 0.5],
    ]
}  # fmt: skip
# Steps to neighbouring states.
BIRTH_DEATH: Question = {
    "transition": [
        [0.7, 0.3, 0.0, 0.0, 0.0, 0.0], [0.2, 0.5, 0.3, 0.0, 0.0, 0.0],
        [0.0, 0.25, 0.5, 0.25, 0.0, 0.0], [0.0, 0.0, 0.3, 0.45, 0.25, 0.0],
        [0.0, 0.0, 0.0, 0.35, 0.4, 0.25], [0.0, 0.0, 0.0, 0.0, 0.4, 0.6],
    ]
}  # fmt: skip
TWO_BACK = of_order(2, [[0.72, 0.28], [0.42, 0.58], [0.9, 0.1], [0.36, 0.64]])
TWO_BACK_SLOW = of_order(2, [[0.92, 0.08], [0.42, 0.58], [0.7, 0.3], [0.1, 0.9]])
# A heart rate; 1 stands for values above the mean.
THREE_BACK = of_order(
    3,
    [[_rest(one), one] for one in (
        0.2919, 0.551, 0.0287, 0.3713, 0.2538, 0.8095, 0.1551, 0.7925,
    )],
)  # fmt: skip


def random_chain(k: int, seed: int, stay: float = 0.0) -> Question:
    """Rows uniform on the simplex, mixed with the identity."""
    drawn = np.random.default_rng([k, seed]).dirichlet(np.ones(k), k)
    return {"transition": tidy(stay * np.eye(k) + (1 - stay) * drawn)}


def slow_chain(seed: int) -> Question:
    """Four states, each kept with probability .95 to .975."""
    rng = np.random.default_rng([4, seed])
    stay, moves = rng.uniform(0.95, 0.975, 4), rng.dirichlet(np.ones(4), 4)
    np.fill_diagonal(moves, 0.0)
    moves *= ((1 - stay) / moves.sum(axis=1))[:, None]
    return {"transition": tidy(np.diag(stay) + moves)}


def birth_death(seed: int) -> Question:
    """Six states with steps to neighbours; probabilities are zero, or .1 and more."""
    rng = np.random.default_rng([6, seed])
    law = np.zeros((6, 6))
    for x in range(6):
        near = [y for y in (x - 1, x, x + 1) if 0 <= y < 6]
        law[x, near] = 0.1 + (1 - 0.1 * len(near)) * rng.dirichlet(np.ones(len(near)))
    return {"transition": tidy(law)}


def two_scales(fast: float, slow: float, lean: float = 0.0) -> Question:
    """Order 4: log odds from the last point and from the mean of the three points before it."""

    def one(context: int) -> float:
        digits = [context >> place & 1 for place in (3, 2, 1, 0)]
        odds = lean + fast * (2 * digits[3] - 1) + slow * (2 * sum(digits[:3]) / 3 - 1)
        return few(1 / (1 + math.exp(-odds)))

    return of_order(4, [[_rest(one(c)), one(c)] for c in range(16)])


def weak_memory(q: float, r: float, share: float, order: int = 4) -> Question:
    """A chain whose changes become a little less probable the longer a value has lasted."""

    def one(context: int) -> float:
        digits = [context >> place & 1 for place in range(order)]
        lasted = next((n for n, x in enumerate(digits) if x != digits[0]), order)
        change = (q if digits[0] == 0 else r) * (1 - share) ** (lasted - 1)
        return few(change if digits[0] == 0 else 1 - change)

    return of_order(order, [[_rest(one(c)), one(c)] for c in range(2**order)])


# ------------------------------------------------------------------------------------- losses
def losses() -> list[Question]:
    """All losses but those of recorded plans; names are unique."""
    found: list[Question] = []
    for number, (kind, (count, make)) in enumerate(LOSSES.items()):
        for place in range(count):
            asked = make(np.random.default_rng([number, place]), place)
            found.append({"name": f"{kind} {place}", "kind": kind} | _without_defaults(asked))
    for kind, asked in _named_losses():
        place = sum(one["kind"] == kind for one in found)
        found.append({"name": f"{kind} {place}", "kind": kind} | _without_defaults(asked))
    return found


def _without_defaults(asked: Question) -> Question:
    usual = {"length": None, "adversary": "any", "event": 1, "gaps": False}
    return {key: value for key, value in asked.items() if value != usual.get(key, ...)}


def _chosen(rng: Rng, values: Any) -> Any:
    return values[int(rng.integers(len(values)))]


def _moderate(rng: Rng, initial: bool = False) -> Question:
    """A two-state chain with a memory of some ten points."""
    q, r = (few(10 ** rng.uniform(-1.7, -0.35)) for _ in range(2))
    return binary(q, r, rows(rng, 2) if initial else None)


def _slow(rng: Rng, place: int) -> Question:
    least = _chosen(rng, [1e-6, 1e-6, 1e-5, 1e-4])
    q = least if place % 3 else few(least * 10 ** rng.uniform(0, 3))
    r = few(least * 10 ** rng.uniform(0, 3))
    mechanism = MECHANISMS[place % 3] if least < 1e-4 else _chosen(rng, MECHANISMS)
    every = int(_chosen(rng, [1, 1, 2, 5])) if mechanism in ("independent", "sticky") else 1
    length = _chosen(rng, [None, None, None, 30, 1000, 100_000])
    return {
        "model": binary(q, r), "releases": [noise(rng, mechanism, every=every)], "length": length,
    }  # fmt: skip


def _zeros(rng: Rng, place: int) -> Question:
    """Chains that leave a state at once, and noise with zeros, which rules values out."""
    q, r = few(rng.uniform(0.05, 0.9)), few(rng.uniform(0.05, 0.9))
    chain = binary(1.0, r) if place % 3 == 0 else binary(q, r)
    if place % 4 == 3:
        chain["initial"] = [1.0, 0.0]
    mechanism = MECHANISMS[place % 3]
    zeros = 0.25 if place % 2 else 0.0
    reports = int(_chosen(rng, [2, 2, 3]))
    return {
        "model": chain, "releases": [noise(rng, mechanism, reports=reports, zeros=zeros)],
        "length": _chosen(rng, [None, None, 2, 3, 6]),
    }  # fmt: skip


def _alternating(rng: Rng, place: int) -> Question:
    """Chains with q + r > 1; some change at nearly every point."""
    q, r = (few(1 - 10 ** rng.uniform(-3, -0.4)) for _ in range(2))
    mechanism = MECHANISMS[place % 4]
    every = int(_chosen(rng, [1, 1, 2, 3])) if place % 4 < 2 else 1
    return {
        "model": binary(q, r), "releases": [noise(rng, mechanism, every=every)],
        "length": _chosen(rng, [None, None, 7, 200]),
    }  # fmt: skip


def _periodic(rng: Rng, place: int) -> Question:
    """Periodic chains: each point determines the class of every other one."""
    k = [2, 3, 4][place % 3]
    cycle = np.roll(np.eye(k), 1, axis=1)
    if k == 4:
        # Two classes in turn.
        cycle = np.array([[0, 0, 0.3, 0.7], [0, 0, 0.6, 0.4], [0.5, 0.5, 0, 0], [0.2, 0.8, 0, 0]])
    mechanism = "independent" if place % 2 or k == 2 else "sticky"
    length = _chosen(rng, [2, 4, 9])
    return {
        "model": {"transition": tidy(cycle)},
        "releases": [noise(rng, mechanism, states=k, reports=k)], "length": length,
    }  # fmt: skip


def _several(rng: Rng, place: int) -> Question:
    mixes: list[tuple[str, ...]] = [
        ("independent", "independent"), ("independent", "sticky"), ("sticky", "sticky"),
        ("independent", "correlated"), ("sticky", "tracking"), ("tracking", "tracking"),
        ("correlated", "correlated"), ("independent", "sticky", "correlated"),
        ("independent",) * 3, ("tracking", "correlated"),
    ]  # fmt: skip
    mix = mixes[place % len(mixes)]
    every = [int(_chosen(rng, [1, 1, 2, 3])) if one in MECHANISMS[:2] else 1 for one in mix]
    return {
        "model": _moderate(rng),
        "releases": [noise(rng, one, every=b) for one, b in zip(mix, every, strict=True)],
        "length": _chosen(rng, [None, None, None, 4, 50]),
    }  # fmt: skip


def _gaps(rng: Rng, place: int) -> Question:
    mix = [("sticky",), ("tracking",), ("sticky", "independent"), ("sticky",)][place % 4]
    every = 2 if place % 4 == 3 else 1
    return {
        "model": _moderate(rng),
        "releases": [noise(rng, one, every=every if one == "sticky" else 1) for one in mix],
        "gaps": True, "length": _chosen(rng, [None, None, None, 5, 60]),
        "event": 2 if place % 5 == 4 else 1,
    }  # fmt: skip


def _events(rng: Rng, place: int) -> Question:
    mechanism = MECHANISMS[place % 4]
    every = int(_chosen(rng, [1, 1, 3])) if place % 4 < 2 else 1
    event = int(_chosen(rng, [2, 2, 3, 5]))
    return {
        "model": _moderate(rng, initial=place % 5 == 4),
        "releases": [noise(rng, mechanism, every=every)],
        "event": event, "length": _chosen(rng, [None, None, None, 7, 60]),
    }  # fmt: skip


def _boxes(rng: Rng, place: int) -> Question:
    low = [few(10 ** rng.uniform(-2, -0.6)) for _ in range(2)]
    wide = float(_chosen(rng, [1.02, 1.1, 1.3]))
    limits = [(end, few(end * wide)) for end in low]
    mix: tuple[str, ...] = MECHANISMS[place % 3 : place % 3 + 1]
    mix = ("independent", "independent") if place % 7 == 6 else mix
    every = 4 if place % 5 == 4 and mix[0] != "tracking" else 1
    return {
        "model": box(*limits), "releases": [noise(rng, one, every=every) for one in mix],
        "length": _chosen(rng, [None, None, None, 30]),
        "adversary": _chosen(rng, ["any", "any", "any", "ignorant"]),
    }  # fmt: skip


def _families(rng: Rng, place: int) -> Question:
    members = [_moderate(rng) for _ in range(2 + place % 3)]
    mechanism = MECHANISMS[place % 4]
    if place % 6 == 2:
        # A box and chains.
        mechanism = _chosen(rng, ["independent", "sticky"])
        members[0] = box((0.1, 0.11), (0.2, 0.22))
    if place % 6 == 5:
        mechanism = _chosen(rng, ["independent", "sticky"])
        members[0] = of_order(2, rows(rng, 4, 2, even=0.3))
    length = None if place % 6 == 2 else _chosen(rng, [None, None, 4, 40])
    return {
        "model": family(*members), "releases": [noise(rng, mechanism)], "length": length,
    }  # fmt: skip


def _initial(rng: Rng, place: int) -> Question:
    chain = _moderate(rng, initial=True)
    if place % 2:
        chain = binary(few(10 ** rng.uniform(-6, -1)), few(10 ** rng.uniform(-3, -0.5)))
        chain["initial"] = rows(rng, 2)
    mixes: list[tuple[str, ...]] = [
        ("independent",), ("sticky",), ("tracking",), ("sticky",), ("tracking",),
        ("independent", "sticky"), ("sticky", "tracking"),
    ]  # fmt: skip
    mix = mixes[place % len(mixes)]
    return {
        "model": chain, "releases": [noise(rng, one) for one in mix],
        "adversary": ["ignorant", "ignorant", "any", "informed"][place // 2 % 4],
        "length": _chosen(rng, [None, None, None, None, 6, 300]),
    }  # fmt: skip


def _adversaries(rng: Rng, place: int) -> Question:
    mechanism = MECHANISMS[place % 4]
    who: Any = ["ignorant", "informed", {"target": 3, "known": [0, 5]}][place % 3]
    every = 2 if place % 5 == 4 and place % 4 < 2 else 1
    return {
        "model": _moderate(rng), "releases": [noise(rng, mechanism, every=every)],
        "adversary": who, "length": _chosen(rng, [None, None, 8, 80]),
    }  # fmt: skip


def _combinations(rng: Rng, place: int) -> Question:
    """Random combinations on series so short that the definition can be enumerated."""
    k = 3 if place % 4 == 3 else 2
    kinds = MECHANISMS if k == 2 else MECHANISMS[:2]
    count = int(_chosen(rng, [1, 1, 2]))
    mix = [str(_chosen(rng, kinds)) for _ in range(count)]
    zeros = 0.15 if rng.random() < 0.2 else 0.0
    every = [int(_chosen(rng, [1, 1, 2])) if one in MECHANISMS[:2] else 1 for one in mix]
    chain: Question = {"transition": rows(rng, k, k, even=0.1)}
    if rng.random() < 0.35:
        chain["initial"] = rows(rng, k)
    length = int(_chosen(rng, [2, 3, 4])) if k == 2 else 3
    who = _chosen(rng, ["any", "any", "ignorant", "informed", {"target": 1, "known": [0]}])
    return {
        "model": chain,
        "releases": [
            noise(rng, one, states=k, reports=k, every=b, zeros=zeros)
            for one, b in zip(mix, every, strict=True)
        ],
        "length": length, "event": 2 if k == 2 and rng.random() < 0.25 else 1,
        "gaps": bool(k == 2 and rng.random() < 0.3), "adversary": who,
    }  # fmt: skip


def _orders(rng: Rng, place: int) -> Question:
    order, k = [(2, 2), (3, 2), (2, 3), (2, 2)][place % 4]
    zeros = 0.15 if place % 6 == 5 else 0.0
    table = rows(rng, k**order, k, even=0.2, zeros=zeros)
    mechanism = "sticky" if place % 3 == 2 else "independent"
    releases = [noise(rng, mechanism, states=k, reports=k, every=2 if place % 5 == 4 else 1)]
    if place % 8 == 6:
        releases = [noise(rng, "independent", states=k, reports=k) for _ in range(2)]
    return {
        "model": of_order(order, table), "releases": releases, "tolerance": 0.01,
        "length": _chosen(rng, [None, None, 3, 5]),
        "adversary": _chosen(rng, ["any", "any", "any", "ignorant"]),
    }  # fmt: skip


def _level(rng: Rng, k: int, every: int) -> float:
    """A share of wrong reports as in plans, which is less if the noise is thinned."""
    return few(rng.uniform(0.75, 0.97) if every == 1 else rng.uniform(0.4, 0.8)) * (k - 1) / k


def _on_finite(model: Question, rng: Rng, place: int) -> Question:
    """Independent or sticky noise of each shape, also thinned."""
    k = len(model["transition"])
    every = int([1, 1, 3, 10][place // 4 % 4])
    levels = [min(_level(rng, k, every), 0.999) for _ in range(k)]
    shapes: list[Callable[[], Any]] = [
        lambda: response(k, levels[0]), lambda: per_state(levels), lambda: ordinal(k, 0.93),
    ]  # fmt: skip
    shape = shapes[place % 3]()
    given: Question = {"mechanism": "independent", "matrix": shape}
    if place % 2:
        first = response(k, (levels[1] + (k - 1) / k) / 2)
        given = sticky_response(few(rng.uniform(0.1, 0.6)), shape, first)
    return {
        "model": model, "releases": [_thinned(given, every)], "tolerance": 0.001,
        "length": 12 if place % 8 == 7 else None,
        "adversary": "ignorant" if place % 9 == 8 else "any",
    }  # fmt: skip


def _random_finite(rng: Rng, place: int) -> Question:
    k = 3 + place % 6
    return _on_finite(random_chain(k, place, [0.0, 0.3, 0.7][place % 3]), rng, place // 2)


def _order_four(rng: Rng, place: int) -> Question:
    """Two time scales, and weak memory, with noise as in plans."""
    scales, weak = two_scales(1.2, 0.8), weak_memory(0.1, 0.2, 0.1)
    cases: list[tuple[Question, Question, int | None]] = [
        (scales, independent(0.4, 0.4), None),
        (scales, independent(0.44, 0.44), 9),
        (two_scales(0.8, 0.3), independent(0.42, 0.4), None),
        (weak, independent(0.4, 0.4), None),
        (weak, independent(0.44, 0.43), None),
        (weak, independent(0.4, 0.4, 4), None),
    ]  # fmt: skip
    model, given, length = cases[place]
    return {"model": model, "releases": [given], "tolerance": 0.05, "length": length}


LOSSES: dict[str, tuple[int, Callable[[Rng, int], Question]]] = {
    "slow": (40, _slow),
    "zeros": (36, _zeros),
    "q + r > 1": (36, _alternating),
    "periodic": (18, _periodic),
    "several releases": (40, _several),
    "gaps": (28, _gaps),
    "events": (36, _events),
    "boxes": (28, _boxes),
    "families": (30, _families),
    "initial laws": (56, _initial),
    "adversaries": (36, _adversaries),
    "combinations": (80, _combinations),
    "orders": (32, _orders),
    "orders: four": (6, _order_four),
    "docs: four levels": (10, lambda rng, place: _on_finite(LEVELS, rng, place)),
    "docs: five stages": (12, lambda rng, place: _on_finite(STAGES, rng, place)),
    "finite: random": (24, _random_finite),
    "finite: cycle": (12, lambda rng, place: _on_finite(CYCLE, rng, place)),
    "finite: birth-death": (
        12, lambda rng, place: _on_finite(birth_death(place) if place else BIRTH_DEATH, rng, place),
    ),
    "finite: slow": (16, lambda rng, place: _on_finite(slow_chain(place), rng, place)),
}  # fmt: skip

# Reports that alternate whatever the states are; and reports in two alternating pairs, whose parity
# is a report of AS_PAIRS_IN_TURN.
IN_TURN = {
    "mechanism": "sticky", "first": [[1.0, 0.0], [1.0, 0.0]],
    "kernel": [[[0.0, 1.0], [0.0, 1.0]], [[1.0, 0.0], [1.0, 0.0]]],
}  # fmt: skip
PAIRS_IN_TURN = {
    "mechanism": "sticky", "first": [[0.6, 0.4, 0.0, 0.0], [0.4, 0.6, 0.0, 0.0]],
    "kernel": [
        [[0.0, 0.0, 0.6, 0.4], [0.0, 0.0, 0.4, 0.6]], [[0.0, 0.0, 0.7, 0.3], [0.0, 0.0, 0.3, 0.7]],
        [[0.6, 0.4, 0.0, 0.0], [0.4, 0.6, 0.0, 0.0]], [[0.7, 0.3, 0.0, 0.0], [0.3, 0.7, 0.0, 0.0]],
    ],
}  # fmt: skip
AS_PAIRS_IN_TURN = sticky([[0.4, 0.6], [0.3, 0.7]], [0.4, 0.6])


def _named_losses() -> Iterator[tuple[str, Question]]:
    """Known defects, and the examples of the documentation."""
    slow = binary(1.4878221101081588e-05, 0.05487958757397106, (0.93, 0.07))
    followed = tracking([[[0.87, 0.82], [0.4, 0.49]], [[0.67, 0.09], [0.55, 0.29]]], [0.3, 0.7])
    for length in (None, 509):
        asked = {"model": slow, "releases": [followed], "length": length}
        yield "initial laws", asked | {"adversary": "ignorant"}
    begun = binary(0.5, 0.5, (1.0, 0.0))
    ruled_out = sticky([[0.4, 0.6], [0.2, 1.0]], [0.0, 0.5])
    for length, who in product((2, 3, None), ("any", "ignorant")):
        asked = {"model": begun, "releases": [ruled_out], "length": length}
        yield "zeros", asked | {"adversary": who}
    chain = binary(0.1, 0.2)
    yield "periodic", {"model": chain, "releases": [IN_TURN]}
    yield "periodic", {"model": chain, "releases": [PAIRS_IN_TURN]}
    yield "periodic", {"model": chain, "releases": [AS_PAIRS_IN_TURN]}
    yield "periodic", {
        "model": binary(1.0, 1.0), "releases": [sticky([[0.9, 0.95], [0.05, 0.1]], [0.4, 0.6])],
    }  # fmt: skip
    boxed = family(chain, box((0.1, 0.12), (0.2, 0.22)))
    mild = sticky([[0.2, 0.4], [0.6, 0.8]], [0.3, 0.7])
    for one in (independent(0.4, 0.4), mild):
        yield "families", {"model": boxed, "releases": [one], "length": 3}
    for theta, rho in product((0.05, 0.2, 0.4), (0.02, 0.3, 0.45)):
        asked = {"model": binary(theta, theta), "releases": [independent(rho, rho)]}
        yield "docs: symmetric", asked
    for k, theta in product((3, 4, 6), (0.1, 0.4)):
        level = round((k - 1) / (k - 1 + math.e), 6)
        moves = tidy((1 - theta) * np.eye(k) + theta / (k - 1) * (1 - np.eye(k)), 6)
        given: Question = {"mechanism": "independent", "matrix": response(k, level)}
        asked = {"model": {"transition": moves}, "releases": [given]}
        yield "docs: symmetric", asked | {"tolerance": 1e-6}


# -------------------------------------------------------------------------------------- plans
def plans() -> list[Question]:
    """All plans; names are unique."""
    found: list[Question] = []
    for kind, asked in _plans():
        place = sum(one["kind"] == kind for one in found)
        found.append({"name": f"{kind} {place}", "kind": kind} | _without_defaults(asked))
    return found


def _asked(model: Question, epsilon: float, mechanism: str, **more: Any) -> Question:
    return {"model": model, "epsilon": epsilon, "mechanism": mechanism} | more


# Multiples of 1/64, which need no rounding.
EARLIER = [
    [independent(0.453125, 0.453125)],
    [sticky([[0.25, 0.3125], [0.6875, 0.75]], [0.46875, 0.53125])],
    [correlated(0.359375, 0.484375)],
]


def _plans() -> Iterator[tuple[str, Question]]:
    for model, mechanism, epsilon in product((N10, N5), MECHANISMS, (0.5, 1.0, 2.0, 4.0)):
        yield "two states", _asked(model, epsilon, mechanism)
    for mechanism, epsilon in product(MECHANISMS, (1.0, 4.0)):
        yield "slow", _asked(binary(0.01, 0.02), epsilon, mechanism)
        yield "q + r > 1", _asked(binary(0.7, 0.6), epsilon, mechanism)
    for mechanism in MECHANISMS:
        yield "q + r > 1", _asked(binary(0.95, 0.9), 2.0, mechanism)
        yield "zeros", _asked(binary(1.0, 0.3), 2.0, mechanism)
        yield "initial laws", _asked(N10 | {"initial": [0.9, 0.1]}, 2.0, mechanism)
        yield "initial laws", _asked(N5 | {"initial": [1.0, 0.0]}, 1.0, mechanism, length=20)
        yield "periodic", _asked(binary(1.0, 1.0), 2.0, mechanism, length=5)
        for earlier in EARLIER:
            yield "several releases", _asked(N10, 3.0, mechanism, earlier=earlier)
        for event, epsilon in ((2, 2.0), (5, 4.0)):
            yield "events", _asked(N10, epsilon, mechanism, event=event)
        for length in (3, 30):
            yield "lengths", _asked(N10, 2.0, mechanism, length=length)
        for who in ("ignorant", "informed", {"target": 3, "known": [0, 6]}):
            yield "adversaries", _asked(N10, 1.0, mechanism, adversary=who)
    for q, mechanism in product((1e-3, 1e-6), ("independent", "sticky")):
        yield "slow", _asked(binary(q, 2 * q), 2.0, mechanism)
    for model, mechanism, every, epsilon in product(
        (N10, binary(0.01, 0.02)), ("independent", "sticky"), (5, "best"), (1.0, 4.0)
    ):
        yield "thinned", _asked(model, epsilon, mechanism, every=every)
    for mechanism, epsilon in product(("sticky", "tracking"), (1.0, 3.0)):
        yield "gaps", _asked(N10, epsilon, mechanism, gaps=True)
    yield "gaps", _asked(N10, 2.0, "sticky", gaps=True, every=3)
    yield "gaps", _asked(N10, 2.0, "sticky", gaps=True, event=2)
    for mechanism in ("independent", "sticky"):
        yield "events", _asked(N10, 3.0, mechanism, event=3, every=4)
    for limits, mechanism in product(
        (((0.08, 0.1), (0.1, 0.12)), ((0.2, 0.28), (0.35, 0.42))), MECHANISMS[:3]
    ):
        yield "boxes", _asked(box(*limits), 2.0, mechanism)
    yield "boxes", _asked(box((0.08, 0.1), (0.1, 0.12)), 2.0, "sticky", every=5)
    people = family(binary(0.02, 0.05), binary(0.1, 0.2), binary(0.3, 0.1))
    for mechanism, epsilon in product(MECHANISMS, (1.0, 4.0)):
        yield "families", _asked(people, epsilon, mechanism)
    boxed = family(binary(0.1, 0.2), box((0.08, 0.1), (0.1, 0.12)))
    for mechanism in ("independent", "sticky"):
        yield "families", _asked(boxed, 2.0, mechanism)
        yield "families", _asked(family(N5, TWO_BACK), 2.0, mechanism)
    for model in (N10, binary(0.05, 0.3)):
        for mechanism in ("independent", "sticky"):
            for epsilon in (1.0, 3.0):
                yield "objectives", _asked(model, epsilon, mechanism, objective="share")
        for mechanism in ("sticky", "tracking"):
            yield "objectives", _asked(model, 2.0, mechanism, objective="smoothed")
    yield "objectives", _asked(N10, 2.0, "sticky", objective="share", every="best")
    yield (
        "objectives",
        _asked(LEVELS, 2.0, "independent", objective="distance", shape="ordinal", every=10),
    )
    yield (
        "objectives",
        _asked(STAGES, 2.0, "independent", objective="share", shape="per-state", every=20),
    )
    yield from _finite_plans()
    yield from _order_plans()


# Shapes of independent noise, and sticky response.
SHAPES: tuple[Question, ...] = (
    {"mechanism": "independent"},
    {"mechanism": "independent", "shape": "ordinal"},
    {"mechanism": "independent", "shape": "per-state"},
    {"mechanism": "sticky"},
)


def _finite_plans() -> Iterator[tuple[str, Question]]:
    def on(model: Question, epsilon: float, shape: Question, **more: Any) -> Question:
        return {"model": model, "epsilon": epsilon} | shape | more

    for kind, model in (("docs: four levels", LEVELS), ("docs: five stages", STAGES)):
        for shape, epsilon in product(SHAPES, (1.0, 4.0)):
            yield kind, on(model, epsilon, shape)
        for shape in SHAPES[::3]:
            yield kind, on(model, 2.0, shape, every="best")
            yield kind, on(model, 2.0, shape, every=20)
    yield "docs: four levels", on(LEVELS, 2.0, SHAPES[1], length=6)
    for place, k in enumerate((3, 3, 4, 5, 6, 7, 8)):
        model = random_chain(k, place, [0.0, 0.4, 0.7][place % 3])
        for number in (0, 2, 3):
            epsilon = (0.5, 1.0, 2.0, 4.0)[(place + number) % 4]
            yield "finite: random", on(model, epsilon, SHAPES[number])
        if k < 6:
            yield "finite: random", on(model, 2.0, SHAPES[3], every="best")
        yield "finite: random", on(model, 2.0, SHAPES[place % 4], every=3)
    for shape, epsilon in product(SHAPES[::3], (0.5, 2.0, 4.0)):
        yield "finite: cycle", on(CYCLE, epsilon, shape)
    yield "finite: cycle", on(CYCLE, 2.0, SHAPES[2])
    yield "finite: cycle", on(CYCLE, 2.0, SHAPES[0], every="best")
    yield "finite: cycle", on(CYCLE, 2.0, SHAPES[3], every=4)
    for shape, epsilon in product(SHAPES[::3], (1.0, 4.0)):
        yield "finite: birth-death", on(BIRTH_DEATH, epsilon, shape)
    yield "finite: birth-death", on(BIRTH_DEATH, 2.0, SHAPES[2])
    yield "finite: birth-death", on(BIRTH_DEATH, 2.0, SHAPES[0], every="best")
    yield "finite: birth-death", on(BIRTH_DEATH, 2.0, SHAPES[3], every=5)
    for seed, epsilon in ((0, 1.0), (1, 2.0), (2, 4.0)):
        for shape in SHAPES:
            yield "finite: slow", on(slow_chain(seed), epsilon, shape)
        yield "finite: slow", on(slow_chain(seed), epsilon, SHAPES[seed], every="best")
        yield "finite: slow", on(slow_chain(seed), epsilon, SHAPES[3], every=25)


def _order_plans() -> Iterator[tuple[str, Question]]:
    for model, mechanism in product((TWO_BACK, TWO_BACK_SLOW), ("independent", "sticky")):
        for epsilon in (1.0, 4.0):
            yield "orders", _asked(model, epsilon, mechanism)
        yield "orders", _asked(model, 2.0, mechanism, every=4)
    yield "orders", _asked(TWO_BACK_SLOW, 2.0, "independent", every="best")
    yield "orders", _asked(TWO_BACK, 2.0, "independent", shape="per-state")
    yield "orders", _asked(TWO_BACK, 2.0, "independent", length=6)
    for epsilon, mechanism in product((2.0, 4.0), ("independent", "sticky")):
        yield "orders", _asked(THREE_BACK, epsilon, mechanism)
    scales, weak = two_scales(1.2, 0.8), weak_memory(0.1, 0.2, 0.1)
    yield "orders: four", _asked(scales, 4.0, "independent")
    yield "orders: four", _asked(scales, 2.0, "sticky", every=4)
    yield "orders: four", _asked(weak, 2.0, "independent")
    yield "orders: four", _asked(weak, 2.0, "sticky", every=4)


# ----------------------------------------------------------------------------- table of answers
MODELS: dict[str, Question] = {
    "two states": binary(0.3, 0.4),
    "two states, own start": binary(0.3, 0.4, (0.9, 0.1)),
    "two states, q + r > 1": binary(0.7, 0.6),
    "two states, q = r = 1": binary(1.0, 1.0),
    "three states": random_chain(3, 0, 0.2),
    "three states, own start": random_chain(3, 0, 0.2) | {"initial": [0.5, 0.3, 0.2]},
    "three states in turn": {"transition": [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]},
    "order 2, two values": TWO_BACK,
    "order 2, three values": of_order(2, rows(np.random.default_rng(3), 9, 3, even=0.3)),
    "box": box((0.3, 0.31), (0.4, 0.41)),
    "box, q + r > 1": box((0.6, 0.61), (0.7, 0.71)),
    "family of chains": family(binary(0.3, 0.4), binary(0.4, 0.25)),
    "family of a chain and a box": family(binary(0.4, 0.25), box((0.3, 0.31), (0.4, 0.41))),
    "family of orders 1 and 2": family(binary(0.3, 0.4), TWO_BACK),
    "family, three states": family(random_chain(3, 0, 0.2), random_chain(3, 1, 0.3)),
}
# The axes of the table of combinations.
UNITS = ("point", "event of 2")
ADVERSARIES: dict[str, Any] = {
    "any": "any", "ignorant": "ignorant", "informed": "informed",
    "given": {"target": 1, "known": [0, 3]},
}  # fmt: skip
LENGTHS = {"every length": None, "length 4": 4, "length 40": 40}
GAPS = ("no gaps", "gaps")


def _mild(mechanism: str, k: int, reports: int = 0, every: int = 1) -> Question:
    """Noise with little information."""
    rng = np.random.default_rng([k, reports, MECHANISMS.index(mechanism)])
    m = reports or k

    def drawn(*shape: int) -> Any:
        return rows(rng, *shape, even=0.3, near=0.7)

    if mechanism == "independent":
        return _thinned({"mechanism": mechanism, "matrix": drawn(k, m)}, every)
    if mechanism == "correlated":
        return correlated(0.3, 0.5)
    shape = (m, k, m) if mechanism == "sticky" else (m, k, k, m)
    laws = {"mechanism": mechanism, "kernel": drawn(*shape), "first": drawn(k, m)}
    return _thinned(laws, every)


# Models that are combined with all releases, and models with some kinds of noise only.
MIXED = {
    "two states", "two states, own start", "two states, q + r > 1", "three states", "box",
    "family of chains", "order 2, two values",
}  # fmt: skip
FEW = {
    "two states, q = r = 1": MECHANISMS, "three states in turn": MECHANISMS[:2],
    "order 2, three values": MECHANISMS[:1],
}  # fmt: skip


def _releases(name: str, k: int) -> dict[str, list[Question]]:
    """Single and several releases with their names in the table."""
    kinds = FEW.get(name, MECHANISMS if k == 2 else MECHANISMS[:3])
    found = {one: [_mild(one, k)] for one in kinds}
    if name in FEW:
        return found
    for one in MECHANISMS[:2]:
        found[f"{one}, one in 3"] = [_mild(one, k, every=3)]
    pairs: list[tuple[str, str]] = [
        ("independent", "independent"), ("sticky", "sticky"), ("independent", "sticky"),
    ]  # fmt: skip
    if name in MIXED:
        for one in MECHANISMS[:2]:
            found[f"{one}, {5 - k} reports"] = [_mild(one, k, reports=5 - k)]
        pairs += [
            ("tracking", "tracking"), ("correlated", "correlated"), ("independent", "tracking"),
            ("independent", "correlated"), ("sticky", "correlated"), ("sticky", "tracking"),
        ]  # fmt: skip
        mixed = [_mild("independent", k), _mild("sticky", k, every=3)]
        found["independent and sticky, one in 3"] = mixed
    for one, other in pairs:
        if k == 2 or "correlated" not in (one, other):
            found[f"{one} and {other}"] = [_mild(one, k), _mild(other, k)]
    return found


def states_of(model: Question) -> int:
    """Number of states."""
    if "members" in model:
        return states_of(model["members"][0])
    return 2 if "q" in model else len(model["transition"][0])


def cells(apart: int = 4) -> Iterator[tuple[str, Question]]:
    """The combinations of one row: their names and questions.

    All that differ from (point, any adversary, every length, no gaps) on at most ``apart`` axes.
    """
    for places in product(*map(range, (len(UNITS), len(ADVERSARIES), len(LENGTHS), len(GAPS)))):
        if sum(place > 0 for place in places) > apart:
            continue
        unit, who, length, gaps = places
        names = UNITS[unit], list(ADVERSARIES)[who], list(LENGTHS)[length], GAPS[gaps]
        asked = {"adversary": ADVERSARIES[names[1]], "length": LENGTHS[names[2]]}
        yield ", ".join(names), asked | {"event": 1 + unit, "gaps": gaps == 1}


def answer_rows() -> Iterator[tuple[str, str, str, Question, int]]:
    """Kind, model and noise of each row, its question without a cell, and its number of axes."""
    for name, model in MODELS.items():
        for noised, releases in _releases(name, states_of(model)).items():
            yield "loss", name, noised, {"model": model, "releases": releases}, 4
    for name, model in MODELS.items():
        k = states_of(model)
        for mechanism in MECHANISMS if k == 2 else MECHANISMS[:3]:
            asked = {"model": model, "epsilon": 2.0, "mechanism": mechanism}
            yield "plan", name, mechanism, asked, 1 if name in MIXED else 0
            if mechanism in MECHANISMS[:2]:
                rare = asked | {"every": 3}
                yield "plan", name, f"{mechanism}, one in 3", rare, 1 if name in MIXED else 0


def wishes() -> Iterator[tuple[str, str, str, Question]]:
    """Plans for single points and every length with other objectives, shapes and releases."""
    for name, model in MODELS.items():
        k = states_of(model)
        for mechanism in MECHANISMS if k == 2 else MECHANISMS[:3]:
            asked = {"model": model, "epsilon": 2.0, "mechanism": mechanism}
            for objective in ("share", "distance", "smoothed"):
                yield name, mechanism, f"objective {objective}", asked | {"objective": objective}
            for shape in ("ordinal", "per-state"):
                yield name, mechanism, f"shape {shape}", asked | {"shape": shape}
            if mechanism in MECHANISMS[:2]:
                yield name, mechanism, "one in the best number", asked | {"every": "best"}
                yield name, mechanism, "after sticky", asked | {"earlier": [_mild("sticky", k)]}
            earlier = [_mild("independent", k)]
            yield name, mechanism, "after independent", asked | {"earlier": earlier}
