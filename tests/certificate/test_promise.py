"""Verification says what is promised, to whom, and whether that is all of it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import chainveil as cv
from chainveil.certificate import work
from chainveil.mechanism.randomness import seeded
from chainveil.plan import NoisePlan
from chainveil.privacy.result import PrivacyLoss
from tests import machines
from tests.documents import plain, put, resealed

pytestmark = pytest.mark.usefixtures("started_anew")
ROOT = Path(__file__).parents[2]
CHAIN = cv.MarkovChain.binary(0.1, 0.2)
TABLE = pa.table({"person": ["a"] * 500 + ["b"] * 400, "x": [0, 1, 1] * 300})


def _released(**how: Any) -> Any:
    return cv.sanitize_table(TABLE, "x", 2.0, series="person", chain=CHAIN, **how)


def test_a_release_against_anyone_holds_as_promised() -> None:
    done = _released()
    result = cv.verify(done.certificate, done.table)
    assert result.verdict == "holds as promised to anyone"
    assert result.weaker == result.undecided == result.objections == ()
    lines = str(result).splitlines()
    assert lines[0] == "verdict: holds as promised to anyone"
    assert lines[1].startswith("promise: epsilon 2: the odds about the value of one point")
    names = [name for name, _ in result.promise]
    assert names[:4] == ["promise", "against", "series", "chain"]
    # What the usual noise of two states has to say of itself, and then what was done.
    assert names[4:9] == ["gaps", "made by", "noise", "randomness", "release"]
    assert set(names[9:]) == {"not protected"}


WEAKER: dict[str, tuple[Callable[[], tuple[cv.Certificate, Any]], str]] = {
    "ignorant": (lambda: _handed(_released(adversary="ignorant")), "knows no other point"),
    "informed": (lambda: _handed(_released(adversary="informed")), "ordinary differential privacy"),
    "seed": (lambda: _handed(_released(rng=seeded(1))), "a seed: whoever knows it"),
    "no release": (lambda: (_released().certificate, None), "no release was checked"),
    "plan": (lambda: (cv.calibrate(CHAIN, 1.0).certificate(), None), "this is a plan"),
}


def _handed(done: Any) -> tuple[cv.Certificate, Any]:
    return done.certificate, done.table


@pytest.mark.parametrize("kind", WEAKER)
def test_a_weaker_promise_says_why_first(kind: str) -> None:
    make, words = WEAKER[kind]
    result = cv.verify(*make())
    assert result.holds
    assert result.verdict == "holds, with a weaker promise"
    assert len(result.weaker) == 1
    assert words in result.weaker[0]
    assert f"WEAKER: {result.weaker[0]}" in str(result).splitlines()[1]


def test_what_was_taken_from_private_data_is_not_protected() -> None:
    done = cv.sanitize_table(TABLE, "x", 2.0, series="person", threshold=0.5)
    said = cv.verify(done.certificate).promise
    meaning = done.certificate["chain.meaning"]
    # Once, and where it belongs.
    assert [name for name, text in said if meaning in text] == ["not protected"]


def test_a_promise_for_shorter_series_does_not_pass_for_one_for_these() -> None:
    done = _released()
    short = plain(cv.calibrate(CHAIN, 2.0, max_length=1).certificate())
    forged = plain(done.certificate)
    for section in ("promise", "noise", "loss"):
        forged[section] = short[section]
    result = cv.verify(resealed(forged), done.table)
    assert [check.field for check in result.failures] == ["promise.length"]
    assert "500" in result.failures[0].text
    # 900 rows in two series: without the release, too, one of them has 450 points at least.
    assert [check.field for check in cv.verify(resealed(forged)).failures] == ["promise.length"]
    for length, holds in ((500, True), (499, False)):
        covered = cv.calibrate(CHAIN, 2.0, max_length=length).certificate()
        document = plain(done.certificate) | {"promise": covered["promise"]}
        document |= {"noise": covered["noise"], "loss": covered["loss"]}
        assert cv.verify(resealed(document), done.table).holds is holds


@pytest.mark.parametrize("section", ["randomness", "discretization"])
def test_a_release_without_randomness_or_states_is_none_of_ours(section: str) -> None:
    done = _released()
    forged = resealed(put(plain(done.certificate), section, None))
    assert section in {check.field for check in cv.verify(forged).failures}
    assert not cv.verify(forged, done.table).holds


def test_a_certificate_without_a_file_says_so() -> None:
    done = _released()
    found = {check.field: check for check in cv.verify(done.certificate, done.table).checks}
    assert found["release.file"].status == "open"


@pytest.mark.slow
def test_four_levels_certified_and_verified() -> None:
    """The chain of docs/finite-states.md."""
    certificate = cv.calibrate(machines.LEVELS, 4).certificate()
    result = cv.verify(certificate)
    assert result.holds, str(result)
    tighter = put(plain(certificate), "loss.epsilon", certificate["loss.lower"] * (1 - 1e-6))
    assert not cv.verify(resealed(tighter)).holds


@pytest.mark.slow
@pytest.mark.parametrize(
    ("maker", "reader", "every"),
    [
        ("Sandybridge", None, 3),
        (None, "Sandybridge", 1),
    ],
)
def test_other_processors_agree(maker: str | None, reader: str | None, every: int) -> None:
    made = _machine(f"make {every}", maker, "")
    found = _machine("verify", reader, made).split()
    assert found == ["[]"] * len(list(made.splitlines()))
    assert len(found) == -(-len(machines.PLANS) // every)


def _machine(task: str, processor: str | None, given: str) -> str:
    """What a process prints that takes OpenBLAS's kernels for another processor."""
    environment = {k: v for k, v in os.environ.items() if k != "OPENBLAS_CORETYPE"}
    environment |= {} if processor is None else {"OPENBLAS_CORETYPE": processor}
    command = [sys.executable, "-m", "tests.machines", *task.split()]
    done = subprocess.run(
        command, input=given, env=environment, cwd=ROOT, capture_output=True, text=True, check=True
    )
    return done.stdout


def _claiming(chain: cv.MarkovChain, noise: cv.Channel, releases: int = 0) -> cv.Certificate:
    """A certificate that claims a loss nobody has computed."""
    claimed = PrivacyLoss(2.0, 0.0, None, "any", None)
    before = (noise.on_grid(),) * releases
    return NoisePlan(
        chain, noise.on_grid(), claimed, 2.0, "wrong-reports", None, before
    ).certificate()


def _large(states: int) -> cv.Certificate:
    chain = cv.MarkovChain(np.random.default_rng(1).dirichlet(np.ones(states), states))
    return _claiming(chain, cv.Channel.randomized_response(states, 0.9))


@pytest.mark.parametrize(
    ("certificate", "words"),
    [
        (lambda: _claiming(CHAIN, cv.Channel.binary(0.45, 0.45), 18), "more than 1 seconds"),
        (lambda: _claiming(CHAIN, cv.Channel.binary(0.45, 0.45), 24), "probabilities"),
        (lambda: _claiming(CHAIN, cv.Channel.binary(0.45, 0.45), 40), "probabilities"),
        pytest.param(lambda: _large(40), "more than 1 seconds", marks=pytest.mark.slow),
    ],
    ids=["18 releases", "24 releases", "40 releases", "40 states"],
)
def test_what_is_too_large_is_neither_confirmed_nor_denied(
    certificate: Callable[[], cv.Certificate], words: str
) -> None:
    asked = certificate()
    result = asked.verify(max_seconds=1)
    assert not result.failures
    assert not result.holds
    assert result.verdict == "not decided"
    assert "too large to check here" in result.undecided[0]
    assert words in result.undecided[0]
    with pytest.raises(cv.TooLarge, match="too large to check here"):
        asked.plan(max_seconds=1)


@pytest.mark.slow
def test_memory_has_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    chain = cv.MarkovChain(np.full((100, 100), 1 / 100))
    certificate = _claiming(chain, cv.Channel.randomized_response(100, 0.9))
    monkeypatch.setattr(work, "MEMORY", 600 << 20)
    result = certificate.verify(max_seconds=60)
    assert "600 MiB of memory" in result.undecided[0]


@pytest.mark.parametrize("seconds", [0, -1, float("nan"), 1e300, "1", True])
def test_seconds_are_a_number_above_zero(seconds: Any) -> None:
    with pytest.raises(cv.InvalidInput, match="max_seconds"):
        cv.verify(cv.calibrate(CHAIN, 1.0).certificate(), max_seconds=seconds)


def test_a_pattern_is_for_two_states_only() -> None:
    certificate = cv.calibrate(machines.THREE, 3.0, max_length=2).certificate()
    document = put(plain(certificate), "loss.witness.output", [[[[0, 0]], 3]])
    failed = cv.verify(resealed(document)).failures
    assert [check.field for check in failed] == ["loss.witness"]


@pytest.mark.parametrize("entries", [(5e-324, 5e-324), (1.0, 5e-324), (5e-324, 0.5)])
def test_chains_at_the_edge_of_doubles_are_judged_in_words(entries: tuple[float, float]) -> None:
    q, r = entries
    certificate = cv.calibrate(CHAIN, 1.0).certificate()
    changed = put(plain(certificate), "chain.transition", [[1 - q, q], [r, 1 - r]])
    assert not cv.verify(resealed(changed)).holds


@pytest.mark.slow
def test_a_length_cannot_be_promised_where_gaps_split_a_series() -> None:
    """As sanitizing refuses it: how many points lie in a gap is not known."""
    done = _released(max_length=500)
    assert cv.verify(done.certificate, done.table).holds
    forged = plain(done.certificate)
    put(forged, "release.splits", 3)
    assert [check.field for check in cv.verify(resealed(forged), done.table).failures] == [
        "promise.length",
        "promise.gaps",
    ]
