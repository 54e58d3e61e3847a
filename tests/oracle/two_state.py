"""Losses of two-state chains from the definition, random cases, and checks of a solver.

Laws are arrays. Every series, every output, every unit of consecutive points, every set of known
points and every value of theirs is enumerated. The only functions that touch the package are
``solve`` and ``replayed``.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

import chainveil as cv
from chainveil.noise.automaton import Automaton
from chainveil.noise.automaton import product as together
from chainveil.privacy.bounds import Attack, Bounds, replay
from chainveil.privacy.odds import loss

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
Rng = np.random.Generator

# In an array of reports: nothing is published.
NOTHING = -1
# Entries of the table that one case may fill.
MOST_ENTRIES = 300_000
# Rounding of the enumeration and of the solver, relative and absolute.
ROUNDING, LEAST = 1e-12, 1e-13
# How far an upper bound may be above the loss of a given length, relative and absolute.
CLOSE, CLOSE_TO_NOTHING = 1e-6, 1e-9
# The same for boxes, which are split until their bounds are so close.
CLOSE_BOX = 2e-3


@dataclass(frozen=True)
class Release:
    """The laws of one release.

    Attributes
    ----------
    kind : str
        "independent", "sticky", "tracking" or "correlated".
    first : array of shape (2, m)
        ``first[x, z]``, the probability of the first report.
    kernel : array of shape (m, 2, 2, m)
        ``kernel[z, x, x', z']`` after the report z, of points x and then x'.
    after_gap : array of shape (m, 2, m)
        ``after_gap[z, x', z']`` after missing points.
    every : int
        One point in so many reports, the middle of each block.
    gaps : bool
        Whether any point may be missing, for all to see.
    """

    kind: str
    first: FloatArray
    kernel: FloatArray
    after_gap: FloatArray
    every: int = 1
    gaps: bool = False

    def reports_at(self, point: int) -> bool:
        """Whether a point is due to report."""
        return point % self.every == (self.every - 1) // 2

    def outputs(self, n: int) -> IntArray:
        """All outputs of n points, shape (outputs, n)."""
        m = self.first.shape[1]
        due = [*range(m), NOTHING] if self.gaps else [*range(m)]
        choices = [due if self.reports_at(point) else [NOTHING] for point in range(n)]
        return np.array(list(product(*choices)), np.int64)

    def law(self, series: IntArray, outputs: IntArray) -> FloatArray:
        """``Pr[output | series]``, shape (series, outputs), given which points are missing."""
        m = self.first.shape[1]
        # Before: the last report, the last report with points missing since, or no report.
        # After: the report; the last column is for a point that is missing.
        table = np.ones((2 * m + 1, 2, 2, m + 1))
        table[:m, :, :, :m] = self.kernel
        table[m : 2 * m, :, :, :m] = self.after_gap[:, None, :, :]
        table[2 * m, :, :, :m] = self.first[None, :, :]
        found = np.ones((len(series), len(outputs)))
        before = np.full(len(outputs), 2 * m)
        for point in range(series.shape[1]):
            seen = outputs[:, point]
            if not self.reports_at(point):
                assert (seen == NOTHING).all()
                continue
            x, y = series[:, max(point - 1, 0), None], series[:, point, None]
            found *= table[before[None, :], x, y, seen[None, :]]
            missed = np.where(before < m, before + m, before)
            before = np.where(seen == NOTHING, missed, seen)
        return found


@dataclass(frozen=True)
class Case:
    """A chain or a box of chains, releases of its series, and who is after what.

    ``adversary`` is "any", "ignorant", "informed", or a first target and known points.
    """

    q: float
    r: float
    initial: tuple[float, float] | None
    releases: tuple[Release, ...]
    unit: int
    adversary: str | tuple[int, frozenset[int]]
    length: int | None
    # Upper ends of q and r in a box of chains.
    box: tuple[float, float] | None = None

    def words(self) -> str:
        """A short description."""
        parts = [
            one.kind
            + (f"/{one.every}" if one.every > 1 else "")
            + ("/gaps" if one.gaps else "")
            + f"[{one.first.shape[1]}]"
            for one in self.releases
        ]
        box = "" if self.box is None else f" to {self.box}"
        return (
            f"q={self.q!r} r={self.r!r}{box} initial={self.initial} {'+'.join(parts)} "
            f"unit={self.unit} adversary={self.adversary} length={self.length}"
        )


# ------------------------------------------------------------------------ the solver under test
def automaton(case: Case) -> Automaton:
    """The noise of all releases, as the package has it."""
    return together([_noise(one).automaton(one.gaps) for one in case.releases])


def _question(case: Case) -> loss.Question:
    upper_q, upper_r = case.box or (case.q, case.r)
    who: Any = case.adversary
    if not isinstance(who, str):
        who = cv.Adversary(who[0], who[1])
    return loss.Question(
        (case.q, upper_q, case.r, upper_r), case.initial, automaton(case), case.unit, who,
        case.length,
    )  # fmt: skip


def solve(case: Case) -> Bounds:
    """The bounds of the solver under test."""
    return loss.bounds(_question(case))


def replayed(case: Case, attack: Attack) -> float:
    """What the package says that an attack gains, on the best corner of a box."""
    start = None if case.initial is None else np.array(case.initial)
    found = []
    for q, r in corners(case):
        law = np.array([r, q]) / (q + r) if start is None else start
        chain = law, np.array([[1 - q, q], [r, 1 - r]]), np.arange(2)
        found.append(replay(chain, automaton(case), attack))
    return max(found)


def _noise(release: Release) -> Any:
    if release.kind == "independent":
        return cv.Channel(release.first, release.every)
    if release.kind == "sticky":
        return cv.StickyNoise(release.after_gap, release.first, release.every)
    if release.kind == "tracking":
        return cv.TrackingNoise(release.kernel, release.first, release.after_gap)
    rho0, rho1 = float(release.kernel[0, 0, 0, 1]), float(release.kernel[1, 0, 0, 0])
    return cv.CorrelatedNoise(rho0, rho1)


# ---------------------------------------------------------------------------------- enumeration
def corners(case: Case) -> list[tuple[float, float]]:
    """The chains at the corners of a box, or the one chain."""
    upper_q, upper_r = case.box or (case.q, case.r)
    return [(q, r) for q in {case.q, upper_q} for r in {case.r, upper_r}]


@lru_cache
def all_series(n: int) -> IntArray:
    """All series of n points, shape (2^n, n)."""
    return np.array(list(product(range(2), repeat=n)), np.int64)


@lru_cache
def _sums(n: int) -> FloatArray:
    """Which series fit which patterns, shape (3^n, 2^n); 2 in a pattern is an unknown point."""
    one = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    result = np.ones((1, 1))
    for _ in range(n):
        result = np.kron(result, one)
    return result


def prior(q: float, r: float, initial: tuple[float, float] | None, series: IntArray) -> FloatArray:
    """Probability of each series."""
    start = np.array([r, q]) / (q + r) if initial is None else np.array(initial)
    steps = np.array([[1 - q, q], [r, 1 - r]])[series[:, :-1], series[:, 1:]]
    return np.asarray(start[series[:, 0]] * steps.prod(axis=1))


def enumerated(case: Case, chains: Collection[tuple[float, float]] = ()) -> FloatArray:
    """The losses of chains (q, r), by default of the corners alone."""
    n = case.length
    assert n is not None
    series = all_series(n)
    law = np.ones((len(series), 1))
    for release in case.releases:
        own = release.law(series, release.outputs(n))
        law = (law[:, :, None] * own[:, None, :]).reshape(len(series), -1)
    worst = [
        _loss_of(case, prior(q, r, case.initial, series), law) for q, r in chains or corners(case)
    ]
    return np.array(worst)


def _loss_of(case: Case, law_of_series: FloatArray, law: FloatArray) -> float:
    n = case.length
    assert n is not None
    before = _sums(n) @ law_of_series
    seen = _sums(n) @ (law_of_series[:, None] * law)
    possible = before > 0
    likely = np.divide(seen, before[:, None], out=seen, where=possible[:, None])
    table = likely.reshape(*(3,) * n, -1)
    occurs = possible.reshape(*(3,) * n, 1)
    first_points = range(n - case.unit + 1)
    if not isinstance(case.adversary, str):
        first_points = range(case.adversary[0], case.adversary[0] + 1)
    known, unknown = slice(0, 2), slice(2, 3)
    names = {"any": slice(0, 3), "ignorant": unknown, "informed": known}
    worst = 0.0
    for begin in first_points:
        window = range(begin, begin + case.unit)
        chosen = []
        for point in range(n):
            if isinstance(case.adversary, str):
                chosen.append(known if point in window else names[case.adversary])
            else:
                fixed = point in window or point in case.adversary[1]
                chosen.append(known if fixed else unknown)
        parts = []
        for whole in (table, occurs):
            moved = np.moveaxis(whole[tuple(chosen)], window, range(case.unit))
            parts.append(moved.reshape(2**case.unit, -1, whole.shape[-1]))
        most = np.where(parts[1], parts[0], -1.0).max(axis=0)
        least = np.where(parts[1], parts[0], np.inf).min(axis=0)
        can_be = most > 0
        with np.errstate(divide="ignore"):
            ratio = most[can_be] / least[can_be]
        worst = max(worst, math.log(ratio.max(initial=1.0)))
    return worst


def weigh(case: Case, attack: Attack) -> float:
    """What an attack gains: all series of its length are summed over; -inf if it is none."""
    n = attack.length
    series = all_series(n)
    law = np.ones(len(series))
    for release, output in zip(case.releases, outputs_of(case, attack), strict=True):
        law *= release.law(series, output[None, :])[:, 0]
    best = -math.inf
    for q, r in corners(case):
        weights = prior(q, r, case.initial, series)
        likely = []
        for values in (attack.value, attack.other):
            fits = np.ones(len(series), bool)
            for point, value in [*attack.known.items(), *enumerate(values, attack.target)]:
                fits &= series[:, point] == value
            total = weights[fits].sum()
            likely.append((weights * law)[fits].sum() / total if total > 0 else math.nan)
        best = max(best, _log_ratio(likely[0], likely[1]))
    return best


def weigh_long(case: Case, attack: Attack) -> float:
    """The same for long series: one vector over the two values, moved from point to point."""
    n = attack.length
    pair = all_series(2)
    outputs = outputs_of(case, attack)
    steps = np.ones((n, 4))
    for release, output in zip(case.releases, outputs, strict=True):
        m = release.first.shape[1]
        before, missed = NOTHING, False
        for point in range(n):
            z = int(output[point])
            if release.reports_at(point) and z != NOTHING:
                if before == NOTHING:
                    steps[point] *= release.first[pair[:, 1], z]
                elif missed:
                    steps[point] *= release.after_gap[before, pair[:, 1], z]
                else:
                    steps[point] *= release.kernel[before, pair[:, 0], pair[:, 1], z]
                before, missed = z, False
                assert z < m
            elif release.reports_at(point):
                missed = True
    best = -math.inf
    for q, r in corners(case):
        start = np.array([r, q]) / (q + r) if case.initial is None else np.array(case.initial)
        transition = np.array([[1 - q, q], [r, 1 - r]])
        logs = []
        for values in (attack.value, attack.other):
            fixed = dict(attack.known) | dict(enumerate(values, attack.target))
            for law in (steps, np.ones_like(steps)):
                total, vector = 0.0, start
                for point in range(n):
                    matrix = law[point].reshape(2, 2)
                    vector = vector * matrix[0] if point == 0 else vector @ (transition * matrix)
                    if point in fixed:
                        vector = vector * (np.arange(2) == fixed[point])
                    scale = vector.sum()
                    if scale == 0:
                        total = -math.inf
                        break
                    total, vector = total + math.log(scale), vector / scale
                logs.append(total)
        if min(logs[1], logs[3]) > -math.inf and logs[0] > -math.inf:
            best = max(best, (logs[0] - logs[1]) - (logs[2] - logs[3]))
    return best


def _log_ratio(one: float, other: float) -> float:
    if math.isnan(one) or math.isnan(other) or one == 0:
        return -math.inf
    return math.inf if other == 0 else math.log(one / other)


def outputs_of(case: Case, attack: Attack) -> list[IntArray]:
    """The output of an attack, one array for each release."""
    observed = attack.output()
    parts = []
    for number in range(len(case.releases)):
        own = [seen[number] if isinstance(seen, tuple) else seen for seen in observed]
        parts.append(np.array([NOTHING if z is None else z for z in own], np.int64))
    return parts


def wrong_attacker(case: Case, attack: Attack) -> str:
    """Why an attack is not one of the adversary in question; empty if it is.

    Points that change nothing may be left out of what is known: those beyond nearer ones, and
    those next to an end of the unit where both of its values are the same.
    """
    begin, end = attack.target, attack.target + case.unit - 1
    n = attack.length if case.length is None else case.length
    period = math.lcm(*(one.every for one in case.releases))
    if case.adversary == "informed" and n > attack.length and (n - attack.length) % period == 0:
        # Between known neighbours nothing changes with the number of points before.
        n = attack.length
    if len(attack.value) != case.unit or len(attack.other) != case.unit:
        return "another unit"
    if attack.length > n:
        return f"an output of {attack.length} points of {n}"
    if any(begin <= point <= end for point in attack.known):
        return "a known point of the unit"
    if attack.known and not 0 <= min(attack.known) <= max(attack.known) < n:
        return "a known point outside"
    if case.adversary == "any":
        return ""
    if case.adversary == "ignorant":
        return "an ignorant adversary that knows a point" if attack.known else ""
    if isinstance(case.adversary, str):
        needed = {point for point in (begin - 1, end + 1) if 0 <= point < n}
    else:
        target, known = case.adversary
        if target != begin or not known >= set(attack.known):
            return "another target, or points that are not known"
        left = sorted(point for point in known if point < begin)
        right = sorted(point for point in known if end < point < n)
        needed = {*left[-1:], *right[:1]}
    if attack.value[0] == attack.other[0]:
        needed = {point for point in needed if point > end}
    if attack.value[-1] == attack.other[-1]:
        needed = {point for point in needed if point < begin}
    return "" if needed <= set(attack.known) else "a neighbour that should be known is not"


# -------------------------------------------------------------------------------- random cases
def _law(rng: Rng, shape: tuple[int, ...], zeros: float) -> FloatArray:
    table = rng.dirichlet(np.full(shape[-1], rng.choice([0.3, 1.0, 4.0])), shape[:-1])
    table[(rng.random(shape) < zeros) | (table < 1e-12)] = 0
    empty = table.sum(axis=-1) == 0
    table[empty] = np.eye(shape[-1])[rng.integers(shape[-1], size=int(empty.sum()))]
    # Noise of two states and two reports is read from its entries off the diagonal.
    return np.asarray(table / table.sum(axis=-1, keepdims=True))


def random_release(rng: Rng, zeros: float, symbols: int) -> Release:
    """Laws of one release of ``symbols`` different reports."""
    kind = str(rng.choice(["independent", "sticky", "tracking", "correlated"]))
    m = 2 if kind == "correlated" else symbols
    every = int(rng.choice([1, 2, 3, 4])) if rng.random() < 0.4 else 1
    gaps = bool(rng.random() < 0.25)
    if kind == "independent":
        first = _law(rng, (2, m), zeros)
        held = np.repeat(first[None], m, axis=0)
        return Release(kind, first, np.repeat(held[:, None], 2, axis=1), held, every)
    if kind == "correlated":
        begin, stop = (
            float(one) for one in np.where(rng.random(2) < zeros / 2, 1.0, rng.uniform(0, 1, 2))
        )
        begin, stop = max(begin, 1e-9), max(stop, 1e-9)
        flips = np.array([[1 - begin, begin], [stop, 1 - stop]])
        often = np.array([stop, begin]) / (begin + stop)
        z, x, y, w = np.ogrid[:2, :2, :2, :2]
        kernel = flips[z ^ x, y ^ w]
        first = often[np.arange(2)[:, None] ^ np.arange(2)]
        return Release(kind, first, kernel, kernel.mean(axis=1))
    first, held = _law(rng, (2, m), zeros), _law(rng, (m, 2, m), zeros)
    if kind == "sticky":
        return Release(kind, first, np.repeat(held[:, None], 2, axis=1), held, every, gaps)
    return Release(kind, first, _law(rng, (m, 2, 2, m), zeros), held, 1, gaps)


def random_chain(rng: Rng) -> tuple[float, float]:
    """q and r: usual ones, slow ones, alternating ones, and ones that are never kept."""
    kind = rng.choice(["usual", "usual", "usual", "slow", "apart", "alternating", "one", "both"])
    q, r = rng.uniform(0.02, 0.98, 2)
    if kind == "slow":
        q, r = 10 ** rng.uniform(-7, -4, 2)
    elif kind == "apart":
        q, r = 10 ** rng.uniform(-9, -0.01, 2)
    elif kind == "alternating":
        q, r = 1 - 10 ** rng.uniform(-8, -2, 2)
    elif kind == "one":
        q = 1.0
    elif kind == "both" and rng.random() < 0.5:
        q, r = 1.0, 1.0
    elif kind == "both":
        q, r = 1.0, 1 - 10 ** rng.uniform(-8, -1)
    return (float(q), float(r)) if rng.random() < 0.5 else (float(r), float(q))


def random_initial(rng: Rng) -> tuple[float, float] | None:
    """A law of the first point: the stationary one, a certain value, or any."""
    kind = rng.random()
    if kind < 0.6:
        return None
    if kind < 0.75:
        return (1.0, 0.0) if rng.random() < 0.5 else (0.0, 1.0)
    one = float(rng.uniform(0, 1) if kind < 0.9 else 10 ** rng.uniform(-9, -2))
    return (1 - one, one) if rng.random() < 0.5 else (one, 1 - one)


def random_adversary(rng: Rng, unit: int, n: int) -> str | tuple[int, frozenset[int]]:
    """One of the named ones, or one with a target and known points among the first n."""
    kind = str(rng.choice(["any", "any", "ignorant", "informed", "given"]))
    if kind != "given":
        return kind
    target = int(rng.integers(n - unit + 1))
    outside = [j for j in range(n) if not target <= j < target + unit]
    known = frozenset(j for j in outside if rng.random() < 0.35)
    return target, known


def random_releases(rng: Rng) -> tuple[Release, ...]:
    """One release, or two of any kinds."""
    zeros = float(rng.choice([0, 0, 0.15, 0.4]))
    if rng.random() < 0.25:
        # Points are missing for all releases that can miss them; here that is one at most.
        one, other = random_release(rng, zeros, 2), random_release(rng, zeros, 2)
        return one, replace(other, gaps=other.gaps and not one.gaps)
    return (random_release(rng, zeros, int(rng.choice([2, 2, 3]))),)


def _entries(releases: Sequence[Release], n: int) -> int:
    """Patterns times outputs of n points."""
    count: int = 3**n
    for one in releases:
        symbols = int(one.first.shape[1]) + one.gaps
        count *= math.prod(symbols for point in range(n) if one.reports_at(point))
    return count


def random_case(rng: Rng) -> Case:
    """A small case that can be enumerated."""
    q, r = random_chain(rng)
    releases = random_releases(rng)
    most = max(n for n in range(1, 8) if n == 1 or _entries(releases, n) <= MOST_ENTRIES)
    n = int(rng.integers(max(1, most - 3), most + 1))
    unit = min(n, int(rng.choice([1, 1, 1, 2, 3])))
    return Case(q, r, random_initial(rng), releases, unit, random_adversary(rng, unit, n), n)


def random_box(rng: Rng) -> Case:
    """A small case of a box of chains with q + r below 1."""
    while True:
        low = 10 ** rng.uniform(-4, -0.2, 2)
        high = low * 4 ** (rng.uniform(0, 1, 2) * (rng.random(2) < 0.85))
        if high.sum() < 0.999:
            break
    releases = random_releases(rng)
    most = max(n for n in range(1, 6) if n == 1 or _entries(releases, n) <= 20_000)
    n = int(rng.integers(1, most + 1))
    unit = min(n, int(rng.choice([1, 1, 2])))
    who = str(rng.choice(["any", "any", "ignorant", "informed"]))
    q, r = (float(one) for one in low)
    return Case(q, r, None, releases, unit, who, n, (float(high[0]), float(high[1])))


def random_lengths(rng: Rng) -> Case:
    """A case of a given length that is too long for the enumeration."""
    q, r = random_chain(rng)
    if rng.random() < 0.5:
        q, r = (float(one) for one in 10 ** rng.uniform(-7, -1, 2))
    n = int(10 ** rng.uniform(math.log10(8), 3))
    unit = int(rng.choice([1, 1, 1, 2, 3]))
    who = random_adversary(rng, unit, min(n, 60))
    return Case(q, r, random_initial(rng), random_releases(rng), unit, who, n)


# ---------------------------------------------------------------------------------------- checks
@dataclass(frozen=True)
class Checked:
    """What was found of a case, and what is wrong with it: words by kind of failure."""

    case: Case
    truth: float
    found: Bounds
    wrong: dict[str, str]

    def __str__(self) -> str:
        told = "; ".join(f"{kind}: {words}" for kind, words in self.wrong.items())
        return f"{told} | {self.case.words()} | truth {self.truth!r}, upper {self.found.upper!r}"


def _above(value: float, limit: float, share: float, least: float) -> bool:
    """Whether a value lies above a limit by more than a share of it and a least amount."""
    return value > limit * (1 + share) + least


def check(case: Case, found: Bounds | None = None) -> Checked:
    """The bounds of a small case of one chain against the enumeration."""
    found = found or solve(case)
    truth = float(enumerated(case).max())
    wrong = _against(found, truth, CLOSE)
    wrong |= attack_failures(case, found)
    return Checked(case, truth, found, wrong)


def check_box(case: Case, rng: Rng, count: int) -> Checked:
    """The bounds of a box of chains against the enumeration of ``count`` chains inside."""
    assert case.box is not None
    ends = np.array([[case.q, case.box[0]], [case.r, case.box[1]]])
    share = rng.uniform(0, 1, (2, max(0, count - 4)))
    inside = np.clip(ends[:, :1] * (ends[:, 1:] / ends[:, :1]) ** share, ends[:, :1], ends[:, 1:])
    chains = corners(case) + [(float(q), float(r)) for q, r in inside.T]
    found = solve(case)
    truth = float(enumerated(case, chains).max())
    wrong = _against(found, truth, CLOSE_BOX)
    wrong |= attack_failures(case, found)
    return Checked(case, truth, found, wrong)


def _against(found: Bounds, truth: float, close: float) -> dict[str, str]:
    wrong = {}
    if _above(truth, found.upper, ROUNDING, LEAST) or math.isnan(found.upper):
        wrong["too low"] = f"upper bound {found.upper!r} below {truth!r}"
    if _above(found.upper, truth, close, CLOSE_TO_NOTHING):
        wrong["too loose"] = f"upper bound {found.upper!r} above {truth!r}"
    if _above(found.lower, truth, ROUNDING, LEAST):
        wrong["lower bound"] = f"lower bound {found.lower!r} above {truth!r}"
    return wrong


def attack_failures(case: Case, found: Bounds) -> dict[str, str]:
    """What is wrong with the attack behind a lower bound."""
    wrong: dict[str, str] = {}
    attack = found.witness
    if attack is None:
        if found.lower > 0:
            wrong["attack"] = f"lower bound {found.lower!r} without an attack"
        return wrong
    if why := wrong_attacker(case, attack):
        wrong["adversary"] = f"{why}: {attack}"
        return wrong
    again = replayed(case, attack)
    if found.lower != min(found.upper, max(0.0, again)):
        wrong["replay"] = f"lower bound {found.lower!r}, replayed {again!r}"
    own = weigh(case, attack) if attack.length <= 9 else weigh_long(case, attack)
    # What is told as -inf attains nothing: the lower bound is 0 then.
    if _above(found.lower, max(own, 0.0), ROUNDING, LEAST):
        wrong["attack"] = f"lower bound {found.lower!r}, its attack gains {own!r}: {attack}"
    return wrong


def check_lengths(case: Case) -> Checked:
    """The bound of every length against the lower bound of a given length."""
    given, ever = solve(case), solve(replace(case, length=None))
    wrong = {}
    if _above(given.lower, ever.upper, ROUNDING, LEAST):
        wrong["too low"] = (
            f"upper bound of every length {ever.upper!r}, lower bound {given.lower!r}"
        )
    for one, about in ((given, case), (ever, replace(case, length=None))):
        if _above(one.lower, one.upper, 0, 0) or math.isnan(one.upper):
            wrong["crossed"] = f"{one.lower!r} above {one.upper!r}, length {about.length}"
        if one.witness is None or one.witness.length <= MOST_WEIGHED:
            for kind, words in attack_failures(about, one).items():
                wrong[kind] = f"length {about.length}: {words}"
    return Checked(case, given.lower, ever, wrong)


# Points of an attack that is moved along point by point in plain Python.
MOST_WEIGHED = 3000
