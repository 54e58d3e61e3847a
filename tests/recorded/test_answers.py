"""What is answered at all, against ``answers.json``: what has an answer there has one still.

A question that was refused, or had no answer within the time, may be answered now.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.batches import some_quick
from tests.recorded import adapter, holding

CONTENT = holding.read("answers")
ROWS: dict[str, Any] = {entry["name"]: entry for entry in CONTENT["entries"]}
QUICK = {entry["name"] for entry in holding.chosen(list(ROWS.values()), seconds=2.0)}


def test_the_table_is_whole() -> None:
    marks = "".join(entry["answers"] for entry in ROWS.values())
    assert marks.count("+") > 3000
    assert marks.count("-") > 1000
    for entry in ROWS.values():
        assert len(holding.answer_questions(CONTENT, entry)) == len(entry["answers"])


@pytest.mark.parametrize("name", some_quick(list(ROWS), QUICK))
def test_what_had_an_answer_has_one(name: str) -> None:
    missing = [
        combination
        for combination, question, mark in holding.answer_questions(CONTENT, ROWS[name])
        if mark == "+" and not adapter.is_answered(question)
    ]
    assert not missing
