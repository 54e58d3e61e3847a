"""Tables with several series: the promise holds for each of them, unless one chain is asked for."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import polars as pl
import pytest

import chainveil as cv
from chainveil.errors import ChainveilWarning, InvalidInput
from chainveil.mechanism import seeded
from chainveil.model.base import Origin
from chainveil.model.fitting import first_order
from chainveil.table.read.frames import FrameSource
from chainveil.table.request.discretize import make_discretizer
from chainveil.table.request.request import Layout
from chainveil.table.states.by_series import read_states
from chainveil.table.states.families import Each, model_of
from chainveil.table.states.prepare import survey

PEOPLE = ((0.03, 0.05), (0.06, 0.1), (0.1, 0.2), (0.15, 0.2), (0.2, 0.3), (0.1, 0.1))
HOW: dict[str, Any] = {"series": "who", "states": [0, 1], "mechanism": "independent"}


def people(points: int, first: int = 1, count: int = len(PEOPLE)) -> list[np.ndarray]:
    chains = [cv.MarkovChain.binary(q, r) for q, r in PEOPLE[:count]]
    return [chain.sample(points, rng=first + i) for i, chain in enumerate(chains)]


def table(points: int, first: int = 1, count: int = len(PEOPLE), mixed: int = 0) -> pl.DataFrame:
    """Rows of the series in blocks of so many, in turn; 0: series after series."""
    names = np.repeat([f"p{i}" for i in range(count)], points)
    x, place = np.concatenate(people(points, first, count)), np.tile(np.arange(points), count)
    order = np.lexsort((place, names, place // mixed)) if mixed else np.arange(len(x))
    return pl.DataFrame({"who": names[order], "t": place[order], "x": x[order]})


def released(frame: pl.DataFrame, **how: Any) -> Any:
    return cv.sanitize_table(frame, "x", 2.0, **HOW | how)


@pytest.mark.parametrize("mixed", [0, 1, 7])
def test_series_are_counted_in_the_one_pass(mixed: int) -> None:
    frame = table(101, mixed=mixed).with_columns(
        x=pl.when(pl.col("t") % 17 == 5).then(None).otherwise(pl.col("x")),
        t=pl.col("t") + 10 * (pl.col("t") > 60),
    )
    layout = Layout("x", "who", "t", max_gap=2)
    states = make_discretizer(states=[0, 1]).keeping("keep")
    seen = survey(FrameSource(frame), layout, states, None, (), True)
    stretches, owners = read_states(FrameSource(frame), layout, states).stretches()
    wanted = np.zeros((len(PEOPLE), 2, 2), int)
    for owner, piece in zip(owners, stretches, strict=True):
        np.add.at(wanted[owner], (piece[:-1], piece[1:]), 1)
    assert seen.each is not None
    np.testing.assert_array_equal(seen.each, wanted)
    np.testing.assert_array_equal(seen.each.sum(axis=0), seen.counts)
    assert seen.names == [f"p{i}" for i in range(len(PEOPLE))]


def test_the_promise_holds_for_each_series_of_a_table() -> None:
    frame = table(2000)
    done = released(frame)
    family = cv.ModelFamily.fit(people(2000), 2, order=1)
    assert done.certificate.plan().region == cv.calibrate(family, 2.0).region
    assert cv.verify(done.certificate, done.table).holds
    with pytest.warns(ChainveilWarning, match="pooled: the noise is for the chain of all series"):
        pooled = released(frame, pooled=True)
    own = [cv.MarkovChain.fit(x, public=True) for x in people(2000)]
    lost = [
        [cv.privacy_loss(chain, one.certificate.plan().noise).epsilon for chain in own]
        for one in (done, pooled)
    ]
    assert max(lost[0]) <= 2.0 < max(lost[1])


def test_of_private_series_one_box_is_published() -> None:
    chain = released(table(2000)).certificate.document["chain"]
    assert chain["origin"] == "private"
    assert "model" not in chain or chain["model"] is None
    q, r = chain["region"]
    for fit in (cv.MarkovChain.fit(x, public=True) for x in people(2000)):
        assert q[0] < fit.transition[0, 1] < q[1]
        assert r[0] < fit.transition[1, 0] < r[1]
        assert repr(float(fit.transition[0, 1])) not in json.dumps(chain)


@pytest.mark.slow
def test_sticky_noise_that_no_box_is_certified_for_is_not_the_usual_one() -> None:
    chains = cv.MarkovChain.binary(0.0005, 0.0005), cv.MarkovChain.binary(0.05, 0.05)
    x = [chain.sample(200_000, rng=i) for i, chain in enumerate(chains)]
    frame = pl.DataFrame({"who": np.repeat(["a", "b"], 200_000), "x": np.concatenate(x)})
    plan = released(frame, mechanism=None).certificate.plan()
    assert plan.mechanism == "independent"
    assert plan.region is not None
    assert sum(plan.region.slowest) < 0.001


@pytest.mark.slow
def test_parts_of_series_that_drift_are_covered_too() -> None:
    slow, quick = cv.MarkovChain.binary(0.03, 0.04), cv.MarkovChain.binary(0.2, 0.2)
    halves = [quick.sample(2000, rng=i) for i in range(3)], [slow.sample(2000, rng=9)]
    drifting = np.concatenate([halves[0][0], halves[1][0]])
    steady = np.concatenate([halves[0][1], halves[0][2]])
    frame = pl.DataFrame({"who": np.repeat(["a", "b"], 4000), "x": [*drifting, *steady]})
    whole, parts = (released(frame, parts=n).certificate.plan() for n in (1, 2))
    own = cv.MarkovChain.fit(halves[1][0], public=True)
    assert cv.privacy_loss(own, parts.noise).epsilon <= 2.0
    assert cv.privacy_loss(own, whole.noise).epsilon > 2.0
    family = cv.ModelFamily.fit([drifting, steady], 2, order=1, parts=2)
    assert parts.region == cv.calibrate(family, 2.0).region


@pytest.mark.slow
def test_a_reference_has_a_margin_for_others() -> None:
    public = table(1000, first=50)
    plan = released(table(100, count=2), reference=public).certificate.plan()
    assert plan.family is not None
    assert "series p1" in plan.family.names
    assert any(name.startswith("persons not seen") for name in plan.family.names)
    family = cv.ModelFamily.fit(people(1000, 50), 2, public=True, order=1)
    assert plan.noise == cv.calibrate(family, 2.0).noise
    with pytest.warns(ChainveilWarning, match="no margin for persons who are not in it"):
        few = released(table(100), reference=table(2000, count=3))
    assert few.certificate.plan().family.names == ("series p0", "series p1", "series p2")


@pytest.mark.slow
@pytest.mark.parametrize("how", [{}, {"pooled": True}, {"parts": 3}])
def test_without_a_series_that_has_a_model_of_its_own_all_is_as_before(how: Any) -> None:
    frame = table(60)
    done = released(frame, rng=seeded(1), **how)
    chain = cv.MarkovChain.fit(people(60))
    before = released(frame, chain=chain, rng=seeded(1))
    assert done.table.equals(before.table)
    assert done.certificate.document["chain"] == before.certificate.document["chain"]
    alone = released(table(2000, count=1), **how).certificate.plan()
    chain = cv.MarkovChain.fit(people(2000, count=1))
    assert alone.region == cv.calibrate(chain, 2.0).region


@pytest.mark.slow
def test_a_longer_memory_is_that_of_all_series_together() -> None:
    plan = released(table(600), order=2).certificate.plan()
    assert plan.family is not None
    assert plan.family.names == ("the box of all series", "all series together")
    assert plan.family.order == 2


@pytest.mark.slow
def test_private_series_of_more_states_have_one_chain_and_that_is_said() -> None:
    chain = cv.MarkovChain([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]])
    x = [chain.sample(1500, rng=i) for i in range(2)]
    frame = pl.DataFrame({"who": np.repeat(["a", "b"], 1500), "x": np.concatenate(x)})
    with pytest.warns(ChainveilWarning, match="of more than two states no box covers"):
        done = released(frame, states=[0, 1, 2])
    assert done.certificate.plan().family is None


@pytest.mark.parametrize(
    ("changes", "left"), [(((0.8, 0.1), (0.1, 0.8)), 2), (((0.1, 0.2), (0.8, 0.7)), 1)]
)
def test_series_whose_chains_no_box_covers_are_counted(changes: Any, left: int) -> None:
    x = [cv.MarkovChain.binary(q, r).sample(2000, rng=1) for q, r in changes]
    frame = pl.DataFrame({"who": np.repeat(["a", "b"], 2000), "x": np.concatenate(x)})
    words = f"{left} of 2 series with enough points have chains of their own that the model leaves"
    with pytest.warns(ChainveilWarning, match=words):
        released(frame, mechanism="independent")
    with pytest.warns(ChainveilWarning, match=words):
        cv.ModelFamily.fit(x, 2, order=1)


def test_series_that_differ_too_much_for_a_box_are_refused_with_advice() -> None:
    chains = cv.MarkovChain.binary(0.7, 0.1), cv.MarkovChain.binary(0.1, 0.7)
    x = [chain.sample(3000, rng=i) for i, chain in enumerate(chains)]
    frame = pl.DataFrame({"who": np.repeat(["a", "b"], 3000), "x": np.concatenate(x)})
    with pytest.raises(cv.ChainveilError, match=r"pooled=True \(--pooled\)"):
        released(frame)


@pytest.mark.parametrize(("how", "words"), [
    ({"parts": 0}, "parts"), ({"parts": 2, "pooled": True}, "beside pooled"),
    ({"parts": 2, "series": None}, "without a series column"),
    ({"pooled": True, "chain": cv.MarkovChain.symmetric(0.1)}, "True beside a chain"),
])  # fmt: skip
def test_what_does_not_belong_together_is_refused(how: Any, words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        released(table(30), **how)


@pytest.mark.slow
def test_very_many_series_fit_into_a_family() -> None:
    rng = np.random.default_rng(4)
    q, r = np.exp(rng.normal(-2.2, 0.4, (2, 4500))).clip(0, 0.4)
    counts = np.round(500 * np.array([[1 - q, q], [r, 1 - r]])).astype(int).transpose(2, 0, 1)
    origins: tuple[Origin, ...] = ("reference", "private")
    for origin in origins:
        family = model_of(Each.of(counts, range(4500)), first_order(counts.sum(axis=0), origin))
        for fit in counts[:50] / 500:
            assert family.covers(cv.MarkovChain(fit))
