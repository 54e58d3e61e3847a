"""Certificates of families: the members, the attack on one of them, and what verification sees."""

from __future__ import annotations

import json
from typing import Any

import polars as pl
import pytest

from chainveil import (
    Certificate,
    ChainRegion,
    MarkovChain,
    ModelFamily,
    calibrate,
    sanitize_table,
    verify,
)
from chainveil.certificate.document import seal

FAMILY = ModelFamily(
    [
        MarkovChain.binary(0.05, 0.1), MarkovChain.binary(0.1, 0.04),
        ChainRegion((0.2, 0.25), (0.3, 0.35)),
    ],
    ["Ann", "Bob", "Cem"],
)  # fmt: skip
PLAN = calibrate(FAMILY, 2.0)


def _changed(change: Any) -> Certificate:
    document = json.loads(PLAN.certificate().to_json())
    change(document)
    fields = {key: value for key, value in document.items() if key != "seal"}
    return Certificate({**fields, "seal": {"algorithm": "sha256", "digest": seal(fields)}})


def test_a_certificate_lists_the_members_and_holds() -> None:
    certificate = Certificate.from_json(PLAN.certificate().to_json())
    result = certificate.verify()
    assert result.holds
    assert "family of 3 models" in str(result)
    kind, pairs = certificate["chain.model"]
    assert kind == "family"
    assert dict(pairs)["names"] == ["Ann", "Bob", "Cem"]
    assert certificate["loss.witness.member"] == vars(PLAN.loss)["member"]
    again = certificate.plan()
    assert again.family == FAMILY
    assert again.loss.epsilon == pytest.approx(PLAN.loss.epsilon, abs=1e-6)


def _members(document: dict[str, Any]) -> list[Any]:
    found: list[Any] = dict(document["chain"]["model"][1])["members"]
    return found


def test_a_member_that_loses_more_is_found() -> None:
    """A slower member in place of one of them: the loss claimed is then no upper bound."""

    def slower(document: dict[str, Any]) -> None:
        _members(document)[2] = ["chain", [["transition", [[0.99, 0.01], [0.02, 0.98]]]]]

    assert any("loss.epsilon" in check.field for check in _changed(slower).verify().failures)


def test_an_attack_on_a_chain_of_no_member_is_refused() -> None:
    def elsewhere(document: dict[str, Any]) -> None:
        document["loss"]["witness"]["chain"] = ["chain", [["transition", [[0.9, 0.1], [0.1, 0.9]]]]]

    failures = _changed(elsewhere).verify().failures
    assert [check.field for check in failures] == ["loss.witness"]


def test_an_attack_without_a_member_is_refused() -> None:
    def nameless(document: dict[str, Any]) -> None:
        for name in ("member", "chain"):
            del document["loss"]["witness"][name]

    assert "loss.witness" in [check.field for check in _changed(nameless).verify().failures]


def test_of_private_series_one_box_is_published() -> None:
    laws = ((0.08, 0.2), (0.12, 0.15), (0.1, 0.3))
    series = [MarkovChain.binary(*law).sample(3000, rng=i) for i, law in enumerate(laws)]
    plan = calibrate(ModelFamily([MarkovChain.fit(one) for one in series]), 2.0)
    assert plan.family is None
    assert plan.origin == "private"
    assert all(plan.region.covers(MarkovChain.fit(one)) for one in series)  # type: ignore[union-attr]
    certificate = plan.certificate()
    assert certificate["chain.model"] is None
    assert certificate.verify().holds


@pytest.mark.parametrize("chain", [FAMILY, FAMILY["Cem"]], ids=["family", "region"])
def test_tables_take_families_and_regions(chain: Any) -> None:
    values = FAMILY.typical.sample(400, rng=1)
    frame = pl.DataFrame({"person": ["a"] * 200 + ["b"] * 200, "state": values})
    released = sanitize_table(
        frame, "state", series="person", epsilon=2, chain=chain, states=[0, 1],
        mechanism="independent",
    )  # fmt: skip
    assert verify(released.certificate, released.table).holds


def test_a_plan_of_a_family_sanitizes_and_streams() -> None:
    series = FAMILY.typical.sample(50, rng=1)
    assert PLAN.sanitize(series).shape == (50,)
    stream = PLAN.stream()
    assert {int(stream.push(int(x))) for x in series} <= {0, 1}
