"""Batches of one test, of which a few always run and the others with the slow tests."""

from __future__ import annotations

from typing import Any

import pytest


def batches(count: int, quick: int) -> list[Any]:
    """The numbers ``0 … count - 1``; those from ``quick`` on are marked slow."""
    slow = [pytest.param(number, marks=pytest.mark.slow) for number in range(quick, count)]
    return [*range(quick), *slow]
