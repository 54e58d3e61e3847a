"""Words around a target, many at a time: how they grow on either side, and what they are worth.

A word is four tables over u, the next m values on the left, and t, those on the right: 0 and 1 for
the values a and b of the target with reports and knowledge, 2 and 3 the same with the knowledge
alone. What is said of these and lies further out enters as nonnegative weights of u and t, so that
no way to go on is worth more than the largest quotient of tables 0 and 1 and the largest of 3 and 2
together. Either is attained, by who knows the m values, though mostly not both at once.

Entries are products and sums of nonnegative numbers, and lose at most ``slack`` with each letter.

One loop is compiled, that in which nearly all time is spent: more of them would make a first loss
take longer.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from chainveil.checks import FloatArray
from chainveil.compiled import compiled
from chainveil.privacy.orders.alphabet import Root
from chainveil.privacy.orders.kernel import UNIT
from chainveil.privacy.orders.tables import IntArray, Tables, alone

# What is kept of a word beside its tables: its labels on the right and on the left, how many points
# in a row are known at either end, how many points it takes up beside the target, and how many more
# of them may be known. A side that has ended counts as known for so long that no more matters.
RIGHT, LEFT, RIGHT_RUN, LEFT_RUN, POINTS, FREE = 0, 1, 2, 3, 4, 5
# Letters of a word, and entries of the tables of all beginnings of one.
MOST_LETTERS, MOST_ENTRIES = 512, 4_000_000
# More known points than a word has.
MANY = 1 << 30
# Entries of tables below this are moved to the safe side, where they are scaled.
SMALLEST = 1e-120


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


def begun(tables: Tables, roots: list[Root], free: int = MANY) -> Words:
    """Targets alone: their origin is their own place. ``free``: points that may be known."""
    of_value = np.array([alone(tables, value) for value in range(tables.transition.shape[1])])
    table = np.array([of_value[list(root.pair * 2)] for root in roots])
    table[:, :2] *= np.array([root.weight for root in roots])[:, :, None, None]
    state = np.zeros((len(roots), 6), np.int64)
    state[:, FREE] = free
    state[:, RIGHT], state[:, LEFT] = zip(*((root.right, root.left) for root in roots), strict=True)
    origin = np.full((len(roots), 4), -1)
    origin[:, 0] = np.arange(len(roots))
    return Words(table, state, origin)


def joined(parts: list[Words], contexts: int) -> Words:
    """Several lots of words as one."""
    if not parts:
        nothing = np.empty((0, 6), np.int64), np.empty((0, 4), np.int64)
        return Words(np.empty((0, 4, contexts, contexts)), *nothing)
    table, state, origin = zip(*parts, strict=True)
    return Words(np.concatenate(table), np.concatenate(state), np.concatenate(origin))


def slack(tables: Tables, drift: float) -> float:
    """What one letter is widened by: sums over contexts, and a start that is not quite kept."""
    contexts = len(tables.start)
    return float(np.log1p(16 * (contexts + 24) * UNIT + 8 * tables.order * drift))


def entries(tables: Tables) -> int:
    """Entries of the tables of a word."""
    return 4 * len(tables.start) ** 2


def most_letters(tables: Tables, points: int | None) -> int:
    """How many letters words may have, the ends of either side among them."""
    most = min(MOST_LETTERS, max(32, MOST_ENTRIES // entries(tables)))
    return most if points is None else min(most, points + 1)


def turn_of(tables: Tables, state: IntArray, size: int) -> IntArray:
    """The side whose turn it is, 0: right, 1: left; -1: nothing further out matters."""
    over = state[:, RIGHT_RUN : LEFT_RUN + 1] >= tables.order
    over |= tables.counts[state[:, : LEFT + 1]] == 0
    side = np.where(over[:, size % 2], 1 - size % 2, size % 2)
    return np.where(over.all(axis=1), -1, side)


def grown(
    tables: Tables, words: Words, size: int, limited: bool, limit: float = -np.inf
) -> tuple[Words, FloatArray, float]:
    """All words of one letter more that may become worth more than the limit.

    ``size``: how many letters these have. Where the number of points is limited, a side may also
    end: the other one then has more of them. Then what no way to go on from each is worth more
    than, without the slack of rounding, and the largest such bound of words that are left out.
    """
    side = turn_of(tables, words.state, size)
    parts, bounds, top = [], [np.empty(0)], -np.inf
    for one in (0, 1):
        places = np.flatnonzero(side == one)
        if not len(places):
            continue
        lots = [_lettered(tables, words.at(places), places, one)]
        if limited:
            lots.append(_ended(tables, words.at(places), places, one))
        for lot, bound in lots:
            going = bound > limit
            parts.append(lot if going.all() else lot.at(going))
            bounds.append(bound[going])
            top = max(top, float(bound[~going].max(initial=-np.inf)))
    found = joined(parts, len(tables.start))
    if (size + 1) % tables.often == 0:
        scale(found.table)
    return found, np.concatenate(bounds), top


def _lettered(
    tables: Tables, words: Words, places: IntArray, side: int
) -> tuple[Words, FloatArray]:
    """One letter more on one side."""
    labels = words.state[:, side]
    there = np.arange(tables.weight.shape[1]) < tables.counts[labels][:, None]
    known = tables.known[labels] >= 0
    there &= ~known | (words.state[:, FREE] > 0)[:, None]
    weight = tables.weight[labels]
    # What a letter weighs: tables of the knowledge alone only where it is knowledge.
    factor = np.stack([weight, np.where(known[:, :, None], weight, 1.0)], axis=2)
    count = int(there.sum())
    table = np.empty((count, *words.table.shape[1:]))
    which, quotient = np.empty((count, 2), np.int64), np.empty(count)
    going = follow(
        side, words.table, tables.transition, factor, there, _prior(tables, words), table, which,
        quotient,
    )  # fmt: skip
    who, letter = which[:going].T
    state = words.state[who]
    state[:, side] = tables.following[labels[who], letter]
    state[:, RIGHT_RUN + side] = np.where(known[who, letter], state[:, RIGHT_RUN + side] + 1, 0)
    state[:, POINTS] += 1
    state[:, FREE] -= known[who, letter]
    origin = np.column_stack([places[who], np.full(going, side), labels[who], letter])
    with np.errstate(divide="ignore"):
        return Words(table[:going], state, origin), np.log(quotient[:going])


@compiled(error_model="numpy")
def follow(
    side: int, old: Any, transition: Any, factor: Any, there: Any, prior: Any, new: Any, which: Any,
    quotient: Any,
) -> int:  # fmt: skip
    """Words of one letter more that can be; how many there are.

    ``old`` (n, 4, contexts, contexts); ``factor`` (n, letters, 2, k): what a letter weighs, and
    in the tables of the knowledge alone; ``there`` (n, letters); ``prior`` (n,): what the
    knowledge alone is worth, -1: it depends on what follows. ``new``, ``which`` (the word
    and the letter) and ``quotient`` have room for all.
    """
    contexts, k = transition.shape
    rest, count = contexts // k, 0
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
                which[count, 0], which[count, 1] = n, letter
                quotient[count] = said * (known if prior[n] < 0.0 else prior[n])
                count += 1
    return count


def _ended(tables: Tables, words: Words, places: IntArray, side: int) -> tuple[Words, FloatArray]:
    """The series ends on the right, or it begins on the left: what is further out is all alike."""
    some = np.arange(len(places))
    if side == 1:
        some = np.flatnonzero(tables.begins[words.state[:, LEFT]])
    table = np.zeros_like(words.table[some])
    if side == 0:
        table[:, :, :, 0] = words.table.sum(axis=3)
    else:
        table += np.einsum("u,nlut->nlt", tables.start, words.table[some])[:, :, None]
    state = words.state[some]
    if side == 1:
        state[:, LEFT] = len(tables.counts) - 1
    state[:, RIGHT_RUN + side] = tables.order
    origin = np.full((len(some), 4), -1)
    origin[:, 0], origin[:, 1] = places[some], side
    ended = Words(table, state, origin)
    return ended, at_most(tables, ended)


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


def _prior(tables: Tables, words: Words) -> FloatArray:
    """What the knowledge alone is worth where nothing is known; -1: it depends on what follows."""
    if tables.may_know:
        return np.full(len(words.table), -1.0)
    sums = words.table[:, 2:].sum(axis=3) @ tables.start
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(sums[:, 0] > 0.0, sums[:, 1] / sums[:, 0], 0.0)


def at_most(tables: Tables, words: Words) -> FloatArray:
    """No way to go on from a word is worth more; the slack of rounding is not in it."""
    flat = words.table.reshape(len(words.table), 4, words.table.shape[3] ** 2)
    said, known = _largest(flat[:, 0], flat[:, 1]), _largest(flat[:, 3], flat[:, 2])
    # Of words that cannot be, one of the two is zero, and their product may be none.
    prior = _prior(tables, words)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        both = np.log(said * np.where(prior < 0.0, known, prior))
    return np.where((said > 0.0) & (known > 0.0), both, -np.inf)


def _largest(above: FloatArray, below: FloatArray) -> FloatArray:
    """The largest quotient of entries above that are not zero."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        found: FloatArray = np.where(above > 0.0, above / below, 0.0).max(axis=1, initial=0.0)
    return found


def worth(tables: Tables, words: Words) -> tuple[FloatArray, NDArray[np.bool_]]:
    """What words are worth if nothing more is said on either side; whether a series can be so."""
    sums = words.table.sum(axis=3) @ tables.start
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        value = np.log(sums[:, 0] / sums[:, 1]) + np.log(sums[:, 3] / sums[:, 2])
    there = (sums[:, [0, 2, 3]] > 0.0).all(axis=1)
    return np.where(there, value, -np.inf), tables.begins[words.state[:, LEFT]]


def spelled_worth(tables: Tables, root: Root, letters: list[tuple[int, int, int]]) -> float:
    """What a word is worth, up to rounding: letters from the target outwards, by side and place."""
    table = begun(tables, [root]).table[0]
    contexts, k = tables.transition.shape
    rest = contexts // k
    for side, label, letter in letters:
        weight = np.ones((4, k))
        weight[: 4 if tables.known[label, letter] >= 0 else 2] = tables.weight[label, letter]
        if side == 0:
            split = table.reshape(4, contexts, k, rest, 1) * weight[:, None, :, None, None]
            table = (split * tables.transition.reshape(k, rest, k)).sum(axis=2)
        else:
            share = weight[:, None] * tables.transition
            split = table.reshape(4, rest, k, contexts)
            table = np.einsum("lorx,lrxt->lort", share.reshape(4, k, rest, k), split)
        table = table.reshape(4, contexts, contexts)
        table[:2] /= table[:2].max(initial=1e-300)
        table[2:] /= table[2:].max(initial=1e-300)
    found, _ = worth(tables, Words(table[None], np.zeros((1, 6), np.int64), np.zeros((1, 4), int)))
    return float(found[0])
