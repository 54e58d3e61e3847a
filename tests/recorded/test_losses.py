"""Losses against ``losses.json``, under the conditions of ``holding.py``.

Entries with a defect are compared with what is known of the loss itself. Where a defect remains, an
answer that is wrong as it was recorded is an expected failure. The part that always runs has
entries of every kind and takes seconds; all entries take minutes.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.batches import some_quick
from tests.recorded import adapter, holding
from tests.recorded.laws import log_ratio
from tests.recorded.losses import LATE, asked_entries
from tests.recorded.worker import Worker

PLANS: dict[str, Any] = {entry["name"]: entry for entry in holding.read("plans")["entries"]}
ENTRIES: dict[str, Any] = {entry["name"]: entry for entry in asked_entries(holding.read("losses"))}
ANSWERED = [name for name, entry in ENTRIES.items() if not entry.get("late")]
LATE_ONES = [name for name, entry in ENTRIES.items() if entry.get("late")]
QUICK = {entry["name"] for entry in holding.chosen(list(ENTRIES.values()), seconds=1.5)}
MOST_POINTS = 10_000  # of attacks that are weighed, some of them point by point
KINDS = {
    "slow", "zeros", "q + r > 1", "periodic", "several releases", "gaps", "events", "boxes",
    "families", "initial laws", "adversaries", "combinations", "orders", "orders: four",
    "docs: four levels", "docs: five stages", "docs: symmetric", "finite: random", "finite: cycle",
    "finite: birth-death", "finite: slow", "two states", "thinned",
}  # fmt: skip


def test_the_record_is_complete() -> None:
    assert len(ENTRIES) >= 400
    assert {entry["kind"] for entry in ENTRIES.values()} >= KINDS
    assert {ENTRIES[name]["kind"] for name in QUICK} >= KINDS
    finite = [entry["upper"] for entry in ENTRIES.values() if "upper" in entry]
    assert sum(upper < 1e300 for upper in finite) >= 400


@pytest.mark.parametrize("name", some_quick(ANSWERED, QUICK))
def test_a_loss_is_held(name: str) -> None:
    entry = ENTRIES[name]
    question = holding.loss_question(entry, PLANS)
    found = adapter.loss(question)
    complaints = holding.loss_complaints(entry, question, found)
    if complaints and holding.is_known_defect(entry, found):
        pytest.xfail(f"{entry['defect']}: {'; '.join(complaints)}")
    assert not complaints


def test_losses_that_had_no_answer_have_one() -> None:
    with Worker() as worker:
        for name in LATE_ONES:
            question = holding.loss_question(ENTRIES[name], PLANS)
            answer = worker.ask("loss", question, LATE)
            assert answer.status == "done", (name, answer)
            assert not holding.loss_complaints(ENTRIES[name], question, answer.result), name


def test_recorded_attacks_attain_the_recorded_lower_bounds() -> None:
    """From the laws alone, without the package."""
    attacks = 0
    for name, entry in ENTRIES.items():
        if "attack" not in entry or entry["attack"]["length"] > MOST_POINTS:
            continue
        releases = holding.loss_question(entry, PLANS)["releases"]
        attained = log_ratio(entry.get("on", entry.get("model")), releases, entry["attack"])
        allowed = holding.rounding(entry["lower"], entry["attack"]["length"])
        assert attained >= entry["lower"] - allowed, name
        attacks += 1
    assert attacks >= 300
