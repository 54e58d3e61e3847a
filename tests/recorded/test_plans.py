"""Plans against ``plans.json``, under the conditions of ``holding.py``.

The loss of a plan may not be above epsilon, nor below what the recorded attack attains on the noise
of the plan; its own attack has to attain its lower bound, from the laws of the record alone. What
the plan minimises may rise a little. The part that always runs takes seconds and has entries of
every kind but order 4; all entries take minutes.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.batches import some_quick
from tests.recorded import adapter, holding

ENTRIES: dict[str, Any] = {entry["name"]: entry for entry in holding.read("plans")["entries"]}
QUICK = {entry["name"] for entry in holding.chosen(list(ENTRIES.values()), seconds=2.5)}
KINDS = {
    "two states", "slow", "q + r > 1", "zeros", "periodic", "initial laws", "several releases",
    "events", "lengths", "adversaries", "thinned", "gaps", "boxes", "families", "objectives",
    "docs: four levels", "docs: five stages", "finite: random", "finite: cycle",
    "finite: birth-death", "finite: slow", "orders", "orders: four",
}  # fmt: skip


def test_the_record_is_complete() -> None:
    assert len(ENTRIES) >= 150
    assert {entry["kind"] for entry in ENTRIES.values()} == KINDS
    assert {ENTRIES[name]["kind"] for name in QUICK} == KINDS - {"orders: four"}
    assert {entry["epsilon"] for entry in ENTRIES.values()} >= {0.5, 1.0, 2.0, 4.0}


def test_recorded_plans_keep_their_budgets() -> None:
    for name, entry in ENTRIES.items():
        assert entry["lower"] <= entry["upper"] <= entry["epsilon"], name


@pytest.mark.parametrize("name", some_quick(list(ENTRIES), QUICK))
def test_a_plan_is_held(name: str) -> None:
    assert not holding.plan_complaints(ENTRIES[name], adapter.plan(ENTRIES[name]))
