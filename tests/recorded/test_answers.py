"""The table of answers: questions that are answered in ``answers.json`` still are.

Questions that were refused, or not answered in time, may be answered now.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.batches import some_quick
from tests.recorded import holding
from tests.recorded.losses import CELL
from tests.recorded.worker import Worker

CONTENT = holding.read("answers")
ROWS: dict[str, Any] = {entry["name"]: entry for entry in CONTENT["entries"]}
ANSWERED = [entry for entry in ROWS.values() if "+" in entry["answers"]]
QUICK = {entry["name"] for entry in holding.chosen(ANSWERED, seconds=2.0)}


def test_the_table_is_complete() -> None:
    marks = "".join(entry["answers"] for entry in ROWS.values())
    assert marks.count("+") > 3000
    assert marks.count("-") > 1000
    for entry in ROWS.values():
        assert len(holding.answer_questions(CONTENT, entry)) == len(entry["answers"])


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    with Worker() as asked:
        yield asked


@pytest.mark.parametrize("name", some_quick([entry["name"] for entry in ANSWERED], QUICK))
def test_questions_are_still_answered(worker: Worker, name: str) -> None:
    missing = []
    for combination, question, mark in holding.answer_questions(CONTENT, ROWS[name]):
        if mark == "+":
            answer = worker.ask("is_answered", question, CELL)
            if not (answer.status == "done" and answer.result):
                missing.append((combination, answer))
    assert not missing
