"""The format of the record, and what follows from the laws alone, without the package.

Models, noise and attacks are described by numbers:

- a model is ``transition`` (k^m rows of k) with its ``order`` m (1 if it is missing) and possibly
  the ``initial`` law of a chain of order 1; or a box of two-state chains, ``q`` and ``r`` with
  their least and greatest values; or the ``members`` of a family;
- noise has a ``mechanism``: "independent" with ``matrix[x][z]``, "sticky" with
  ``kernel[z][x'][z']`` and ``first[x][z]``, "tracking" with ``kernel[z][x][x'][z']``,
  ``first[x][z]`` and possibly ``after_gap[z][x'][z']``, "correlated" with ``rho0`` and ``rho1``,
  the probabilities that a run of flips begins and ends. One point in ``every`` reports, the middle
  of each block;
- an attack has a ``length``, a ``target`` (the first of ``event`` points), the ``known`` points
  (places and values), the ``value`` of the target that the output supports against the ``other``
  one (of several points: binary digits, the first point highest), and the ``reports`` of each
  release at the points that are due to report, as blocks with their numbers of repetitions; None is
  a missing report.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

Laws = Mapping[str, Any]
FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


def log_ratio(model: Laws, releases: Sequence[Laws], attack: Laws) -> float:
    """What an attack attains, ``log Pr[reports | value, known] / Pr[reports | other, known]``.

    Sums of non-negative numbers, scaled at each step, with a relative error of about 1e-15 a point.
    Equal reports on consecutive points are one power of a matrix.
    """
    recursion = _Recursion(model, releases)
    fixed = [_fixed(attack, attack[name]) for name in ("value", "other")]
    seen, prior = (
        [recursion.log_probability(attack, own, with_reports) for own in fixed]
        for with_reports in (True, False)
    )
    if -math.inf in prior:
        raise ValueError("a value of the target cannot occur with the known points")
    if seen[0] == -math.inf:
        raise ValueError("the reports cannot occur with the value that they support")
    return (seen[0] - prior[0]) - (seen[1] - prior[1])


def stationary(transition: Any) -> FloatArray:
    """The stationary law of a chain of order 1, with a small relative error of each entry.

    Transient states have probability 0. The others are eliminated one by one, without a subtraction
    (Grassmann, Taksar and Heyman).
    """
    steps = np.array(transition, dtype=float)
    reach = np.linalg.matrix_power((steps > 0) + np.eye(len(steps)), len(steps)) > 0
    lasting = [x for x in range(len(steps)) if all(reach[y, x] for y in np.flatnonzero(reach[x]))]
    own = steps[np.ix_(lasting, lasting)]
    for x in range(len(own) - 1, 0, -1):
        own[:x, x] /= own[x, :x].sum()
        own[:x, :x] += np.outer(own[:x, x], own[x, :x])
    law = np.ones(len(own))
    for x in range(1, len(own)):
        law[x] = law[:x] @ own[:x, x]
    result = np.zeros(len(steps))
    result[lasting] = law / law.sum()
    return result


def contexts(model: Laws) -> tuple[FloatArray, FloatArray]:
    """The law of m consecutive values as one state, shape (k^m,), and transitions between them."""
    rows = np.array(model["transition"], dtype=float)
    count, k = rows.shape
    steps = np.zeros((count, count))
    for context, value in product(range(count), range(k)):
        steps[context, (context * k + value) % count] += rows[context, value]
    given = model.get("initial")
    return (stationary(steps) if given is None else np.array(given, dtype=float)), steps


def smoothed_error(model: Laws, noise: Laws, points: int = 20_000) -> float:
    """Error of the likelier value of each point given all reports, by simulation.

    For chains of order 1, and for reports on every point that depend on the last report and on the
    points at and before theirs. All noise gets the same random numbers, so that errors can be
    compared.
    """
    start, move = contexts(model)
    rng = np.random.default_rng(20)
    first, kernel = _step_law(noise)
    last, state = 0, 0
    weights: list[FloatArray] = []
    ahead: list[FloatArray] = []
    for t, (one, two) in enumerate(rng.random((points, 2)).tolist()):
        before = state
        state = _drawn(start if t == 0 else move[state], one)
        law = first[state] if t == 0 else kernel[last, before, state]
        report = _drawn(law, two)
        step = first[:, report] if t == 0 else move * kernel[last, :, :, report]
        law = start * step if t == 0 else ahead[-1] @ step
        ahead.append(law / law.sum())
        weights.append(step)
        last = report
    after, wrong = np.ones(len(start)), 0.0
    for t in range(points - 1, -1, -1):
        both = ahead[t] * after
        wrong += 1 - both.max() / both.sum()
        if t > 0:
            after = weights[t] @ after
            after /= after.sum()
    return wrong / points


def _drawn(law: FloatArray, number: float) -> int:
    below = np.cumsum(law).tolist()
    return next((place for place, share in enumerate(below) if number < share), len(below) - 1)


def _step_law(noise: Laws) -> tuple[FloatArray, FloatArray]:
    """``Pr[z | x]`` of the first report and ``Pr[z' | z, x, x']`` of the others."""
    kind = noise["mechanism"]
    if kind == "correlated":
        rho0, rho1 = noise["rho0"], noise["rho1"]
        flip = np.array([[0, 1], [1, 0]])
        law = np.array([rho1, rho0]) / (rho0 + rho1)
        move = np.array([[1 - rho0, rho0], [rho1, 1 - rho1]])
        return law[flip], move[flip[:, :, None, None], flip[None, None]]
    first = np.array(noise["matrix" if kind == "independent" else "first"], dtype=float)
    k, m = first.shape
    if kind == "independent":
        return first, np.broadcast_to(first, (m, k, k, m))
    kernel = np.array(noise["kernel"], dtype=float)
    return first, np.repeat(kernel[:, None], k, axis=1) if kind == "sticky" else kernel


class _Recursion:
    """Forward recursion; its states are the last m values, with the flips of correlated noise."""

    def __init__(self, model: Laws, releases: Sequence[Laws]) -> None:
        self._start, self._move = contexts(model)
        self._k, self._order = len(model["transition"][0]), int(model.get("order", 1))
        self._releases = list(releases)
        self._flipping = [n for n, one in enumerate(releases) if one["mechanism"] == "correlated"]
        flips = list(product(range(2), repeat=len(self._flipping)))
        hidden = [(context, *flip) for context in range(len(self._start)) for flip in flips]
        self._hidden = np.array(hidden, dtype=np.int64)
        self._made: dict[Any, FloatArray] = {}

    def log_probability(self, attack: Laws, fixed: Mapping[int, int], with_reports: bool) -> float:
        """Log probability of the fixed values, together with the reports or alone."""
        releases = self._releases if with_reports else []
        readers = [_Reader(n, one, attack["reports"][n]) for n, one in enumerate(releases)]
        flips = 2 ** len(self._flipping)
        law = np.repeat(self._start, flips) / flips
        log, time, length = 0.0, 0, int(attack["length"])
        while time < length:
            views = tuple(reader.view(time) for reader in readers)
            ahead = 1
            if time >= self._order:
                stops = [place - time for place in fixed if place >= time]
                alike = [reader.alike(time) for reader in readers]
                ahead = max(1, min([length - time, *stops, *alike]))
            step = self._step(time, views)
            law, grown = _power_applied(law, step, ahead)
            for reader in readers:
                reader.read(time, ahead)
            if ahead == 1 and time in fixed:
                law = np.where(self._values(time) == fixed[time], law, 0.0)
            total = float(law.sum())
            if total == 0:
                return -math.inf
            law, log = law / total, log + grown + math.log(total)
            time += ahead
        return log

    def _values(self, time: int) -> IntArray:
        """The value of a point in each hidden state."""
        behind = max(self._order - 1 - time, 0)
        return np.asarray(self._hidden[:, 0] // self._k**behind % self._k)

    def _step(self, time: int, views: tuple[Any, ...]) -> FloatArray:
        """Weights of steps from the hidden states at the point before, with all reports."""
        early = min(time, self._order)
        if (early, views) not in self._made:
            self._made[early, views] = self._new_step(time, views)
        return self._made[early, views]

    def _new_step(self, time: int, views: tuple[Any, ...]) -> FloatArray:
        begun = time >= self._order
        move = self._move if begun else np.eye(len(self._start))
        size = len(self._hidden)
        step = move[self._hidden[:, None, 0], self._hidden[None, :, 0]]
        now = np.broadcast_to(self._values(time)[None, :], (size, size))
        last_values = self._hidden[:, 0] % self._k if begun else self._values(max(time - 1, 0))
        before = np.broadcast_to(last_values[:, None], (size, size))
        for number, place in enumerate(self._flipping):
            old, new = (self._hidden[:, 1 + number],) * 2
            step = step * self._flips(views[place] if views else None, old[:, None], new[None, :])
        for noise, view in zip(self._releases, views, strict=False):
            if view is not None and view[1] is not None:
                step = step * self._weights(noise, view, before, now)
        return np.asarray(step)

    def _flips(self, view: Any, old: IntArray, new: IntArray) -> FloatArray:
        """Transitions of the flips: none if no report is due, their first law at the first one."""
        if view is None:
            return np.asarray((old == new).astype(float))
        noise, _, number, *_ = view
        rho0, rho1 = (self._releases[noise][name] for name in ("rho0", "rho1"))
        if number == 0:
            # Each old flip leads to this law, so that the law of the old ones does not matter.
            law = np.array([rho1, rho0]) / (rho0 + rho1)
            return np.asarray(law[new] + 0.0 * old)
        return np.asarray(np.array([[1 - rho0, rho0], [rho1, 1 - rho1]])[old, new])

    def _weights(self, noise: Laws, view: Any, before: IntArray, now: IntArray) -> FloatArray:
        _, report, _, last, missing = view
        kind = noise["mechanism"]
        if kind == "independent":
            return np.asarray(np.array(noise["matrix"], dtype=float)[now, report])
        if kind == "correlated":
            number = self._flipping.index(view[0])
            return np.asarray((report == now ^ self._hidden[None, :, 1 + number]).astype(float))
        if last is None:
            return np.asarray(np.array(noise["first"], dtype=float)[now, report])
        kernel = np.array(noise["kernel"], dtype=float)
        if kind == "sticky":
            return np.asarray(kernel[last, now, report])
        if missing:
            given = noise.get("after_gap")
            gap = kernel.mean(axis=1) if given is None else np.array(given, dtype=float)
            return np.asarray(gap[last, now, report])
        return np.asarray(kernel[last, before, now, report])


class _Reader:
    """Reads the reports of one release. The view of a point is None where no report is due."""

    def __init__(self, place: int, noise: Laws, blocks: Sequence[Any]) -> None:
        self._place = place
        self._every = int(noise.get("every", 1))
        self._first = (self._every - 1) // 2
        self._is_independent = noise["mechanism"] == "independent"
        self._number = 0
        self._blocks = _reports(blocks)
        self._left: list[list[Any]] = []
        self._last: int | None = None
        self._missing = False

    def view(self, time: int) -> Any:
        """Release, report, 0 for the first report, the last report, whether points were missing."""
        if (time - self._first) % self._every:
            return None
        if not self._left:
            self._left.append(list(next(self._blocks)))
        report = self._left[0][0]
        first = 0 if self._number == 0 else 1
        if self._is_independent:
            return self._place, report, 1, None, False
        return self._place, report, first, self._last, self._missing

    def alike(self, time: int) -> int:
        """Number of points from this one on that have the same step."""
        if self._every != 1:
            return 1
        report, count = self._left[0]
        settled = self._is_independent or (report is not None and report == self._last)
        return int(count) if settled and not self._missing and self._number > 0 else 1

    def read(self, time: int, count: int) -> None:
        if (time - self._first) % self._every:
            return
        report = self._left[0][0]
        self._left[0][1] -= count
        if self._left[0][1] == 0:
            self._left.pop()
        self._number += count
        self._missing = report is None and self._last is not None
        self._last = self._last if report is None else report


def _reports(blocks: Sequence[Any]) -> Iterator[tuple[Any, int]]:
    """Runs of equal reports."""
    for block, times in blocks:
        if len(block) == 1:
            yield block[0], times
            continue
        for _ in range(times):
            for report in block:
                yield report, 1


def _power_applied(law: FloatArray, step: FloatArray, count: int) -> tuple[FloatArray, float]:
    """``law step^count`` up to a factor, and the logarithm of the factor."""
    log, scale = 0.0, 0.0
    while count:
        if count & 1:
            law = law @ step
            log += scale
            total = float(law.sum())
            if total == 0:
                return law, log
            law, log = law / total, log + math.log(total)
        count >>= 1
        if count:
            step = step @ step
            largest = float(step.max())
            if largest == 0:
                return law * 0.0, log
            step, scale = step / largest, 2 * scale + math.log(largest)
    return law, log


def _fixed(attack: Laws, value: int) -> dict[int, int]:
    """The fixed points with their values: the known points and the target."""
    event, target = int(attack.get("event", 1)), int(attack["target"])
    fixed = {int(place): int(known) for place, known in attack["known"]}
    if event == 1:
        return fixed | {target: value}
    return fixed | {target + n: value >> (event - 1 - n) & 1 for n in range(event)}


def in_blocks(reports: Sequence[Any]) -> list[list[Any]]:
    """Reports as blocks of at most four, and the number of repetitions of each."""
    found: list[list[Any]] = []
    place = 0
    while place < len(reports):
        best = (1, 1)
        for size in range(1, 5):
            block = reports[place : place + size]
            times = 1
            while list(reports[place + times * size : place + (times + 1) * size]) == list(block):
                times += 1
            if times > 1 and times * size > best[0] * best[1]:
                best = (size, times)
        size, times = best
        found.append([list(reports[place : place + size]), times])
        place += size * times
    return found
