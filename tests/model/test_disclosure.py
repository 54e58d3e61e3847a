"""Chains fitted on private data: what is published of them does not give the counts back."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import chainveil as cv
from chainveil.certificate import certify
from chainveil.model.disclosure import ENOUGH, ENOUGH_ALONE, public_box, rounded_down
from tests.batches import some_quick
from tests.cli.program import called

TRUTH = cv.MarkovChain.binary(0.0893, 0.1092)
SERIES = TRUTH.sample(2287, rng=7)
LADDER = cv.MarkovChain([[0.9, 0.1, 0.0], [0.05, 0.9, 0.05], [0.0, 0.2, 0.8]])


def _fits(steps: int) -> Iterator[tuple[int, int, int, int]]:
    """All counts that one series of two states can have: 0 -> 1, 0 -> 0, 1 -> 0, 1 -> 1."""
    for leave in range(1, steps):
        for back in (leave - 1, leave, leave + 1):
            for stay in range(steps - leave - back + 1):
                if back >= 1:
                    yield leave, stay, back, steps - leave - back - stay


@pytest.mark.parametrize("steps", [90, 130, 200])
def test_no_count_follows_from_a_box_and_the_number_of_points(steps: int) -> None:
    """Every box is that of fits with at least 20 values of each count, and of sums of counts."""
    kinds: dict[Any, list[set[int]]] = defaultdict(lambda: [set() for _ in range(6)])
    for leave, stay, back, keep in _fits(steps):
        box = public_box(leave / (leave + stay), back / (back + keep), steps)
        values = (leave, stay, back, keep, leave + stay, back + keep)
        for seen, value in zip(kinds[box], values, strict=True):
            seen.add(value)
    assert len(kinds) > 3
    assert min(len(seen) for found in kinds.values() for seen in found) >= ENOUGH


@settings(max_examples=300, deadline=None)
@given(
    st.floats(1e-5, 1),
    st.floats(1e-5, 1),
    st.integers(200, 10**9),
    st.floats(0, 1),
    st.floats(0, 1),
)
def test_all_fits_in_a_box_get_that_box(
    q: float, r: float, steps: int, along: float, across: float
) -> None:
    q, r = max(q, 1 / (steps - 1)), max(r, 1 / (steps - 1))
    box = public_box(q, r, steps)
    for (low, high), value in zip(box, (q, r), strict=True):
        assert low <= value < high or value == high == 1
        assert all(float(f"{end:.1e}") == end for end in (low, high))
    other = [
        min(low + share * (high - low), np.nextafter(high, 0))
        for (low, high), share in zip(box, (along, across), strict=True)
    ]
    assert public_box(other[0], other[1], steps) == box


def test_few_points_are_refused_with_advice() -> None:
    chain = cv.MarkovChain.fit(TRUTH.sample(40, rng=3))
    with pytest.raises(cv.InvalidInput, match="39 steps of private data.*reference"):
        cv.calibrate(chain, 1)
    assert cv.calibrate(cv.MarkovChain.fit(TRUTH.sample(40, rng=3), public=True), 1).region is None


# Where a fit can go, and what is published of it.
WAYS: dict[str, Any] = {
    "independent": lambda chain: cv.calibrate(chain, 2),
    "a length": lambda chain: cv.calibrate(chain, 2, max_length=12),
    "ignorant": lambda chain: cv.calibrate(chain, 2, adversary="ignorant"),
    "one adversary": lambda chain: cv.calibrate(
        chain, 2, max_length=12, adversary=cv.Adversary(3, {1})
    ),
    "correlated": lambda chain: cv.calibrate(chain, 4, mechanism="correlated"),
    "sticky": lambda chain: cv.calibrate(chain, 4, mechanism="sticky"),
    "sticky, informed": lambda chain: cv.calibrate(
        chain, 4, adversary="informed", mechanism="sticky"
    ),
    "earlier": lambda chain: cv.calibrate(chain, 4, earlier=[cv.Channel.binary(0.45, 0.45)]),
    "backwards": lambda chain: cv.calibrate(chain.reverse(), 2),
    "a region": lambda chain: cv.calibrate(chain.region(0.95), 2),
    "several": lambda chain: cv.calibrate(chain, [1, 2])[1],
}


def _same_box(chain: cv.MarkovChain) -> cv.MarkovChain:
    """A fit on as many points, with other counts, that lies in the same box."""
    assert chain.counts is not None
    (stay, leave), (back, keep) = chain.counts.tolist()
    for more in range(1, 40):
        for change in (more, -more):
            counts = np.array([[stay - change, leave + change], [back + change, keep - change]])
            other = cv.MarkovChain(counts / counts.sum(axis=1, keepdims=True), counts=counts)
            if other.public_box() == chain.public_box():
                return other
    raise AssertionError


@pytest.mark.parametrize("way", some_quick(WAYS, ["independent", "correlated", "several"]))
def test_what_is_published_is_the_same_for_other_counts(way: str) -> None:
    chain = cv.MarkovChain.fit(SERIES)
    plans = [WAYS[way](fit) for fit in (chain, _same_box(chain))]
    documents = []
    for plan in plans:
        assert plan.origin == "private"
        document = dict(plan.certificate().document)
        assert cv.verify(plan.certificate()).holds
        assert document["chain"]["origin"] == "private"
        documents.append({k: v for k, v in document.items() if k not in ("created", "seal")})
    assert documents[0] == documents[1]
    text = plans[0].certificate().to_json() + repr(plans[0])
    for entry in chain.transition.flat:
        assert repr(float(entry))[:8] not in text


def test_the_noise_covers_the_fit_and_every_other_chain_of_the_box() -> None:
    chain = cv.MarkovChain.fit(SERIES)
    plan = cv.calibrate(chain, 2)
    assert plan.region is not None
    assert chain in plan.region
    assert cv.privacy_loss(chain, plan.channel).epsilon <= 2
    assert plan.chain.transition[0, 1] == sum(plan.region.q) / 2


@pytest.mark.parametrize("mechanism", ["sticky", pytest.param("tracking", marks=pytest.mark.slow)])
def test_noise_that_remembers_covers_every_chain_of_the_box(mechanism: str) -> None:
    chain = cv.MarkovChain.fit(SERIES)
    plan = cv.calibrate(chain, 4, mechanism=mechanism)
    assert plan.region is not None
    assert chain in plan.region
    assert 3.98 < plan.loss.epsilon <= 4
    ends = [(q, r) for q in plan.region.q for r in plan.region.r]
    for some in (chain, plan.chain, *(cv.MarkovChain.binary(*end) for end in ends)):
        assert cv.privacy_loss(some, plan.noise).epsilon <= plan.loss.epsilon
    assert 0 < plan.cost_of_uncertainty < 0.02


def test_noise_that_remembers_is_made_for_the_slowest_of_very_slow_chains() -> None:
    slow = cv.MarkovChain.fit(cv.MarkovChain.binary(0.0002, 0.0003).sample(1_200_000, rng=3))
    plan = cv.calibrate(slow, 4, mechanism="sticky")
    assert plan.region is None
    q, r = slow.public_box()
    assert (plan.chain.transition[0, 1], plan.chain.transition[1, 0]) == (q[0], r[0])


def test_data_that_need_no_protection_are_used_as_they_are() -> None:
    chain = cv.MarkovChain.fit(SERIES, public=True)
    plan = cv.calibrate(chain, 2)
    assert plan.chain == chain
    assert plan.region is None
    assert plan.certificate()["chain.origin"] == "reference"
    with pytest.raises(cv.InvalidInput, match="public: found"):
        cv.MarkovChain.fit(SERIES, public="yes")  # type: ignore[call-overload]


def test_a_chain_knows_where_it_came_from() -> None:
    fitted = cv.MarkovChain.fit(SERIES)
    assert (TRUTH.origin, fitted.origin, fitted.reverse().origin) == ("given", "private", "private")
    assert cv.MarkovChain(fitted.transition, counts=fitted.counts).origin == "private"
    assert fitted.region(0.9).origin == "private"
    assert cv.calibrate(TRUTH, 1).origin == "given"
    with pytest.raises(cv.InvalidInput, match="origin: found"):
        cv.MarkovChain(TRUTH.transition, origin="secret")  # type: ignore[arg-type]


def test_a_chain_that_went_through_json_still_knows_it() -> None:
    chain = cv.MarkovChain.fit(SERIES)
    longer = cv.HigherOrderChain.fit(SERIES, 2)
    for model in (chain, chain.region(0.9), longer, cv.MarkovChain.fit(SERIES, public=True)):
        again = type(model).from_json(json.loads(json.dumps(model.to_json())))
        assert (again.origin, again.is_unrounded) == (model.origin, model.is_unrounded)
    again = cv.MarkovChain.from_json(chain.to_json())
    published = (cv.calibrate(fitted, 2.0).certificate()["chain"] for fitted in (chain, again))
    assert next(published) == next(published)


def test_exact_numbers_that_are_said_to_be_private_are_not_published() -> None:
    """Without the counts nothing tells how far to round; a rounded chain is taken as it is."""
    fitted = cv.MarkovChain.fit(SERIES)
    bare = cv.MarkovChain(fitted.transition, origin="private")
    with pytest.raises(cv.InvalidInput, match="neither counts nor round numbers"):
        cv.calibrate(bare, 2.0)
    rounded = cv.calibrate(fitted, 2.0).chain
    assert not rounded.is_unrounded
    assert cv.calibrate(rounded, 2.0).origin == "private"


def test_no_certificate_says_otherwise() -> None:
    plan = cv.calibrate(cv.MarkovChain.fit(SERIES), 2)
    for origin in ("given", "reference"):
        with pytest.raises(cv.InvalidInput, match="origin: found"):
            certify(plan, origin)
    exact = cv.MarkovChain.fit(SERIES)
    loss = cv.privacy_loss(exact, plan.channel)
    with pytest.raises(cv.InvalidInput, match="as it was fitted on private data"):
        cv.NoisePlan(exact, plan.channel, loss, 2.0, "wrong-reports", None).certificate()


def test_a_table_with_a_fitted_chain_is_certified_as_private() -> None:
    frame = pd.DataFrame({"x": SERIES})
    chain = cv.MarkovChain.fit(SERIES)
    given_ = cv.sanitize_table(frame, "x", 2, states=[0, 1], chain=chain).certificate
    fitted_here = cv.sanitize_table(frame, "x", 2, states=[0, 1]).certificate
    assert given_["chain.origin"] == "private"
    assert given_["chain"] == fitted_here["chain"]
    assert "not covered by epsilon" in given_["chain.meaning"]


@pytest.mark.slow
def test_on_the_command_line(tmp_path: Path) -> None:
    """fit is exact and for the curator; calibrate and sanitize publish the box, and warn."""
    (tmp_path / "x.csv").write_text("x\n" + "\n".join(map(str, SERIES)) + "\n")
    column = ("--column", "x", "--states", "0,1")
    done = called("fit", "x.csv", *column, "-o", "chain.json", folder=tmp_path)
    assert b"keep this output and the chain file private" in done.stderr
    done = called("calibrate", "--chain", "chain.json", "--epsilon", "2", "-o", "plan.json",
                   "--json", folder=tmp_path)  # fmt: skip
    assert b"warning: the chain was fitted on the private data" in done.stderr
    facts = json.loads(done.stdout)
    done = called("sanitize", "x.csv", *column, "--plan", "plan.json", "-o", "z.csv",
                   folder=tmp_path)  # fmt: skip
    assert b"warning: the chain was fitted on the private data" in done.stderr
    exact = json.loads((tmp_path / "chain.json").read_text())["transition"]
    for place in (tmp_path / "plan.json", tmp_path / "z.certificate.json"):
        found = json.loads(place.read_text())["chain"]
        assert found["origin"] == "private"
        assert found["region"] == [[0.083, 0.1], [0.1, 0.13]]
        for row in exact:
            assert not any(repr(entry)[:8] in place.read_text() for entry in row)
    # What other methods need is said for the published chain, not for the exact one.
    expected = cv.baselines.compare(cv.MarkovChain.binary(0.0915, 0.115), 2.0)
    assert [other["flip_probability"] for other in facts["others"]] == [o.rho for o in expected]


def test_a_private_chain_file_without_counts_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("x\n" + "\n".join(map(str, SERIES)) + "\n")
    called("fit", "x.csv", "--column", "x", "--states", "0,1", "-o", "chain.json", folder=tmp_path)
    document = json.loads((tmp_path / "chain.json").read_text()) | {"counts": None}
    (tmp_path / "chain.json").write_text(json.dumps(document))
    done = called(
        "calibrate", "--chain", "chain.json", "--epsilon", "2", folder=tmp_path, code=None
    )
    assert done.returncode != 0
    assert b"chain counts" in done.stderr


@pytest.mark.slow
def test_more_states_are_rounded_down_and_hold_no_zeros() -> None:
    chain = cv.MarkovChain.fit(LADDER.sample(20_000, rng=1))
    plan = cv.calibrate(chain, 4)
    published = plan.chain.transition
    away = ~np.eye(3, dtype=bool)
    assert np.all(
        published[away & (chain.transition > 0)]
        <= chain.transition[chain.transition > 0][away[chain.transition > 0]]
    )
    assert np.all(published > 0)
    assert plan.origin == "private"
    assert plan.certificate()["chain.region"] is None
    assert cv.verify(plan.certificate()).holds


@pytest.mark.parametrize("visits", [128, 200, 1000, 5000])
def test_a_rounded_row_leaves_its_counts_open(visits: int) -> None:
    """Whatever the number of visits with the same power of two, each step has 40 counts."""
    groups: dict[float, set[int]] = defaultdict(set)
    for count in range(visits + 1):
        share = count / visits
        row = np.array([[0.0, share, 1 - share], [0.5, 0.0, 0.5], [0.5, 0.5, 0.0]])
        groups[float(rounded_down(row, [visits, 5000, 5000])[0, 1])].add(count)
    # The largest group ends at one, where a row ends too.
    sizes = [len(counts) for _, counts in sorted(groups.items())]
    assert min(sizes[:-1]) >= ENOUGH_ALONE


def test_a_state_that_is_rarely_left_is_refused_without_a_count() -> None:
    chain = cv.MarkovChain.fit([0, 1] * 200 + [2, 1, 2, 0] * 5)
    with pytest.raises(cv.InvalidInput, match="rarely leave one of the states") as caught:
        cv.calibrate(chain, 1)
    assert "10" not in str(caught.value).replace("public", "")


def test_many_states_on_few_points_are_refused() -> None:
    """Two hundred rare changes of 0.003 would leave little for staying."""
    rows = np.full((200, 200), 1 / 200)
    with pytest.raises(cv.InvalidInput, match="rarely leave one of the states"):
        rounded_down(rows, [150] * 200)
    assert rounded_down(rows, [15_000] * 200).sum(axis=1) == pytest.approx(1)


def test_chains_that_change_often() -> None:
    """Regions are offered below q + r = 1; above it the middle of a narrow box stands for it."""
    often = cv.MarkovChain.binary(0.8, 0.7)
    plan = cv.calibrate(cv.MarkovChain.fit(often.sample(5_000, rng=1)), 2)
    assert plan.region is None
    assert plan.origin == "private"
    assert abs(plan.chain.transition - often.transition).max() < 0.05
    with pytest.raises(cv.InvalidInput, match="few points"):
        cv.calibrate(cv.MarkovChain.fit(often.sample(101, rng=1)), 2)


def _rounded(seen: list[int]) -> Any:
    """The row published for counts after a context that ends in state 0; None: too few."""
    from chainveil.model.disclosure import _rounded_row

    return _rounded_row(seen, 0)


@pytest.mark.parametrize("visits", [256, 300, 511, 1000])
def test_the_rows_of_contexts_leave_every_count_open(visits: int) -> None:
    """All counts there can be, by the row that is published for them."""
    groups: dict[Any, list[tuple[int, ...]]] = {}
    for n in range(visits + 1):
        groups.setdefault(tuple(_rounded([visits - n, n])), []).append((visits - n, n))
    if visits <= 300:
        for a in range(visits + 1):
            for b in range(visits + 1 - a):
                seen = [visits - a - b, a, b]
                groups.setdefault(tuple(_rounded(seen)), []).append(tuple(seen))
    for row, counts in groups.items():
        assert all(len(set(values)) >= ENOUGH for values in zip(*counts, strict=True)), row
        assert min(row) > 0
        assert sum(row) == pytest.approx(1, abs=1e-15)


def test_a_longer_memory_is_published_rounded() -> None:
    truth = cv.HigherOrderChain([[0.97, 0.03], [0.2, 0.8], [0.6, 0.4], [0.1, 0.9]], order=2)
    fitted = cv.HigherOrderChain.fit(truth.sample(60_000, rng=3), 2)
    assert fitted.is_unrounded
    plan = cv.calibrate(fitted, 2.0, max_length=4)
    assert plan.origin == "private"
    assert plan.chain.counts is None
    assert not plan.chain.is_unrounded
    np.testing.assert_allclose(plan.chain.transition, fitted.transition, atol=0.03)
    certificate = plan.certificate()
    assert "counts" not in dict(certificate["chain.model"][1])
    assert cv.verify(certificate).holds
    # A chain that is rounded already is taken as it is.
    assert cv.calibrate(plan.chain, 2.0, max_length=4).chain == plan.chain
    bare = cv.HigherOrderChain(fitted.transition, 2, origin="private")
    with pytest.raises(cv.InvalidInput, match="neither counts nor round numbers"):
        cv.calibrate(bare, 2.0, max_length=4)


def test_rare_contexts_take_the_law_of_a_shorter_one_and_too_few_points_are_refused() -> None:
    x = [0] * 2000 + [1] * 2000
    chain = cv.HigherOrderChain.fit([*x, *x[::-1], *x], 2).rounded()
    # 01 and 10 were seen a few times: the rows after 1 and after 0 stand in.
    assert chain.transition[1].tolist() == chain.transition[3].tolist()
    assert chain.transition[2].tolist() == chain.transition[0].tolist()
    assert chain.transition.min() > 0
    with pytest.raises(cv.InvalidInput, match="rarely leave one of the states"):
        cv.calibrate(cv.HigherOrderChain.fit([0, 1, 1] * 60, 2), 2.0, max_length=4)
