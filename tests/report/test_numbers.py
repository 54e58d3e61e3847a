"""Every number on the pages, scraped from a browser, is the number that the library gives."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np
import pytest

import chainveil as cv
from chainveil.attack import attack_release, misfit, own_loss
from chainveil.estimate.answer_table import shown
from chainveil.privacy.rounding import upper
from chainveil.report.blocks import shown_number
from chainveil.table.read.reading import open_source
from chainveil.table.released.comparing import compare
from chainveil.table.released.review import ORDERS, PSEUDOCOUNT, STEPS
from tests.report.test_browser import BESIDE, BY_PERSON, NOISE, OVER_TIME


def _answer(made: Any, question: Any, **how: Any) -> Any:
    frame = cv.estimate_table(made.release, made.certificate, question, **how)
    return frame[["estimate", "low", "high"]].to_numpy()


def _scraped(opened: Any, caption: str, first: int) -> Any:
    rows = opened.table(caption)
    return np.array([[float(cell[1]) for cell in row[first : first + 3]] for row in rows])


def test_shares_transitions_and_sojourns_are_those_of_estimate_table(
    public: Any, made: Any
) -> None:
    by_person = _answer(made, "share", by="person")[1::2]
    np.testing.assert_array_equal(_scraped(public, BY_PERSON, 1), by_person)
    everything = _answer(made, "share")[1:]
    np.testing.assert_array_equal(_scraped(public, "Share of all points", 1), everything)
    moves = _answer(made, "transitions")[1:3]
    np.testing.assert_array_equal(_scraped(public, "How probable is each next", 1), moves)
    lasting = _answer(made, "sojourns")
    np.testing.assert_array_equal(_scraped(public, "How long does bpm stay", 1), lasting)


def test_stretches_of_time_are_those_of_the_estimator(public: Any, made: Any) -> None:
    found = made.summary.answers["over time"]
    value, low, high = shown(found)
    expected = np.stack([value[:, 1], low[:, 1], high[:, 1]], axis=1)
    np.testing.assert_array_equal(_scraped(public, OVER_TIME, 1), expected)
    assert public.values(OVER_TIME, 0) == list(found.groups)
    # And each of them covers the points that it says, by an answer about those points alone.
    whole = made.summary.answers["share"]
    weights = np.array(public.values(OVER_TIME, 4))
    assert weights.sum() == float(whole.points)


@pytest.mark.usefixtures("browser")
@pytest.mark.parametrize("name", ["public", "private"])
def test_what_is_read_is_what_is_behind_it(name: str, request: Any) -> None:
    """Four digits of the value, in every cell of numbers; losses rounded up or down."""
    opened = request.getfixturevalue(name)
    cells = opened.page.eval_on_selector_all(
        "td.number", "all => all.map(cell => [cell.textContent, cell.dataset.value])"
    )
    assert len(cells) > 60
    for text, value in cells:
        read = json.loads(value) if re.fullmatch(r"-?\d+", value) else float(value)
        if not text:
            assert value == "NaN"
            continue
        assert text == shown_number(read) or text == upper(read, 4) or abs(
            float(text) - read
        ) <= 1e-4 >= read - float(text) >= 0  # fmt: skip


def test_charts_draw_the_numbers_of_their_tables(public: Any) -> None:
    for title, column in ((BY_PERSON, 1), (OVER_TIME, 1)):
        spec = json.loads(public.figure(title).locator("> script").text_content())
        drawn = [row["value"] for rows in _data(spec) for row in rows]
        assert drawn == public.values(title, column)


def _data(spec: Any) -> list[Any]:
    """The rows of a chart, once each."""
    held = {json.dumps(part["values"]): part["values"] for part in _parts(spec)}
    return list(held.values())


def _parts(spec: Any) -> list[Any]:
    inner = [part for layer in spec.get("layer", []) for part in _parts(layer)]
    return [*([spec["data"]] if "values" in spec.get("data", {}) else []), *inner]


def test_the_noise_is_that_of_the_certificate(public: Any, made: Any) -> None:
    law = made.document.plan().noise.step_law()[:, 0]
    assert public.values(NOISE, 2) == law.reshape(-1).tolist()


def test_promise_and_checks_are_those_of_verify(public: Any, made: Any) -> None:
    found = cv.verify(made.certificate, made.release)
    rows = [[cell[0] for cell in row] for row in public.table("Checks of the certificate")]
    words = {"holds": "holds", "fails": "FAILS", "open": "cannot be checked"}
    assert rows == [[words[one.status], one.field, one.text] for one in found.checks]
    text = public.page.inner_text("main")
    assert found.verdict in text
    for _, sentence in found.promise:
        assert " ".join(sentence.split()) in " ".join(text.split())
    loss = made.document["loss.epsilon"]
    even = cv.success_bound(cv.MarkovChain.symmetric(0.5), loss)
    assert f"e^{upper(loss, 10)}: a chance of 50% becomes {upper(100 * even, 4)}% at most" in text
    assert 1 / (1 + np.exp(-loss)) <= float(upper(100 * even, 4)) / 100


@pytest.mark.slow
def test_the_private_page_has_the_numbers_of_attacks_losses_and_misfit(
    private: Any, made: Any
) -> None:
    held = compare(made.document, open_source(made.original), open_source(made.release))
    plan = made.document.plan()
    found = attack_release(plan, held.truth, held.seen, held.known)
    rows = private.table("How many points does an attacker")
    scores = [[one.rate, one.low, one.high, one.trials] for one in found.scores.values()]
    assert [[float(cell[1]) for cell in row[1:]] for row in rows[:3]] == scores
    assert float(rows[3][1][1]) == found.guessing
    assert upper(found.bound) in private.page.inner_text("main")
    own = [own_loss([truth], plan).epsilon for truth in held.truth]
    assert private.values("What does the noise lose", 1) == own
    lost = [float(row[1][0]) for row in private.table("What does the noise lose")]
    assert all(loss is not None and read >= loss for read, loss in zip(lost, own, strict=True))
    readings = misfit(held.truth, plan, ORDERS, pseudocount=PSEUDOCOUNT, effort=STEPS).pooled
    told = "Do the data remember more than one point?"
    assert private.values(told, 1) == [one.loss.lower for one in readings]
    assert all(
        float(row[1][0]) <= float(row[1][1]) for row in private.table(told)
    ), "a lower bound that was rounded up"  # fmt: skip
    wrong = private.values("How much of each series is reported wrongly?", 4)
    pairs = zip(held.truth, held.seen, strict=True)
    assert wrong == [float(np.mean(truth != seen)) for truth, seen in pairs]


def test_original_and_release_stand_side_by_side(private: Any, made: Any) -> None:
    held = compare(made.document, open_source(made.original), open_source(made.release))
    drawn: dict[str, list[int]] = {"original": [], "release": []}
    for name, state, begin, end in private.table(BESIDE):
        run = int(float(end[1])) - int(float(begin[1])) + 1
        drawn[name[0]] += [["low", "high"].index(state[0])] * run
    assert drawn["original"] == held.truth[0][:240].tolist()
    assert drawn["release"] == held.seen[0][:240].tolist()
