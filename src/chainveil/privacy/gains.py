"""What attacks that are known gain from noise of a kind: smooth functions of its logits.

An attack is one output with its known points and the two values it tells apart. Its gain is a
logarithm of products of 2 x 2 matrices, and takes microseconds, where the solver takes
milliseconds to find the best attack.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from chainveil.checks import FloatArray
from chainveil.compiled import compiled
from chainveil.noise.automaton import Automaton, product, with_laws
from chainveil.noise.parametrization import Parametrization
from chainveil.privacy.bounds import Attack

IntArray = NDArray[np.int64]

# Log odds beyond it, in nats, are cut off, so that a programme gets finite numbers; budgets above
# are met to so much less noise only.
LARGEST = 1e3
# Products below it are scaled, long before they are too small for a double.
SMALL = 1e-100


@compiled(error_model="numpy")
def long_run(kernel: FloatArray, move: FloatArray, law: FloatArray, numbers: FloatArray) -> None:
    """The law of the last report and the state at it in the long run, and all laws of the noise.

    Parameters
    ----------
    kernel : array of shape (n, 2, 2, 2, 2)
        ``[n, z, x, x', z']``.
    move : array of shape (2, 2)
        Transitions from one report to the next.
    law : array of shape (n, 2, 2)
        Filled with the long-run law ``[n, z, x]``, by elimination without subtractions, which is
        accurate for chains and noise that hardly ever change.
    numbers : array of shape (n, 30)
        Filled with 0, 1, the kernel, the first law ``[x, z]`` and the law after gaps
        ``[z, x', z']``.
    """
    M, weight = np.empty((4, 4)), np.empty(4)
    for n in range(len(kernel)):
        K = kernel[n]
        for z in range(2):
            for x in range(2):
                for y in range(2):
                    for w in range(2):
                        M[2 * z + x, 2 * w + y] = move[x, y] * K[z, x, y, w]
                        numbers[n, 2 + 8 * z + 4 * x + 2 * y + w] = K[z, x, y, w]
        numbers[n, 0], numbers[n, 1] = 0.0, 1.0
        for k in range(3, 0, -1):
            left = 1e-300
            for i in range(k):
                left += M[k, i]
            for i in range(k):
                M[i, k] /= left
                for j in range(k):
                    M[i, j] += M[i, k] * M[k, j]
        weight[0] = 1.0
        for k in range(1, 4):
            weight[k] = 0.0
            for i in range(k):
                weight[k] += weight[i] * M[i, k]
        total = weight[0] + weight[1] + weight[2] + weight[3]
        for z in range(2):
            for x in range(2):
                law[n, z, x] = weight[2 * z + x] / total
                both = max(weight[x] + weight[2 + x], 1e-300)
                numbers[n, 18 + 2 * x + z] = weight[2 * z + x] / both
            for y in range(2):
                ones, all_ = 0.0, 1e-300
                for x in range(2):
                    ones += weight[2 * z + x] * move[x, y] * K[z, x, y, 1]
                    all_ += weight[2 * z + x] * move[x, y]
                numbers[n, 22 + 4 * z + 2 * y] = 1 - ones / all_
                numbers[n, 22 + 4 * z + 2 * y + 1] = ones / all_


@compiled(error_model="numpy")
def log_odds(
    laws: FloatArray,
    transition: FloatArray,
    start: FloatArray,
    steps: IntArray,
    items: IntArray,
    ends: IntArray,
    wanted: IntArray,
    found: FloatArray,
) -> None:
    """Log odds of the two values of attacks with their outputs.

    Parameters
    ----------
    laws : array of shape (n, laws, 2, 2)
        Likelihoods of edges.
    transition, start : arrays of shape (2, 2) and (2,)
        The chain.
    steps : array
        Numbers of laws, one a step of a pattern.
    items : array of shape (items, 5)
        Begin and size of a pattern in ``steps``, its repetitions, and the states at its end that
        each hypothesis allows (1: state 0, 2: state 1, 3: both).
    ends : array of shape (attacks,)
        Where the items of each attack end. The first item of each is its first point.
    wanted : array of shape (wanted,)
        Numbers of the attacks that are looked at.
    found : array of shape (n, wanted)
        Filled with the log odds.
    """
    for n in range(len(laws)):
        for at in range(len(wanted)):
            k = wanted[at]
            u0, u1, w0, w1 = start[0], start[1], start[0], start[1]
            begin = ends[k - 1] if k else 0
            for i in range(begin, ends[k]):
                a, b, c, d = 1.0, 0.0, 0.0, 1.0
                for j in range(items[i, 0], items[i, 0] + items[i, 1]):
                    K = laws[n, steps[j]]
                    if i == begin:
                        a, d = K[0, 0], K[0, 1]
                    else:
                        e, f = transition[0, 0] * K[0, 0], transition[0, 1] * K[0, 1]
                        g, h = transition[1, 0] * K[1, 0], transition[1, 1] * K[1, 1]
                        a, b, c, d = a * e + b * g, a * f + b * h, c * e + d * g, c * f + d * h
                        top = max(a, b, c, d)
                        if top < SMALL:
                            a, b, c, d = a / top, b / top, c / top, d / top
                left = items[i, 2]
                while True:
                    if left & 1:
                        u0, u1 = u0 * a + u1 * c, u0 * b + u1 * d
                        w0, w1 = w0 * a + w1 * c, w0 * b + w1 * d
                        # Both hypotheses have the same scale.
                        top = max(u0, u1, w0, w1)
                        u0, u1, w0, w1 = u0 / top, u1 / top, w0 / top, w1 / top
                    left >>= 1
                    if left == 0:
                        break
                    a, b, c, d = a * a + b * c, a * b + b * d, c * a + d * c, c * b + d * d
                    top = max(a, b, c, d)
                    a, b, c, d = a / top, b / top, c / top, d / top
                u0, u1 = u0 * (items[i, 3] & 1), u1 * (items[i, 3] >> 1)
                w0, w1 = w0 * (items[i, 4] & 1), w1 * (items[i, 4] >> 1)
            found[n, at] = np.log(u0 + u1) - np.log(w0 + w1)


class Laws:
    """The automaton of noise of a kind, together with earlier releases, as a function of logits.

    Each likelihood of an edge is one number of the new noise times that of the earlier releases;
    edges that share both share a law.
    """

    def __init__(self, form: Parametrization, spent: Sequence[Automaton]) -> None:
        self.form, self.move = form, np.ascontiguousarray(form.move)
        # Numbers in place of probabilities say which one stands where.
        kernel = np.arange(2.0, 18.0).reshape(2, 2, 2, 2)
        first, after_gap = np.arange(18.0, 22.0).reshape(2, 2), np.arange(22.0, 30.0)
        if form.every > 1:  # A report then depends on the last one and on its own point alone.
            kernel = np.repeat(kernel[:, :1], 2, axis=1)
        own = form.automaton(kernel, first, after_gap.reshape(2, 2, 2))
        silenced = [with_laws(one, np.ones((len(one.edges), 2, 2))) for one in spent]
        plain = product([*silenced, own])
        places = {(edge.phase, edge.source, edge.observation): edge.law for edge in plain.edges}
        ones = with_laws(own, np.ones((len(own.edges), 2, 2)))
        self.blank = product([*spent, ones])
        factors = np.array([edge.law for edge in self.blank.edges])
        index = np.array(
            [places[edge.phase, edge.source, edge.observation] for edge in self.blank.edges]
        )
        table = np.stack([index, factors], axis=1).reshape(len(index), 8)
        shared, which = np.unique(table, axis=0, return_inverse=True)
        self.which = which.ravel()
        self._index = shared[:, :4].astype(np.int64).reshape(-1, 2, 2)
        self._factor = shared[:, 4:].reshape(-1, 2, 2)
        self._is_plain = bool(np.all(self._factor == 1))

    def numbers(self, logits: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Kernels, long-run laws and numbers for rows of logits."""
        kernel = np.ascontiguousarray(self.form.kernel(logits))
        law, numbers = np.empty((len(logits), 2, 2)), np.empty((len(logits), 30))
        long_run(kernel, self.move, law, numbers)
        return kernel, law, numbers

    def shared(self, numbers: FloatArray) -> FloatArray:
        """The different laws of edges, shape (n, laws, 2, 2)."""
        laws = numbers[:, self._index]
        return laws if self._is_plain else laws * self._factor

    def automaton(self, logits: FloatArray) -> Automaton:
        """All releases together, the new one with these logits."""
        numbers = self.numbers(logits[None])[2]
        return with_laws(self.blank, self.shared(numbers)[0][self.which])

    def prior(self) -> FloatArray:
        """Laws of noise that says nothing, shape (1, laws, 2, 2)."""
        return np.ones((1, *self._index.shape))


class Known:
    """The attacks on one chain that are known."""

    def __init__(self, laws: Laws, transition: FloatArray, start: FloatArray) -> None:
        self._laws, self._start = laws, start
        self._transition = np.ascontiguousarray(transition)
        self._steps: list[int] = []
        self._items: list[tuple[int, ...]] = []
        self._ends: list[int] = []
        self._seen: set[Attack] = set()

    def add(self, attacks: Iterable[Attack]) -> int:
        """Take in attacks; how many are new."""
        new = [attack for attack in dict.fromkeys(attacks) if attack not in self._seen]
        for attack in new:
            self._add(attack)
        if new:
            steps, items, ends = (
                np.array(one, np.int64) for one in (self._steps, self._items, self._ends)
            )
            self._arrays = steps, items, ends
            self._prior = self._odds(self._laws.prior(), np.arange(len(ends)))[0]
        return len(new)

    def __len__(self) -> int:
        return len(self._ends)

    def _add(self, attack: Attack) -> None:
        automaton = self._laws.blank
        fixed = [dict(attack.known), dict(attack.known)]
        for i, values in enumerate(zip(attack.value, attack.other, strict=True)):
            for one, value in zip(fixed, values, strict=True):
                one[attack.target + i] = value
        label, place = automaton.start, 0
        special = {0, *fixed[0]}
        for pattern, count in attack.runs:
            # The first point, and points with a value, end an item.
            size, done = len(pattern), 0
            while done < count:
                inside = [
                    at - place for at in special if place <= at < place + size * (count - done)
                ]
                times = (count - done) if not inside else max(1, min(inside) // size)
                ends = [i + 1 for i in sorted(inside) if times == 1 and i + 1 < size]
                for begin, end in itertools.pairwise([0, *ends, size]):
                    first = len(self._steps)
                    for z in pattern[begin:end]:
                        edge = automaton.steps[place % automaton.period, label, z]
                        label, place = automaton.edges[edge].target, place + 1
                        self._steps.append(int(self._laws.which[edge]))
                    place += (times - 1) * (end - begin)
                    allowed = [1 + one[place - 1] if place - 1 in one else 3 for one in fixed]
                    self._items.append((first, end - begin, times, *allowed))
                done += times
        self._ends.append(len(self._items))
        self._seen.add(attack)

    def gains(self, laws: FloatArray, wanted: IntArray | None = None) -> FloatArray:
        """``[noise, attack]``, in nats; of all attacks, or of those with the numbers ``wanted``."""
        if not self._ends:
            return np.empty((len(laws), 0))
        which = np.arange(len(self._ends)) if wanted is None else wanted
        # What cannot happen with these values is no attack.
        gained = np.nan_to_num(self._odds(laws, which) - self._prior[which], nan=-LARGEST)
        return np.asarray(np.clip(gained, -LARGEST, LARGEST))

    def _odds(self, laws: FloatArray, wanted: IntArray) -> FloatArray:
        found = np.empty((len(laws), len(wanted)))
        log_odds(laws, self._transition, self._start, *self._arrays, wanted, found)
        return found
