"""A certificate is true from its first to its last field, or it is rejected."""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import chainveil as cv
from chainveil.certificate import (
    Certificate,
    Discretization,
    Released,
    ReleasedFile,
    certify,
    statements,
)
from chainveil.certificate.document import seal
from chainveil.certificate.schema import ABSENT, BY_PATH, FIELDS, OPTIONAL, leaves
from tests.batches import some_quick

RELEASED = Released("bpm", "person", 100, 3, "ab" * 32, ReleasedFile("parquet", 1234, "cd" * 32))

# The fields of a chain's certificate; that of another model has one more.
PATHS = [field.path for field in FIELDS if field.path not in ABSENT]


def _plan(length: int | None = None, adversary: Any = "any") -> cv.NoisePlan:
    return cv.calibrate(
        cv.MarkovChain.binary(0.0893, 0.1092), 1.0, max_length=length, adversary=adversary
    )


def _full() -> Certificate:
    limits = Discretization("threshold", [60.0], ["low", "high"])
    return certify(_plan(), "private", limits, "release", RELEASED)


def _plain(certificate: Certificate) -> dict[str, Any]:
    return copy.deepcopy(dict(certificate.document))


def _put(document: dict[str, Any], path: str, value: Any) -> None:
    *way, last = path.split(".")
    for key in way:
        document = document[key]
    document[last] = value


def _changed(value: Any) -> list[Any]:
    """Other values of the same kind, each one small change away."""
    if value is None:
        return [0]
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        return [value + 1, max(value - 1, 0) if value else 2]
    if isinstance(value, float):
        return [value * (1 + 2**-50) if value else 0.5, value * 0.999]
    if isinstance(value, str):
        return [value[:-1] + ("0" if value[-1:] != "0" else "1"), value + " "]
    if isinstance(value, dict):
        return [{**value, name: other} for name in value for other in _changed(value[name])]
    results: list[Any] = [value[:-1]] if value else [[1]]
    for index, item in enumerate(value):
        for other in _changed(item):
            results.append([*value[:index], other, *value[index + 1 :]])
    return results


def _rejected(document: dict[str, Any], release: Released | None) -> bool:
    try:
        return not cv.verify(Certificate.from_json(json.dumps(document)), release).holds
    except cv.InvalidInput:
        return True


def _resealed(document: dict[str, Any]) -> dict[str, Any]:
    return {**document, "seal": {"algorithm": "sha256", "digest": seal(document)}}


def _unsafe(path: str, value: Any) -> list[Any]:
    """Small changes that make a certificate say more than is true, or contradict itself."""
    if path == "loss.epsilon":
        return [value * 0.999, value * 1.001]
    if path == "loss.lower":
        return [value * 1.001]
    if path in ("chain.transition", "noise.expected_flips"):
        # What differs in the last bits only is the same on another machine.
        return [other for other in _changed(value) if not _is_rounding(other, value)]
    return _changed(value)


def _is_rounding(one: Any, other: Any) -> bool:
    if isinstance(one, list):
        return len(one) == len(other) and all(map(_is_rounding, one, other))
    return bool(math.isclose(one, other, rel_tol=1e-12))


ALTERNATIVES: dict[str, list[Any]] = {
    "promise.epsilon": [0.5, 0.99],
    "promise.length": [1, 5],
    "promise.adversary.model": ["ignorant", "informed", "one"],
    "chain.origin": ["given"],
    "noise.objective": ["share"],
    "discretization.kind": ["edges", "states"],
    "discretization.origin": ["private mean"],
    "randomness.source": ["study"],
    "created": ["2025-01-01T00:00:00Z"],
}
# Labels are compared with the values of a real table, in the tests of tables.
CHECKED = [
    field.path
    for field in FIELDS
    if field.checked != "open" and field.path not in (*ABSENT, "discretization.labels")
]


def test_a_fresh_certificate_holds_and_survives_json() -> None:
    for certificate in (_full(), _plan().certificate(), _plan(7).certificate()):
        again = Certificate.from_json(certificate.to_json())
        assert again == certificate
        released = RELEASED if certificate["release"] else None
        result = cv.verify(again, released)
        assert result.holds, str(result)
        assert {check.status for check in result.checks} <= {"holds", "open"}


@pytest.mark.parametrize("path", PATHS)
def test_any_changed_field_is_rejected(path: str) -> None:
    original = _plain(_full())
    value = _full()[path]
    for other in [*_changed(value), *ALTERNATIVES.get(path, [])]:
        document = copy.deepcopy(original)
        _put(document, path, other)
        assert _rejected(document, RELEASED), (path, other)


@pytest.mark.parametrize("path", CHECKED)
def test_a_changed_field_is_rejected_even_when_sealed_again(path: str) -> None:
    original, value = _plain(_full()), _full()[path]
    for other in ALTERNATIVES.get(path, _unsafe(path, value)):
        document = copy.deepcopy(original)
        _put(document, path, other)
        if not path.startswith("seal"):
            document = _resealed(document)
        assert _rejected(document, RELEASED), (path, other)


def test_every_field_is_checked_or_said_to_be_open() -> None:
    certificate = _full()
    covered = {check.field for check in cv.verify(certificate, RELEASED).checks}
    for path, _ in leaves(certificate.document):
        prefixes = {path} | {path.rsplit(".", n)[0] for n in range(1, path.count(".") + 1)}
        fixed_by_schema = BY_PATH[path].kind.startswith("schema")
        changes_the_loss = path in ("promise.length", "promise.unit")
        assert fixed_by_schema or changes_the_loss or prefixes & covered, path


@pytest.mark.parametrize(("field", "value"), [("length", 8), ("unit", 2)])
def test_a_changed_length_or_unit_changes_the_loss(field: str, value: int) -> None:
    document = _plain(_plan(7).certificate())
    document["promise"][field] = value
    if field == "unit":
        document["promise"]["protected"] = statements.protected(value)
    assert _rejected(_resealed(document), None)


@pytest.mark.parametrize("adversary", ["ignorant", "informed", cv.Adversary(2, {0, 4})])
def test_every_adversary_is_certified(adversary: Any) -> None:
    certificate = _plan(9, adversary).certificate()
    assert cv.verify(certificate).holds
    assert certificate.plan().loss == _plan(9, adversary).loss


def test_correlated_noise_is_certified() -> None:
    plan = cv.calibrate(cv.MarkovChain.symmetric(0.2), 2.0, mechanism="correlated")
    certificate = plan.certificate()
    assert cv.verify(certificate).holds, str(cv.verify(certificate))
    for path in (
        "noise.matrix",
        "noise.units",
        "loss.epsilon",
        "loss.lower",
        "loss.witness.output",
    ):
        for other in _unsafe(path, certificate[path]):
            document = _plain(certificate)
            _put(document, path, other)
            assert _rejected(_resealed(document), None), (path, other)
    document = _plain(certificate)
    document["noise"]["mechanism"] = "independent"
    assert _rejected(_resealed(document), None)


THREE = cv.MarkovChain([[0.7, 0.2, 0.1], [0.3, 0.4, 0.3], [0.1, 0.3, 0.6]])
TWO = cv.MarkovChain.binary(0.1, 0.2)
OTHER_PLANS: dict[str, Callable[[], cv.NoisePlan]] = {
    "earlier": lambda: cv.calibrate(TWO, 4.0, earlier=[cv.Channel.binary(0.4, 0.4)]),
    "region": lambda: cv.calibrate(cv.ChainRegion((0.09, 0.11), (0.18, 0.22)), 3.0),
    "response": lambda: cv.calibrate(THREE, 3.0),
    "ordinal": lambda: cv.calibrate(THREE, 3.0, shape="ordinal", objective="distance"),
    "per-state": lambda: cv.calibrate(THREE, 3.0, max_length=2, shape="per-state"),
    "spent, three": lambda: cv.calibrate(
        THREE, 4.0, max_length=3, earlier=[cv.Channel.randomized_response(3, 0.6)]
    ),
}


def test_the_check_takes_as_many_steps_as_the_plan_did() -> None:
    chain = cv.MarkovChain(
        [[0.9, 0.08, 0.02, 0], [0.05, 0.88, 0.05, 0.02], [0.02, 0.05, 0.88, 0.05],
         [0, 0.02, 0.1, 0.88]]
    )  # fmt: skip
    answer, first = (cv.Channel.randomized_response(4, rho) for rho in (0.4, 0.5))
    noise = cv.StickyNoise.response(0.6, answer, first).on_grid()
    quick = cv.privacy_loss(chain, noise, effort=20_000)
    assert cv.privacy_loss(chain, noise).epsilon + 1 < quick.epsilon < 20
    certificate = cv.NoisePlan(chain, noise, quick, 20.0, "wrong-reports", None).certificate()
    assert certificate["loss.effort"] == 20_000
    assert cv.verify(certificate).holds
    assert certificate.plan().loss == quick
    for steps in (0, -1, 1.5, True, None, 100):
        document = _plain(certificate)
        document["loss"]["effort"] = steps
        assert _rejected(_resealed(document), None)


@pytest.mark.parametrize(
    "kind", some_quick(OTHER_PLANS, set(OTHER_PLANS) - {"spent, three", "ordinal"})
)
def test_every_kind_of_plan_is_certified(kind: str) -> None:
    plan = OTHER_PLANS[kind]()
    certificate = plan.certificate()
    assert cv.verify(certificate).holds, str(cv.verify(certificate))
    assert certificate.plan().loss.epsilon == plan.loss.epsilon
    assert certificate.plan().earlier == plan.earlier
    assert certificate.plan().region == plan.region
    for path in (
        "chain.region", "noise.earlier", "noise.units", "loss.epsilon", "loss.lower",
        "loss.witness.output", "loss.witness.words",
    ):  # fmt: skip
        for other in _unsafe(path, certificate[path])[:2]:
            document = _plain(certificate)
            _put(document, path, other)
            assert _rejected(_resealed(document), None), (path, other)
    # Which version made a certificate makes no difference to what is accepted.
    document = _plain(certificate)
    document["software"]["chainveil"] = "0.0.1"
    assert not _rejected(_resealed(document), None)
    document["loss"]["witness"]["words"] += "."
    assert _rejected(_resealed(document), None)


def test_a_chain_with_a_start_law_is_certified() -> None:
    chain = cv.MarkovChain.binary(0.1, 0.3, initial=[0.25, 0.75])
    certificate = cv.calibrate(chain, 2.0, max_length=12).certificate()
    assert cv.verify(certificate).holds
    document = _plain(certificate)
    document["chain"]["initial"] = [0.26, 0.74]
    assert _rejected(_resealed(document), None)


def test_a_fitted_chain_is_certified_as_the_loss_reads_it() -> None:
    chain = cv.MarkovChain.fit(cv.MarkovChain.binary(0.1, 0.3).sample(1000, rng=1))
    assert cv.verify(cv.calibrate(chain, 1.0).certificate()).holds


def test_a_release_that_differs_is_rejected() -> None:
    for name, value in [("rows", 99), ("series", 4), ("gaps", 1), ("states_sha256", "0" * 64)]:
        seen = Released(**{**RELEASED.__dict__, name: value})
        failed = cv.verify(_full(), seen).failures
        assert [check.field for check in failed] == [f"release.{name}"]


def test_the_release_of_another_plan_is_rejected() -> None:
    assert not cv.verify(_plan().certificate(), RELEASED).holds


def test_machines_agree_within_the_stated_accuracy() -> None:
    document = _plain(_full())
    document["loss"]["epsilon"] *= 1 - 1e-12
    document["loss"]["lower"] *= 1 - 1e-12
    assert not _rejected(_resealed(document), RELEASED)
    document["loss"]["epsilon"] *= 1 - 1e-8
    assert _rejected(_resealed(document), RELEASED)


def test_reformatting_by_another_program_does_not_break_the_seal() -> None:
    certificate = _full()
    text = json.dumps(json.loads(certificate.to_json()), sort_keys=True)
    text = text.replace('"epsilon": 1.0', '"epsilon": 1')
    assert cv.verify(Certificate.from_json(text), RELEASED).holds


BROKEN: list[tuple[str, Callable[[dict[str, Any]], Any]]] = [
    ("unknown field", lambda d: d | {"surprise": 1}),
    ("no field", lambda d: {k: v for k, v in d.items() if k != "noise"}),
    ("schema", lambda d: d | {"schema": "something else"}),
    ("later version", lambda d: d | {"schema_version": 2}),
    ("true as version", lambda d: d | {"schema_version": True}),
    ("list", lambda d: [d]),
    ("text for number", lambda d: d | {"loss": d["loss"] | {"epsilon": "1"}}),
    ("null section", lambda d: d | {"chain": None}),
    ("empty section", lambda d: d | {"chain": {}}),
    ("object for list", lambda d: d | {"cannot_be_checked": {}}),
]


@pytest.mark.parametrize(("what", "change"), BROKEN)
def test_a_document_that_does_not_fit_the_schema_is_not_read(
    what: str, change: Callable[[dict[str, Any]], Any]
) -> None:
    with pytest.raises(cv.InvalidInput, match="certificate"):
        Certificate.from_json(json.dumps(change(_plain(_full()))))


@pytest.mark.parametrize(
    "text",
    ["", "{", "[1]", '{"schema": 1, "schema": 2}', '{"a": NaN}', "9" * 5000, "[" * 100_000],
)
def test_text_that_is_no_certificate_is_an_error_in_words(text: str) -> None:
    with pytest.raises(cv.InvalidInput, match="certificate"):
        Certificate.from_json(text)


JUNK: list[Any] = [
    None,
    True,
    -1,
    0,
    10**400,
    1e308,
    5e-324,
    "",
    "x",
    [],
    [[]],
    [[1, 2], [3]],
    {},
    {"a": 1},
]


@pytest.mark.parametrize("path", PATHS)
def test_junk_in_a_field_never_passes_and_never_crashes(path: str) -> None:
    document, value = _plain(_full()), _full()[path]
    for junk in JUNK:
        _put(document, path, junk)
        same = junk == value and isinstance(junk, bool) == isinstance(value, bool)
        if not same and not path.startswith("seal"):
            rejected = _rejected(_resealed(document), RELEASED)
            assert rejected or BY_PATH[path].checked in ("open", "bounded"), (path, junk)


def test_a_certificate_is_read_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    path.write_text(_plan().certificate().to_json(), encoding="utf-8")
    assert cv.verify(path).holds


def test_the_sections_that_may_be_null_are_sections() -> None:
    for section in OPTIONAL:
        assert any(path.startswith(section + ".") for path in BY_PATH)
