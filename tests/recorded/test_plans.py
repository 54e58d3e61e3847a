"""Plans against ``plans.json``: what they cost, and that they keep their budget.

A plan's certified loss may not exceed its budget, nor fall below what the recorded attack attains
on its noise; the attack that comes with it has to attain its lower bound, by the laws of the
record alone. Where wrong reports are minimised they may rise by .003; the error of a share by two
per cent where that is; the mean distance by .003 for each step of the scale; the points that are
wrong after smoothing, simulated, by .005. The chosen part has entries of every kind and takes
seconds, the whole takes minutes.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.batches import some_quick
from tests.recorded import adapter, holding

ENTRIES: dict[str, Any] = {entry["name"]: entry for entry in holding.read("plans")["entries"]}
QUICK = {entry["name"] for entry in holding.chosen(list(ENTRIES.values()), seconds=4.0)}
KINDS = {
    "two states", "slow", "q + r > 1", "zeros", "periodic", "initial laws", "several releases",
    "events", "lengths", "adversaries", "rare reports", "gaps", "boxes", "families", "objectives",
    "docs: four levels", "docs: five stages", "finite: random", "finite: cycle",
    "finite: birth-death", "finite: slow", "orders", "orders: four",
}  # fmt: skip


def test_the_record_is_whole() -> None:
    assert len(ENTRIES) >= 150
    assert {entry["kind"] for entry in ENTRIES.values()} == KINDS
    assert {ENTRIES[name]["kind"] for name in QUICK} == KINDS
    assert {entry["epsilon"] for entry in ENTRIES.values()} >= {0.5, 1.0, 2.0, 4.0}


def test_recorded_plans_keep_their_budgets() -> None:
    for name, entry in ENTRIES.items():
        assert entry["lower"] <= entry["upper"] <= entry["epsilon"], name


@pytest.mark.parametrize("name", some_quick(list(ENTRIES), QUICK))
def test_a_plan_is_held(name: str) -> None:
    assert not holding.plan_complaints(ENTRIES[name], adapter.plan(ENTRIES[name]))
