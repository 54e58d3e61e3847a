"""Words around a target, many at a time: how they grow on either side, and what they are worth.

A word is four tables over u, the next m values on the left, and t, those on the right: 0 and 1 for
the values a and b of the target with reports and knowledge, 2 and 3 the same with the knowledge
alone. What is said of these and lies further out enters as nonnegative weights of u and t, so that
no way to go on is worth more than the largest quotient of tables 0 and 1 and the largest of 3 and 2
together. Either is attained, by who knows the m values, though mostly not both at once.

Entries are products and sums of nonnegative numbers, as in ``rows``, and lose at most
``tables.slack`` with each letter. One loop is compiled, that in which nearly all time is spent:
more of them would make a first loss take longer.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from chainveil.checks import FloatArray
from chainveil.compiled import compiled
from chainveil.privacy.orders.graph import IntArray, Tables
from chainveil.privacy.orders.rows import (
    FOLLOWING,
    KNOWN,
    LABELS,
    MAY_KNOW,
    OFTEN,
    ORDER,
    SMALLEST,
    TURNS,
)

# What is kept of a word beside its tables: its labels on the right and on the left, how many
# points in a row are known at either end, how many points it takes up beside the target, and the
# label it began with. A side that has ended counts as known for so long that no more matters.
RIGHT, LEFT, RIGHT_RUN, LEFT_RUN, POINTS, FIRST = 0, 1, 2, 3, 4, 5
# The label of a left side that has ended.
ENDED = -1


class Words(NamedTuple):
    """Words of one size.

    ``table`` (n, 4, contexts, contexts); ``state`` (n, 6); ``origin`` (n, 4): the word it was
    grown from, by its place there, the side, and the label and the number of the letter.
    """

    table: FloatArray
    state: IntArray
    origin: IntArray

    def at(self, places: NDArray[np.int64] | NDArray[np.bool_] | slice) -> Words:
        """Some of them."""
        return Words(self.table[places], self.state[places], self.origin[places])


def begun(table: FloatArray, state: IntArray) -> Words:
    """Words of no letters: their origin is their own place."""
    origin = np.full((len(table), 4), -1)
    origin[:, 0] = np.arange(len(table))
    return Words(table, state, origin)


def joined(parts: list[Words], contexts: int) -> Words:
    """Several lots of words as one."""
    if not parts:
        return Words(np.empty((0, 4, contexts, contexts)), *_nothing())
    table, state, origin = zip(*parts, strict=True)
    return Words(np.concatenate(table), np.concatenate(state), np.concatenate(origin))


def _nothing() -> tuple[IntArray, IntArray]:
    return np.empty((0, 6), np.int64), np.empty((0, 4), np.int64)


def turn_of(tables: Tables, state: IntArray, size: int) -> IntArray:
    """The side whose turn it is, 0: right, 1: left; -1: nothing further out matters."""
    known = state[:, RIGHT_RUN : LEFT_RUN + 1] >= tables.right[ORDER]
    side = np.where(known[:, size % 2], 1 - size % 2, size % 2)
    return np.where(known.all(axis=1), -1, side)


def ends_on(tables: Tables, side: int, limited: bool) -> bool:
    """Whether the end of a side is a way of its own.

    A longer series shows no less where the next point is one like all others: ends matter where
    lengths are limited, and on the left where the first report follows a law of its own.
    """
    return limited or (side == 1 and len(tables.letters) - tables.right[LABELS] > 1)


def _letters(tables: Tables, label: IntArray) -> NDArray[np.bool_]:
    """Which letters each label goes on with; that of the target is not one of them."""
    numbers = np.arange(tables.letters.shape[1])
    there: NDArray[np.bool_] = numbers < tables.counts[0, label][:, None]
    there &= tables.letters[label, :, TURNS] != 1
    return there


def grown(
    tables: Tables, words: Words, size: int, limited: bool, limit: float = -np.inf
) -> tuple[Words, FloatArray, int, float]:
    """All words of one letter, or end, more that may become worth more than the limit.

    ``size``: how many letters these have. Then what no way to go on from each of them is worth
    more than, without the slack of rounding; how many words there were; and the largest bound of
    those that may not.
    """
    side = turn_of(tables, words.state, size)
    parts, bounds, count, top = [], [np.empty(0)], 0, -np.inf
    for one in (0, 1):
        places = np.flatnonzero(side == one)
        if not len(places):
            continue
        some = words.at(places)
        lots = [_lettered(tables, some, places, one, limit)]
        if ends_on(tables, one, limited):
            lots += [_bounded(tables, lot, limit) for lot in _ended(tables, some, places, one)]
        for lot, bound, looked, most in lots:
            parts.append(lot)
            bounds.append(bound)
            count, top = count + looked, max(top, most)
    found = joined(parts, len(tables.start))
    if (size + 1) % tables.right[OFTEN] == 0:
        scale(found.table)
    return found, np.concatenate(bounds), count, top


def _lettered(
    tables: Tables, words: Words, places: IntArray, side: int, limit: float
) -> tuple[Words, FloatArray, int, float]:
    """One letter more on one side."""
    labels = words.state[:, side]
    there, kinds = _letters(tables, labels), tables.letters[labels]
    known = kinds[:, :, KNOWN] >= 0
    weight = tables.weight[labels][:, :, : tables.transition.shape[1]]
    # What a letter weighs: tables of the knowledge alone only where it is knowledge.
    factor = np.stack([weight, np.where(known[:, :, None], weight, 1.0)], axis=2)
    count = int(there.sum())
    table = np.empty((count, *words.table.shape[1:]))
    which, quotient = np.empty((count, 2), np.int64), np.empty(count + 1)
    going = follow(
        side, words.table, tables.transition, factor, there, _prior(tables, words),
        np.exp(min(limit, 700.0)), table, which, quotient,
    )  # fmt: skip
    who, letter = which[:going].T
    state = words.state[who]
    state[:, side] = kinds[who, letter, FOLLOWING]
    run = np.where(known[who, letter], state[:, RIGHT_RUN + side] + 1, 0)
    state[:, RIGHT_RUN + side] = run
    state[:, POINTS] += 1
    origin = np.column_stack([places[who], np.full(going, side), labels[who], letter])
    with np.errstate(divide="ignore"):
        bound, top = np.log(quotient[:going]), float(np.log(quotient[-1]))
    return Words(table[:going], state, origin), bound, count, top


def _prior(tables: Tables, words: Words) -> FloatArray:
    """What the knowledge alone is worth where nothing is known; -1: it depends."""
    if tables.right[MAY_KNOW] == 1:
        return np.full(len(words.table), -1.0)
    found: FloatArray = np.exp(tables.prior[words.state[:, FIRST]])
    return found


@compiled(error_model="numpy")
def follow(
    side: int, old: Any, transition: Any, factor: Any, there: Any, prior: Any, limit: float,
    new: Any, which: Any, quotient: Any,
) -> int:  # fmt: skip
    """Words of one letter more whose quotient is above the limit; how many there are.

    ``old`` (n, 4, contexts, contexts); ``factor`` (n, letters, 2, k): what a letter weighs, and
    in the tables of the knowledge alone; ``there`` (n, letters). ``new``, ``which`` (the word
    and the letter) and ``quotient`` have room for all; the last quotient is the largest one that
    is not above the limit.
    """
    contexts, k = transition.shape
    rest, count, top = contexts // k, 0, 0.0
    for n in range(len(old)):
        for letter in range(there.shape[1]):
            if not there[n, letter]:
                continue
            for line in range(4):
                for u in range(contexts):
                    for t in range(contexts):
                        new[count, line, u, t] = 0.0
                    for x in range(k):
                        share = factor[n, letter, line // 2, x]
                        if side == 1:
                            share *= transition[u, x]
                            for t in range(contexts):
                                more = share * old[n, line, (u % rest) * k + x, t]
                                new[count, line, u, t] += more
                            continue
                        for t in range(contexts):
                            last = x * rest + t // k
                            more = share * old[n, line, u, last] * transition[last, t % k]
                            new[count, line, u, t] += more
            said, known = 0.0, 0.0
            for u in range(contexts):
                for t in range(contexts):
                    if new[count, 0, u, t] > said * new[count, 1, u, t]:
                        said = new[count, 0, u, t] / new[count, 1, u, t]
                    if new[count, 3, u, t] > known * new[count, 2, u, t]:
                        known = new[count, 3, u, t] / new[count, 2, u, t]
            if said > 0.0 and known > 0.0:
                both = said * (known if prior[n] < 0.0 else prior[n])
                if both > limit:
                    which[count, 0], which[count, 1] = n, letter
                    quotient[count] = both
                    count += 1
                else:
                    top = max(top, both)
    quotient[-1] = top
    return count


def _bounded(tables: Tables, words: Words, limit: float) -> tuple[Words, FloatArray, int, float]:
    """Those that may become worth more than the limit, as ``grown`` gives them."""
    bound = at_most(tables, words)
    going = bound > limit
    top = bound[~going].max(initial=-np.inf)
    return words.at(going), bound[going], len(bound), float(top)


def _ended(tables: Tables, words: Words, places: IntArray, side: int) -> list[Words]:
    """The series ends on the right, one column is left; or it begins on the left, one row is."""
    parts, labels = [], words.state[:, side]
    for ending in range(1 if side == 0 else int(tables.counts[1, labels].max(initial=0))):
        some = np.arange(len(labels))
        table = np.zeros_like(words.table)
        if side == 0:
            table[:, :, :, 0] = words.table.sum(axis=3)
        else:
            some = np.flatnonzero(ending < tables.counts[1, labels])
            weight = tables.end_weight[labels[some], ending].repeat(2, axis=1)
            table = table[some]
            table[:, :, 0] = (weight[..., None] * words.table[some]).sum(axis=2)
        scale(table)
        state = words.state[some]
        state[:, RIGHT_RUN + side] = tables.right[ORDER]
        if side == 1:
            state[:, LEFT] = ENDED
        number = tables.counts[0, labels[some]] + ending
        column = np.full(len(some), side)
        origin = np.column_stack([places[some], column, labels[some], number])
        parts.append(Words(table, state, origin))
    return parts


def scale(table: FloatArray) -> None:
    """Scale each two tables by a power of two; tiny entries to the safe side."""
    for told in (0, 2):
        two = table[:, told : told + 2]
        most = two.max(axis=(1, 2, 3), initial=0.0)
        np.multiply(two, np.ldexp(1.0, -np.frexp(most)[1])[:, None, None, None], out=two)
    tiny = (table > 0.0) & (table < SMALLEST)
    if tiny.any():
        # Tables 0 and 3 stand above the line, 1 and 2 below it.
        safe = np.array([SMALLEST, 0.0, 0.0, SMALLEST])[:, None, None]
        np.copyto(table, safe, where=tiny)


def at_most(tables: Tables, words: Words) -> FloatArray:
    """No way to go on from a word is worth more; the slack of rounding is not in it."""
    flat = words.table.reshape(len(words.table), 4, len(tables.start) ** 2)
    prior = _prior(tables, words)
    said, known = _largest(flat[:, 0], flat[:, 1]), _largest(flat[:, 3], flat[:, 2])
    # Of words that cannot be, one of the two is zero, and their product may be none.
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        both = np.log(said * np.where(prior < 0.0, known, prior))
    return np.where((said > 0.0) & (known > 0.0), both, -np.inf)


def _largest(above: FloatArray, below: FloatArray) -> FloatArray:
    """The largest quotient of entries above that are not zero."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        found: FloatArray = np.where(above > 0.0, above / below, 0.0).max(axis=1, initial=0.0)
    return found


def worth(tables: Tables, words: Words) -> tuple[FloatArray, IntArray]:
    """What words are worth if the series ends there, and how it begins best."""
    rows = words.table.sum(axis=3)
    labels = words.state[:, LEFT]
    over = labels == ENDED
    best, ending = np.full(len(labels), -np.inf), np.zeros(len(labels), np.int64)
    for end in range(int(tables.counts[1].max())):
        weight = tables.end_weight[labels, end].repeat(2, axis=1)
        sums = np.where(over[:, None], rows[:, :, 0], (weight * rows).sum(axis=2))
        there = (over & (end == 0)) | (~over & (end < tables.counts[1, labels]))
        there &= (sums[:, [0, 2, 3]] > 0.0).all(axis=1)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            value = np.log(sums[:, 0] / sums[:, 1]) + np.log(sums[:, 3] / sums[:, 2])
        better = there & (value > best)
        best[better], ending[better] = value[better], end
    return best, ending
