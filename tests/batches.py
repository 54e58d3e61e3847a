"""Batches of one test, of which a few always run and the others with the slow tests."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import pytest


def batches(count: int, quick: int) -> list[Any]:
    """The numbers ``0 … count - 1``; those from ``quick`` on are marked slow."""
    slow = [pytest.param(number, marks=pytest.mark.slow) for number in range(quick, count)]
    return [*range(quick), *slow]


def some_quick(values: Iterable[Any], quick: Collection[Any]) -> list[Any]:
    """The values of one test; those that are not among the quick ones are marked slow."""
    return [
        value if value in quick else pytest.param(value, marks=pytest.mark.slow) for value in values
    ]
