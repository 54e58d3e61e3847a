"""Compiled search for better words: one letter of a word is changed at a time."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainveil.compiled import compiled
from chainveil.privacy.letters.words import OVER, PLAIN, UNDER, inner, spell

# Times that all letters of a word are gone through to improve it.
SWEEPS = 20


@inner
def pull(matrix: Any, weight: Any, after: Any, at: int, where: Any, to: int) -> None:
    """What follows a point: its letter's weight times one step of the chain; scaled."""
    k = len(matrix)
    most = 0.0
    for x in range(k):
        flow = 0.0
        for y in range(k):
            flow += matrix[x, y] * after[at, y]
        after[to, x] = weight[where[0], where[1], where[2], x] * flow
        most = max(most, after[to, x])
    for x in range(k if most > 0.0 else 0):
        after[to, x] /= most


@inner
def ratio(rows: Any, at: int, after: Any, behind: int) -> float:
    """What a word is worth before what follows; negative where that cannot be."""
    above, below = 0.0, 0.0
    for x in range(rows.shape[2]):
        above += rows[at, OVER, x] * after[behind, x]
        below += rows[at, UNDER, x] * after[behind, x]
    return above / below if above > 0.0 and below > 0.0 else -1.0


@compiled(**PLAIN)
def climb(tables: Any, rows: Any, after: Any, letters: Any, labels: Any, free: bool) -> float:
    """Improve a word one letter at a time, in place; the log ratio that it reaches.

    ``rows`` (n + 1, 4, k) begins with the rows of the target, ``after[n]`` (n + 3, k) is what
    stands at the end, ``labels`` (n + 1,) begins with that of the target; ``free``: whether the
    end goes with every label.

    At each place only letters that lead to the same label, or whose next letter leads back, are
    tried; at the last place all of them, if the end is free of the label.
    """
    n, phases, next_label = len(letters), tables.phase, tables.next
    for t in range(n):
        labels[t + 1] = next_label[phases[t], labels[t], letters[t]]
    for _ in range(SWEEPS):
        for t in range(n - 1, -1, -1):
            pull(tables.matrix, tables.weight, after, t + 1, (phases[t], labels[t], letters[t]), t)
        changed = False
        for t in range(n):
            label, phase = labels[t], phases[t]
            best, choice, then = -1.0, letters[t], -1
            for letter in range(tables.counts[0, phase, label]):
                following, second, behind = next_label[phase, label, letter], -1, t + 1
                if following != labels[t + 1] and t + 1 == n:
                    if not free:
                        continue
                elif following != labels[t + 1]:
                    for other in range(tables.counts[0, phases[t + 1], following]):
                        if next_label[phases[t + 1], following, other] == labels[t + 2]:
                            second, behind = other, t + 2
                            break
                    if second < 0:
                        continue
                # The next letter first, if it changes too.
                for place in range(n + 1 if second >= 0 else n + 2, n + 3):
                    where = (phase, label, letter)
                    if place == n + 1:
                        where = (phases[t + 1], following, second)
                    pull(tables.matrix, tables.weight, after, behind, where, place)
                    behind = place
                value = ratio(rows, t, after, n + 2)
                if value > best * (1 + 1e-12) or (letter == letters[t] and value >= best):
                    best, choice, then = value, letter, second
            if choice != letters[t]:
                changed = True
                letters[t] = choice
                labels[t + 1] = next_label[phase, label, choice]
                if then >= 0:
                    letters[t + 1] = then
            spell(rows, t, t + 1, tables.matrix, tables.weight, (phase, label, letters[t]))
        if not changed:
            break
    reached: float = np.log(max(ratio(rows, n, after, n), 0.0))
    return reached
