"""Losses against ``losses.json``; what is wrong there is marked, and need not be repeated.

An upper bound may not fall below what an attack attains (the recorded lower bound, less
rounding), and may rise by half a per cent. A lower bound may not exceed the recorded upper one,
and the attack that comes with it has to attain it, by the laws of the record alone. Entries with
a defect are held to what is known of the loss itself; one that is wrong as it was is an expected
failure. The chosen part has entries of every kind and takes seconds, the whole takes minutes.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.batches import some_quick
from tests.recorded import adapter, holding
from tests.recorded.laws import log_odds
from tests.recorded.losses import LATE
from tests.recorded.worker import Worker

PLANS: dict[str, Any] = {entry["name"]: entry for entry in holding.read("plans")["entries"]}
ENTRIES: dict[str, Any] = {entry["name"]: entry for entry in holding.read("losses")["entries"]}
ANSWERED = [name for name, entry in ENTRIES.items() if not entry.get("late")]
LATE_ONES = [name for name, entry in ENTRIES.items() if entry.get("late")]
QUICK = {entry["name"] for entry in holding.chosen(list(ENTRIES.values()), seconds=3.0)}
KINDS = {
    "slow", "zeros", "q + r > 1", "periodic", "several releases", "gaps", "events", "boxes",
    "families", "initial laws", "adversaries", "combinations", "orders", "orders: four",
    "docs: four levels", "docs: five stages", "docs: symmetric", "finite: random", "finite: cycle",
    "finite: birth-death", "finite: slow", "tolerance", "two states", "rare reports",
}  # fmt: skip


def test_the_record_is_whole() -> None:
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


@pytest.mark.slow
@pytest.mark.parametrize("name", LATE_ONES)
def test_a_loss_that_had_no_answer_is_right_if_it_has_one(name: str) -> None:
    entry = ENTRIES[name]
    question = holding.loss_question(entry, PLANS)
    with Worker() as worker:
        answer = worker.ask("loss", question, LATE)
    if answer.status == "late":
        pytest.xfail(entry["defect"])
    assert answer.status == "done", answer.result
    assert not holding.loss_complaints(entry, question, answer.result)


def test_attacks_of_the_record_attain_its_lower_bounds() -> None:
    """By the laws alone: whatever engine found them, they are there."""
    attacks = 0
    for name, entry in ENTRIES.items():
        if "attack" not in entry or entry["seconds"] > 1:
            continue
        releases = holding.loss_question(entry, PLANS)["releases"]
        worth = log_odds(entry.get("on", entry.get("model")), releases, entry["attack"])
        allowed = 1e-10 + 1e-14 * entry["attack"]["length"]
        assert worth >= entry["lower"] - allowed * max(1.0, worth), name
        attacks += 1
    assert attacks >= 300
