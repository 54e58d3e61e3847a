"""Certificates of noise that remembers, of rare reports, events, gaps and mixed releases."""

from __future__ import annotations

import copy
import functools
import json
from dataclasses import replace
from typing import Any

import pytest

import chainveil as cv
from chainveil.certificate import Certificate, questions, work
from chainveil.certificate.document import seal
from chainveil.certificate.make import attack_section
from tests.batches import some_quick

CHAIN = cv.MarkovChain.binary(0.1, 0.2)
THIN = cv.Channel.binary(0.4, 0.4).thinned(2)
PLANS: dict[str, dict[str, Any]] = {
    "sticky": {"mechanism": "sticky"},
    "sticky, gaps": {"mechanism": "sticky", "gaps": True},
    "sticky, rare": {"mechanism": "sticky", "every": 3},
    "sticky, event": {"mechanism": "sticky", "unit": 2},
    "sticky, length": {"mechanism": "sticky", "every": 2, "max_length": 7},
    "tracking": {"mechanism": "tracking"},
    "tracking, gaps": {"mechanism": "tracking", "gaps": True},
    "independent, rare": {"every": 4},
    "correlated, event": {"mechanism": "correlated", "unit": 2},
    "independent, event": {"unit": 2},
    "mixed": {"mechanism": "sticky", "earlier": [THIN, cv.Channel.binary(0.45, 0.45)]},
    "after sticky": {"earlier": [cv.StickyNoise.binary([[0.3, 0.5], [0.5, 0.7]], [0.4, 0.6])]},
}

# Kinds whose plans take less than a second.
QUICK = ("sticky", "sticky, gaps", "tracking", "independent, rare")


@functools.cache
def plan_of(kind: str) -> cv.NoisePlan:
    return cv.calibrate(CHAIN, 3.0, **PLANS[kind])


def resealed(document: dict[str, Any]) -> Certificate:
    changed = {**document, "seal": {"algorithm": "sha256", "digest": seal(document)}}
    return Certificate.from_json(json.dumps(changed))


def rejected(document: dict[str, Any]) -> bool:
    try:
        return not resealed(document).verify().holds
    except cv.InvalidInput:
        return True


@pytest.mark.parametrize("kind", some_quick(PLANS, QUICK))
def test_a_plan_is_verified_from_its_own_contents_and_made_again(kind: str) -> None:
    plan = plan_of(kind)
    certificate = Certificate.from_json(plan.certificate().to_json())
    result = certificate.verify()
    assert result.holds, str(result)
    again = certificate.plan()
    assert again.noise == plan.noise
    assert (again.unit, again.gaps, again.earlier) == (plan.unit, plan.gaps, plan.earlier)
    assert again.loss.epsilon == pytest.approx(plan.loss.epsilon, rel=1e-12)


@pytest.mark.parametrize("kind", some_quick(PLANS, QUICK))
def test_a_looser_claim_holds_and_a_tighter_one_does_not(kind: str) -> None:
    document = json.loads(plan_of(kind).certificate().to_json())
    loss = document["loss"]["epsilon"]
    for factor, holds in ((1 + 1e-4, True), (1 - 1e-4, False)):
        changed = copy.deepcopy(document)
        changed["promise"]["epsilon"] = 4.0
        changed["loss"] |= {"epsilon": loss * factor, "lower": 0.0, "witness": None}
        assert rejected(changed) is not holds


def tampered(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Certificates that say something else about the noise, by what they say."""
    found = {}
    for section, name, values in (
        ("noise", "every", (2, 5)),
        ("promise", "unit", (2, 3)),
        ("promise", "gaps", (True,)),
    ):
        before = document[section].get(name)
        for value in values:
            if value != before:
                found[f"{name} {value}"] = copy.deepcopy(document)
                found[f"{name} {value}"][section][name] = value
        if before is not None:
            found[f"no {name}"] = copy.deepcopy(document)
            del found[f"no {name}"][section][name]
    return found


@pytest.mark.parametrize("kind", ["sticky", "sticky, rare", "sticky, event", "tracking, gaps"])
def test_when_reports_are_made_and_what_is_secret_cannot_be_changed(kind: str) -> None:
    document = json.loads(plan_of(kind).certificate().to_json())
    for name, changed in tampered(document).items():
        # Gaps cost a sticky kernel nothing more where reports are as after any other point.
        looser = name in ("no gaps",) or (name == "gaps True" and "sticky" in kind)
        assert rejected(changed) or looser, name


@pytest.mark.parametrize(("kind", "last"), [("sticky", 6), ("tracking", 10)])
def test_no_row_of_a_kernel_can_be_changed(kind: str, last: int) -> None:
    document = json.loads(plan_of(kind).certificate().to_json())
    # The first law, and that after gaps, may change as far as the loss stays below the claim.
    for row in range(2, last):
        for shift in (1 << 47, -(1 << 47)):
            changed = copy.deepcopy(document)
            matrix, units = changed["noise"]["matrix"], changed["noise"]["units"]
            units[row] = [units[row][0] + shift, units[row][1] - shift]
            matrix[row] = [unit / 2.0**53 for unit in units[row]]
            assert rejected(changed), (row, shift)


@pytest.mark.slow
def test_earlier_releases_cannot_be_left_out_or_changed() -> None:
    document = json.loads(plan_of("mixed").certificate().to_json())
    rare = document["noise"]["earlier"][0]
    assert rare["every"] == 2
    for spent in ([], [rare], [{**rare, "every": 3}], [{**rare, "kind": "sticky"}]):
        changed = copy.deepcopy(document)
        changed["noise"]["earlier"] = spent
        assert rejected(changed), spent


def test_a_witness_with_missing_points_needs_a_plan_that_covers_them() -> None:
    plan = plan_of("sticky")
    document = json.loads(plan.certificate().to_json())
    attack = plan.loss.witness
    assert attack is not None
    silent = replace(attack, runs=(((None,), attack.length),))
    document["loss"]["witness"].update(attack_section(silent), words=str(silent))
    document["loss"]["lower"] = 0.0
    result = resealed(document).verify()
    assert "a report is due" in str([check.text for check in result.failures])
    document["promise"]["gaps"] = True
    texts = [check.text for check in resealed(document).verify().failures]
    assert not any("a report is due" in text for text in texts)


def test_reports_where_none_is_due_are_no_attack() -> None:
    document = json.loads(plan_of("sticky, rare").certificate().to_json())
    witness = document["loss"]["witness"]
    witness["output"] = [[[0], _length(witness)]]
    assert rejected(document)


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d["noise"].update(every=1),
        lambda d: d["noise"].update(every=10**30),
        lambda d: d["noise"].update(every=True),
        # Of earlier versions: a report about the point before.
        lambda d: d["noise"].update(delay=1),
        lambda d: d["promise"].update(unit=1),
        lambda d: d["promise"].update(unit=10**400),
        lambda d: d["promise"].update(gaps=False),
        lambda d: d["noise"].update(earlier=[{"kind": "sticky"}]),
        lambda d: d["noise"].update(earlier=[{"kind": "none", "matrix": [[0.5, 0.5]] * 2}]),
        lambda d: d["noise"].update(earlier=[{"matrix": [[0.5, 0.5]] * 2, "more": 1}]),
    ],
)
def test_what_is_no_timing_is_not_read(change: Any) -> None:
    document = json.loads(plan_of("sticky").certificate().to_json())
    change(document)
    with pytest.raises(cv.InvalidInput):
        resealed(document)


def test_heavy_questions_are_not_asked_here() -> None:
    """Long periods, long events and many releases are left to a process that is stopped."""
    document = json.loads(plan_of("sticky, rare").certificate().to_json())
    assert questions.is_light("loss", questions.ask(resealed(document)))
    for section, name, value in (
        ("noise", "every", 9_973), ("promise", "unit", 4096),
        (
            "noise", "earlier",
            [{"kind": "independent", "matrix": [[0.5, 0.5]] * 2, "every": 17}] * 5,
        ),
    ):  # fmt: skip
        changed = copy.deepcopy(document)
        changed[section][name] = value
        assert not questions.is_light("loss", questions.ask(resealed(changed)))


def test_more_labels_than_are_offered_is_said() -> None:
    document = json.loads(plan_of("sticky").certificate().to_json())
    sticky = {"kind": "sticky", "matrix": document["noise"]["matrix"]}
    document["noise"]["earlier"] = [sticky] * 8
    failures = resealed(document).verify(max_seconds=30).failures
    assert any("labels" in check.text for check in failures)


def test_the_promise_says_who_needs_what_and_what_is_not_promised() -> None:
    words = {
        kind: dict(plan_of(kind).certificate().verify().promise)
        for kind in ("sticky, rare", "tracking, gaps", "sticky, event")
    }
    assert words["sticky, rare"]["reports"].startswith("one point in 3 reports")
    assert "in turn" in words["sticky, rare"]["made by"]
    assert words["sticky, rare"]["gaps"].startswith("not covered")
    assert words["tracking, gaps"]["gaps"].startswith("covered")
    assert "one holder" in words["tracking, gaps"]["made by"]
    assert "any 2 consecutive points" in words["sticky, event"]["promise"]
    assert all("not promised" in lines["noise"] for lines in words.values())
    plain = dict(cv.calibrate(CHAIN, 2.0).certificate().verify().promise)
    assert not {"reports", "gaps", "made by", "noise"} & plain.keys()


def test_the_attack_is_written_in_runs() -> None:
    plan = plan_of("sticky, rare")
    witness = plan.loss.witness
    assert witness is not None
    written = plan.certificate()["loss.witness.output"]
    assert written == attack_section(witness)["output"]
    attained = work.replay(questions.ask_to_replay(plan.certificate(), CHAIN))
    assert attained == pytest.approx(plan.loss.lower, rel=1e-12)


def _length(witness: dict[str, Any]) -> int:
    return sum(len(pattern) * count for pattern, count in witness["output"])
