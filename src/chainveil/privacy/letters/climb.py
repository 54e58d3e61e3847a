"""Compiled search for better words: one letter of a word is changed at a time."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainveil.compiled import compiled
from chainveil.privacy.letters.words import OVER, UNDER, inner, spell

# Times that all letters of a word are gone through to improve it.
SWEEPS = 20


@inner
def pull(tables: Any, after: Any, at: int, where: Any, to: int) -> None:
    """What follows a point: its letter's weight times one step of the chain; scaled."""
    k = len(tables.matrix)
    most = 0.0
    for x in range(k):
        flow = 0.0
        for y in range(k):
            flow += tables.matrix[x, y] * after[at, y]
        after[to, x] = tables.weight[where[0], where[1], where[2], x] * flow
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


@inner
def next_best(
    tables: Any, rows: Any, after: Any, letters: Any, labels: Any, t: int, free: bool
) -> tuple[int, int]:
    """The best letter at one place of a word, and the one after it if that changes with it.

    Only letters that lead to the same label, or whose next letter leads back, are tried; at the
    last place all of them, if the end is ``free`` of the label.
    """
    n, label, phase = len(letters), labels[t], tables.phase[t]
    best, choice, then = -1.0, letters[t], -1
    for letter in range(tables.counts[0, phase, label]):
        following, second, behind = tables.next[phase, label, letter], -1, t + 1
        if following != labels[t + 1] and t + 1 == n:
            if not free:
                continue
        elif following != labels[t + 1]:
            behind = n + 1
            for other in range(tables.counts[0, tables.phase[t + 1], following]):
                if tables.next[tables.phase[t + 1], following, other] == labels[t + 2]:
                    second = other
                    break
            if second < 0:
                continue
            pull(tables, after, t + 2, (tables.phase[t + 1], following, second), n + 1)
        pull(tables, after, behind, (phase, label, letter), n + 2)
        value = ratio(rows, t, after, n + 2)
        if value > best * (1 + 1e-12) or (letter == letters[t] and value >= best):
            best, choice, then = value, letter, second
    return choice, then


@compiled(error_model="numpy")
def climb(tables: Any, rows: Any, after: Any, letters: Any, labels: Any, free: bool) -> float:
    """Improve a word one letter at a time, in place; the log ratio that it reaches.

    ``rows`` (n + 1, 4, k) begins with the rows of the target, ``after[n]`` (n + 3, k) is what
    stands at the end, ``labels`` (n + 1,) begins with that of the target; ``free``: whether the
    end goes with every label.
    """
    n = len(letters)
    for t in range(n):
        labels[t + 1] = tables.next[tables.phase[t], labels[t], letters[t]]
    for _ in range(SWEEPS):
        for t in range(n - 1, -1, -1):
            pull(tables, after, t + 1, (tables.phase[t], labels[t], letters[t]), t)
        changed = False
        for t in range(n):
            choice, then = next_best(tables, rows, after, letters, labels, t, free)
            if choice != letters[t]:
                changed = True
                letters[t] = choice
                labels[t + 1] = tables.next[tables.phase[t], labels[t], choice]
                if then >= 0:
                    letters[t + 1] = then
                    pull(tables, after, t + 2, (tables.phase[t + 1], labels[t + 1], then), t + 1)
            spell(rows, t, tables, (tables.phase[t], labels[t], letters[t]), rows, t + 1)
        if not changed:
            break
    reached: float = np.log(max(ratio(rows, n, after, n), 0.0))
    return reached
